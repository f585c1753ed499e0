"""Stage 7 - torch.compile: functions of Tensors, modules and whole training steps, recorded once and replayed by the engine's compiler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import minitorch.compiler.compiled as engine
from minitorch.torch.promotion import get_default_dtype

RECORDINGS = 8
"""How many recordings of a function are kept, for different shapes, before it runs as it is."""


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str = "inductor",
    mode: str | None = None,
    options: None = None,
    disable: bool = False,
) -> Any:
    """Record a function once and replay its kernels from then on, without the Python in between; see `minitorch.compile`.

    Args:
        model: A function of Tensors, a Module, or a whole training step with `backward` and `optimizer.step` in it. Left out: a decorator
            with these options.
        fullgraph: Whether a function that cannot be recorded raises an error; otherwise it runs as it is, after a warning.
        dynamic: None or False: a further shape is recorded anew.
        backend: "inductor", the name of PyTorch's own; here the kernels of the engine.
        mode: None or "default".
        options: None.
        disable: Whether to return the function as it is.

    Raises:
        NotImplementedError: If an option has another value.
        TypeError: If model cannot be called.
    """
    for name, value, accepted in (
        ("dynamic", dynamic, (None, False)), ("backend", backend, ("inductor",)), ("mode", mode, (None, "default")),
        ("options", options, (None,)),
    ):  # fmt: skip
        if value not in accepted:
            raise NotImplementedError(f"compile supports {name}={' or '.join(map(repr, accepted))} only, got {value!r}; leave it out")
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, disable=disable)
    if not callable(model):
        raise TypeError(f"compile expected a function or a Module, got {type(model).__name__}; pass the function itself, not its result")
    return model if disable else Compiled(model, "error" if fullgraph else "eager", True, 0, RECORDINGS, True)


class Compiled(engine.Compiled):
    """A compiled function of Tensors. Attributes that it lacks are those of the function: `model.parameters()`."""

    _way_out = "leave out fullgraph"
    _more = "Call it with fewer shapes, such as batches of one size: drop_last=True"

    _dtype = None  # the default dtype of the recordings

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay a recording that fits, or record the call."""
        if self._eager:
            return self.fn(*args, **kwargs)
        if self._dtype is not get_default_dtype():
            self._forget_all()
        return super().__call__(*args, **kwargs)

    def _forget_all(self) -> None:
        """Record anew: new tensors of the function have another dtype now."""
        with self._lock:
            self._recordings.clear()
            self.__dict__.update(_latest=None, _dtype=get_default_dtype())
