"""Stage 7 - Activation functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from minitorch.core import math_operators
from minitorch.core.dtypes import float32, promote_to_float
from minitorch.core.math_functions import MaskedSelect
from minitorch.kernels import activations as kernels
from minitorch.kernels.loop import accepts, flat
from minitorch.ops.checks import check_float_tensor
from minitorch.tensor import Tensor, rand
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_functions import Sigmoid as CourseSigmoid

# Functions

Pair = tuple[kernels.Activation, kernels.Derivative]
"""A scalar function, and the gradient of its argument from the argument and the gradient of the value."""


class ElementwiseActivation(Function):
    """Base class of element-wise activations whose gradient is computed from the input in one pass.

    Attributes:
        fn: The scalar function.
        derivative: Maps x and grad_output to the gradient with respect to x.
    """

    fn: ClassVar[kernels.Activation]
    derivative: ClassVar[kernels.Derivative]

    @classmethod
    def forward(cls, ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(cls.fn, promote_to_float)(a)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return a.f.zip(cls.derivative)(a, grad_output)


class OptionalActivation(Function):
    """Base class of element-wise activations with options.

    Attributes:
        make: Returns the scalar function and its derivative for given options. It is cached, because a backend may compile them.
    """

    make: ClassVar[Callable[..., Pair]]

    @classmethod
    def forward(cls, ctx: Any, a: Tensor, *options: float) -> Tensor:
        ctx.save_for_backward(a, options)
        return a.f.map(cls.make(*options)[0], promote_to_float)(a)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        a, options = ctx.saved_values
        return (a.f.zip(cls.make(*options)[1])(a, grad_output), *(None for _ in options))


class ResultActivation(ElementwiseActivation):
    """Base class of element-wise activations whose gradient is computed from the result, which `derivative` is given in place of x."""

    @classmethod
    def forward(cls, ctx: Any, a: Tensor) -> Tensor:
        y = a.f.map(cls.fn, promote_to_float)(a)
        ctx.save_for_backward(y)
        return y


class Relu(ResultActivation):
    """max(x, 0); NaN stays NaN."""

    fn, derivative = kernels.relu, kernels.relu_back  # the result is positive exactly where x is
    composed = staticmethod(lambda a: MaskedSelect.apply(a, ~(a.detach() <= 0)))


class Silu(ElementwiseActivation):
    """x · sigmoid(x)."""

    fn, derivative = kernels.silu, kernels.silu_back
    composed = staticmethod(lambda a: a * a.sigmoid())


class Gelu(ElementwiseActivation):
    """x · Φ(x), where Φ is the standard normal cumulative distribution function."""

    fn, derivative = kernels.gelu, kernels.gelu_back

    @classmethod
    def forward(cls, ctx: Any, a: Tensor) -> Tensor:
        if not cls._fusible(a):
            return super().forward(ctx, a)
        ctx.save_for_backward(a)
        return cls._run(0, a)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return cls._run(1, a, grad_output) if cls._fusible(a) else super().backward(ctx, grad_output)

    @staticmethod
    def _fusible(a: Tensor) -> bool:
        """Return whether the compiled float32 kernels apply."""
        return accepts(a) and a.dtype is float32 and a.numel() > 0

    @staticmethod
    def _run(kernel_index: int, a: Tensor, *others: Tensor) -> Tensor:
        """Run the forward (0) or the backward (1) kernel."""
        out = TensorData.empty(a.shape, float32)
        operands = tuple([flat(x) for x in (a, *others)])
        kernels.gelu_loops()[kernel_index].run(out._storage, operands, (a.numel(),), -(-a.numel() // kernels.BLOCK))
        return a._like(out)

    composed = staticmethod(lambda a: a * NormalCdf.apply(a))


class NormalCdf(Function):
    """Φ(x), the standard normal cumulative distribution function."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(kernels.normal_cdf, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output * (a * a * -0.5).exp() * kernels.NORMAL_PDF_AT_0


