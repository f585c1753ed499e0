"""Stage 7 - torch.linalg: norms, solutions, determinants and factorizations, with gradients."""

from minitorch.core.errors import LinAlgError as LinAlgError
from minitorch.torch import names, products, solutions
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.saved import SAVED, keeping
from minitorch.torch.tensor import publish

_others = {"cross": keeping(products.vector_product, SAVED["cross"]), "lu": solutions.linalg_lu}
publish(globals(), names.functions(names.LINALG) | _others)

_REASON = "no complex numbers; torch.linalg.eigh and eigvalsh take symmetric matrices"

__getattr__ = refuse_absent("torch.linalg", defined(globals()), reasons=dict.fromkeys(("eig", "eigvals"), _REASON))
