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
from minitorch.core.lazy_imports import lazy_imports as _lazy_imports

# Stage 1: imported on first use
with _lazy_imports(globals()):
    from minitorch.autograd.forward_mode import Dual, jvp
    from minitorch.autograd.trace import Line, Trace, forward_trace, reverse_trace
    from minitorch.optim import SGD, Adam, Optimizer

# Stage 2 - Strided tensors
from minitorch.core.dtypes import bool_, float32, float64, get_default_dtype, int32, int64, set_default_dtype
from minitorch.core.dtypes import float16, int8, int16, uint8
from minitorch.tensor_data import IndexingError, TensorData, UserIndex, UserShape
from minitorch.tensor_data import broadcast_index, index_to_position, shape_broadcast, strides_from_shape, to_index
from minitorch.core.backend import TensorBackend, TensorOps
from minitorch.tensor_ops import SimpleBackend, SimpleOps
from minitorch.core.context import no_grad
from minitorch.tensor_functions import Function
from minitorch.tensor import Tensor, TensorLike, manual_seed, rand, zeros
from minitorch.tensor import tensor  # the function: this binds it over the module of that name
from minitorch.core.gradients import grad_central_difference, grad_check
from minitorch.core.creation import arange, cat, eye, from_dlpack, from_numpy, full, linspace, ones, randn, stack, where

# Stage 3 - Compiled backends
from minitorch.fast_ops import FastBackend, FastOps
from minitorch import cuda_limits as cuda_limits  # limits that numba's simulator lacks
from minitorch.cuda_ops import CudaOps, cuda_backend, mm_practice, sum_practice

# Stage 3: imported on first use
with _lazy_imports(globals()):
    from minitorch.cuda_kernels import sum_blocks_practice, transpose_practice
    from minitorch import cuda as cuda

# Stage 4 - Networks
from minitorch.fast_conv import Conv1dFun, Conv2dFun, conv1d, conv2d
from minitorch import cuda_conv as cuda_conv  # registers the textbook kernels

# Stage 4: imported on first use
with _lazy_imports(globals()):
    from minitorch.io.formats import FileFormatError
    from minitorch import data as data
    from minitorch import nn as nn
    from minitorch.nn.functional import argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

# Stage 5 - Compilation, imported on first use
with _lazy_imports(globals()):
    from minitorch import compiler as compiler
    from minitorch.compiler.compiled import compile

# Stage 6 - Language models, imported on first use
with _lazy_imports(globals()):
    from minitorch import language as language
    from minitorch.io.files import load, load_hdf5, load_torch_state_dict, save, save_hdf5

# Stage 7 - After the course, imported on first use
with _lazy_imports(globals()):
    from minitorch.core.dtypes import bfloat16 as bfloat16
    from minitorch.core.number_formats import bits, finfo, iinfo
    from minitorch.optim.grad_scaler import GradScaler
    from minitorch import models as models
    from minitorch import autograd as autograd
    from minitorch.autograd.engine import grad
    from minitorch import distributed as distributed

__all__ = [
    "SGD",
    "Adam",
    "Context",
    "Conv1dFun",
    "Conv2dFun",
    "CudaOps",
    "Dual",
    "FastBackend",
    "FastOps",
    "FileFormatError",
    "Function",
    "GradScaler",
    "Graph",
    "History",
    "IndexingError",
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
    "SimpleBackend",
    "SimpleOps",
    "Tensor",
    "TensorBackend",
    "TensorData",
    "TensorLike",
    "TensorOps",
    "Trace",
    "UserIndex",
    "UserShape",
    "Variable",
    "arange",
    "argmax",
    "avgpool2d",
    "backpropagate",
    "bits",
    "bool_",
    "broadcast_index",
    "cat",
    "central_difference",
    "compile",
    "conv1d",
    "conv2d",
    "cuda_backend",
    "datasets",
    "derivative_check",
    "dot",
    "dropout",
    "eye",
    "finfo",
    "float16",
    "float32",
    "float64",
    "forward_trace",
    "from_dlpack",
    "from_numpy",
    "full",
    "get_default_dtype",
    "grad",
    "grad_central_difference",
    "grad_check",
    "iinfo",
    "index_to_position",
    "int8",
    "int16",
    "int32",
    "int64",
    "jvp",
    "linspace",
    "load",
    "load_hdf5",
    "load_torch_state_dict",
    "logsoftmax",
    "manual_seed",
    "max",
    "maxpool2d",
    "mm_practice",
    "no_grad",
    "ones",
    "operators",
    "prod",
    "rand",
    "randn",
    "reverse_trace",
    "save",
    "save_hdf5",
    "set_default_dtype",
    "shape_broadcast",
    "softmax",
    "stack",
    "strides_from_shape",
    "sum_practice",
    "tensor",
    "tile",
    "to_index",
    "topological_sort",
    "uint8",
    "where",
    "zeros",
]
