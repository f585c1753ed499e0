"""Stage 2 - Differentiable functions of tensors, each with its forward and backward pass.

`forward` computes with the backend of its inputs (`a.f`); `backward` takes the gradient of the output and returns that of every input.
`a._like(data)` is a tensor of this data on the backend of a.
"""

from __future__ import annotations

from typing import Any

from minitorch.autodiff import Context, History
from minitorch.core import math_operators
from minitorch.core.context import TensorContext, grad_mode
from minitorch.core.dtypes import comparison_dtype
from minitorch.core.tensor_base import Tensor, TensorBase
from minitorch.tensor_data import IndexingError, version_counter


class Function:
    """A differentiable function of tensors. It has no instances: a subclass is the function, and `apply` calls it.

    Arguments that are not tensors (a dimension, a shape, an order) are passed on unchanged and take no gradient.
    """

    @classmethod
    def apply(cls, *args: Any) -> Tensor:
        """Call the function and record the call for backpropagation.

        Args:
            args: Tensors of one backend, and plain values.

        Raises:
            TypeError: If no argument is a tensor, or forward does not return one.
            RuntimeError: If the tensors have different backends.
            IndexingError: If their shapes are incompatible.
        """
        backend, inputs, recorded, mixed = None, [], False, False
        for arg in args:
            if isinstance(arg, TensorBase):
                inputs.append(arg)
                if arg.history is not None:
                    recorded = True
                if backend is None:
                    backend, like = arg.backend, arg
                    continue
                if arg._plain is not like._plain:
                    mixed, like = True, arg if issubclass(arg._plain, like._plain) else like
                if arg.backend is not backend and arg.backend.ops is not backend.ops:
                    raise RuntimeError(
                        f"{cls.__name__} expected tensors of one backend, got {backend.name} and {arg.backend.name}; "
                        "move one of them: x.to(y.backend)"
                    )
        if backend is None:
            raise TypeError(
                f"{cls.__name__}.apply expected a Tensor, got {', '.join(map(repr, args)) or 'nothing'}; make one with tensor(...)"
            )
        recorded = recorded and grad_mode.enabled
        ctx = TensorContext.__new__(TensorContext)  # saves the call of __init__ in every operation
        ctx.fn, ctx.args, ctx.no_grad, ctx._saved = cls, args, not recorded, ()
        if recorded:
            ctx.recorded_at = next(version_counter)
            grad_mode.enabled = False  # the function is recorded, not the calls within forward
        try:
            out = cls.forward(ctx, *args)
        except IndexingError as error:
            raise IndexingError(f"{cls.__name__}: {error}") from error
        finally:
            if recorded:
                grad_mode.enabled = True
        if not isinstance(out, TensorBase):
            raise TypeError(f"{cls.__name__}.forward expected to return a Tensor, got {out!r}")
        if mixed:  # of the class and of a subclass: the result is one of the subclass
            out = like._like(out._tensor, out.history, out.backend)
        if not recorded:
            for arg in args:
                if arg is out:  # a new tensor: changing its name, for example, must not change the argument's
                    return out.detach()
            return out if out.history is None else out.detach()
        return out._like(out._tensor, History(cls, ctx, inputs))

    @staticmethod
    def forward(ctx: Context, *args: Any) -> Tensor:
        """The value; saves in ctx what the backward pass needs."""
        raise RuntimeError("a Function has no forward of its own; define forward(ctx, ...) in the subclass")

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Any:
        """The gradients of all arguments, in order; a single one for a single argument. Those of plain values may be left out.

        A gradient may have the shape that its argument was broadcast to, or one that broadcasts to it; None means no gradient.
        """
        raise RuntimeError("a Function has no backward of its own; define backward(ctx, grad_output) in the subclass")

    @classmethod
    def _forward(cls, ctx: Context, *args: Any) -> Tensor:
        """`forward`, under the name that solutions to the published course call."""
        return cls.forward(ctx, *args)

    @classmethod
    def _backward(cls, ctx: Context, grad_output: Tensor) -> tuple[Any, ...]:
        """`backward`, its result always a tuple.

        Raises:
            RuntimeError: If the function defines none.
        """
        if cls.backward is Function.backward:
            raise RuntimeError(f"{cls.__name__} has no gradient: it defines no backward; call x.detach() before it")
        gradients = cls.backward(ctx, grad_output)
        return tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)


