"""Fit a polynomial of degree three to a sine with nn.Sequential, a loss module and an optimizer."""

import math

import numpy as np
import torch
from seeded import fill_parameters


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    x = torch.linspace(-math.pi, math.pi, 500)
    y = torch.sin(x)
    xx = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))

    model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
    fill_parameters(model, rng)
    loss_fn = torch.nn.MSELoss(reduction="mean")
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)

    losses = []
    for step in range(steps):
        y_pred = model(xx)
        loss = loss_fn(y_pred, y)
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    linear = model[0]
    w = linear.weight
    print(f"y = {linear.bias.item():.3f} + {w[:, 0].item():.3f} x + {w[:, 1].item():.3f} x² + {w[:, 2].item():.3f} x³")
    return losses


if __name__ == "__main__":
    train(steps=500)
