"""Stage 6 - torch.nn.init: initial values, written into tensors in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import minitorch.nn.init as engine
from minitorch.nn.init import calculate_gain as calculate_gain
from minitorch.torch.tensor import Tensor


def _in_place(fn: Callable[..., Any]) -> Callable[..., Tensor]:
    """An initializer of the engine as one of Tensors."""

    @functools.wraps(fn)
    def function(tensor: Tensor, *args: Any, generator: None = None, **kwargs: Any) -> Tensor:
        if generator is not None:
            raise NotImplementedError(f"{fn.__name__} supports generator=None only; seed the global one with torch.manual_seed")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{fn.__name__} expected a Tensor, got {type(tensor).__name__}; pass layer.weight")
        fn(tensor, *args, **kwargs)
        return tensor

    return function


uniform_, normal_, constant_ = _in_place(engine.uniform_), _in_place(engine.normal_), _in_place(engine.constant_)
zeros_, ones_, eye_, dirac_ = _in_place(engine.zeros_), _in_place(engine.ones_), _in_place(engine.eye_), _in_place(engine.dirac_)
xavier_uniform_, xavier_normal_ = _in_place(engine.xavier_uniform_), _in_place(engine.xavier_normal_)
kaiming_uniform_, kaiming_normal_ = _in_place(engine.kaiming_uniform_), _in_place(engine.kaiming_normal_)
trunc_normal_, orthogonal_ = _in_place(engine.trunc_normal_), _in_place(engine.orthogonal_)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """fan_in and fan_out of weights."""
    return engine.fans(tensor.shape)
