"""Generate names character by character with a recurrent network that is written out from linear layers."""

import numpy as np
import torch
from seeded import fill_parameters
from torch import nn
from torch.nn import functional as F

NAMES = "anna emma mia lena lara nina clara elena ida hanna maria laura"
CHARACTERS = "." + "".join(sorted(set(NAMES) - {" "}))
"""The full stop begins and ends every name."""


class RNN(nn.Module):
    """One step of a recurrent network: input and hidden state, concatenated, to output and next hidden state.

    Args:
        input_size: Number of characters.
        hidden_size: Features of the hidden state.
        output_size: Number of characters.
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int) -> None:
        super(RNN, self).__init__()  # noqa: UP008 - as older programs write it
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Shapes (B, input_size) and (B, hidden_size) to (B, output_size) and (B, hidden_size)."""
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.softmax(self.i2o(combined)), hidden

    def init_hidden(self, batch: int = 1) -> torch.Tensor:
        """The hidden state before the first character."""
        return torch.zeros(batch, self.hidden_size)


def one_hot(indices: torch.Tensor) -> torch.Tensor:
    """Characters (B,) to vectors (B, characters)."""
    return F.one_hot(indices, num_classes=len(CHARACTERS)).float()


@torch.no_grad()
def sample(model: RNN, max_length: int = 8, temperature: float = 0.8) -> str:
    """Draw a name from the network, with torch's generator."""
    hidden, index, name = model.init_hidden(), torch.zeros(1, dtype=torch.long), ""
    for _ in range(max_length):
        output, hidden = model(one_hot(index), hidden)
        probabilities = torch.exp(output / temperature)
        index = torch.multinomial(probabilities.squeeze(0), num_samples=1)
        if index.item() == 0:
            break
        name += CHARACTERS[index.item()]
    return name


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step, one name a step."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    model = RNN(len(CHARACTERS), 24, len(CHARACTERS))
    fill_parameters(model, rng)
    criterion = nn.NLLLoss()
    learning_rate = 0.05
    names = NAMES.split()

    losses = []
    for step in range(steps):
        line = torch.LongTensor([CHARACTERS.index(c) for c in "." + names[step % len(names)] + "."])
        hidden = model.init_hidden()
        model.zero_grad()
        loss = torch.Tensor([0])
        for i in range(line.size(0) - 1):
            output, hidden = model(one_hot(line[i : i + 1]), hidden)
            loss += criterion(output, line[i + 1].unsqueeze(0))
        loss.backward()
        for p in model.parameters():
            p.data.add_(p.grad.data, alpha=-learning_rate)
        losses.append(loss.item() / (line.size(0) - 1))
        if step % 10 == 0:
            print(f"step {step:4d}  loss {losses[-1]:.4f}")
    print("names:", ", ".join(sample(model) for _ in range(3)))
    return losses


if __name__ == "__main__":
    train(steps=600)
