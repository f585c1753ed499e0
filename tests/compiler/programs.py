"""Random programs of tensor operations, as training steps: what compiled steps are compared with."""

import random

import minitorch
from minitorch import FastBackend, Module

OPS = {
    "relu": lambda net, v: v.relu(),
    "sigmoid": lambda net, v: v.sigmoid(),
    "tanh": lambda net, v: v.tanh(),
    "exp": lambda net, v: v.exp(),
    "neg": lambda net, v: -v,
    "square": lambda net, v: v * v,
    "sum0": lambda net, v: net.other.value + v.sum(0),
    "mean1": lambda net, v: net.other.value * v.mean(1),
    "permute": lambda net, v: (v.permute(1, 0) * net.row.value.view(4, 1)).permute(1, 0),
    "view": lambda net, v: (v.contiguous().view(2, 6) * 2.0).view(3, 4),
    "copy": lambda net, v: v.clone(),
    "add": lambda net, v: v + net.other.value,
    "mul": lambda net, v: v * net.other.value,
    "sub": lambda net, v: net.other.value - v,
    "row": lambda net, v: v * net.row.value,
    "column": lambda net, v: v + net.column.value,
    "matmul": lambda net, v: v @ net.weight.value,
    "twice": lambda net, v: v * (net.row.value + net.column.value) + v * (net.row.value + net.column.value),
}
"""Operations on a tensor of shape (3, 4) with the parameters of a network; the results have that shape, too."""


class RandomNetwork(Module):
    """A module that applies operations, drawn with a seed, to its parameters and an input of shape (3, 4).

    Args:
        seed: Of the operations and of the first numbers.
        length: Number of operations.
        dtype: Of the parameters.
    """

    def __init__(self, seed, length, dtype):
        super().__init__()
        minitorch.manual_seed(seed)
        draw = random.Random(seed)
        self.ops = tuple([draw.choice(list(OPS)) for _ in range(length)])
        for name, shape in (("weight", (4, 4)), ("other", (3, 4)), ("row", (4,)), ("column", (3, 1))):
            self.add_parameter(name, minitorch.rand(shape, backend=FastBackend, dtype=dtype) - 0.5)

    def forward(self, x):
        """The mean of all that the operations lead to; the values stay small."""
        value, seen = x, []
        for op in self.ops:
            value = OPS[op](self, value) * 0.5
            seen.append(value.sum())
        total = value.mean()
        for each in seen[::2]:
            total = total + each * 0.1
        return total


def train(seed, length, dtype, steps, compiled):
    """Train a random network; returns the losses, the parameters, and the step.

    Args:
        seed: Of the network and the inputs.
        length: Number of operations.
        dtype: Of all tensors.
        steps: Number of steps.
        compiled: Makes the step that is called from the one that is written here.
    """
    network = RandomNetwork(seed, length, dtype)
    optimizer = minitorch.SGD(network.parameters(), lr=0.1, momentum=0.5)

    def step(x):
        loss = network(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = compiled(step)
    losses = []
    for _ in range(steps):
        losses.append(step(minitorch.rand((3, 4), backend=FastBackend, dtype=dtype)).item())
    return losses, [parameter.value.to_numpy() for parameter in network.parameters()], step
