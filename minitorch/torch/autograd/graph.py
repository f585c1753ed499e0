"""Stage 7 - torch.autograd.graph: hooks that pack what functions save for the backward pass, and unpack it there.

Within `saved_tensors_hooks`, `save_for_backward` is replaced; outside, it costs nothing. A hook does not free memory by itself: here, a
node of the graph refers to its inputs as well, whatever was saved.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from minitorch.autodiff import History
from minitorch.autograd.checkpoints import Checkpoint, Part
from minitorch.autograd.double_backward import Alias
from minitorch.core.context import TensorContext, no_grad
from minitorch.core.tensor_base import TensorBase
from minitorch.torch.absent import defined, refuse_absent


class State(threading.local):
    """The hooks of a thread.

    Attributes:
        stack: Pairs of hooks, the innermost last; None where hooks are suspended.
        disabled: The message of the error that `saved_tensors_hooks` raises; None if it is allowed.
    """

    def __init__(self) -> None:
        self.stack: list[saved_tensors_hooks | None] = []
        self.disabled: str | None = None


_state = State()
_lock = threading.Lock()
_original: Any = TensorContext.save_for_backward
_active = 0


class Packed(NamedTuple):
    """A saved tensor, packed.

    Attributes:
        value: What the hook returned.
        unpack: The hook that makes a tensor of it.
        position: The tensor's position among the arguments of its function; None if it is not one.
    """

    value: Any
    unpack: Callable[[Any], Any]
    position: int | None


class HookedContext(TensorContext):
    """The context of a function whose saved tensors are packed."""

    __slots__ = ()

    @property
    def saved_values(self) -> tuple[Any, ...]:  # type: ignore[override]  # a field in Context
        """The saved values, unpacked; a write into one since then is not detected."""
        return tuple([unpack(value, self.args) if isinstance(value, Packed) else value for value in self._saved])


def pack(value: Any, args: Any = ()) -> Any:
    """A value that a function of args saves; a tensor is packed by the innermost hooks. Raises RuntimeError if they write into it."""
    hooks = _state.stack[-1] if _state.stack else None
    if hooks is None or not isinstance(value, TensorBase):
        return value
    version = value._tensor._version[1]
    with no_grad():
        packed = hooks.pack_hook(value)
    if value._tensor._version[1] != version:
        raise RuntimeError("the pack_hook of saved_tensors_hooks wrote into the tensor that it was given; write into a copy: x.clone()")
    return Packed(packed, hooks.unpack_hook, next((i for i, arg in enumerate(args) if arg is value), None))


def unpack(packed: Packed, args: Any = ()) -> Any:
    """The tensor that the hook makes of a packed one, with the history of the argument that was packed.

    Raises:
        TypeError: If the hook returns anything else.
    """
    found = packed.unpack(packed.value)
    if not isinstance(found, TensorBase):
        raise TypeError(f"the unpack_hook of saved_tensors_hooks expected to return a Tensor, got {type(found).__name__}")
    source = None if packed.position is None else args[packed.position]
    if source is None or found is source or source.history is None:
        return found
    return source._like(found._tensor, History(Alias, TensorContext(Alias, (source,), False), [source]))


def _save_for_backward(self: TensorContext, *values: Any) -> None:
    """`TensorContext.save_for_backward` while there are hooks."""
    if not self.no_grad and _state.stack and self.fn not in (Checkpoint, Part):
        values = tuple([pack(value, self.args) for value in values])
        if any(isinstance(value, Packed) for value in values):
            self.__class__ = HookedContext
    _original(self, *values)


class saved_tensors_hooks:
    """Pack every tensor that a function within the block saves, and unpack it in the backward pass.

    A function may save other tensors than in PyTorch. Only the innermost of nested hooks are called. A write in place into a packed tensor
    is not detected.

    Args:
        pack_hook: Takes a tensor and returns anything; it must not write into the tensor.
        unpack_hook: Takes what pack_hook returned, and returns a tensor with the values of the original.

    Raises:
        TypeError: If a hook is not callable.
        RuntimeError: When the block is entered, if hooks are disabled.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy(), torch.from_numpy):
        ...     y = (x * 3).sum()
        >>> y.backward()
        >>> x.grad
        tensor([3., 3.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks expected two functions, got {type(hook).__name__}")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _state.disabled is not None:
            raise RuntimeError(_state.disabled)
        _push(self)

    def __exit__(self, *error: object) -> None:
        _pop()


def _push(hooks: saved_tensors_hooks | None) -> None:
    """Add hooks to those of this thread."""
    global _active
    with _lock:
        _active += 1
        TensorContext.save_for_backward = _save_for_backward  # type: ignore[method-assign]
    _state.stack.append(hooks)


def _pop() -> None:
    """Remove the innermost hooks."""
    global _active
    _state.stack.pop()
    with _lock:
        _active -= 1
        if not _active:
            TensorContext.save_for_backward = _original  # type: ignore[method-assign]


@contextmanager
def suspended() -> Iterator[None]:
    """Call no hooks within the block: in a checkpoint, whose graph is made a second time in the backward pass."""
    if not _state.stack:
        yield
        return
    _push(None)
    try:
        yield
    finally:
        _pop()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU, and move them back to their device in the backward pass.

    It frees no memory of the device while the graph refers to the same tensors as inputs of its functions; use `checkpoint` for that.

    Args:
        pin_memory: No effect.
        device_type: No effect: a tensor returns to where it was.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda x: (x.backend, x.cpu()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Raise an error where the block enters `saved_tensors_hooks`.

    Args:
        error_message: The text of the RuntimeError.
    """
    before = _state.disabled
    _state.disabled = error_message
    try:
        yield
    finally:
        _state.disabled = before


__getattr__ = refuse_absent(
    "torch.autograd.graph", [name for name in defined(globals()) if name.endswith("hooks") or name == "save_on_cpu"]
)
