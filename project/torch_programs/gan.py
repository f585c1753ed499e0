"""A small generative adversarial network whose generator learns a ring of points."""

import math

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters, normal

LATENT = 4


def make_generator(hidden: int = 32) -> nn.Sequential:
    """Noise (B, LATENT) to points (B, 2)."""
    return nn.Sequential(
        nn.Linear(LATENT, hidden),
        nn.ReLU(inplace=True),
        nn.Linear(hidden, hidden),
        nn.ReLU(inplace=True),
        nn.Linear(hidden, 2),
    )


class Discriminator(nn.Module):
    """Points to the logit of being real.

    Args:
        hidden: Units of the hidden layers.
    """

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(hidden, 1),
        )

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Points (B, 2) to logits (B,)."""
        return self.main(points).view(-1)


def real_points(rng: np.random.Generator, n: int) -> torch.Tensor:
    """Points near a circle of radius 2, shape (n, 2)."""
    angle = torch.tensor(rng.uniform(0, 2 * math.pi, size=n), dtype=torch.float32)
    return 2 * torch.stack((angle.cos(), angle.sin()), dim=1) + 0.1 * normal(rng, n, 2)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the sum of both losses of each step."""
    rng = np.random.default_rng(seed)
    batch_size = 64
    netG, netD = make_generator(), Discriminator()
    fill_parameters(netG, rng)
    fill_parameters(netD, rng)
    criterion = nn.BCEWithLogitsLoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    real_label, fake_label = 1.0, 0.0

    losses = []
    for step in range(steps):
        # The discriminator: real points should have the label 1, generated ones 0.
        netD.zero_grad()
        label = torch.full((batch_size,), real_label)
        errD_real = criterion(netD(real_points(rng, batch_size)), label)
        errD_real.backward()
        fake = netG(normal(rng, batch_size, LATENT))
        label.fill_(fake_label)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        # The generator: its points should have the label 1.
        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()

        losses.append(errD.item() + errG.item())
        if step % 10 == 0:
            D_G_z = torch.sigmoid(output).mean().item()
            print(f"step {step:4d}  loss of D {errD.item():.4f}, of G {errG.item():.4f}  D(G(z)) {D_G_z:.3f}")

    with torch.no_grad():
        radius = netG(normal(rng, 500, LATENT)).norm(dim=1)
    print(f"radius of generated points: {radius.mean().item():.2f} ± {radius.std().item():.2f}")
    return losses


if __name__ == "__main__":
    train(steps=1000)
