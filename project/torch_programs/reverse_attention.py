"""Reverse sequences of digits with a GRU encoder, a GRU decoder, and attention over the encoder's outputs."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters

SOS, DIGITS = 10, 10


class EncoderRNN(nn.Module):
    """Embedding and GRU.

    Args:
        input_size: Number of tokens.
        hidden_size: Features of embedding and hidden state.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens (B, T) to outputs (B, T, hidden) and the last hidden state (1, B, hidden)."""
        return self.gru(self.embedding(tokens))


class AttnDecoderRNN(nn.Module):
    """A decoder that reads the encoder's outputs through dot-product attention before each step.

    Args:
        hidden_size: Features of embedding and hidden state.
        output_size: Number of tokens.
        dropout: Probability of dropping a feature of the embedding.
    """

    def __init__(self, hidden_size: int, output_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.dropout = nn.Dropout(p=dropout)
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.gru = nn.GRUCell(2 * hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward_step(
        self, token: torch.Tensor, hidden: torch.Tensor, keys: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Token (B,), hidden state (B, hidden), keys (B, T, hidden) to logits, hidden state and attention weights (B, T)."""
        embedded = self.dropout(self.embedding(token))
        scores = torch.bmm(self.query(hidden).unsqueeze(1), keys.permute(0, 2, 1))
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, keys).squeeze(1)
        hidden = self.gru(torch.cat((embedded, context), dim=-1), hidden)
        return self.out(hidden), hidden, weights.squeeze(1)

    def forward(
        self, encoder_outputs: torch.Tensor, encoder_hidden: torch.Tensor, target: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Decode as many tokens as were encoded, from the targets if given, else from the decoder's own predictions."""
        batch, length, _ = encoder_outputs.size()
        token = torch.empty(batch, dtype=torch.long, device=encoder_outputs.device).fill_(SOS)
        hidden = encoder_hidden[-1]
        outputs, attentions = [], []
        for i in range(length):
            logits, hidden, weights = self.forward_step(token, hidden, encoder_outputs)
            outputs.append(logits)
            attentions.append(weights)
            if target is not None:
                token = target[:, i]
            else:
                _, topi = logits.topk(1)
                token = topi.squeeze(-1).detach()
        return F.log_softmax(torch.stack(outputs, dim=1), dim=-1), torch.stack(attentions, dim=1)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    device = torch.device("cpu")
    encoder = EncoderRNN(DIGITS, 32).to(device)
    decoder = AttnDecoderRNN(32, DIGITS + 1).to(device)
    fill_parameters(encoder, rng)
    fill_parameters(decoder, rng)
    encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=0.003)
    decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.003)
    criterion = nn.NLLLoss()

    losses = []
    for step in range(steps):
        source = torch.from_numpy(rng.integers(0, DIGITS, size=(32, 7))).to(device)
        target = source.flip(dims=[1])
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        outputs, hidden = encoder(source)
        log_probs, _ = decoder(outputs, hidden, target)
        loss = criterion(log_probs.view(-1, log_probs.size(-1)), target.reshape(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")

    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        log_probs, attention = decoder(*encoder(source))
        exact = (log_probs.argmax(-1) == target).all(dim=1).float().mean().item()
    print(f"reversed without an error: {exact:.2f}; attention at the first digit: {attention[0, 0].numpy().round(2)}")
    return losses


if __name__ == "__main__":
    train(steps=500)
