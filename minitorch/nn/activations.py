"""Stage 6 - Activation functions, as functions and as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from minitorch.core.dtypes import float32, promote_to_float
from minitorch.core.math_functions import MaskedSelect
from minitorch.kernels import activations as kernels
from minitorch.kernels.loop import accepts, flat
from minitorch.nn.functional import logsoftmax, softmax
from minitorch.nn.module import Module
from minitorch.nn.sizes import check_float_tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_functions import Sigmoid as CourseSigmoid

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


# Functions


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


class Relu(ElementwiseActivation):
    """max(x, 0); NaN stays NaN."""

    fn, derivative = kernels.relu, kernels.relu_back

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return MaskedSelect.apply(a, ~(a.detach() <= 0))


class Silu(ElementwiseActivation):
    """x · sigmoid(x)."""

    fn, derivative = kernels.silu, kernels.silu_back

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return a * a.sigmoid()


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

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return a * NormalCdf.apply(a)


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

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return a * ((a + a * a * a * kernels.GELU_CUBIC) * kernels.GELU_SCALE).sigmoid()


class LeakyRelu(Function):
    """x for positive x, else negative_slope · x."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, negative_slope: float) -> Tensor:
        ctx.save_for_backward(a, negative_slope)
        return a.f.map(kernels.leaky_relu_functions(negative_slope)[0], promote_to_float)(a)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        a, negative_slope = ctx.saved_values
        return a.f.zip(kernels.leaky_relu_functions(negative_slope)[1])(a, grad_output), None

    @staticmethod
    def composed(a: Tensor, negative_slope: float) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return a.where(a > 0, a * negative_slope)


class FusedSigmoid(CourseSigmoid):
    """1 / (1 + e^-x), like `Tensor.sigmoid`, with a fused gradient."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return y.f.zip(kernels.sigmoid_back)(y, grad_output)

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return a.sigmoid()


class FusedTanh(Function):
    """Hyperbolic tangent, like `Tensor.tanh`, with a fused gradient."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = a.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return y.f.zip(kernels.tanh_back)(y, grad_output)

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        return a.tanh()


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
    """x for positive x, else negative_slope · x, element-wise; the derivative at 0 is negative_slope.

    Args:
        input: Any shape.
        negative_slope: Slope for negative inputs.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is not a floating-point Tensor.

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
    """Sigmoid linear unit x · sigmoid(x), element-wise.

    Args:
        input: Any shape.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is not a floating-point Tensor.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """
    return Silu.apply(check_float_tensor("silu", input))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e^-x), element-wise; like `Tensor.sigmoid`, with a fused gradient.

    Raises:
        TypeError: If input is not a floating-point Tensor.
    """
    return FusedSigmoid.apply(check_float_tensor("sigmoid", input))


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent, element-wise; like `Tensor.tanh`, with a fused gradient.

    Raises:
        TypeError: If input is not a floating-point Tensor.
    """
    return FusedTanh.apply(check_float_tensor("tanh", input))


# Layers


class ReLU(Module):
    """Rectified linear unit; see `relu`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return relu(input)


class LeakyReLU(Module):
    """Leaky rectified linear unit; see `leaky_relu`."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def extra_repr(self) -> str:
        """The negative slope."""
        return f"negative_slope={self.negative_slope}"

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return leaky_relu(input, self.negative_slope)


class GELU(Module):
    """Gaussian error linear unit; see `gelu`.

    Args:
        approximate: "none" or "tanh".

    Raises:
        ValueError: If approximate is unknown.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f'GELU expected approximate "none" or "tanh", got {approximate!r}')
        self.approximate = approximate

    def extra_repr(self) -> str:
        """The approximation."""
        return f"approximate={self.approximate!r}"

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return gelu(input, self.approximate)


class SiLU(Module):
    """Sigmoid linear unit; see `silu`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return silu(input)


class Sigmoid(Module):
    """Logistic sigmoid 1 / (1 + e^-x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the activation to every element; shape and dtype are kept."""
        return tanh(input)


class _SoftmaxLayer(Module):
    """Base class of Softmax and LogSoftmax.

    Args:
        dim: Dimension to normalize over.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax(_SoftmaxLayer):
    """Softmax along dim; see `softmax`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along dim; shape and dtype are kept."""
        return softmax(input, self.dim)


class LogSoftmax(_SoftmaxLayer):
    """Logarithm of softmax along dim; see `logsoftmax`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along dim; shape and dtype are kept."""
        return logsoftmax(input, self.dim)
