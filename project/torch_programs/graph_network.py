"""Classify the nodes of a graph with graph convolutions: messages along edges are summed with index_add and by a matrix product."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from seeded import fill_parameters, normal


class GCNConv(nn.Module):
    """A graph convolution over a list of edges.

    Args:
        in_features: Features of a node.
        out_features: Features of the result.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's initial weights."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """Nodes (N, in_features) and edges (2, E) to nodes (N, out_features)."""
        source, target = edge_index
        degree = torch.zeros(x.size(0)).scatter_add_(0, target, torch.ones(target.size(0)))
        scale = degree.pow(-0.5)
        scale[scale == float("inf")] = 0.0
        x = x @ self.weight
        messages = x[source] * (scale[source] * scale[target]).unsqueeze(-1)
        return torch.zeros_like(x).index_add(0, target, messages) + self.bias


class GCN(nn.Module):
    """Two graph convolutions, the second one as a product with the normalized adjacency matrix.

    Args:
        features: Features of a node.
        hidden: Features between the convolutions.
        classes: Number of classes.
    """

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.conv = GCNConv(features, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.linear = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        """Nodes (N, features), edges (2, E) and a matrix (N, N) to logits (N, classes)."""
        h = F.elu(self.norm(self.conv(x, edge_index)))
        h = F.dropout(h, p=0.0, training=self.training)
        return adjacency.matmul(self.linear(h))


def make_graph(rng: np.random.Generator, n: int = 60, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features (N, 8), adjacency matrix (N, N) with ones on the diagonal, labels (N,); nodes of one class are often connected."""
    labels = torch.arange(n) % classes
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    chance = torch.where(same, 0.3, 0.03)
    above = torch.triu(torch.from_numpy(rng.random((n, n))).float() < chance, diagonal=1)
    adjacency = (above | above.T).float() + torch.eye(n)
    return normal(rng, n, 8) + 0.5 * F.one_hot(labels, 8), adjacency, labels


def train(steps: int = 20, seed: int = 0) -> list[float]:
    """Train and return the loss of each step."""
    rng = np.random.default_rng(seed)
    x, adjacency, labels = make_graph(rng)
    edge_index = adjacency.nonzero(as_tuple=False).t().contiguous()
    scale = torch.rsqrt(adjacency.sum(1))
    normalized = torch.diag(scale) @ adjacency @ torch.diag(scale)
    train_mask = torch.from_numpy(rng.random(len(labels)) < 0.5)

    model = GCN(8, 16, 3)
    fill_parameters(model, rng)
    optimizer = torch.optim.Adam(
        [{"params": model.conv.parameters(), "weight_decay": 5e-4}, {"params": [*model.norm.parameters(), *model.linear.parameters()]}],
        lr=0.01,
    )
    losses = []
    for step in range(steps):
        model.train()
        optimizer.zero_grad()
        out = model(x, edge_index, normalized)
        loss = F.cross_entropy(out[train_mask], labels[train_mask])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(x, edge_index, normalized).argmax(dim=-1)
        correct = (pred[~train_mask] == labels[~train_mask]).sum()
    print(f"accuracy on the other nodes: {int(correct) / int((~train_mask).sum()):.3f}")
    return losses


if __name__ == "__main__":
    train(steps=100)
