"""Stage 7 - torch.utils.swap_tensors: two tensors exchange what they are."""

from __future__ import annotations

from typing import Any

from minitorch.torch.tensor import Tensor


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange two tensors: numbers, class, gradient, history and attributes. Whoever has one of them, then has the other.

    Args:
        t1: A Tensor of any shape, or a Parameter.
        t2: Another, of any shape.

    Raises:
        TypeError: If one is not a Tensor.
        RuntimeError: If one is a view or has views, which would not know.

    Example:
        >>> a, b = torch.tensor([1]), torch.tensor([2, 3])
        >>> torch.utils.swap_tensors(a, b)
        >>> a
        tensor([2, 3])
    """
    for x in (t1, t2):
        if not isinstance(x, Tensor):
            raise TypeError(f"swap_tensors expected two Tensors, got {type(x).__name__}")
        if x._base is not None or any(view() is not None for view in x._views or ()):
            raise RuntimeError("swap_tensors expected tensors without views, got a view or the base of one; copy it with clone()")
    slots = [name for kind in Tensor.__mro__ for name in getattr(kind, "__slots__", ()) if name not in ("__dict__", "__weakref__")]
    first, second = ({name: getattr(x, name) for name in slots if hasattr(x, name)} for x in (t1, t2))
    t1.__class__, t2.__class__ = type(t2), type(t1)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for x, own, other in ((t1, first, second), (t2, second, first)):
        for name in own.keys() - other.keys():
            delattr(x, name)
        for name, value in other.items():
            setattr(x, name, value)
