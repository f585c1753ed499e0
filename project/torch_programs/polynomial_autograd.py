"""Fit a polynomial of degree three to a sine, with gradients from autograd and updates under no_grad."""

import math

import numpy as np
import torch


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    x = torch.linspace(-math.pi, math.pi, 500)
    y = torch.sin(x)
    w = torch.tensor(rng.standard_normal(4), dtype=torch.float32, requires_grad=True)
    powers = torch.stack([x**i for i in range(4)], dim=1)

    lr = 1e-3
    losses = []
    for step in range(steps):
        y_pred = powers @ w
        loss = ((y_pred - y) ** 2).mean()
        losses.append(loss.item())
        loss.backward()
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}  gradient norm {w.grad.norm().item():.4f}")
        with torch.no_grad():
            w -= lr * w.grad
            w.grad.zero_()
    assert w.is_leaf
    assert w.requires_grad
    print("coefficients", [round(value, 3) for value in w.tolist()])
    return losses


if __name__ == "__main__":
    train(steps=200)
