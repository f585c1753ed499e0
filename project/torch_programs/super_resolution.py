"""Double the resolution of images with a sub-pixel convolution."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
from seeded import fill_parameters


class Net(nn.Module):
    """Three convolutions and a fourth one whose channels become pixels.

    Args:
        upscale_factor: How many times higher and wider images become.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, kernel_size=3, padding="same")
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def _initialize_weights(self) -> None:
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.xavier_uniform_(self.conv2.weight, gain=init.calculate_gain("relu"))
        init.kaiming_normal_(self.conv3.weight, mode="fan_out", nonlinearity="relu")
        init.constant_(self.conv4.bias, 0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, 1, H, W) to (B, 1, H · factor, W · factor)."""
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))


def make_images(rng: np.random.Generator, n: int, size: int = 24) -> torch.Tensor:
    """Smooth waves of random direction, shape (n, 1, size, size), values from 0 to 1."""
    grid = torch.arange(size, dtype=torch.float32)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    fx, fy, phase = (torch.from_numpy(rng.uniform(-0.7, 0.7, size=(n, 1, 1))).to(torch.float32) for _ in range(3))
    return (0.5 + 0.5 * torch.sin(fx * xx + fy * yy + 4 * phase)).unsqueeze(dim=1)


def psnr(output: torch.Tensor, target: torch.Tensor) -> float:
    """Peak signal-to-noise ratio in decibels."""
    return (10 * torch.log10(1 / F.mse_loss(output, target))).item()


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    model = Net(upscale_factor=2)
    fill_parameters(model, rng)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)

    losses = []
    for step in range(steps):
        target = make_images(rng, n=8)
        input = F.avg_pool2d(target, 2)
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")

    with torch.no_grad():
        target = make_images(rng, n=4)
        small = F.avg_pool2d(target, kernel_size=2, stride=2)
        ours = model(small).clamp(0.0, 1.0)
        nearest = F.interpolate(small, scale_factor=2, mode="nearest")
    print(f"network {psnr(ours, target):.2f} dB, nearest neighbor {psnr(nearest, target):.2f} dB")
    return losses


if __name__ == "__main__":
    train(steps=200)
