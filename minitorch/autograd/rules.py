"""Stage 7 - Rules: the gradients of the library's functions as tensor operations, which can be differentiated again.

A function's own backward is written for speed and calls kernels, which are not recorded. A rule computes the same from the
arguments and the result (`out`), in one of four ways:

* by an expression (`Rule`);
* for a *linear* function, the gradient of its gradient is the function itself (`LinearGradient`);
* for a *bilinear* function, such as a convolution, the same holds for each argument (`ArgumentGradient`);
* a fused function is recomputed from the operations that it replaces (`composed_gradients`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minitorch.core.layout_functions as layout
import minitorch.core.math_functions as more
import minitorch.core.reductions as reductions
import minitorch.fast_conv as course
import minitorch.kernels.pool as pool
import minitorch.kernels.softmax as softmax
import minitorch.nn.functional as functional
import minitorch.nn.losses as losses
import minitorch.nn.pooling as pooling
import minitorch.nn.regression_losses as regression_losses
import minitorch.tensor_functions as basic
from minitorch.autodiff import Context
from minitorch.autograd.double_backward import Alias, OnceDifferentiable
from minitorch.autograd.engine import RULES, Rule, check_unmodified, composed_gradients
from minitorch.core.context import TensorContext
from minitorch.core.creation import cat, stack
from minitorch.core.dtypes import promote_to_float
from minitorch.core.math_functions import ExactLog, MaskedSelect
from minitorch.nn.convolution import Convolution, input_gradient, weight_gradient
from minitorch.nn.embeddings import Lookup
from minitorch.nn.linears import BiasReLU
from minitorch.nn.padding import ConstantPad
from minitorch.nn.resizing import Fold2d, Unfold2d
from minitorch.operators import EPS
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

# Functions whose own backward consists of tensor operations on the arguments


def record_own_backward(fn: type[Function]) -> Rule:
    """The function's backward, recorded."""
    return lambda ctx, out, grad: fn._backward(ctx, grad)


DIFFERENTIABLE_BACKWARDS = (
    basic.Sum, basic.Permute, basic.LT, basic.EQ, more.LE, more.NE, more.Sin, more.Cos, layout.Expand, layout.Cat, layout.Cast, layout.Move,
    ExactLog, Alias, OnceDifferentiable, ConstantPad, Unfold2d, Fold2d,
)  # fmt: skip


# By an expression


def mul_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of a · b."""
    a, b = ctx.saved_values
    return grad * b if a.requires_grad else None, grad * a if b.requires_grad else None


def matmul_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of a @ b."""
    a, b = ctx.saved_values
    return grad @ b.transpose(-1, -2) if a.requires_grad else None, a.transpose(-1, -2) @ grad if b.requires_grad else None


