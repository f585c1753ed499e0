"""Gaussian process regression whose length scale, amplitude and noise are learned from the marginal likelihood."""

import math

import numpy as np
import torch


class GaussianProcess(torch.nn.Module):
    """A Gaussian process with a squared exponential kernel; its parameters are logarithms, float64."""

    def __init__(self) -> None:
        super().__init__()
        self.log_length = torch.nn.Parameter(torch.tensor(0.0, dtype=torch.float64))
        self.log_amplitude = torch.nn.Parameter(torch.tensor(0.0, dtype=torch.float64))
        self.log_noise = torch.nn.Parameter(torch.tensor(-1.0, dtype=torch.float64))

    def kernel(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Covariances (N, M) of points (N,) and (M,)."""
        squared = (a[:, None] - b[None, :]) ** 2
        return torch.exp(2 * self.log_amplitude - 0.5 * squared / torch.exp(2 * self.log_length))

    def cholesky(self, x: torch.Tensor) -> torch.Tensor:
        """The factor of the covariance matrix of noisy observations."""
        noise = torch.exp(2 * self.log_noise) * torch.eye(x.numel(), dtype=x.dtype)
        return torch.linalg.cholesky(self.kernel(x, x) + noise)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The negative logarithm of the likelihood of observations, per observation."""
        L = self.cholesky(x)
        z = torch.linalg.solve_triangular(L, y.unsqueeze(-1), upper=False)
        half_logdet = L.diagonal().log().sum()
        return (0.5 * z.square().sum() + half_logdet) / len(x) + 0.5 * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x: torch.Tensor, y: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        """The mean of the function at new points."""
        L = self.cholesky(x)
        return self.kernel(new, x) @ torch.cholesky_solve(y[:, None], L).squeeze(1)


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.uniform(-3, 3, size=40))
    y = torch.sin(2 * x) + 0.1 * torch.from_numpy(rng.standard_normal(40))
    model = GaussianProcess()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    losses = []
    for step in range(steps):
        loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
    new = torch.linspace(-2, 2, 9, dtype=torch.float64)
    error = (model.predict(x, y, new) - torch.sin(2 * new)).abs().max().item()
    print({name: round(math.exp(p.item()), 3) for name, p in model.named_parameters()}, f"largest error {error:.3f}")
    return losses


if __name__ == "__main__":
    train(steps=200)
