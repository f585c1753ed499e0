"""Logistic regression on two clouds of points: raw tensors and the sigmoid, no modules."""

import numpy as np
import torch


def make_data(rng: np.random.Generator, n: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of two normal distributions, shape (n, 2), and their labels 0 or 1, shape (n, 1)."""
    y = rng.integers(0, 2, size=n)
    X = rng.standard_normal((n, 2)) + 1.5 * (2 * y[:, None] - 1)
    return torch.tensor(X, dtype=torch.float32), torch.from_numpy(y).float().view(-1, 1)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    X, y = make_data(rng)
    w = torch.zeros(2, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)

    losses = []
    for step in range(steps):
        p = torch.sigmoid(torch.mm(X, w) + b)
        loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean() + 0.01 * w.square().sum()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for parameter in (w, b):
                parameter.sub_(0.5 * parameter.grad)
                parameter.grad = None
        if step % 10 == 0:
            accuracy = ((p > 0.5) == y.bool()).float().mean().item()
            print(f"step {step:4d}  loss {loss.item():.4f}  accuracy {accuracy:.3f}")
    print("weights", w.detach().flatten().numpy().round(3), "bias", round(b.item(), 3))
    return losses


if __name__ == "__main__":
    train(steps=100)
