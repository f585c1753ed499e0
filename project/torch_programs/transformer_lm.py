"""A language model of nn.TransformerEncoder layers over the words of a small text."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters
from torch import Tensor
from torch.nn import TransformerEncoder, TransformerEncoderLayer

TEXT = "the cat sat on the mat and the dog sat on the log while the bird sang in the tree near the cat and the dog"


class PositionalEncoding(nn.Module):
    """Adds sines and cosines of the position.

    Args:
        d_model: Features, an even number.
        dropout: Probability of dropping a feature.
        max_len: Longest sequence.
    """

    def __init__(self, d_model: int, dropout: float = 0.0, max_len: int = 100) -> None:
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (T, B, d_model)."""
        x = x + self.pe[: x.size(0)]
        return self.dropout(x)


class TransformerModel(nn.Module):
    """Embedding, positions, encoder layers with a causal mask, linear layer.

    Args:
        ntoken: Number of words.
        d_model: Features.
        nhead: Heads of the attention.
        d_hid: Units of the feed-forward layers.
        nlayers: Number of layers.
        dropout: Probability of dropping.
    """

    def __init__(self, ntoken: int, d_model: int = 32, nhead: int = 4, d_hid: int = 64, nlayers: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        encoder_layers = TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = TransformerEncoder(encoder_layers, nlayers, enable_nested_tensor=False)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.init_weights()

    def init_weights(self) -> None:
        """Uniform weights, as they would be without fill_parameters."""
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """Words (T, B) to logits (T, B, ntoken)."""
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        output = self.transformer_encoder(src, src_mask)
        return self.linear(output)


def batchify(data: Tensor, bsz: int) -> Tensor:
    """A sequence of words as bsz columns; the rest is left out."""
    seq_len = data.size(0) // bsz
    return data[: seq_len * bsz].view(bsz, seq_len).t().contiguous()


def get_batch(source: Tensor, i: int, bptt: int) -> tuple[Tensor, Tensor]:
    """Words (T, B) from row i on, and the words that follow each of them, flat."""
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].reshape(-1)


def evaluate(model: nn.Module, source: Tensor, bptt: int) -> float:
    """Mean loss per word."""
    model.eval()
    total_loss = 0.0
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, bptt):
            data, targets = get_batch(source, i, bptt)
            output_flat = model(data).view(-1, model.linear.out_features)
            total_loss += data.size(0) * F.cross_entropy(output_flat, targets).item()
    return total_loss / (len(source) - 1)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    words = TEXT.split()
    vocabulary = {word: i for i, word in enumerate(sorted(set(words)))}
    ids = torch.tensor([vocabulary[word] for word in words], dtype=torch.long)
    source = batchify(torch.cat([ids.roll(int(shift)) for shift in rng.integers(0, len(ids), size=16)]), bsz=8)

    bptt = 12
    model = TransformerModel(len(vocabulary))
    fill_parameters(model, rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.95)

    losses: list[float] = []
    while len(losses) < steps:
        model.train()
        for i in range(0, source.size(0) - 1, bptt):
            data, targets = get_batch(source, i, bptt)
            mask = nn.Transformer.generate_square_subsequent_mask(data.size(0))
            output = model(data, mask)
            loss = criterion(output.view(-1, len(vocabulary)), targets)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.item())
            if len(losses) % 10 == 0:
                print(f"step {len(losses):4d}  loss {loss.item():.4f}  perplexity {math.exp(loss.item()):.2f}")
            if len(losses) == steps:
                break
        scheduler.step()
    print(f"loss per word after training: {evaluate(model, source, bptt):.4f}")
    return losses


if __name__ == "__main__":
    train(steps=200)
