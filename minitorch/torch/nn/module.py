"""Stage 6 - The adapter that gives layers the interface of PyTorch where they still lack it."""

from __future__ import annotations

from typing import Any

from minitorch.nn.module import Module as Module


def adapt(layer: type) -> Any:
    """A class whose constructor ends by initializing the parameters as PyTorch does, by a method `reset_parameters` of a subclass."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        layer.__init__(self, *args, **kwargs)
        self.reset_parameters()

    members: dict[str, Any] = {"__init__": __init__, "__doc__": layer.__doc__, "__module__": "minitorch.torch.nn"}
    if not hasattr(layer, "reset_parameters"):
        members["reset_parameters"] = lambda self: None
    return type(layer.__name__, (layer,), members)
