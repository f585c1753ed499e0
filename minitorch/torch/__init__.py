"""PyTorch's interface over MiniTorch: `import minitorch.torch as torch`. Absent names say so, and name the nearest one that exists."""

import inspect as _inspect
import math as _math
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
from minitorch.torch.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    use_deterministic_algorithms,
)
from minitorch.torch.places import Size, device, double, dtype, get_default_device, half, long, set_default_device, short
from minitorch.torch.promotion import get_default_dtype, set_default_dtype
from minitorch.torch.tensor import Tensor
from minitorch.torch.tensor import lift as _lift

float, int, pi, inf, nan, e = float32, int32, _math.pi, _math.inf, _math.nan, _math.e

globals().update({name: _lift(function) for name, function in _names.functions(_names.BOTH, _names.FUNCTIONS).items()})
broadcast_to, unsqueeze, inverse, pinverse = _lift(_shapes.expand), _lift(_shapes.unsqueeze), linalg.inv, linalg.pinv

from minitorch.torch import nn as nn, optim as optim, utils as utils, autograd as autograd, func as func  # noqa: E402
from minitorch.torch import amp as amp, distributions as distributions  # noqa: E402
from minitorch.torch.amp import autocast  # noqa: E402
from minitorch.torch.nn.functional import cosine_similarity  # noqa: E402
from minitorch.torch.serialization import load, save  # noqa: E402
from minitorch.torch.compiling import compile  # noqa: E402
from minitorch.torch.func import vmap  # noqa: E402


def is_tensor(obj: _Any) -> _Any:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> _Any:
    """Number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> _Any:
    """Whether the elements are floating-point numbers."""
    return input.is_floating_point()


def is_nonzero(input: Tensor) -> _Any:
    """Whether the only element differs from 0."""
    return input.is_nonzero()


def is_complex(input: Tensor) -> _Any:
    """False: there are no complex numbers."""
    return False


def clone(input: Tensor) -> Tensor:
    """A copy; gradients flow through it."""
    return input.clone()


def positive(input: Tensor) -> Tensor:
    """input itself."""
    return input.positive()


def LongTensor(data: _Any) -> Tensor:
    """A tensor of int64."""
    return _lift(_creation.tensor)(data, dtype=int64)


def FloatTensor(data: _Any) -> Tensor:
    """A tensor of float32."""
    return _lift(_creation.tensor)(data, dtype=float32)


_MODULES = {"accelerator", "amp", "autograd", "backends", "cuda", "distributions", "func", "linalg", "nn", "optim", "utils"}
"""The modules that programs use by their names; the others are parts of this one."""

__getattr__ = _refuse_absent(
    "torch",
    [name for name, thing in globals().items() if name in _MODULES or not (name.startswith("_") or _inspect.ismodule(thing))],
    {"bfloat16": _load_bfloat16},
)
