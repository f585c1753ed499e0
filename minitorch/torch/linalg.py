"""Stage 6 - torch.linalg: factorizations and solutions, with gradients."""

from minitorch.torch import products, reductions
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.tensor import lift

cholesky, inv, solve, solve_triangular = map(lift, (products.cholesky, products.inv, products.solve, products.solve_triangular))
norm = vector_norm = lift(reductions.norm)

__getattr__ = refuse_absent("torch.linalg", defined(globals()))
