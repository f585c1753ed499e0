"""Models of every kind train exactly alike, compiled and as they are: losses, parameters, buffers and random numbers."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float32, int64, models, nn, optim
from minitorch.kernels.jit import compiler_is_off
from minitorch.models.resnet import BasicBlock
from project.run_mnist_multiclass import Network
from project.run_sentiment import CNNSentimentKim

pytestmark = pytest.mark.skipif(compiler_is_off(), reason="the compiler is off")

STEPS = 5


def randn(*shape):
    return minitorch.randn(shape, backend=FastBackend, dtype=float32)


def classes(count, samples):
    numbers = np.random.default_rng(int(minitorch.rand((1,)).item() * 1e6)).integers(0, count, samples)
    return minitorch.tensor(numbers, backend=FastBackend, dtype=int64)


def on(**settings):
    return {"backend": FastBackend, "dtype": float32, **settings}


def single(module):
    """A module of the course's programs in float32."""
    for parameter in module.parameters():
        parameter.update(parameter.value.detach().to(float32))
    return module


class Recurrent(nn.Module):
    """A recurrent layer and a linear layer on its last output."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.head = kind(3, 5, **on()), nn.Linear(5, 2, **on())

    def forward(self, x):
        """From (length, batch, 3) to (batch, 2)."""
        return self.head(self.layer(x)[0][-1])


class Block(nn.Module):
    """A residual block and a linear layer."""

    def __init__(self):
        super().__init__()
        self.block, self.head = BasicBlock(3, 4, 2, on()), nn.Linear(4, 3, **on())

    def forward(self, x):
        """From images (B, 3, H, W) to (B, 3)."""
        return self.head(self.block(x).mean((2, 3), keepdim=False))


def of_classes(model, x, y):
    return nn.cross_entropy(model(x), y)


def of_log_probabilities(model, x, y):
    return nn.nll_loss(model(x), y)


def of_probabilities(model, x, y):
    return nn.binary_cross_entropy(model(x), y)


def of_next_token(model, x, y):
    logits = model(x)
    return nn.cross_entropy(logits.view(-1, logits.shape[-1]), y)


CASES = {
    "mlp": (lambda: models.mlp([12, 16, 4], **on()), lambda: (randn(8, 12), classes(4, 8)), of_classes, optim.Adam, {"lr": 0.01}),
    "lenet": (
        lambda: models.lenet(**on()),
        lambda: (randn(2, 1, 28, 28), classes(10, 2)),
        of_classes,
        optim.SGD,
        {"lr": 0.01, "momentum": 0.9},
    ),
    "course's CNN": (
        lambda: single(Network(8, 4)),
        lambda: (randn(2, 1, 8, 8), classes(10, 2)),
        of_log_probabilities,
        optim.SGD,
        {"lr": 0.05},
    ),
    "course's sentiment CNN": (
        lambda: single(CNNSentimentKim(feature_map_size=6, embedding_size=4)),
        lambda: (randn(3, 7, 4), classes(2, 3).to(float32)),
        of_probabilities,
        optim.RMSprop,
        {"lr": 0.01},
    ),
    "residual block": (Block, lambda: (randn(2, 3, 6, 6), classes(3, 2)), of_classes, optim.SGD, {"lr": 0.1, "momentum": 0.5}),
    "gpt": (
        lambda: models.GPT(11, context=6, layers=1, heads=2, width=8, dropout=0.1, **on()),
        lambda: (classes(11, 12).view(2, 6), classes(11, 12)),
        of_next_token,
        optim.AdamW,
        {"lr": 0.01},
    ),
    "text CNN": (
        lambda: models.SentimentCNN(9, embedding_dim=4, maps=3, widths=(2, 3), **on()),
        lambda: (classes(9, 12).view(2, 6), classes(2, 2)),
        of_classes,
        optim.Adam,
        {"lr": 0.01},
    ),
    "rnn": (lambda: Recurrent(nn.RNN), lambda: (randn(4, 2, 3), classes(2, 2)), of_classes, optim.Adam, {"lr": 0.01}),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda: (randn(4, 2, 3), classes(2, 2)), of_classes, optim.Adam, {"lr": 0.01}),
    "gru": (lambda: Recurrent(nn.GRU), lambda: (randn(4, 2, 3), classes(2, 2)), of_classes, optim.Adam, {"lr": 0.01}),
}  # fmt: skip
"""For each model: what makes it, what makes the arguments of a step, its loss, its optimizer and the settings of that."""


def train(case, compiled):
    """Train a model; returns its losses, all its numbers, the random numbers that come next, and the step."""
    make, data, loss_of, optimizer_class, settings = CASES[case]
    minitorch.manual_seed(1)
    model = make()
    optimizer = optimizer_class(model.parameters(), **settings)

    def step(x, y):
        loss = loss_of(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = compiled(step)
    losses = [step(*data()).item() for _ in range(STEPS)]
    numbers = [parameter.value.to_numpy() for parameter in model.parameters()]
    if isinstance(model, nn.Module):
        numbers += [buffer.to_numpy() for buffer in model.buffers()]
    model.eval()
    numbers.append(model(data()[0]).detach().to_numpy())
    return losses, numbers, minitorch.rand((3,)).tolist(), step


SLOW = ("lenet", "residual block", "text CNN")
"""Networks whose kernels take seconds to compile; those of the course's CNN are alike."""


@pytest.mark.parametrize("case", [case for case in CASES if case not in SLOW])
def test_a_model_trains_exactly_alike(case):
    check_training(case)


def check_training(case):
    losses, numbers, following, _ = train(case, lambda step: step)
    replayed, replayed_numbers, replayed_following, step = train(case, minitorch.compile)
    assert (step.recorded, step.replayed) == (1, STEPS - 1)
    assert replayed == losses
    for mine, expected in zip(replayed_numbers, numbers, strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert replayed_following == following


def test_a_class_out_of_range_is_an_error_in_a_replay_too():
    model = models.mlp([2, 3], **on())
    loss = minitorch.compile(lambda x, y: nn.cross_entropy(model(x), y).detach())
    x = randn(2, 2)
    for good in ([0, 1], [2, 2], [1, 0]):
        loss(x, minitorch.tensor(good, backend=FastBackend, dtype=int64))
    with pytest.raises(ValueError, match="cross_entropy expected classes from 0 to 2, of 3, got 3 for sample 1"):
        loss(x, minitorch.tensor([0, 3], backend=FastBackend, dtype=int64))
    with pytest.raises(ValueError, match="cross_entropy got a sample to ignore, -100, in a compiled step that was recorded without"):
        loss(x, minitorch.tensor([0, -100], backend=FastBackend, dtype=int64))
    assert np.isfinite(loss(x, minitorch.tensor([0, 1], backend=FastBackend, dtype=int64)).item())
