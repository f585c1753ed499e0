"""Classify sentences with nn.EmbeddingBag and with convolutions over words; the loader joins sentences of different lengths."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters
from torch.utils.data import DataLoader, Subset

GOOD = "great wonderful lovely superb brilliant moving"
BAD = "boring awful dull terrible weak tedious"
OTHER = "the film was a story with actors and music in every scene"
VOCABULARY = f"<pad> {GOOD} {BAD} {OTHER}".split()


class BagClassifier(nn.Module):
    """The mean of the words' vectors and a linear layer.

    Args:
        vocab_size: Number of words.
        embed_dim: Features of a word.
        num_class: Size of the output.
    """

    def __init__(self, vocab_size: int, embed_dim: int, num_class: int) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, mode="mean")
        self.fc = nn.Linear(embed_dim, num_class)

    def forward(self, text: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """All words, one sentence after the other, and where each begins, to logits (B, num_class)."""
        return self.fc(self.embedding(text, offsets))


class ConvClassifier(nn.Module):
    """Convolutions of several widths over the words, the maximum over positions, and a linear layer.

    Args:
        vocab_size: Number of words.
        embed_dim: Features of a word.
        num_class: Size of the output.
    """

    def __init__(self, vocab_size: int, embed_dim: int, num_class: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.convs = nn.ModuleList([nn.Conv1d(embed_dim, 8, width) for width in (2, 3)])
        self.fc = nn.Linear(16, num_class)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Padded sentences (B, T) to logits (B, num_class)."""
        x = self.embedding(text).transpose(1, 2)
        features = [F.relu(conv(x)) for conv in self.convs]
        return self.fc(torch.cat([torch.amax(each, dim=-1) for each in features], dim=1))


def make_sentences(rng: np.random.Generator, n: int) -> list[tuple[int, list[int]]]:
    """Labels and the numbers of words; three words of a sentence tell its label."""
    sentences = []
    for label in rng.integers(0, 2, size=n).tolist():
        words = [*rng.choice((GOOD if label else BAD).split(), size=3), *rng.choice(OTHER.split(), size=rng.integers(4, 9))]
        sentences.append((label, [VOCABULARY.index(word) for word in rng.permutation(words)]))
    return sentences


def collate_batch(batch: list[tuple[int, list[int]]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Labels (B,), all words, the offsets of sentences (B,), and padded sentences (B, T)."""
    labels = torch.tensor([label for label, _ in batch], dtype=torch.int64)
    texts = [torch.tensor(words, dtype=torch.int64) for _, words in batch]
    offsets = torch.tensor([0] + [len(text) for text in texts[:-1]]).cumsum(dim=0)
    return labels, torch.cat(texts), offsets, nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=0)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train both models and return the sum of their losses of each step."""
    rng = np.random.default_rng(seed)
    sentences = make_sentences(rng, 100)
    train_loader = DataLoader(Subset(sentences, range(80)), batch_size=16, collate_fn=collate_batch)
    test_loader = DataLoader(Subset(sentences, range(80, 100)), batch_size=20, collate_fn=collate_batch)

    bag, conv = BagClassifier(len(VOCABULARY), 16, 2), ConvClassifier(len(VOCABULARY), 16, 2)
    fill_parameters(bag, rng)
    fill_parameters(conv, rng)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.5]))
    optimizer = torch.optim.Adam(list(bag.parameters()) + list(conv.parameters()), lr=0.02)

    losses: list[float] = []
    while len(losses) < steps:
        for labels, text, offsets, padded in train_loader:
            loss = criterion(bag(text, offsets), labels) + criterion(conv(padded), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) % 10 == 0:
                print(f"step {len(losses):4d}  loss {loss.item():.4f}")
            if len(losses) == steps:
                break

    with torch.no_grad():
        labels, text, offsets, padded = next(iter(test_loader))
        for name, logits in (("bag", bag(text, offsets)), ("convolutions", conv(padded))):
            print(f"{name}: accuracy {torch.sum(logits.argmax(1) == labels).item() / labels.size(0):.2f}")
    return losses


if __name__ == "__main__":
    train(steps=60)
