"""A diffusion model of points on two moons: learn to predict the noise, keep an average of the weights, sample step by step."""

import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters, normal

T = 50


class Denoiser(nn.Module):
    """Predicts the noise in a point from the point and the time.

    Args:
        hidden: Units of the hidden layers.
    """

    def __init__(self, hidden: int = 48) -> None:
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Linear(16, hidden), nn.SiLU())
        self.input = nn.Linear(2, hidden)
        self.middle = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.output = nn.Linear(hidden, 2)

    @staticmethod
    def time_embedding(t: torch.Tensor, dim: int = 16) -> torch.Tensor:
        """Times (B,) to sines and cosines (B, dim)."""
        frequencies = torch.exp(torch.arange(dim // 2, dtype=torch.float32) * -(math.log(1000.0) / (dim // 2 - 1)))
        angles = t.float()[:, None] * frequencies[None, :]
        return torch.cat((angles.sin(), angles.cos()), dim=-1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """Points (B, 2) and times (B,) to noise (B, 2)."""
        return self.output(self.middle(self.input(x) + self.time_mlp(self.time_embedding(t))))


def moons(rng: np.random.Generator, n: int) -> torch.Tensor:
    """Points on two half circles, shape (n, 2)."""
    angle = torch.from_numpy(rng.uniform(0, math.pi, size=n)).float()
    upper = torch.from_numpy(rng.integers(0, 2, size=n)).bool()
    x = torch.where(upper, torch.cos(angle), 1 - torch.cos(angle))
    y = torch.where(upper, torch.sin(angle), 0.5 - torch.sin(angle))
    return torch.stack([x, y], dim=-1) + 0.05 * normal(rng, n, 2)


@torch.no_grad()
def update_average(average: nn.Module, model: nn.Module, decay: float = 0.9) -> None:
    """Move the averaged weights towards the model's."""
    for ours, theirs in zip(average.parameters(), model.parameters(), strict=True):
        ours.mul_(decay).add_(theirs, alpha=1 - decay)


@torch.no_grad()
def sample(model: nn.Module, betas: torch.Tensor, n: int = 100) -> torch.Tensor:
    """Points from noise, with torch's generator."""
    alphas = 1.0 - betas
    bars = torch.cumprod(alphas, dim=0)
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        noise = torch.randn_like(x) if i > 0 else torch.zeros_like(x)
        x = (x - betas[i] / torch.sqrt(1 - bars[i]) * model(x, t)) / torch.sqrt(alphas[i]) + torch.sqrt(betas[i]) * noise
    return x


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    betas = torch.linspace(1e-4, 0.1, T)
    alpha_bars = torch.cumprod(1.0 - betas, dim=0)
    model = Denoiser()
    fill_parameters(model, rng)
    average = copy.deepcopy(model)
    average.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    losses = []
    for step in range(steps):
        x0, noise = moons(rng, 64), normal(rng, 64, 2)
        t = torch.from_numpy(rng.integers(0, T, size=64))
        bar = alpha_bars.gather(0, t).view(-1, 1)
        xt = bar.sqrt() * x0 + (1 - bar).sqrt() * noise
        loss = F.mse_loss(model(xt, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_average(average, model)
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    points = sample(average, betas)
    print("mean", points.mean(dim=0).tolist(), "standard deviation", points.std(0).tolist())
    return losses


if __name__ == "__main__":
    train(steps=1000)
