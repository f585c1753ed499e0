"""Autograd beyond the course, by PyTorch's names. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 1 - Scalar autodiff
from minitorch.autograd import forward_mode as forward_mode
from minitorch.autograd import trace as trace
from minitorch.core.lazy_imports import lazy_imports as _lazy_imports

# Stage 7 - After the course, imported on first use
with _lazy_imports(globals()):
    from minitorch.autograd import in_place as in_place
    from minitorch.autograd import double_backward as double_backward
    from minitorch.autograd.engine import grad
    from minitorch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
    from minitorch.autograd.checkpoints import checkpoint
    from minitorch.autograd import observer as observer
    from minitorch.autograd.profiler import profile
    from minitorch.autograd.memory import ledger
    from minitorch.autograd import rules as rules

__all__ = [
    "checkpoint",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "ledger",
    "profile",
    "vhp",
    "vjp",
]
