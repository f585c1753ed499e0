"""Solve the equation u'' = -u with u(0) = 0 and u'(0) = 1: derivatives of the network's output are part of its loss."""

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters


def derivative(outputs: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """The derivative of each output with respect to its input, itself differentiable."""
    return torch.autograd.grad(outputs, inputs, grad_outputs=torch.ones_like(outputs), create_graph=True)[0]


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
    fill_parameters(model, rng)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.999)
    start = torch.zeros(1, 1, requires_grad=True)

    losses = []
    for step in range(steps):
        t = torch.tensor(rng.uniform(0, 3, size=(64, 1)), dtype=torch.float32).requires_grad_()
        u = model(t)
        residual = derivative(derivative(u, t), t) + u
        u0 = model(start)
        boundary = u0.pow(2).sum() + (derivative(u0, start) - 1).pow(2).sum()
        loss = residual.pow(2).mean() + boundary

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")

    with torch.no_grad():
        t = torch.linspace(0, 3, 50).reshape(-1, 1)
        error = (model(t) - torch.sin(t)).abs().max()
    print(f"largest error of u: {error:.4f}")
    return losses


if __name__ == "__main__":
    train(steps=1000)
