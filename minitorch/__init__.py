"""MiniTorch: a small PyTorch, built in five stages. This file is its table of contents."""

__version__ = "0.1.0"

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 0 - Fundamentals
from minitorch import operators as operators
from minitorch.module import Module, Parameter
from minitorch.operators import prod
from minitorch.testing import MathTest, MathTestVariable
from minitorch.datasets import Graph, datasets  # datasets is the dict: this import loads the module of that name, then binds over it

# Stage 1 - Scalar autodiff
from minitorch.autodiff import Context, History, Variable, backpropagate, central_difference, topological_sort
from minitorch.scalar_functions import ScalarFunction
from minitorch.scalar import Scalar, ScalarHistory, ScalarLike, derivative_check, dot
from minitorch.forward_mode import Dual, jvp
from minitorch.trace import Line, Trace, forward_trace, reverse_trace
from minitorch.optim import SGD, Optimizer

__all__ = [
    "SGD",
    "Context",
    "Dual",
    "Graph",
    "History",
    "Line",
    "MathTest",
    "MathTestVariable",
    "Module",
    "Optimizer",
    "Parameter",
    "Scalar",
    "ScalarFunction",
    "ScalarHistory",
    "ScalarLike",
    "Trace",
    "Variable",
    "backpropagate",
    "central_difference",
    "datasets",
    "derivative_check",
    "dot",
    "forward_trace",
    "jvp",
    "operators",
    "prod",
    "reverse_trace",
    "topological_sort",
]
