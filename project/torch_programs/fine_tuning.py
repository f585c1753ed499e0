"""Fine-tune a trained network: freeze its body, replace its head, distill a teacher's logits, keep the best weights."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from seeded import fill_parameters, normal


class Network(nn.Module):
    """A body of convolutions over one dimension and a linear head.

    Args:
        classes: Size of the output.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2), nn.BatchNorm1d(8), nn.Tanh(), nn.AvgPool1d(2), nn.Conv1d(8, 16, 3), nn.LeakyReLU()
        )
        self.classifier = nn.Linear(16, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Signals (B, 1, L) to logits (B, classes)."""
        return self.classifier(self.features(x).mean(dim=-1))


def make_signals(rng: np.random.Generator, n: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy sines, one frequency per class, shape (n, 1, 32), and their classes."""
    labels = torch.from_numpy(rng.integers(0, classes, size=n))
    t = torch.linspace(0, 1, 32).repeat(n, 1)
    signals = torch.sin(2 * torch.pi * (labels.float().add(1).mul(2).unsqueeze(1) * t))
    return (signals + 0.3 * normal(rng, n, 32)).unsqueeze(1), labels


def distillation(student: torch.Tensor, teacher: torch.Tensor, temperature: float = 2.0) -> torch.Tensor:
    """The divergence of the student's softened probabilities from the teacher's."""
    log_p = F.log_softmax(student / temperature, dim=1)
    q = F.softmax(teacher / temperature, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * temperature**2


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    teacher = Network(classes=4)
    fill_parameters(teacher, rng)
    teacher.eval()

    model = Network(classes=4)
    body = {key: value for key, value in teacher.state_dict().items() if not key.startswith("classifier")}
    missing = model.load_state_dict(body, strict=False).missing_keys
    assert missing == ["classifier.weight", "classifier.bias"]
    for param in model.features.parameters():
        param.requires_grad = False
    model.classifier = nn.Linear(model.classifier.in_features, 4)
    fill_parameters(model.classifier, rng)

    shapes: list[tuple[int, ...]] = []
    handle = model.features.register_forward_hook(lambda module, args, output: shapes.append(tuple(output.shape)))
    optimizer = optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[10, 15], gamma=0.5)
    losses: list[float] = []
    best_loss, best_weights = float("inf"), copy.deepcopy(model.state_dict())
    for step in range(steps):
        if step == 10:
            model.features[4].requires_grad_(True)
            optimizer.add_param_group({"params": model.features[4].parameters(), "lr": 0.01})
        x, y = make_signals(rng, 32, classes=4)
        with torch.no_grad():
            wanted = teacher(x)
        logits = model(x)
        loss = F.cross_entropy(logits, y) + 0.1 * distillation(logits, wanted) + 1e-3 * model.classifier.weight.abs().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if loss.item() < best_loss:
            best_loss, best_weights = loss.item(), copy.deepcopy(model.state_dict())
        if step % 10 == 0:
            trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
            print(f"step {step:4d}  loss {loss.item():.4f}  {trained} parameters are trained")
    handle.remove()

    model.load_state_dict(best_weights)
    model.eval()
    with torch.set_grad_enabled(False):
        x, y = make_signals(rng, 100, classes=4)
        accuracy = torch.mean((model(x).argmax(dim=1) == y).float()).item()
    print(f"best loss {best_loss:.4f}, accuracy {accuracy:.2f}, features of shape {shapes[0]}")
    return losses


if __name__ == "__main__":
    train(steps=200)
