"""A small GPT over characters, written out: causal self-attention with einsum and masked_fill, AdamW, and sampling with top-k."""

import math

import numpy as np
import torch
import torch.nn as nn
from seeded import fill_parameters
from torch.nn import functional as F

TEXT = "a rose is a rose is a rose and a name is a name is a name but a rose by a name is a rose. " * 4
CHARACTERS = sorted(set(TEXT))


class CausalSelfAttention(nn.Module):
    """Several heads of attention, each position to itself and those before it.

    Args:
        n_embd: Features.
        n_head: Heads; must divide n_embd.
        block_size: Longest sequence.
    """

    def __init__(self, n_embd: int, n_head: int, block_size: int) -> None:
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head, self.n_embd = n_head, n_embd
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (B, T, n_embd)."""
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in (q, k, v))
        att = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    """Attention and a feed-forward network, each after a layer normalization and added to its input.

    Args:
        n_embd: Features.
        n_head: Heads.
        block_size: Longest sequence.
    """

    def __init__(self, n_embd: int, n_head: int, block_size: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(n_embd, 4 * n_embd), "act": nn.GELU(), "c_proj": nn.Linear(4 * n_embd, n_embd), "dropout": nn.Dropout(0.0)}
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (B, T, n_embd)."""
        m, attended = self.mlp, self.attn(self.ln_1(x))
        x = x + attended
        return x + m["dropout"](m["c_proj"](m["act"](m["c_fc"](self.ln_2(x)))))


class GPT(nn.Module):
    """Embeddings of tokens and positions, blocks, and a head that shares the token embedding's weight.

    Args:
        vocab_size: Number of tokens.
        block_size: Longest sequence.
        n_layer: Number of blocks.
        n_head: Heads.
        n_embd: Features.
    """

    def __init__(self, vocab_size: int, block_size: int = 16, n_layer: int = 2, n_head: int = 2, n_embd: int = 32) -> None:
        super().__init__()
        self.block_size = block_size
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.blocks = nn.ModuleList([Block(n_embd, n_head, block_size) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx: torch.Tensor, targets: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Tokens (B, T) to logits (B, T, vocab_size) and, with targets (B, T), the loss."""
        _, T = idx.size()
        pos = torch.arange(0, T, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.wte(idx) + self.wpe(pos)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx: torch.Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None) -> torch.Tensor:
        """Append tokens (B, T) to (B, T + max_new_tokens), drawn with torch's generator."""
        for _ in range(max_new_tokens):
            idx_cond = idx if idx.size(1) <= self.block_size else idx[:, -self.block_size :]
            logits, _ = self(idx_cond)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    data = torch.tensor([CHARACTERS.index(c) for c in TEXT], dtype=torch.long)
    model = GPT(len(CHARACTERS))
    fill_parameters(model, rng)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))

    losses = []
    for step in range(steps):
        ix = rng.integers(0, len(data) - model.block_size, size=8).tolist()
        x = torch.stack([data[i : i + model.block_size] for i in ix])
        y = torch.stack([data[i + 1 : i + 1 + model.block_size] for i in ix])
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    model.eval()
    context = torch.zeros((1, 1), dtype=torch.long)
    drawn = model.generate(context, max_new_tokens=40, temperature=0.8, top_k=5)[0].tolist()
    print("".join(CHARACTERS[i] for i in drawn))
    return losses


if __name__ == "__main__":
    train(steps=300)
