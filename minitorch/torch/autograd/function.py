"""Stage 7 - torch.autograd.Function: functions with a backward pass of their own, on Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.autograd.engine import RULES
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.creation import cat
from minitorch.core.dtypes import is_float
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor_functions import Function as EngineFunction
from minitorch.torch.autograd.graph import Packed, pack, unpack
from minitorch.torch.tensor import Tensor, as_torch


class FunctionCtx:
    """What forward keeps for backward. Attributes may be set freely.

    Attributes:
        needs_input_grad: For every argument, whether a gradient flows into it.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[Any, ...] = ()
        self._constants: set[int] = set()
        self._versions: tuple[int, ...] = ()
        self._args: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors, or None, for the backward pass."""
        self._saved = tensors
        self._versions = tuple([x._tensor._version[1] if isinstance(x, Tensor) else 0 for x in tensors])

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors.

        Raises:
            RuntimeError: If one has been written into since.
        """
        if any(isinstance(x, Packed) for x in self._saved):
            return tuple([unpack(x, self._args) if isinstance(x, Packed) else x for x in self._saved])
        for x, version in zip(self._saved, self._versions, strict=True):
            if isinstance(x, Tensor) and x._tensor._version[1] != version:
                raise RuntimeError(
                    f"a tensor of shape {tuple(x.shape)} that backward needs has been written into since; write into x.clone()"
                )
        return self._saved

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Say that no gradient flows through these results."""
        self._constants |= {id(x) for x in outputs}

    def set_materialize_grads(self, value: bool) -> None:
        """No effect: the gradient of a result that is not used is always zeros."""

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Not supported.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("a Function that changes its inputs in place is not supported; return a new tensor")


class Function:
    """A differentiable function of Tensors; a subclass defines the static methods `forward` and `backward`, and `apply` calls it.

    `forward(ctx, *args)` returns a Tensor or a tuple; `backward(ctx, *grad_outputs)` gets the gradient of each, and returns one for each
    argument, None for those that are not Tensors. In place of ctx in `forward`, a static method `setup_context(ctx, inputs, output)` may
    save what backward needs.

    Example:
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     def backward(ctx, grad_output):
        ...         (x,) = ctx.saved_tensors
        ...         return grad_output * 3 * x**2
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor(12.)
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The value."""
        raise NotImplementedError("a Function has no forward of its own; define the static method forward(ctx, ...) in the subclass")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of all arguments."""
        raise NotImplementedError("a Function has no backward of its own; define the static method backward(ctx, ...) in the subclass")

    setup_context: Any = None

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the function and record the call.

        Args:
            args: Tensors and other values.
        """
        needed = tuple([isinstance(x, Tensor) and x.history is not None and grad_mode.enabled for x in args])
        ctx = FunctionCtx(needed)
        with no_grad():
            if cls.setup_context is None:
                out = cls.forward(ctx, *args)
            else:
                out = cls.forward(*args)
                cls.setup_context(ctx, args, out)
        outputs = out if isinstance(out, tuple) else (out,)
        call = Call(cls, ctx, args, outputs)
        results = call.record() if any(needed) else [as_torch(x.detach()) if isinstance(x, Tensor) else x for x in outputs]
        made = dict(zip(map(id, outputs), results, strict=True))
        ctx._saved = tuple([made.get(id(x), x) for x in ctx._saved])
        if any(needed):
            ctx._args, ctx._saved = args, tuple([pack(x, args) for x in ctx._saved])
        return tuple(results) if isinstance(out, tuple) else results[0]


class Call:
    """One call of a Function.

    Args:
        fn: The Function.
        ctx: Its context.
        args: Its arguments.
        outputs: Its results, without history.
    """

    def __init__(self, fn: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        self.fn, self.ctx, self.args, self.outputs = fn, ctx, args, outputs
        self.differentiable = [isinstance(x, Tensor) and is_float(x.dtype) and id(x) not in ctx._constants for x in outputs]

    def record(self) -> list[Any]:
        """The results, with this call as their history. Several share one node of the graph, which holds all their elements."""
        chosen = [x.detach() for x, keep in zip(self.outputs, self.differentiable, strict=True) if keep]
        results = [as_torch(x.detach()) if isinstance(x, Tensor) else x for x in self.outputs]
        if not chosen:
            return results
        tensors = [x for x in self.args if isinstance(x, Tensor)]
        if len(chosen) == 1:
            results[self.differentiable.index(True)] = as_torch(Bridge.apply(self, chosen[0], *tensors))
            return results
        joined = Bridge.apply(self, cat([x.reshape(-1) for x in chosen]), *tensors)
        pieces = iter(joined.split([x.numel() for x in chosen]))
        for number, keep in enumerate(self.differentiable):
            if keep:
                x = self.outputs[number]
                results[number] = as_torch(next(pieces).reshape(*x.shape).to(x.dtype))
        return results

    def gradients(self, gradient: EngineTensor) -> list[Any]:
        """The gradients of the Tensors among the arguments.

        Raises:
            RuntimeError: If backward returns more or fewer gradients than there are arguments.
        """
        chosen = [x for x, keep in zip(self.outputs, self.differentiable, strict=True) if keep]
        pieces = iter([gradient] if len(chosen) == 1 else gradient.split([x.numel() for x in chosen]))
        given = []
        for x, keep in zip(self.outputs, self.differentiable, strict=True):
            own = x if isinstance(x, Tensor) else None
            given.append(as_torch(next(pieces).reshape(*own.shape) if keep else own.zeros()) if own is not None else None)
        found = self.fn.backward(self.ctx, *given)
        found = found if isinstance(found, tuple) else (found,)
        while len(found) > len(self.args) and found[-1] is None:  # type: ignore
            found = found[:-1]
        if len(found) != len(self.args):
            name, counts = self.fn.__name__, f"(expected {len(self.args)}, got {len(found)})"
            raise RuntimeError(f"{name}.backward returned a wrong number of gradients {counts}")
        return [None if g is None else g for g, x in zip(found, self.args, strict=True) if isinstance(x, Tensor)]


class Bridge(EngineFunction):
    """A call of a Function in the engine's graph."""

    @staticmethod
    def forward(ctx: Any, call: Call, out: EngineTensor, *tensors: EngineTensor) -> EngineTensor:
        """The result, which is computed already; tensors are the arguments."""
        ctx.save_for_backward(call)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: EngineTensor) -> tuple[Any, ...]:
        """The gradients of the arguments."""
        (call,) = ctx.saved_values
        return (None, None, *call.gradients(grad_output))


def bridge_rule(ctx: Any, out: EngineTensor, gradient: EngineTensor) -> tuple[Any, ...]:
    """The gradients, recorded: backward consists of functions of Tensors."""
    return Bridge.backward(ctx, gradient)


RULES[Bridge] = bridge_rule


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward whose gradients are not differentiated again: they are constants."""

    @functools.wraps(fn)
    def backward(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            return fn(ctx, *grads)

    return backward
