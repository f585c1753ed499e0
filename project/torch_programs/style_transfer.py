"""Fast style transfer: a network repaints images in one pass, trained on the features of another, fixed network."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters


class ConvLayer(nn.Module):
    """A convolution whose input is padded by reflection.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel_size: Height and width of the kernel.
        stride: Step between its positions.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__()
        self.reflection_pad = nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, in_channels, H, W) to (B, out_channels, H / stride, W / stride)."""
        return self.conv2d(self.reflection_pad(x))


class TransformerNet(nn.Module):
    """Convolutions of 9 × 9 at both ends, and a residual block at half the size between them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.in1 = ConvLayer(3, 8, kernel_size=9), nn.InstanceNorm2d(8, affine=True)
        self.conv2, self.in2 = ConvLayer(8, 16, kernel_size=3, stride=2), nn.InstanceNorm2d(16, affine=True)
        self.res1, self.res2 = ConvLayer(16, 16, kernel_size=3), ConvLayer(16, 16, kernel_size=3)
        self.conv3 = ConvLayer(16, 8, kernel_size=3)
        self.conv4 = ConvLayer(8, 3, kernel_size=9)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, 3, H, W) to images."""
        y = self.relu(self.in1(self.conv1(x)))
        y = self.relu(self.in2(self.conv2(y)))
        y = y + self.res2(self.relu(self.res1(y)))
        y = self.relu(self.conv3(F.interpolate(y, mode="nearest", scale_factor=2)))
        return self.conv4(y)


class Features(nn.Module):
    """A fixed network of two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Images (B, 3, H, W) to the outputs of both layers."""
        first = F.relu(self.conv1(x))
        return [first, F.relu(self.conv2(F.max_pool2d(first, 2)))]


def gram_matrix(y: torch.Tensor) -> torch.Tensor:
    """How often features (B, C, H, W) occur together, shape (B, C, C)."""
    b, ch, h, w = y.size()
    features = y.view(b, ch, w * h)
    return features.bmm(features.transpose(1, 2)) / (ch * h * w)


def train(steps: int = 20, seed: int = 0, size: int = 24) -> list[float]:
    """Train on images of a size and return the loss of each step."""
    rng = np.random.default_rng(seed)
    transformer, vgg = TransformerNet(), Features()
    fill_parameters(transformer, rng)
    fill_parameters(vgg, rng)
    vgg.requires_grad_(False)
    optimizer = torch.optim.SGD(transformer.parameters(), lr=0.003, momentum=0.9)
    style = torch.from_numpy(rng.random((1, 3, size, size))).float()
    gram_style = [gram_matrix(y) for y in vgg(style)]

    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        x = torch.from_numpy(rng.random((1, 3, size, size)).cumsum(axis=3) / size).float()
        y = transformer(x)
        features_y, features_x = vgg(y), vgg(x)
        content_loss = F.mse_loss(features_y[1], features_x[1])
        style_loss = sum(F.mse_loss(gram_matrix(ft_y), gm_s) for ft_y, gm_s in zip(features_y, gram_style, strict=True))
        loss = content_loss + 10 * style_loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  content {content_loss.item():.4f}  style {style_loss.item():.4f}")
    return losses


if __name__ == "__main__":
    train(steps=100, size=64)
