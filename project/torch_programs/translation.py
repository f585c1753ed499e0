"""Translate sequences of letters with nn.Transformer, encoder and decoder, with masks for padding and for the future."""

import math

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters
from torch import Tensor

PAD, BOS, EOS, FIRST = 0, 1, 2, 3
LETTERS = 8


class Seq2SeqTransformer(nn.Module):
    """Embeddings, positions, nn.Transformer and a linear layer.

    Args:
        vocab_size: Number of tokens of both languages.
        emb_size: Features.
        nhead: Heads of the attention.
        num_layers: Layers of the encoder, and of the decoder.
        max_len: Longest sequence.
    """

    def __init__(self, vocab_size: int, emb_size: int = 32, nhead: int = 4, num_layers: int = 1, max_len: int = 20) -> None:
        super().__init__()
        self.emb_size = emb_size
        self.src_tok_emb = nn.Embedding(vocab_size, emb_size, padding_idx=PAD)
        self.tgt_tok_emb = nn.Embedding(vocab_size, emb_size)
        self.positions = nn.Embedding(max_len, emb_size)
        self.transformer = nn.Transformer(
            d_model=emb_size,
            nhead=nhead,
            num_encoder_layers=num_layers,
            num_decoder_layers=num_layers,
            dim_feedforward=64,
            dropout=0.0,
            batch_first=True,
        )
        self.generator = nn.Linear(emb_size, vocab_size)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def embed(self, tokens: Tensor, embedding: nn.Embedding) -> Tensor:
        """Tokens (B, T) to vectors (B, T, emb_size)."""
        return embedding(tokens.long()) * math.sqrt(self.emb_size) + self.positions(torch.arange(tokens.size(1)))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Tokens (B, S) and (B, T) to logits (B, T, vocab_size)."""
        tgt_mask = torch.triu(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool), diagonal=1)
        outs = self.transformer(
            self.embed(src, self.src_tok_emb),
            self.embed(tgt, self.tgt_tok_emb),
            tgt_mask=tgt_mask,
            src_key_padding_mask=(src == PAD),
            tgt_key_padding_mask=(tgt == PAD),
            memory_key_padding_mask=(src == PAD),
        )
        return self.generator(outs)


def make_batch(rng: np.random.Generator, n: int = 16) -> tuple[Tensor, Tensor]:
    """Words of three to six letters, padded; their translation is the next letter of each, in reverse order."""
    src, tgt = torch.full((n, 6), PAD), torch.full((n, 8), PAD)
    for i in range(n):
        word = rng.integers(0, LETTERS, size=rng.integers(3, 7))
        translated = (word[::-1] + 1) % LETTERS
        src[i, : len(word)] = torch.from_numpy(word + FIRST)
        tgt[i, 0] = BOS
        tgt[i, 1 : len(word) + 1] = torch.from_numpy(translated + FIRST)
        tgt[i, len(word) + 1] = EOS
    return src, tgt


@torch.no_grad()
def greedy_decode(model: nn.Module, src: Tensor, max_len: int = 8) -> list[int]:
    """The most probable token after each other, until the end."""
    ys = torch.ones(1, 1).fill_(BOS).type(torch.long)
    for _ in range(max_len - 1):
        next_word = model(src, ys)[:, -1].argmax(dim=1).item()
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src).fill_(next_word)], dim=1)
        if next_word == EOS:
            break
    return ys.squeeze(0).tolist()


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    model = Seq2SeqTransformer(FIRST + LETTERS)
    fill_parameters(model, rng)
    loss_fn = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)

    losses = []
    for step in range(steps):
        src, tgt = make_batch(rng)
        tgt_input, tgt_out = tgt[:, :-1], tgt[:, 1:]
        logits = model(src, tgt_input)
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt_out.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    src, tgt = make_batch(rng, n=1)
    print("wanted", tgt[tgt != PAD].tolist(), "decoded", greedy_decode(model, src))
    return losses


if __name__ == "__main__":
    train(steps=600)
