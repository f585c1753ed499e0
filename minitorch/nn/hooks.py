"""Stage 7 - Hooks of modules: the gradients of a module's inputs and outputs, seen and replaced in the backward pass.

The gradients of several tensors arrive one after the other. Here the tensors are joined to one vector and split again, so that all
gradients arrive at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.creation import cat
from minitorch.tensor import Tensor as EngineTensor
from minitorch.torch.tensor import Tensor, as_torch


class KeywordsKey:
    """Key of a hook that takes the keyword arguments of the call, too."""


class BackwardHooks:
    """One call of a module with backward hooks.

    Args:
        module: The module.
        hooks: The functions; see `Module.register_full_backward_hook`.
    """

    def __init__(self, module: Any, hooks: Sequence[Callable[..., Any]]) -> None:
        self.module, self.hooks = module, hooks
        self.grad_outputs: tuple[Tensor | None, ...] = ()
        self.arguments, self.has_gradients = 0, False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments, from here on with hooks."""
        self.arguments = len(args)
        made, self.has_gradients = _observe(args, self._replace_inputs)
        return made

    def leave(self, output: Any) -> Any:
        """The output, a Tensor or a tuple or list of them, with hooks."""
        if isinstance(output, (tuple, list)):
            return type(output)(_observe(output, self._keep_outputs)[0])
        return _observe((output,), self._keep_outputs)[0][0]

    def _keep_outputs(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Keep the gradients of the outputs; call the hooks if no input has a gradient."""
        self.grad_outputs = gradients
        if not self.has_gradients:
            self._replace_inputs((None,) * self.arguments)
        return gradients

    def _replace_inputs(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Call the hooks with the gradients of the inputs and return what they leave of them.

        Raises:
            RuntimeError: If a hook returns another number of gradients.
        """
        for hook in self.hooks:
            result = hook(self.module, gradients, self.grad_outputs)
            if result is not None:
                replaced = result if isinstance(result, tuple) else (result,)
                if len(replaced) != len(gradients):
                    raise RuntimeError(f"a backward hook expected to return {len(gradients)} gradients, got {len(replaced)}")
                gradients = replaced
        return gradients


def _observe(values: Sequence[Any], hook: Callable[..., Any]) -> tuple[tuple[Any, ...], bool]:
    """Values whose tensors that require gradients pass them through a function, all at once.

    Args:
        values: Tensors and other objects.
        hook: Takes the gradients, None for what has none, and returns their replacements.

    Returns:
        The values, and whether one requires gradients.

    Raises:
        NotImplementedError: If the tensors have several dtypes.
    """
    places = [place for place, value in enumerate(values) if isinstance(value, EngineTensor) and value.requires_grad]
    if not places:
        return tuple(values), False
    engines = [values[place] for place in places]
    if len({x.dtype for x in engines}) > 1:
        raise NotImplementedError(f"backward hooks support tensors of one dtype only, got {', '.join(x.dtype.name for x in engines)}")
    shapes, made = [x.shape for x in engines], list(values)
    joined = cat([x.reshape(-1) for x in engines])

    def observe(gradient: EngineTensor) -> EngineTensor:
        given: list[Any] = [None] * len(values)
        for place, part in zip(places, _split(gradient, shapes), strict=True):
            given[place] = as_torch(part)
        result = hook(tuple(given))
        return cat([result[place].reshape(-1) for place in places])

    joined.register_hook(observe)
    for place, part in zip(places, _split(joined, shapes), strict=True):
        made[place] = as_torch(part) if isinstance(values[place], Tensor) else part
    return tuple(made), True


def _split(joined: EngineTensor, shapes: list[tuple[int, ...]]) -> list[EngineTensor]:
    """The tensors that were joined to one vector."""
    parts, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        parts.append(joined[start : start + size].reshape(*shape))
        start += size
    return parts
