"""Contrastive learning: two noisy views of a point should be closer to each other than to the views of other points."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters, normal


class Encoder(nn.Module):
    """Two linear layers and a projection to the unit sphere.

    Args:
        features: Size of the input.
        dim: Size of the output.
    """

    def __init__(self, features: int, dim: int) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(features, 32), nn.ELU(), nn.Linear(32, 32))
        self.projector = nn.Sequential(nn.Softplus(), nn.Linear(32, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (B, features) to (B, dim), rows of length 1."""
        return F.normalize(self.projector(self.backbone(x)), p=2, dim=-1)


def info_nce(z1: torch.Tensor, z2: torch.Tensor, temperature: float = 0.2) -> torch.Tensor:
    """The cross-entropy of finding the other view among all other views."""
    z = torch.cat([z1, z2], dim=0)
    n = z1.shape[0]
    similarity = z @ z.T / temperature
    similarity = similarity.masked_fill(torch.eye(2 * n, dtype=torch.bool, device=z.device), -1e9)
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(similarity, targets)


def triplet(z1: torch.Tensor, z2: torch.Tensor, margin: float = 0.5) -> torch.Tensor:
    """The hardest other point of the batch should be farther away than the other view, by a margin."""
    distance = torch.cdist(z1, z2)
    positive = torch.diagonal(distance)
    hardest, _ = (distance + 10 * torch.eye(len(z1))).min(dim=1)
    return F.relu(positive - hardest + margin).mean()


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    points = normal(rng, 32, 10)
    model = Encoder(10, 8)
    fill_parameters(model, rng)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    losses = []
    for step in range(steps):
        z1, z2 = model(points + 0.3 * normal(rng, 32, 10)), model(points + 0.3 * normal(rng, 32, 10))
        loss = info_nce(z1, z2) + 0.1 * triplet(z1, z2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}  cosine {F.cosine_similarity(z1, z2).mean().item():.3f}")

    with torch.no_grad():
        z = model(points)
        order = torch.sort(z @ z[0], descending=True).indices
    print("nearest to the first point:", order[1:4].tolist())
    return losses


if __name__ == "__main__":
    train(steps=300)
