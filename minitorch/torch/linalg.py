"""Stage 6 - torch.linalg: norms, solutions, determinants and factorizations, with gradients."""

from minitorch.core.errors import LinAlgError as LinAlgError
from minitorch.torch import names, products
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.saved import SAVED, keeping
from minitorch.torch.tensor import publish

publish(globals(), names.functions(names.LINALG) | {"cross": keeping(products.vector_product, SAVED["cross"])})

__getattr__ = refuse_absent("torch.linalg", defined(globals()))
