"""A variational autoencoder on binary images, whose noise comes from NumPy."""

import numpy as np
import torch
from seeded import fill_parameters, normal
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader


class VAE(nn.Module):
    """Encoder to mean and log-variance, reparametrized sample, decoder to probabilities.

    Args:
        pixels: Pixels of an image.
        hidden: Units of the hidden layers.
        latent: Dimensions of the code.
    """

    def __init__(self, pixels: int = 64, hidden: int = 48, latent: int = 4) -> None:
        super().__init__()
        self.pixels = pixels
        self.fc1 = nn.Linear(pixels, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, pixels)

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Images (B, pixels) to means and log-variances (B, latent)."""
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu: torch.Tensor, logvar: torch.Tensor, eps: torch.Tensor) -> torch.Tensor:
        """A code with the given mean and log-variance, differentiable in both."""
        std = torch.exp(0.5 * logvar)
        return mu + eps * std

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Codes (B, latent) to probabilities (B, pixels)."""
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x: torch.Tensor, eps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Images (B, 1, H, W) and noise (B, latent) to reconstructions, means and log-variances."""
        mu, logvar = self.encode(x.view(-1, self.pixels))
        z = self.reparameterize(mu, logvar, eps)
        return self.decode(z), mu, logvar


def loss_function(recon_x: torch.Tensor, x: torch.Tensor, mu: torch.Tensor, logvar: torch.Tensor) -> torch.Tensor:
    """Reconstruction error and divergence of the code from a standard normal distribution, summed over the batch."""
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, recon_x.size(1)), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss per image of each step."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.random((160, 1, 8, 1)) > 0.5, rng.random((160, 1, 1, 8)) > 0.5
    images = torch.from_numpy((rows & columns).astype(np.float32))
    loader = DataLoader(images, batch_size=32)
    model = VAE()
    fill_parameters(model, rng)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    losses: list[float] = []
    while len(losses) < steps:
        for data in loader:
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(data, normal(rng, len(data), 4))
            loss = loss_function(recon_batch, data, mu, logvar)
            loss.backward()
            optimizer.step()
            losses.append(loss.item() / len(data))
            if len(losses) % 10 == 0:
                print(f"step {len(losses):4d}  loss {losses[-1]:.4f}")
            if len(losses) == steps:
                break

    model.eval()
    with torch.no_grad():
        drawn = model.decode(normal(rng, 1, 4)).view(8, 8)
    print("\n".join("".join(" .:#"[int(3.99 * value)] for value in row) for row in drawn.tolist()))
    return losses


if __name__ == "__main__":
    train(steps=500)
