"""Stage 6 - Functions in place: the numbers of a result written into the storage of a tensor, and its history, where that is right.

Views see what is written. Their history cannot follow, so the result would have wrong gradients: that is refused.
"""

from __future__ import annotations

import dis
import functools
import gc
import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from minitorch.autodiff import LEAF
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.indexing import as_index, basic_view, is_basic
from minitorch.ops.indexing import Put
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor_data import TensorData
from minitorch.torch.promotion import cast, kind_of
from minitorch.torch.wrapping import Wrapper, unwrap, unwrap_names

UNSHARED = 2
"""References to the version of a storage that no other tensor shares: from the data, and from the call that counts them."""


def overwrite(x: Wrapper, out: EngineTensor, depth: int = 1, exempt: Wrapper | None = None) -> None:
    """Replace the numbers of a tensor by those of a result, and its history by the history of the result.

    Args:
        x: The tensor.
        out: The result, of the same shape, in a storage of its own.
        depth: How many frames above is the user's code.
        exempt: A tensor that may share what is written.

    Raises:
        RuntimeError: If that would lose gradients: a leaf, or a tensor that shares elements with another one; or if the shape differs, or the
            dtype cannot hold the result.
    """
    engine = x._engine
    if engine._tensor.shape != out._tensor.shape:
        raise RuntimeError(
            f"a function in place expected a result of shape {engine.shape}, that of the tensor, got {out.shape}; "
            "leave out the underscore for a new tensor"
        )
    if kind_of(out._tensor.dtype) > kind_of(engine._tensor.dtype):
        raise RuntimeError(f"a tensor of {engine.dtype.name} cannot hold a result of {out.dtype.name}; convert it first: x.float()")
    recorded = grad_mode.enabled and (engine.history is not None or out.history is not None)
    if recorded:
        check_recorded(x, depth + 1, exempt)
    values = cast(out, engine._tensor.dtype)
    with no_grad():
        engine.detach()[...] = values.detach()
    if recorded:
        x._engine = engine._like(engine._tensor, values.history)


def check_recorded(x: Wrapper, depth: int, exempt: Wrapper | None) -> None:
    """Check that a tensor can get another history.

    Raises:
        RuntimeError: If it is a leaf that requires gradients, or another tensor shares elements with it, whose history would be wrong.
    """
    engine = x._engine
    if engine.history is LEAF:
        raise RuntimeError("a leaf that requires gradients cannot be changed in place; do it within torch.no_grad()")
    if sys.getrefcount(engine._tensor._version) == UNSHARED:
        return
    others = [other for other in sharers(engine._tensor) if other is not x and other is not exempt]
    if engine.history is not None:  # constants over the same memory, as from detach(), stay constants
        others = [other for other in others if other._engine.history is not None]
    if others and not stored_next(sys._getframe(depth + 1)):
        raise RuntimeError(
            f"a tensor of shape {engine.shape} that shares elements with another one, such as a view, cannot be changed in place while "
            "gradients are recorded, because the history of the other one would be wrong; write x[index] = x[index] + y, or call clone() first"
        )


def sharers(data: TensorData) -> list[Wrapper]:
    """The living Tensors that share elements with a storage at these positions. It searches all of Python's objects: some 50 ms."""
    datas = [found for found in gc.get_referrers(data._version) if type(found) is TensorData and overlap(found, data)]
    engines = [found for found in gc.get_referrers(*datas) if isinstance(found, EngineTensor)]
    return [found for found in gc.get_referrers(*engines) if isinstance(found, Wrapper)] if engines else []


def overlap(a: TensorData, b: TensorData) -> bool:
    """Whether two layouts of one storage have a position in common; when that is too hard to find out, whether their ranges do."""
    if a.offset >= b._end() or b.offset >= a._end():
        return False
    spread = np.empty(max(a._end(), b._end()), np.int8)
    first, second = (np.ndarray(x.shape, np.int8, spread, x.offset, x.strides) for x in (a, b))
    try:
        return np.shares_memory(first, second, max_work=10_000)
    except np.exceptions.TooHardError:
        return True


def stored_next(frame: Any) -> bool:
    """Whether the user's operator belongs to x[index] += y: Python stores its result at the index next, and so in the history of x."""
    return stores_item(frame.f_code, frame.f_lasti)


@functools.lru_cache(1000)
def stores_item(code: CodeType, position: int) -> bool:
    """Whether a store at an index follows the instruction at a position, apart from changes of the order on the stack."""
    following = (each.opname for each in dis.get_instructions(code) if each.offset > position)
    first = next((name for name in following if name not in ("SWAP", "CACHE", "EXTENDED_ARG")), "")
    return first in ("STORE_SUBSCR", "STORE_SLICE")


def in_place(fn: Callable[..., Any], saves: bool = True) -> Callable[..., Any]:
    """A function of the engine's tensors as a method that overwrites its Tensor with the result.

    Args:
        fn: Its first argument is the tensor.
        saves: Whether its gradient needs the tensor as it was: then it gets a copy.
    """

    @functools.wraps(fn)
    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        x = self._engine
        given = [unwrap(arg) for arg in args]
        if saves and grad_mode.enabled and (x.history is not None or any(getattr(arg, "history", None) is not None for arg in given)):
            x = x.clone()
        overwrite(self, fn(x, *given, **unwrap_names(kwargs)))
        return self

    written.__name__ = f"{fn.__name__}_"
    written.__doc__ = f"`{fn.__name__}` in place."
    return written


def set_item(x: Wrapper, index: Any, value: Any) -> None:
    """Write numbers, which broadcast and are converted to the tensor's dtype, at an index."""
    engine, place, given = x._engine, unwrap(index), unwrap(value)
    if isinstance(given, EngineTensor):
        given = cast(given, engine.dtype)
    if grad_mode.enabled and (engine.history is not None or getattr(given, "history", None) is not None):
        place = as_index(place)
        values = given if isinstance(given, EngineTensor) else filled(engine, given)
        exempt = value if isinstance(value, Wrapper) and harmless(engine, place, value) else None
        overwrite(x, Put.apply(engine, place, values), exempt=exempt)
        return
    with no_grad():
        if isinstance(given, EngineTensor):
            given = given.detach()
            if given._tensor._version is engine._tensor._version:  # x[1:] = x[:-1]: read everything before it is written
                given = given.clone()
        elif not isinstance(given, (list, tuple, np.ndarray)):
            given = filled(engine, given)
        engine.detach()[place] = given


def filled(like: EngineTensor, value: Any) -> EngineTensor:
    """A number, or nested lists of numbers, as a constant in the dtype of a tensor, without fractions if that holds integers."""
    values = np.asarray(value)
    values = (
        (values != 0) if like.dtype.kind == "b" else np.trunc(values) if like.dtype.kind in "iu" and values.dtype.kind == "f" else values
    )
    data = TensorData.empty(values.shape, like.dtype)
    data._storage[...] = values.reshape(-1)
    return like._like(data)


def harmless(engine: EngineTensor, place: tuple[Any, ...], value: Wrapper) -> bool:
    """Whether writing a value at an index changes none of its numbers: it is what is there, or lies elsewhere."""
    if not is_basic(place):
        return False
    target, own = basic_view(engine._tensor, place), value._engine._tensor
    same = (target.shape, target.strides, target.offset) == (own.shape, own.strides, own.offset)
    return same or own._version is not target._version or not overlap(target, own)


def names_in_place(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Methods in place of several functions by their names: add_ of add."""
    return {f"{fn.__name__}_": in_place(fn) for fn in functions}