class GeluTanh(ElementwiseActivation):
    """x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2."""

    fn, derivative = kernels.gelu_tanh, kernels.gelu_tanh_back
    composed = staticmethod(lambda a: a * ((a + a * a * a * kernels.GELU_CUBIC) * kernels.GELU_SCALE).sigmoid())


class LeakyRelu(OptionalActivation):
    """x for positive x, else negative_slope · x."""

    make = staticmethod(kernels.leaky_relu_functions)
    composed = staticmethod(lambda a, negative_slope: a.where(a > 0, a * negative_slope))


class FusedSigmoid(CourseSigmoid):
    """1 / (1 + e^-x), like `Tensor.sigmoid`, with a fused gradient."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return y.f.zip(kernels.sigmoid_back)(y, grad_output)

    composed = staticmethod(lambda a: a.sigmoid())


class FusedTanh(ResultActivation):
    """Hyperbolic tangent, like `Tensor.tanh`, with a fused gradient."""

    fn, derivative = math_operators.tanh, kernels.tanh_back
    composed = staticmethod(lambda a: a.tanh())


def relu(input: Tensor) -> Tensor:
    """Rectified linear unit max(x, 0), element-wise; its derivative at 0 is 0. NaN stays NaN (`Tensor.relu`, the course's, returns 0).

    Args:
        input: Any shape.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is not a floating-point Tensor.
    """
    return Relu.apply(check_float_tensor("relu", input))


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x for positive x, else negative_slope · x, element-wise; the derivative at 0 is negative_slope. Shapes and errors as for `relu`.

    Source: Maas et al. 2013, ICML workshop on deep learning for audio, speech and language processing.
    """
    return LeakyRelu.apply(check_float_tensor("leaky_relu", input), float(negative_slope))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit x · Φ(x), element-wise, where Φ is the standard normal cumulative distribution function.

    Args:
        input: Any shape.
        approximate: "none", or "tanh" for x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2, kernel_index differs by less than 0.0005.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If approximate is unknown.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu expected approximate "none" or "tanh", got {approximate!r}')
    return (Gelu if approximate == "none" else GeluTanh).apply(check_float_tensor("gelu", input))


def silu(input: Tensor) -> Tensor:
    """Sigmoid linear unit x · sigmoid(x), element-wise; shapes and errors as for `relu`.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """
    return Silu.apply(check_float_tensor("silu", input))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e^-x), element-wise; like `Tensor.sigmoid`, with a fused gradient. Errors as for `relu`."""
    return FusedSigmoid.apply(check_float_tensor("sigmoid", input))


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent, element-wise; like `Tensor.tanh`, with a fused gradient. Errors as for `relu`."""
    return FusedTanh.apply(check_float_tensor("tanh", input))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension, times sigmoid of the second half.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If the dimension has an odd size.

    Source: Dauphin et al. 2017, arXiv:1612.08083, section 2.
    """
    size = check_float_tensor("glu", input).shape[input._normalize_dim(dim)]
    if size % 2:
        raise ValueError(f"glu expected an even size in dimension {dim}, got {size} (input {input.shape})")
    a, b = input.split(size // 2, dim)
    return a * b.sigmoid()


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """x for positive x, else slope · x with a random slope for each element.

    Args:
        input: Any shape.
        lower: Smallest slope.
        upper: Largest slope.
        training: Whether slopes are random; otherwise each is the mean of the two.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If lower is above upper.

    Source: Xu et al. 2015, arXiv:1505.00853, section 2.4.
    """
    check_float_tensor("rrelu", input)
    if lower > upper:
        raise ValueError(f"rrelu expected lower of at most upper, got {lower} and {upper}")
    slope: Any = (lower + upper) / 2
    if training:
        slope = rand(input.shape, input.backend, dtype=input.dtype) * (upper - lower) + lower
    positive = input.detach() > 0
    return input.where(positive, MaskedSelect.apply(input, ~positive) * slope)