def pow_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of a ** b; the one with respect to b uses ln a, and is 0, infinite or NaN as in `Pow`."""
    a, b, _ = ctx.saved_values
    grad_a = grad_b = None
    if ctx.needs_input_grad[0]:
        fixed = (b.detach() == 0) & ((a.detach() == 0) | (a.detach() != a.detach()))  # 1 for every a
        grad_a = MaskedSelect.apply(grad * b * a.where(~fixed, 1.0) ** (b - 1.0), ~fixed)
    if ctx.needs_input_grad[1]:
        base, exponent = a.detach(), b.detach()
        logarithm = ExactLog.apply(a.where(base > 0, 1.0))
        logarithm = (base * 0 - float("inf")).where((base == 0) & (exponent < 0), logarithm)
        grad_b = grad * (base * 0 + float("nan")).where(base < 0, logarithm) * out
    return grad_a, grad_b


def abs_rule(ctx: Any, out: Tensor, grad: Tensor) -> Tensor:
    """Gradient of |a|."""
    a = ctx.saved_values[0].detach()
    return grad * ((a > 0).to(grad.dtype) - (a < 0).to(grad.dtype))


def where_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[None, Tensor, Tensor]:
    """Gradients of where(condition, a, b)."""
    condition = ctx.saved_values[0].detach()
    return None, MaskedSelect.apply(grad, condition != 0), MaskedSelect.apply(grad, condition == 0)


def extremum_rule(ctx: Any, out: Tensor, grad: Tensor) -> Tensor:
    """Gradient of the maximum or minimum."""
    (chosen,) = ctx.saved_values
    return MaskedSelect.apply(grad, chosen)


def max_rule(ctx: Any, out: Tensor, grad: Tensor) -> Tensor:
    """Gradient of the maximum; every largest element receives it."""
    a, largest, *_ = ctx.saved_values
    return MaskedSelect.apply(grad, a.detach() == largest)


def prod_rule(ctx: Any, out: Tensor, grad: Tensor) -> Tensor:
    """Gradient of a product: for each element the product of the others, which is exact also if an element is 0."""
    a, dim = ctx.saved_values
    elements = a.split(1, dim) if a.shape[dim] else []
    if not elements:
        return a.zeros()
    before, behind = [elements[0].zeros() + 1], [elements[0].zeros() + 1]
    for x, y in zip(elements[:-1], elements[:0:-1], strict=True):
        before.append(before[-1] * x)
        behind.append(behind[-1] * y)
    return grad * cat([left * right for left, right in zip(before, reversed(behind), strict=True)], dim)


def softmax_rule(ctx: Any, out: Tensor, grad: Tensor) -> Tensor:
    """y · (g - Σ g·y)."""
    return out * (grad - Tensor.sum(grad * out, -1))


def bias_relu_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of relu(a + b)."""
    kept = MaskedSelect.apply(grad, ~(out.detach() <= 0))
    return kept, kept


def binary_cross_entropy_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of -(t · ln p + (1 - t) · ln(1 - p)), with logarithms of at least -100."""
    p, t = ctx.saved_values
    grad_p = grad_t = None
    if ctx.needs_input_grad[0]:
        grad_p = grad * (p - t) / (p * (1 - p)).clip(low=1e-12)
    if ctx.needs_input_grad[1]:
        tiny = 3.8e-44  # e^-100, not less in float32 either
        grad_t = grad * (ExactLog.apply((1 - p).clip(low=tiny)) - ExactLog.apply(p.clip(low=tiny)))
    return grad_p, grad_t


def binary_cross_entropy_with_logits_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of ln(1 + e^x) - t · x."""
    x, t = ctx.saved_values
    return grad * (x.sigmoid() - t), -grad * x


