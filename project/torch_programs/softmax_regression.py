"""Softmax regression on the iris-like data of three clouds, with a custom Dataset and a DataLoader."""

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters
from torch.utils.data import DataLoader, Dataset


class Clouds(Dataset):
    """Points around one center per class.

    Args:
        rng: Generator of the points.
        n: Number of points.
        features: Dimensions of a point.
        classes: Number of classes.
    """

    def __init__(self, rng: np.random.Generator, n: int = 240, features: int = 4, classes: int = 3) -> None:
        self.targets = rng.integers(0, classes, size=n)
        centers = 2 * rng.standard_normal((classes, features))
        self.points = (centers[self.targets] + rng.standard_normal((n, features))).astype(np.float32)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, int]:
        return torch.from_numpy(self.points[idx]), int(self.targets[idx])


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> float:
    """Accuracy in percent."""
    correct, total = 0, 0
    for inputs, labels in loader:
        _, predicted = torch.max(model(inputs), 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
    return 100 * correct / total


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    loader = DataLoader(Clouds(rng), batch_size=32, shuffle=False)
    model = nn.Linear(4, 3)
    fill_parameters(model, rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    losses = []
    while len(losses) < steps:
        for inputs, labels in loader:
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) % 10 == 0:
                print(f"step {len(losses):4d}  loss {loss.item():.4f}")
            if len(losses) == steps:
                break
    print(f"accuracy {evaluate(model, loader):.1f} %")
    return losses


if __name__ == "__main__":
    train(steps=100)
