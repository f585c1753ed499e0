"""PyTorch's interface over MiniTorch: `import minitorch.torch as torch`. The error for an absent name suggests the nearest one."""

from __future__ import annotations as _annotations

import inspect as _inspect
import math as _math
from functools import partial as _partial
from importlib import import_module as _import_module
from typing import Any as _Any

from minitorch.core.dtypes import bool_ as bool
from minitorch.core.dtypes import float16, float32, float64, int8, int16, int32, int64, uint8
from minitorch.core.dtypes import load_bfloat16 as _load_bfloat16
from minitorch.core.number_formats import finfo, iinfo
from minitorch.tensor import manual_seed
from minitorch.torch import accelerator as accelerator
from minitorch.torch import backends as backends
from minitorch.torch import cuda as cuda
from minitorch.torch import creation as _creation
from minitorch.torch import linalg as linalg
from minitorch.torch import names as _names
from minitorch.torch import shapes as _shapes
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.creation import Generator
from minitorch.torch.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled, use_deterministic_algorithms
from minitorch.torch.places import Size, device, double, dtype, get_default_device, half, long, set_default_device, short
from minitorch.torch.promotion import get_default_dtype, set_default_dtype
from minitorch.torch.sparse import SparseTensor as _SparseTensor
from minitorch.torch.sparse import either as _either
from minitorch.torch.tensor import Tensor
from minitorch.torch.tensor import lift as _lift
from minitorch.torch.tensor import publish as _publish
from minitorch.torch.tensor_types import CPU as _TYPES
from minitorch.torch.tensor_types import set_default_tensor_type

float, int, pi, inf, nan, e = float32, int32, _math.pi, _math.inf, _math.nan, _math.e

_more = {"broadcast_to": _shapes.expand, "unsqueeze": _shapes.unsqueeze, "matrix_rank": _names.solutions.matrix_rank}
_publish(globals(), _names.functions(_names.BOTH, _names.FUNCTIONS, _names.REMOVED) | _more)
globals().update(_TYPES)
inverse, pinverse = linalg.inv, linalg.pinv  # type: ignore[attr-defined]

for _name in ("mm", "matmul", "t"):
    globals()[_name] = _either(globals()[_name])


def is_tensor(obj: _Any) -> _Any:
    """Whether an object is a Tensor."""
    return isinstance(obj, (Tensor, _SparseTensor))


def _method(name: str) -> _Any:
    """A method of Tensor without further arguments as a function."""

    def function(input: Tensor) -> _Any:
        return getattr(input, name)()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(Tensor, name).__doc__
    return _names.checked(function)


numel, is_floating_point, is_nonzero, is_complex, clone, positive = map(
    _method, ("numel", "is_floating_point", "is_nonzero", "is_complex", "clone", "positive")
)


_MODULES = {
    "accelerator", "amp", "autograd", "backends", "cuda", "distributed", "distributions", "func", "functional", "linalg", "mps",
    "multiprocessing", "nn", "onnx", "optim", "profiler", "serialization", "sparse", "special", "utils", "version", "xpu",
}  # fmt: skip
"""The modules that programs use by their names; the others are parts of this one."""

_LATE = {
    "autocast": "amp",
    "compile": "compiling",
    "cosine_similarity": "nn.functional",
    "load": "serialization",
    "save": "serialization",
    "sparse_coo_tensor": "sparse",
    "spmm": "sparse",
    "vmap": "func",
}
"""Functions whose modules import networks, which import this module; so they are imported when they are used, like the modules."""


_ABSENT = {
    "jit": "no compiler for Python's source; leave torch.jit out, or record launches with torch.compile",
    "hub": "no downloads of code; load a state_dict() into a network of your own",
    "fft": "no complex numbers; call numpy.fft with x.numpy()",
} | dict.fromkeys(
    ("complex", "complex64", "complex128", "polar", "view_as_complex", "view_as_real"),
    "no complex numbers; keep real and imaginary parts as two tensors",
)


def _late(name: str) -> _Any:
    """A module, or a function of one, imported when it is asked for."""
    if name not in _LATE:
        return _import_module(f"{__name__}.{name}")
    globals()[name] = made = getattr(_import_module(f"{__name__}.{_LATE[name]}"), name)
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_LATE, "bfloat16"})


__getattr__ = _refuse_absent(
    "torch",
    [name for name, thing in globals().items() if name in _MODULES or not (name.startswith("_") or _inspect.ismodule(thing))],
    {"bfloat16": _load_bfloat16} | {name: _partial(_late, name) for name in (*_MODULES, *_LATE)},
    _ABSENT,
)
