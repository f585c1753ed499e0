"""Stage 7 - What functions and layers under PyTorch's names share: options that are refused, `inplace`, and layers made from functions."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from minitorch.nn.module import Module
from minitorch.tensor import Tensor


def refuse_unless(op: str, **options: tuple[Any, Any]) -> None:
    """Raise NotImplementedError if an option, given as (value, only supported value), has another value."""
    for name, (value, supported) in options.items():
        if value != supported and not (isinstance(supported, tuple) and value in supported):
            raise NotImplementedError(f"{op} supports {name}={supported!r} only, got {value!r}; leave {name} out")


def resolve_reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction of a loss, from PyTorch's older arguments if they are given."""
    if size_average is None and reduce is None:
        return reduction
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def replace(input: Any, out: Tensor, inplace: bool) -> Any:
    """The result of a function that saves none of the numbers of input; with inplace, input becomes it."""
    if not inplace:
        return out
    input._become(out, "a function with inplace=True")
    return input


def importing_module() -> str:
    """The module that is being imported: where a class or function that a helper makes belongs, and where pickle looks for it."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_globals["__name__"]


def with_inplace(fn: Callable[..., Tensor]) -> Callable[..., Any]:
    """A function with a further argument `inplace`, after the others."""
    signature = inspect.signature(fn)
    option = inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=bool)
    position = len(signature.parameters)

    @functools.wraps(fn)
    def function(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) == position:
            *args, inplace = args  # type: ignore[assignment]  # a list is as good
        if inplace:
            return input._apply_in_place(fn, f"{fn.__name__} with inplace=True", *args, **kwargs)
        return fn(input, *args, **kwargs)

    function.__module__ = importing_module()
    function.__doc__ = f"{inspect.getdoc(fn)}\n\nWith inplace=True, input becomes the result."
    function.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    return function


def layer(
    name: str,
    fn: Callable[..., Any],
    *arguments: str,
    buffers: tuple[str, ...] = (),
    shown: str | None = None,
    check: Callable[..., object] | None = None,
    base: type[Module] = Module,
    **defaults: Any,
) -> Any:
    """Make a layer of a function: its `forward` calls it with the layer's arguments as keywords, and with its `training`.

    Args:
        name: Name of the layer.
        fn: The function of tensors and options.
        arguments: Names of the layer's arguments, in PyTorch's order; by default those of fn that have a default, or are in defaults.
        buffers: Those that are tensors.
        shown: The repr of the arguments, with their names in braces; by default all as name=value, inplace only where it is True.
        base: Base class of the layer; its constructor is not called.
        check: Called with the arguments as keywords when a layer is made; raises an error for what is invalid.
        defaults: Defaults of the arguments, where they differ from those of fn; `inspect.Parameter.empty` for none.
    """
    given = inspect.signature(fn).parameters
    names = arguments or tuple(x for x, p in given.items() if (p.default is not p.empty or x in defaults) and x != "training")
    own = {x: given[x].default if x in given else None for x in names} | defaults
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, kind, default=own[each]) for each in names])
    older = [each for each in ("size_average", "reduce") if each in names]
    options = [each for each in names if each not in older]
    passed = [*options, *(["training"] if "training" in given else [])]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}{signature}: {error}") from None
        bound.apply_defaults()
        values = bound.arguments
        if older:
            values["reduction"] = resolve_reduction(values["reduction"], *[values.pop(each) for each in older])
        if check is not None:
            check(**values)
        for each, value in values.items():
            if each in buffers:
                self.register_buffer(each, value)
            else:
                setattr(self, each, value)

    def extra_repr(self: Any) -> str:
        """The layer's arguments as name=value, or as `shown` says."""
        if shown is not None:
            return shown.format(**vars(self))
        return ", ".join(f"{x}={getattr(self, x)!r}" for x in options if not (x in buffers or (x == "inplace" and not self.inplace)))

    def forward(self: Any, *tensors: Any) -> Any:
        return fn(*tensors, **{each: getattr(self, each) for each in passed})

    doc = inspect.getdoc(fn) or ""
    source = (
        doc[doc.index("\n\nSource:") :].removesuffix("With inplace=True, input becomes the result.").rstrip()
        if "\n\nSource:" in doc
        else ""
    )
    forward.__doc__ = f"Return `{fn.__name__}` of the arguments, with the layer's options."
    members = {"__init__": __init__, "extra_repr": extra_repr, "forward": forward, "__module__": importing_module()}
    made = type(name, (base,), members | {"__doc__": f"{doc.splitlines()[0]} See `{fn.__name__}`.{source}"})
    made.__signature__ = signature  # type: ignore[attr-defined]  # what help() shows
    return made