def squared_error_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of (x - t)²."""
    x, t = ctx.saved_values
    grad_x = grad * 2.0 * (x - t)
    return grad_x, -grad_x


EXPRESSIONS: dict[type[Function], Rule] = {
    basic.Neg: lambda ctx, out, grad: -grad,
    basic.Inv: lambda ctx, out, grad: -grad * out * out,
    basic.Add: lambda ctx, out, grad: (grad, grad),
    basic.Mul: mul_rule,
    basic.Sigmoid: lambda ctx, out, grad: grad * out * (1.0 - out),
    basic.ReLU: lambda ctx, out, grad: MaskedSelect.apply(grad, ctx.saved_values[0].detach() > 0),
    basic.Log: lambda ctx, out, grad: grad / (ctx.saved_values[0] + EPS),
    basic.Exp: lambda ctx, out, grad: grad * out,
    basic.View: lambda ctx, out, grad: grad.reshape(*ctx.saved_values[0]),
    basic.Copy: lambda ctx, out, grad: grad,
    basic.MatMul: matmul_rule,
    more.Div: lambda ctx, out, grad: (grad / ctx.saved_values[1], -grad * out / ctx.saved_values[1]),
    more.Tanh: lambda ctx, out, grad: grad * (1.0 - out * out),
    more.Sqrt: lambda ctx, out, grad: grad / (2.0 * out),
    more.Abs: abs_rule,
    more.Pow: pow_rule,
    more.Where: where_rule,
    more.Clip: lambda ctx, out, grad: (MaskedSelect.apply(grad, ctx.saved_values[0]), None, None),
    reductions.MaxMin: extremum_rule,
    reductions.Prod: prod_rule,
    MaskedSelect: lambda ctx, out, grad: (MaskedSelect.apply(grad, ctx.saved_values[0]), None),
    functional.Max: max_rule,
    softmax.FastMax: max_rule,
    softmax.Softmax: softmax_rule,
    softmax.LogSoftmax: lambda ctx, out, grad: grad - out.exp() * Tensor.sum(grad, -1),
    BiasReLU: bias_relu_rule,
    losses.BinaryCrossEntropy: binary_cross_entropy_rule,
    losses.BinaryCrossEntropyWithLogits: binary_cross_entropy_with_logits_rule,
    regression_losses.SquaredError: squared_error_rule,
}


# Linear functions


class LinearGradient(Function):
    """The gradient of a linear function; the gradient of this gradient is the function itself."""

    @staticmethod
    def forward(ctx: Context, grad: Tensor, made: TensorContext, again: Callable[[Any, Tensor], Tensor]) -> Tensor:
        """The gradient of the argument of the call with context made; again is the function, given that context."""
        ctx.save_for_backward(made, again)
        (gradient,) = [x for x in made.fn._backward(made, grad) if x is not None]  # type: ignore[attr-defined]  # it is a Function
        return gradient

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        made, again = ctx.saved_values
        return again(made, grad_output)


def linear_rule(again: Callable[[Any, Tensor], Tensor]) -> Rule:
    """The rule of a linear function of one tensor."""
    return lambda ctx, out, grad: LinearGradient.apply(grad, ctx, again)


def select_forward(ctx: Any, x: Tensor) -> Tensor:
    """What an index picks; the elements are known by their numbers, for a mask may have been written into since."""
    _, picked = ctx.saved_values
    return layout.Select.apply(x, picked) if isinstance(picked, tuple) else layout.Select.apply(x.reshape(x.numel()), (picked,))


LINEAR: dict[type[Function], Callable[[Any, Tensor], Tensor]] = {
    layout.Select: select_forward,
    reductions.CumSum: lambda ctx, x: Tensor.cumsum(x, *ctx.saved_values),
    pool.AvgPool: lambda ctx, x: pool.AvgPool.apply(x, ctx.saved_values[1]),
    pooling.AvgPool: lambda ctx, x: pooling.AvgPool.apply(x, ctx.saved_values[1]),
}


# Convolutions, which are linear in both arguments. With g, h and k in the shapes of result, input and weight, a sum over everything of
# g · convolution(h, k) can be read in three ways: h · gradients[0](g, k), k · gradients[1](g, h), and g · convolution(h, k).


class Bilinear(NamedTuple):
    """A function that is linear in each of two tensors.

    Attributes:
        apply: The function.
        gradients: Compute the gradient of each argument from that of the result, the other argument, and the shape of the gradient.
    """

    apply: Callable[[Any, Any], Any]
    gradients: tuple[Callable[[Any, Any, tuple[int, ...]], Any], Callable[[Any, Any, tuple[int, ...]], Any]]


class ArgumentGradient(Function):
    """The gradient of a bilinear function with respect to its first argument, number 0, or its second, number 1."""

    @staticmethod
    def forward(ctx: Context, grad: Tensor, other: Tensor, product: Bilinear, number: int, shape: tuple[int, ...]) -> Tensor:
        """The gradient, in the given shape, from that of the result and the other argument."""
        ctx.save_for_backward(grad, other, product, number)
        return product.gradients[number](grad.detach(), other.detach(), shape)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        grad, other, product, number = ctx.saved_values
        again = product.apply(grad_output, other) if number == 0 else product.apply(other, grad_output)
        return again, ArgumentGradient.apply(grad, grad_output, product, 1 - number, other.shape)


def bilinear_gradients(product: Bilinear, ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of both arguments, in the dtype in which they were multiplied."""
    check_unmodified(ctx)
    first, second = (x.to(promote_to_float(*(arg.dtype for arg in ctx.args if isinstance(arg, Tensor)))) for x in ctx.args[:2])
    grad_first = ArgumentGradient.apply(grad, second, product, 0, first.shape) if first.requires_grad else None
    grad_second = ArgumentGradient.apply(grad, first, product, 1, second.shape) if second.requires_grad else None
    return grad_first, grad_second


