"""Continue sine waves with two LSTM cells, fitted by L-BFGS, whose steps take a closure."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from seeded import fill_parameters


class Sequence(nn.Module):
    """Two LSTM cells and a linear layer that predicts the next value.

    Args:
        hidden: Features of the cells.
    """

    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input: torch.Tensor, future: int = 0) -> torch.Tensor:
        """Series (B, T) to predictions (B, T + future); beyond T from its own predictions."""
        outputs = []
        h_t = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        c_t, h_t2, c_t2 = torch.zeros_like(h_t), torch.zeros_like(h_t), torch.zeros_like(h_t)
        output = input[:, :1]
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss at the beginning of each step."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 2 * np.pi, size=(8, 1))
    data = torch.from_numpy(np.sin(start + 0.5 * np.arange(17)))
    input, target = data[:, :-1], data[:, 1:]

    model = Sequence()
    model.double()
    fill_parameters(model, rng)
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(model.parameters(), lr=0.5, max_iter=2)

    losses = []
    for step in range(steps):

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = criterion(model(input), target)
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
        if step % 5 == 0:
            print(f"step {step:4d}  loss {losses[-1]:.5f}")

    with torch.no_grad():
        future = model(input[:1], future=5)[0, -5:]
    print("predicted", future.detach().numpy().round(3), "sine", np.sin(start[0, 0] + 0.5 * np.arange(17, 22)).round(3))
    return losses


if __name__ == "__main__":
    train(steps=60)
