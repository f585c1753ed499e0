"""A network with binary activations, trained through a custom autograd function: the straight-through estimator."""

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters, normal


class StraightThroughSign(torch.autograd.Function):
    """The sign in the forward pass; in the backward pass the derivative of a clipped identity."""

    @staticmethod
    def forward(ctx, input: torch.Tensor) -> torch.Tensor:  # noqa: D102 - described by the class
        ctx.save_for_backward(input)
        return torch.sign(input)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> torch.Tensor:  # noqa: D102 - described by the class
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input.abs() > 1] = 0
        return grad_input


class Legendre(torch.autograd.Function):
    """The polynomial (5 x³ - 3 x) / 2 times a number."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, scale: float) -> torch.Tensor:  # noqa: D102 - described by the class
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple[torch.Tensor, None]:  # noqa: D102 - described by the class
        (x,) = ctx.saved_tensors
        return grad_output * ctx.scale * 1.5 * (5 * x**2 - 1), None


class BinaryNet(nn.Module):
    """Linear layer, binary activations, a learned polynomial input feature, linear layer.

    Args:
        features: Size of the input.
        hidden: Number of binary units.
    """

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.hidden = nn.Linear(features, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (B, features) to (B,)."""
        x = Legendre.apply(torch.tanh(x * self.scale), 0.5)
        return self.out(StraightThroughSign.apply(self.hidden(x))).squeeze(-1)

    def extra_repr(self) -> str:
        """What a printed model says of this module."""
        return f"features={self.scale.numel()}"


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    x = normal(rng, 128, 6)
    y = (x[:, 0] * x[:, 1] > 0).to(torch.float32)
    probe = torch.tensor(rng.uniform(-1, 1, size=5), dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: Legendre.apply(t, 0.5), (probe,))

    model = BinaryNet(6, 32)
    fill_parameters(model, rng)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    for step in range(steps):
        logits = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            accuracy = torch.eq(logits > 0, y > 0.5).float().mean().item()
            print(f"step {step:4d}  loss {loss.item():.4f}  accuracy {accuracy:.3f}")
    print(model)
    return losses


if __name__ == "__main__":
    train(steps=300)
