"""Segment squares from noise with a small U-Net, a loss of cross-entropy and Dice, and a rate that is reduced on a plateau."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters
from torch.optim.lr_scheduler import ReduceLROnPlateau


class DoubleConv(nn.Sequential):
    """Two convolutions, each with group normalization.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False),
            nn.GroupNorm(2, out_channels),
            nn.SiLU(),
            nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
            nn.GroupNorm(2, out_channels),
            nn.SiLU(),
        )


class UNet(nn.Module):
    """Two levels down and up, with connections between equal levels.

    Args:
        channels: Channels of the upper level.
    """

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.inc = DoubleConv(1, channels)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(channels, 2 * channels))
        self.down2 = nn.Sequential(nn.MaxPool2d(kernel_size=2, stride=2), DoubleConv(2 * channels, 4 * channels))
        self.up1 = nn.ConvTranspose2d(4 * channels, 2 * channels, kernel_size=2, stride=2)
        self.conv1 = DoubleConv(4 * channels, 2 * channels)
        self.up2 = nn.Upsample(scale_factor=2, mode="nearest")
        self.conv2 = DoubleConv(3 * channels, channels)
        self.outc = nn.Conv2d(channels, 1, kernel_size=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, 1, H, W) to logits (B, 1, H, W)."""
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.conv1(torch.cat([x2, self.up1(x3)], dim=1))
        x = self.conv2(torch.cat([x1, self.up2(x)], dim=1))
        return self.outc(x)


def make_batch(rng: np.random.Generator, n: int = 4, size: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy images with one bright square each, and the squares' masks."""
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        top, left = rng.integers(0, size - 6, size=2).tolist()
        masks[i, 0, top : top + 6, left : left + 6] = 1
    noise = torch.from_numpy(rng.standard_normal((n, 1, size, size))).float()
    return masks + 0.5 * noise, masks


def dice_loss(logits: torch.Tensor, masks: torch.Tensor, smooth: float = 1.0) -> torch.Tensor:
    """One minus twice the intersection over the sum of the areas."""
    probabilities = torch.sigmoid(logits)
    intersection = (probabilities * masks).sum(dim=(1, 2, 3))
    union = probabilities.sum(dim=(1, 2, 3)) + masks.sum(dim=(1, 2, 3))
    return (1 - (2 * intersection + smooth) / (union + smooth)).mean()


@torch.no_grad()
def intersection_over_union(model: nn.Module, rng: np.random.Generator) -> float:
    """Mean over a new batch."""
    images, masks = make_batch(rng)
    predicted = torch.where(model(images) > 0, torch.ones_like(masks), torch.zeros_like(masks))
    both = torch.logical_and(predicted.bool(), masks.bool()).sum((1, 2, 3))
    either = torch.logical_or(predicted.bool(), masks.bool()).sum((1, 2, 3))
    return (both / either.clamp(min=1)).mean().item()


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    model = UNet()
    fill_parameters(model, rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=2)

    losses = []
    for step in range(steps):
        images, masks = make_batch(rng)
        logits = model(images)
        loss = F.binary_cross_entropy_with_logits(logits, masks, pos_weight=torch.tensor(3.0)) + dice_loss(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}  rate {optimizer.param_groups[0]['lr']:.5f}")
    print(f"intersection over union: {intersection_over_union(model.eval(), rng):.3f}")
    return losses


if __name__ == "__main__":
    train(steps=100)
