"""A small vision transformer with nn.MultiheadAttention, a class token, warm-up, and label smoothing."""

import numpy as np
import torch
from seeded import fill_parameters
from torch import Tensor, nn
from torch.nn import functional as F


class PatchEmbedding(nn.Module):
    """Patches of an image as vectors, a class token before them, positions added.

    Args:
        image_size: Height and width.
        patch_size: Height and width of a patch; must divide image_size.
        dim: Features of a vector.
    """

    def __init__(self, image_size: int, patch_size: int, dim: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, dim, kernel_size=patch_size, stride=patch_size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, (image_size // patch_size) ** 2 + 1, dim))
        nn.init.trunc_normal_(self.pos_embed, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, H, W) to vectors (B, patches + 1, dim)."""
        x = self.proj(x).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(x.shape[0], -1, -1)
        return torch.cat((cls, x), dim=1) + self.pos_embed


class EncoderBlock(nn.Module):
    """Attention and a feed-forward network, each after a layer normalization.

    Args:
        dim: Features.
        heads: Heads of the attention.
        dropout: Probability of dropping.
    """

    def __init__(self, dim: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * dim, dim))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (B, T, dim) to vectors and the attention weights (B, T, T), the mean over the heads."""
        y = self.norm1(x)
        y, weights = self.attn(y, y, y)
        x = x + y
        return x + self.mlp(self.norm2(x)), weights


class ViT(nn.Module):
    """Patches, blocks, and a linear layer on the class token.

    Args:
        dim: Features.
        depth: Number of blocks.
        heads: Heads of the attention.
        num_classes: Size of the output.
    """

    def __init__(self, dim: int = 32, depth: int = 2, heads: int = 4, num_classes: int = 5) -> None:
        super().__init__()
        self.embedding = PatchEmbedding(16, 4, dim)
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(EncoderBlock(dim, heads))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, 16, 16) to logits (B, num_classes)."""
        x = self.embedding(x)
        for block in self.blocks:
            x, _ = block(x)
        return self.head(x[:, 0])


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    patterns = rng.standard_normal((5, 3, 16, 16))
    labels = torch.as_tensor(rng.integers(0, 5, size=64))
    images = torch.as_tensor(patterns[labels.numpy()] + 0.8 * rng.standard_normal((64, 3, 16, 16)), dtype=torch.float32)

    model = ViT()
    fill_parameters(model, rng)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda step: min(1.0, (step + 1) / 10))

    losses = []
    for step in range(steps):
        rows = torch.arange(step * 16, (step + 1) * 16) % len(images)
        logits = model(images[rows])
        loss = criterion(logits, labels[rows])
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}  gradient norm {norm.item():.3f}")

    with torch.no_grad():
        probabilities = F.softmax(model(images), dim=1)
        confidence, predicted = probabilities.max(dim=1)
    print(f"accuracy {(predicted == labels).float().mean().item():.3f}, mean confidence {confidence.mean().item():.3f}")
    return losses


if __name__ == "__main__":
    train(steps=100)
