"""torch.autograd: gradients as values, and functions with a backward pass of their own."""

# Stage 7 - PyTorch's interface
from minitorch.torch.autograd import graph as graph
from minitorch.torch.autograd import function as function
from minitorch.autograd import functional as functional
from minitorch.torch.autograd.function import Function
from minitorch.torch.autograd.gradients import Variable, backward, grad, gradcheck, gradgradcheck
from minitorch.torch.autograd import profiler as profiler
from minitorch.torch.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Function", "Variable", "backward", "enable_grad", "function", "functional", "grad", "gradcheck", "gradgradcheck", "graph",
    "inference_mode", "no_grad", "profiler", "set_grad_enabled",
]  # fmt: skip
