"""A convolutional network on images like digits, with Adadelta and a learning rate that decays every epoch."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from seeded import fill_parameters
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """Two convolutions, pooling and two linear layers.

    Args:
        dropout: Probability of dropping an element.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.fc1 = nn.Linear(16 * 6 * 6, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (B, 1, 16, 16) to log-probabilities (B, 10)."""
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


def make_loader(rng: np.random.Generator, n: int, batch_size: int) -> DataLoader:
    """Batches of noisy images, each with one of ten blocky patterns."""
    patterns = np.kron(rng.random((10, 4, 4)) > 0.5, np.ones((4, 4)))
    labels = rng.integers(0, 10, size=n)
    images = patterns[labels] + 0.3 * rng.standard_normal((n, 16, 16))
    x = torch.from_numpy(images.astype(np.float32)).unsqueeze(1)
    x = (x - x.mean()) / x.std()
    return DataLoader(TensorDataset(x, torch.from_numpy(labels).long()), batch_size=batch_size, drop_last=True)


def test(model: nn.Module, device: torch.device, loader: DataLoader) -> tuple[float, float]:
    """Mean loss and accuracy."""
    model.eval()
    test_loss = 0.0
    correct = 0
    count = 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            count += len(data)
    return test_loss / count, correct / count


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    device = torch.device("cpu")
    rng = np.random.default_rng(seed)
    loader = make_loader(rng, n=170, batch_size=32)

    model = Net().to(device)
    fill_parameters(model, rng)
    optimizer = optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)

    losses: list[float] = []
    epoch = 0
    while len(losses) < steps:
        epoch += 1
        model.train()
        for batch_idx, (data, target) in enumerate(loader):
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if batch_idx % 5 == 0:
                lr = optimizer.param_groups[0]["lr"]
                print(f"epoch {epoch} [{batch_idx * len(data)}/{len(loader.dataset)}]  loss {loss.item():.4f}  lr {lr:.4f}")
            if len(losses) == steps:
                break
        scheduler.step()
    test_loss, accuracy = test(model, device, loader)
    print(f"mean loss {test_loss:.4f}, accuracy {100 * accuracy:.0f} %, last rate {scheduler.get_last_lr()[0]:.4f}")
    return losses


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60, help="number of batches")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and weights")
    args = parser.parse_args()
    train(args.steps, args.seed)


if __name__ == "__main__":
    main()
