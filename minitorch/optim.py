"""Stage 1 - Optimizers: how parameters follow their derivatives downhill."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch.module import Parameter


class Optimizer:
    """What all optimizers share: the parameters they move.

    Args:
        parameters: The parameters, as `module.parameters()` gives them.

    Raises:
        TypeError: If one is not a Parameter.
        ValueError: If there are none.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("an optimizer expected at least one parameter, got none; pass module.parameters()")
        for parameter in self.parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"an optimizer expected Parameters, got {type(parameter).__name__}; pass module.parameters()")

    def zero_grad(self) -> None:
        """Forget the derivatives that have been gathered."""
        for parameter in self.parameters:
            for kept in ("derivative", "grad"):
                if hasattr(parameter.value, kept):
                    setattr(parameter.value, kept, None)

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        raise NotImplementedError("Optimizer has no step of its own; use SGD, or define step(self) in the subclass")


class SGD(Optimizer):
    """Gradient descent: value - lr · derivative.

    A step gives each parameter a new value object, whose derivative is empty; what holds the old one keeps its graph.

    Args:
        parameters: What to move.
        lr: Learning rate, the length of a step; not negative.

    Raises:
        ValueError: If lr is negative, infinite or NaN.
    """

    def __init__(self, parameters: Sequence[Parameter], lr: float = 1.0) -> None:
        super().__init__(parameters)
        if not 0.0 <= lr < float("inf"):
            raise ValueError(f"SGD expected a learning rate lr >= 0, got {lr}; try 0.5")
        self.lr = lr

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        for parameter in self.parameters:
            value = parameter.value
            if getattr(value, "derivative", None) is not None:  # a Scalar
                parameter.update(type(value)(value.data - self.lr * value.derivative))
            elif getattr(value, "grad", None) is not None:  # a Tensor
                parameter.update(value.detach() + -self.lr * value.grad)  # one operation less than value - lr · grad
