"""Stage 6 - torch.linalg: norms, solutions, determinants and factorizations, with gradients."""

from minitorch.torch import factorizations, products
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.tensor import lift

cholesky, inv, solve, solve_triangular, cross, vecdot = map(
    lift, (products.cholesky, products.inv, products.solve, products.solve_triangular, products.vector_product, products.vecdot)
)
det, slogdet, qr, svd, svdvals, eigh, eigvalsh = map(
    lift,
    (
        factorizations.det, factorizations.slogdet, factorizations.qr, factorizations.svd, factorizations.svdvals, factorizations.eigh,
        factorizations.eigvalsh,
    ),
)  # fmt: skip
lstsq, pinv, matrix_rank, matrix_power, multi_dot = map(
    lift,
    (
        factorizations.lstsq, factorizations.pinv, factorizations.matrix_rank, factorizations.matrix_power, factorizations.multi_dot,
    ),
)  # fmt: skip
norm, vector_norm, matrix_norm = map(lift, (factorizations.norm, factorizations.vector_norm, factorizations.matrix_norm))


__getattr__ = refuse_absent("torch.linalg", defined(globals()))
