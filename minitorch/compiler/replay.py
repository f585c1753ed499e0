"""Stage 5 - Replay: a recorded function of tensors as one differentiable function."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from minitorch.compiler.nesting import copy_numbers
from minitorch.compiler.program import run
from minitorch.core.context import grad_mode
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Function


class Token:
    """Kept alive by a result whose backward pass has not run yet; as long as it lives, the buffers are needed."""


class Replay(Function):
    """A recorded function of tensors as one differentiable function."""

    @staticmethod
    def forward(ctx: Any, recording: Any, tensors: Sequence[Tensor], *leaves: Tensor) -> Tensor:
        """Run the first part of the program; the leaves are what it depends on."""
        output, *recording._others = recording._step(*tensors)
        token = Token()
        recording._token = weakref.ref(token)
        ctx.save_for_backward(recording, token)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        """Run the second part."""
        recording, token = ctx.saved_values
        if grad_mode.enabled:  # autograd records the operations of the backward pass, and kernels are not operations
            raise RuntimeError(
                f"gradients of gradients do not flow through a compiled function; differentiate {recording.name} itself: compiled.fn"
            )
        if recording._token is None or recording._token() is not token:
            raise RuntimeError(
                "the backward pass of a compiled function runs once, because its buffers are used again; call the function again"
            )
        recording._token = None
        copy_numbers(recording._seed, grad_output)
        run(recording.backward_calls)
        return (None, None, *recording._new_gradients())
