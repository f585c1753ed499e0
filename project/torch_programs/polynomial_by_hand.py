"""Fit a polynomial of degree three to a sine, with gradients written by hand."""

import math

import numpy as np
import torch


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    dtype = torch.float
    device = torch.device("cpu")

    x = torch.linspace(-math.pi, math.pi, 500, device=device, dtype=dtype)
    y = torch.sin(x)
    a, b, c, d = (torch.tensor(value, device=device, dtype=dtype) for value in rng.standard_normal(4))

    learning_rate = 1e-3
    losses = []
    for step in range(steps):
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = (y_pred - y).pow(2).mean()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")

        grad_y_pred = 2.0 * (y_pred - y) / x.numel()
        a -= learning_rate * grad_y_pred.sum()
        b -= learning_rate * (grad_y_pred * x).sum()
        c -= learning_rate * (grad_y_pred * x**2).sum()
        d -= learning_rate * (grad_y_pred * x**3).sum()
    print(f"y = {a.item():.3f} + {b.item():.3f} x + {c.item():.3f} x² + {d.item():.3f} x³")
    return losses


if __name__ == "__main__":
    train(steps=200)
