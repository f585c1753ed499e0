"""Classify names by language with an LSTM over their characters."""

import string

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters

NAMES = {
    "German": "Schmidt Schneider Fischer Weber Wagner Becker Schulz Hoffmann Koch Richter Klein Wolf",
    "Italian": "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo",
    "Japanese": "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada",
}
LANGUAGES = list(NAMES)
LETTERS = string.ascii_letters


class NameClassifier(nn.Module):
    """Embedding, LSTM, and a linear layer on the output at the last character of each name.

    Args:
        hidden_size: Features of the LSTM.
    """

    def __init__(self, hidden_size: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS) + 1, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, hidden_size, num_layers=2, batch_first=True)
        self.h2o = nn.Linear(hidden_size, len(LANGUAGES))

    def forward(self, names: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Padded characters (B, T) and lengths (B,) to logits (B, languages)."""
        output, (hidden, _) = self.lstm(self.embedding(names))
        last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, output.size(2))
        features = output.gather(1, last).squeeze(1)
        assert hidden.shape == (2, names.shape[0], output.shape[-1])
        return self.h2o(features)


def encode(name: str) -> torch.Tensor:
    """The characters of a name as int64; 0 is the padding."""
    return torch.tensor([LETTERS.index(letter) + 1 for letter in name], dtype=torch.long)


def predict(model: nn.Module, name: str, n_predictions: int = 2) -> list[tuple[str, float]]:
    """The most probable languages of a name."""
    with torch.no_grad():
        logits = model(encode(name).unsqueeze(0), torch.tensor([len(name)]))
        values, indices = torch.softmax(logits, dim=-1).topk(n_predictions, dim=1)
    return [(LANGUAGES[indices[0][i].item()], values[0][i].item()) for i in range(n_predictions)]


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    pairs = [(name, label) for label, names in enumerate(NAMES.values()) for name in names.split()]
    lengths = torch.tensor([len(name) for name, _ in pairs])
    names = nn.utils.rnn.pad_sequence([encode(name) for name, _ in pairs], batch_first=True)
    labels = torch.tensor([label for _, label in pairs])

    model = NameClassifier()
    fill_parameters(model, rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    losses = []
    for step in range(steps):
        model.zero_grad()
        logits = model(names, lengths)
        loss = criterion(logits, labels)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            accuracy = (logits.argmax(dim=1) == labels).float().mean().item()
            print(f"step {step:4d}  loss {loss.item():.4f}  accuracy {accuracy:.3f}")
    for name in ("Schubert", "Rossini", "Kurosawa"):
        print(name, *(f"{language} {probability:.2f}" for language, probability in predict(model, name)))
    return losses


if __name__ == "__main__":
    train(steps=80)