# Element by element


class Neg(Function):
    """-a."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        return a.f.neg_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output.f.neg_map(grad_output)


class Inv(Function):
    """1 / a."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.inv_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output.f.inv_back_zip(a, grad_output)


class Add(Function):
    """a + b."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        return a.f.add_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        return grad_output, grad_output


class Mul(Function):
    """a · b, element by element."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.mul_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_values
        grad_a = None if a.history is None else grad_output.f.mul_zip(grad_output, b)
        grad_b = None if b.history is None else grad_output.f.mul_zip(grad_output, a)
        return grad_a, grad_b


class Sigmoid(Function):
    """1 / (1 + e^-a)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.sigmoid_map(a)
        ctx.save_for_backward(y)  # d sigmoid = y · (1 - y): the output is enough
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return grad_output * y * (1.0 - y)


class ReLU(Function):
    """a where it is positive, else 0."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.relu_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output.f.relu_back_zip(a, grad_output)


class Log(Function):
    """Natural logarithm, ln(a + EPS)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.log_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output.f.log_back_zip(a, grad_output)


class Exp(Function):
    """e^a, the exponential."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.exp_map(a)
        ctx.save_for_backward(y)  # its own derivative
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return grad_output.f.mul_zip(grad_output, y)


# Comparisons: their derivatives are 0 wherever they exist


class LT(Function):
    """Whether a < b, as bool."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.lt_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a_shape, b_shape = ctx.saved_values
        return grad_output.zeros(a_shape), grad_output.zeros(b_shape)


class EQ(Function):
    """Whether a == b, as bool; NaN equals nothing."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.eq_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a_shape, b_shape = ctx.saved_values
        return grad_output.zeros(a_shape), grad_output.zeros(b_shape)


class IsClose(Function):
    """Whether a and b are less than 1e-2 apart, as bool; it has no gradient."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        return a.f.is_close_zip(a, b)


# Reductions


class Sum(Function):
    """Sum along one dimension, which keeps size 1."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(a.shape)
        return a.f.add_reduce(a, dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (shape,) = ctx.saved_values
        return grad_output.expand(*shape)  # every element contributes once


class All(Function):
    """Whether all elements along one dimension, which keeps size 1, are true (not 0), as bool; it has no gradient."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        return a.f.reduce(math_operators.logical_and, 1.0, comparison_dtype)(a, dim)


# Layout: the same elements in another view or storage


class Permute(Function):
    """The dimensions in another order: a view."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, order: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(order)
        return a._like(a._tensor.permute(*order))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (order,) = ctx.saved_values
        inverse = sorted(range(len(order)), key=order.__getitem__)  # the position of each dimension in the result
        return grad_output.permute(*inverse)


class View(Function):
    """The same elements in the same order with another shape: a view; the elements must be contiguous."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(a.shape)
        return a._like(a._tensor.reshape(shape))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (shape,) = ctx.saved_values
        return grad_output._like(grad_output.contiguous()._tensor.reshape(shape))  # the gradient may have any strides


class Copy(Function):
    """The same elements in a new, contiguous storage."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        return a.f.id_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output


class MatMul(Function):
    """Matrix product over the last two dimensions; the dimensions before them broadcast."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        a_shape, b_shape = a._tensor.shape, b._tensor.shape
        if len(a_shape) < 2 or len(b_shape) < 2 or a_shape[-1] != b_shape[-2]:
            raise ValueError(
                f"matmul expected shapes (…, n, k) and (…, k, m), got {a_shape} and {b_shape}; "
                "the last size of the first must be the last but one of the second"
            )
        ctx.save_for_backward(a, b)
        return a.f.matrix_multiply(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_values
        product = grad_output.f.matrix_multiply
        grad_left = product(grad_output, transpose_last_two(right)) if left.requires_grad else None
        grad_right = product(transpose_last_two(left), grad_output) if right.requires_grad else None
        return grad_left, grad_right


def transpose_last_two(matrices: Tensor) -> Tensor:
    """The last two dimensions swapped: a view, without the checks of `transpose`."""
    data = matrices._tensor
    (*batch, rows, columns), (*batch_strides, row_stride, column_stride) = data.shape, data.strides
    return matrices._like(data.as_view((*batch, columns, rows), (*batch_strides, column_stride, row_stride), data.offset))
