"""Probes on a hand-in of the original MiniTorch course in its own package: what the names that probes use are called there.

Probes are written for the package of this course. Where the original one has another name, another order of arguments or none, the child
calls a function of `grading/original_support.py` instead, which does the same with what that package has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from course.manifest import ROOT

SUPPORT = Path(__file__).parent.parent / "grading" / "original_support.py"
"""The module that the child imports beside the hand-in's package."""

LIMITS = ROOT / "minitorch/cuda_limits.py"
"""The module of this course's package that it imports from there, too."""

MODULE = SUPPORT.stem

FUNCTIONAL = ("Max.apply", "argmax", "avgpool2d", "dropout", "logsoftmax", "max", "maxpool2d", "softmax", "tile")

NAMES = {
    "minitorch:tensor": "tensor",
    "minitorch:SimpleBackend": "SimpleBackend",
    "minitorch:FastBackend": "FastBackend",
    "minitorch:cuda_backend": "cuda_backend",
    "minitorch:manual_seed": "manual_seed",
    "minitorch.autodiff:topological_sort": "variables",
    "minitorch.tensor:Tensor": "tensor_of",
    "minitorch.tensor_data:TensorData": "tensor_data",
    "minitorch.tensor_data:to_index": "to_index",
    "minitorch.tensor_data:index_to_position": "index_to_position",
    "minitorch.tensor_data:broadcast_index": "broadcast_index",
    "minitorch.tensor_data:shape_broadcast": "shape_broadcast",
    "minitorch.tensor_ops:tensor_map": "plain_map",
    "minitorch.tensor_ops:tensor_zip": "plain_zip",
    "minitorch.tensor_ops:tensor_reduce": "plain_reduce",
    "minitorch.fast_ops:callable_from_kernels": "compiled",
    "minitorch.fast_ops:TextbookKernel": "with_arrays",
    "minitorch.kernels.jit:compiler_is_off": "compiler_is_off",
    "minitorch.kernels.cuda.device:number_function": "device_function",
    "minitorch.kernels.cuda.device:jit": "cuda_jit",
    "minitorch.kernels.cuda.device:launch": "launch",
    "minitorch.kernels.cuda.device:blocks_for": "blocks_for",
    "minitorch.cuda_ops:THREADS_PER_BLOCK": "THREADS_PER_BLOCK",
    "minitorch.cuda_ops:REDUCE_BLOCK": "REDUCE_BLOCK",
    "minitorch.cuda_ops:BLOCK_DIM": "BLOCK_DIM",
    **{f"minitorch.nn.functional:{name}": f"nn_{name.partition('.')[0]}" for name in FUNCTIONAL},
}
"""Names of this course, with the functions and values of the support module that stand for them."""

ATTRIBUTES = {"offset": "offset", "_version": "version", "requires_grad_": "requires_grad", "to": "move_to", "reduce": "reduce_of"}
"""Attributes that the original package lacks or that differ there, with functions of the support module that compute them."""

_active: ContextVar[bool] = ContextVar("own_package", default=False)


def in_own_package() -> bool:
    """Whether the current probes run on a hand-in in its own package."""
    return _active.get()


@contextlib.contextmanager
def use_own_package() -> Iterator[None]:
    """Run probes on a hand-in in its own package."""
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


def support(name: str) -> str:
    """A function of the support module, as probes find it."""
    return f"{MODULE}:{name}"


def actual_name(name: str) -> str:
    """The name to look for in place of a name of this course."""
    return support(NAMES[name]) if in_own_package() and name in NAMES else name
