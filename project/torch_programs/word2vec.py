"""Word vectors from skip-grams with negative sampling."""

from collections import Counter

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters

TEXT = """the king rules the land and the queen rules the land the man walks to the town and the woman walks to the town
the king is a man and the queen is a woman the dog walks with the man and the cat walks with the woman"""


class SkipGram(nn.Module):
    """A vector for each word as a center and one as a context.

    Args:
        vocab_size: Number of words.
        embedding_dim: Features of a vector.
    """

    def __init__(self, vocab_size: int, embedding_dim: int) -> None:
        super().__init__()
        self.in_embed = nn.Embedding(vocab_size, embedding_dim)
        self.out_embed = nn.Embedding(vocab_size, embedding_dim)

    def forward(self, center: torch.Tensor, context: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        """Centers (B,), contexts (B,) and other words (B, K) to the loss."""
        v = self.in_embed(center)
        positive_score = (v * self.out_embed(context)).sum(dim=1)
        negative_score = torch.matmul(self.out_embed(negative), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(positive_score) + F.logsigmoid(-negative_score).sum(dim=1)).mean()


def skip_grams(words: torch.Tensor, window: int = 2) -> torch.Tensor:
    """All pairs of words at most `window` apart, shape (pairs, 2)."""
    pairs = []
    for offset in range(1, window + 1):
        left, right = words[:-offset], words[offset:]
        pairs += [torch.stack((left, right), dim=1), torch.stack((right, left), dim=1)]
    return torch.cat(pairs)


@torch.no_grad()
def nearest(model: SkipGram, index: int, k: int = 3) -> list[int]:
    """The words whose vectors have the largest cosine with a word's vector."""
    vectors = F.normalize(model.in_embed.weight, dim=1)
    similarity = vectors @ vectors[index]
    similarity[index] = -1
    return torch.argsort(similarity, descending=True)[:k].tolist()


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    words = TEXT.split()
    counts = Counter(words)
    vocabulary = [word for word, _ in counts.most_common()]
    word_to_ix = {word: i for i, word in enumerate(vocabulary)}
    pairs = skip_grams(torch.tensor([word_to_ix[word] for word in words]))
    frequency = np.array([counts[word] for word in vocabulary]) ** 0.75

    model = SkipGram(len(vocabulary), embedding_dim=16)
    fill_parameters(model, rng)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)

    losses = []
    for step in range(steps):
        rows = torch.from_numpy(rng.permutation(len(pairs))[:64])
        center, context = pairs[rows].unbind(dim=1)
        negative = torch.from_numpy(rng.choice(len(vocabulary), size=(64, 5), p=frequency / frequency.sum()))
        loss = model(center, context, negative)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    for word in ("king", "man"):
        print(f"{word}:", *(vocabulary[i] for i in nearest(model, word_to_ix[word])))
    return losses


if __name__ == "__main__":
    train(steps=500)
