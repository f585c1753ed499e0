"""Stage 5 - Activations: functions of one number, applied to every element of a tensor, and softmax; as functions and as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from minitorch.core.dtypes import float32, promote_to_float
from minitorch.core.math_functions import MaskedSelect
from minitorch.kernels import activations as curves
from minitorch.kernels.losses import fusible
from minitorch.kernels.pool import flat
from minitorch.nn.functional import logsoftmax, softmax
from minitorch.nn.module import Module
from minitorch.nn.sizes import check_float_tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


# Functions


class OfInput(Function):
    """A curve over every element, whose slope is found from the element, in one pass.

    Attributes:
        curve: The function of one number.
        slope: Of the number and what flows into the result: what flows into the number.
    """

    curve: ClassVar[curves.Curve]
    slope: ClassVar[curves.Slope]

    @classmethod
    def forward(cls, ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(cls.curve, promote_to_float)(a)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return a.f.zip(cls.slope)(a, grad_output)


class Relu(OfInput):
    """x above 0, 0 elsewhere; NaN stays NaN."""

    curve, slope = curves.relu, curves.relu_back

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return MaskedSelect.apply(a, ~(a.detach() <= 0))


class Silu(OfInput):
    """x · sigmoid(x)."""

    curve, slope = curves.silu, curves.silu_back

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return a * a.sigmoid()


class Gelu(OfInput):
    """x · the share of the normal distribution below x."""

    curve, slope = curves.gelu, curves.gelu_back

    @classmethod
    def forward(cls, ctx: Any, a: Tensor) -> Tensor:
        if not cls._in_loops(a):
            return super().forward(ctx, a)
        ctx.save_for_backward(a)
        return cls._run(0, a)

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return cls._run(1, a, grad_output) if cls._in_loops(a) else super().backward(ctx, grad_output)

    @staticmethod
    def _in_loops(a: Tensor) -> bool:
        """Whether there are loops for it."""
        return fusible(a) and a.dtype is float32 and a.size > 0

    @staticmethod
    def _run(which: int, a: Tensor, *others: Tensor) -> Tensor:
        """The value (0) or the gradient (1)."""
        out = TensorData.empty(a.shape, float32)
        operands = tuple([flat(x) for x in (a, *others)])
        curves.gelu_loops()[which].run(out._storage, operands, (a.size,), -(-a.size // curves.BLOCK))
        return a._like(out)

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return a * NormalShare.apply(a)


class NormalShare(Function):
    """The share of the normal distribution below x."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(curves.normal_share, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output * (a * a * -0.5).exp() * curves.DENSITY_AT_0


class GeluTanh(OfInput):
    """x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2."""

    curve, slope = curves.gelu_tanh, curves.gelu_tanh_back

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return a * ((a + a * a * a * curves.CUBIC) * curves.TWICE_ROOT).sigmoid()


class LeakyRelu(Function):
    """x above 0, negative_slope · x elsewhere."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, negative_slope: float) -> Tensor:
        ctx.save_for_backward(a, negative_slope)
        return a.f.map(curves.leaky_relu_curve(negative_slope)[0], promote_to_float)(a)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        a, negative_slope = ctx.saved_values
        return a.f.zip(curves.leaky_relu_curve(negative_slope)[1])(a, grad_output), None

    @staticmethod
    def composed(a: Tensor, negative_slope: float) -> Tensor:
        """The same of operations on tensors."""
        return a.where(a > 0, a * negative_slope)


class SigmoidInOnePass(Function):
    """1 / (1 + e^-x), as `Tensor.sigmoid`, its gradient in one pass."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = a.f.sigmoid_map(a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return y.f.zip(curves.sigmoid_back)(y, grad_output)

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return a.sigmoid()


class TanhInOnePass(Function):
    """Hyperbolic tangent, as `Tensor.tanh`, its gradient in one pass."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = a.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return y.f.zip(curves.tanh_back)(y, grad_output)

    @staticmethod
    def composed(a: Tensor) -> Tensor:
        """The same of operations on tensors."""
        return a.tanh()


def relu(input: Tensor) -> Tensor:
    """What is positive, else 0; so is the slope at 0. NaN stays NaN, so that it is seen: `Tensor.relu`, the course's, makes 0 of it.

    Args:
        input: Of any shape.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is no Tensor of floats.
    """
    return Relu.apply(check_float_tensor("relu", input))


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """What is positive, else negative_slope times it; so is the slope at 0.

    Args:
        input: Of any shape.
        negative_slope: Below 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is no Tensor of floats.

    Source: Maas et al. 2013, ICML workshop on deep learning for audio, speech and language processing.
    """
    return LeakyRelu.apply(check_float_tensor("leaky_relu", input), float(negative_slope))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Every element times the share of the normal distribution that lies below it.

    Args:
        input: Of any shape.
        approximate: "none"; or "tanh" for x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2, which differs by less than 0.0005.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is no Tensor of floats.
        ValueError: If approximate is another word.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu expected approximate "none" or "tanh", got {approximate!r}')
    return (Gelu if approximate == "none" else GeluTanh).apply(check_float_tensor("gelu", input))


def silu(input: Tensor) -> Tensor:
    """Every element times its sigmoid.

    Args:
        input: Of any shape.

    Returns:
        Shape of input.

    Raises:
        TypeError: If input is no Tensor of floats.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """
    return Silu.apply(check_float_tensor("silu", input))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e^-x) of every element; as `Tensor.sigmoid`, with its gradient in one pass.

    Raises:
        TypeError: If input is no Tensor of floats.
    """
    return SigmoidInOnePass.apply(check_float_tensor("sigmoid", input))


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent of every element; as `Tensor.tanh`, with its gradient in one pass.

    Raises:
        TypeError: If input is no Tensor of floats.
    """
    return TanhInOnePass.apply(check_float_tensor("tanh", input))


# The layers


class ReLU(Module):
    """`relu`: what is positive, else 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return relu(input)


class LeakyReLU(Module):
    """`leaky_relu`: what is positive, else negative_slope times it."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def extra_repr(self) -> str:
        """Its slope."""
        return f"negative_slope={self.negative_slope}"

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return leaky_relu(input, self.negative_slope)


class GELU(Module):
    """`gelu`: every element times the share of the normal distribution that lies below it.

    Args:
        approximate: "none" or "tanh".

    Raises:
        ValueError: If approximate is another word.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f'GELU expected approximate "none" or "tanh", got {approximate!r}')
        self.approximate = approximate

    def extra_repr(self) -> str:
        """Whether it is approximated."""
        return f"approximate={self.approximate!r}"

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return gelu(input, self.approximate)


class SiLU(Module):
    """`silu`: every element times its sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return silu(input)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return tanh(input)


class _AlongOne(Module):
    """What Softmax and LogSoftmax share.

    Args:
        dim: Along which dimension.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Its dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongOne):
    """`softmax`: e^x, divided by the sum of these along dim."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return softmax(input, self.dim)


class LogSoftmax(_AlongOne):
    """`logsoftmax`, the logarithm of softmax along dim."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return logsoftmax(input, self.dim)