def course_convolution_rule(fn: type[Function], op: str) -> Rule:
    """The rule of a convolution of the course, "conv1d" or "conv2d"."""

    def gradient(grad: Tensor, one: Tensor, shape: tuple[int, ...], arg: int) -> Tensor:
        other = grad.zeros(shape, one.dtype).requires_grad_()
        return course.gradients(op, grad, *((other, one) if arg == 0 else (one, other)))[arg]  # type: ignore[return-value]

    bilinear = Bilinear(fn.apply, (lambda g, k, shape: gradient(g, k, shape, 0), lambda g, h, shape: gradient(g, h, shape, 1)))
    return lambda ctx, out, grad: bilinear_gradients(bilinear, ctx, grad)


def convolution_rule(ctx: Any, out: Tensor, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
    """The rule of a convolution with stride and padding; its bias is added to every position of a channel."""
    *_, geometry = ctx.saved_values
    product = Bilinear(
        lambda h, k: Convolution.apply(h, k, None, geometry),
        (
            lambda g, k, shape: input_gradient(g, k.zeros(shape), k, geometry),
            lambda g, h, shape: weight_gradient(g, h, h.zeros(shape), geometry),
        ),
    )
    places = (0, *range(2, grad.dims))
    grad_bias = Tensor.sum(grad, places, keepdim=False) if ctx.needs_input_grad[2] else None
    return *bilinear_gradients(product, ctx, grad), grad_bias, None


# Fused functions


def composed_maxpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """`maxpool2d` composed of operations."""
    windows, height, width = functional.tile(input, kernel)
    return functional.max(windows, 4).view(*input.shape[:2], height, width)


def composed_embedding(indices: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
    """`embedding` composed of operations."""
    if padding_idx is not None:
        rows = weight.shape[0]
        weight = weight.detach().where(weight._like(TensorData(np.arange(rows) == padding_idx, (rows, 1))), weight)
    return weight[indices.to_numpy()]


COMPOSED: dict[type[Function], Callable[..., Tensor]] = {
    pool.MaxPool: composed_maxpool2d,
    pooling.MaxPool: lambda input, sizes: Tensor.max(stack(sizes.window_elements(input, float("-inf"))), 0, keepdim=False),
    Lookup: composed_embedding,
    losses.CrossEntropy: lambda input, target, reduction: losses.nll_loss(functional.logsoftmax(input, 1), target, reduction=reduction),
}


def composed_rule(composed: Callable[..., Tensor]) -> Rule:
    """The rule of a function that is `composed` of others."""
    return lambda ctx, out, grad: composed_gradients(composed, ctx, grad)


RULES.update({fn: record_own_backward(fn) for fn in (*DIFFERENTIABLE_BACKWARDS, LinearGradient, ArgumentGradient)})
RULES.update(EXPRESSIONS)
RULES.update({fn: linear_rule(again) for fn, again in LINEAR.items()})
RULES[course.Conv1dFun] = course_convolution_rule(course.Conv1dFun, "conv1d")
RULES[course.Conv2dFun] = course_convolution_rule(course.Conv2dFun, "conv2d")
RULES[Convolution] = convolution_rule
RULES.update({fn: composed_rule(composed) for fn, composed in COMPOSED.items()})
