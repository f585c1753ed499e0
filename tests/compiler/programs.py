"""Random programs of tensor operations, as training steps: what compiled steps are compared with."""

import random

import minitorch
from minitorch import FastBackend, Module

UNARY = ("relu", "sigmoid", "tanh", "exp", "neg", "square", "sum0", "mean1", "permute", "view", "copy")
BINARY = ("add", "mul", "sub", "row", "column", "matmul", "twice")


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
        self.ops = tuple([draw.choice(UNARY + BINARY) for _ in range(length)])
        for name, shape in (("weight", (4, 4)), ("other", (3, 4)), ("row", (4,)), ("column", (3, 1))):
            self.add_parameter(name, minitorch.rand(shape, backend=FastBackend, dtype=dtype) - 0.5)

    def forward(self, x):
        """The mean of all that the operations lead to; the values stay small."""
        value, seen = x, []
        for op in self.ops:
            value = self.apply(op, value) * 0.5
            seen.append(value.sum())
        total = value.mean()
        for each in seen[::2]:
            total = total + each * 0.1
        return total

    def apply(self, op, v):
        """One operation on a tensor of shape (3, 4); its result has that shape, too."""
        match op:
            case "relu" | "sigmoid" | "tanh" | "exp":
                return getattr(v, op)()
            case "neg":
                return -v
            case "square":
                return v * v
            case "sum0":
                return self.other.value + v.sum(0)
            case "mean1":
                return self.other.value * v.mean(1)
            case "permute":
                return (v.permute(1, 0) * self.row.value.view(4, 1)).permute(1, 0)
            case "view":
                return (v.contiguous().view(2, 6) * 2.0).view(3, 4)
            case "copy":
                return v.clone()
            case "add":
                return v + self.other.value
            case "mul":
                return v * self.other.value
            case "sub":
                return self.other.value - v
            case "row":
                return v * self.row.value
            case "column":
                return v + self.column.value
            case "matmul":
                return v @ self.weight.value
            case "twice":
                return v * (self.row.value + self.column.value) + v * (self.row.value + self.column.value)
        raise AssertionError(op)


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
