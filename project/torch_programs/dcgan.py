"""A deep convolutional generative adversarial network: transposed convolutions make images, strided ones judge them."""

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters, normal

nz, ngf, ndf = 8, 8, 8


def make_generator() -> nn.Sequential:
    """Noise (B, nz, 1, 1) to images (B, 1, 16, 16), values from -1 to 1."""
    return nn.Sequential(
        nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
        nn.BatchNorm2d(ngf * 2),
        nn.ReLU(True),
        nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
        nn.BatchNorm2d(ngf),
        nn.ReLU(True),
        nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )


def make_discriminator() -> nn.Sequential:
    """Images (B, 1, 16, 16) to the probabilities (B, 1, 1, 1) of being real."""
    return nn.Sequential(
        nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
        nn.BatchNorm2d(ndf * 2),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
        nn.Sigmoid(),
    )


def real_images(rng: np.random.Generator, n: int) -> torch.Tensor:
    """Bright disks of random radius on a dark ground, shape (n, 1, 16, 16)."""
    axis = torch.linspace(-1, 1, 16)
    radius = torch.tensor(rng.uniform(0.3, 0.9, size=(n, 1, 1, 1)), dtype=torch.float32)
    return torch.tanh(8 * (radius - torch.sqrt(axis**2 + axis.unsqueeze(1) ** 2)))


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the sum of both losses of each step."""
    rng = np.random.default_rng(seed)
    batch_size, real_label, fake_label = 16, 1.0, 0.0
    netG, netD = make_generator(), make_discriminator()
    fill_parameters(netG, rng)
    fill_parameters(netD, rng)
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))

    losses = []
    for step in range(steps):
        netD.zero_grad()
        label = torch.full((batch_size,), real_label, dtype=torch.float)
        errD_real = criterion(netD(real_images(rng, batch_size)).view(-1), label)
        errD_real.backward()
        fake = netG(normal(rng, batch_size, nz, 1, 1))
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake).view(-1)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()

        losses.append(errD.item() + errG.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss of D {errD.item():.4f}, of G {errG.item():.4f}  D(G(z)) {output.mean().item():.3f}")

    netG.eval()
    with torch.no_grad():
        drawn = netG(normal(rng, 1, nz, 1, 1))[0, 0]
    print(f"a generated image: center {drawn[7:9, 7:9].mean().item():.2f}, corner {drawn[0, 0].item():.2f}")
    return losses


if __name__ == "__main__":
    train(steps=300)
