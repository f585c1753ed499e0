"""Models of every kind train exactly alike, compiled and as they are: losses, parameters, buffers and random numbers."""

import numpy as np
import pytest

from minitorch import FastBackend, float32, models, nn, optim
from minitorch.language import GPT2
from project.run_mnist_multiclass import Network
from project.run_sentiment import CNNSentimentKim
from tests.compiler.programs import assert_alike, fused_at_once
from tests.compiler.test_models import check_training, classes, mlp, of_classes, on, randn, train
from tests.marks import needs_compiler

pytestmark = needs_compiler


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
        self.conv, self.norm = nn.Conv2d(3, 4, 3, 2, 1, bias=False, **on()), nn.BatchNorm2d(4, **on())
        self.downsample, self.head = nn.Conv2d(3, 4, 1, 2, **on()), nn.Linear(4, 3, **on())

    def forward(self, x):
        """From images (B, 3, H, W) to (B, 3)."""
        return self.head((self.norm(self.conv(x)) + self.downsample(x)).relu().mean((2, 3), keepdim=False))


def of_log_probabilities(model, x, y):
    return nn.nll_loss(model(x), y)


def of_probabilities(model, x, y):
    return nn.binary_cross_entropy(model(x), y)


def of_next_token(model, x, y):
    logits = model(x)
    return nn.cross_entropy(logits.view(-1, logits.shape[-1]), y)


def recurrent(kind):
    return lambda: Recurrent(kind), lambda: (randn(4, 2, 3), classes(2, 2)), of_classes, optim.Adam, {"lr": 0.01}


CASES = {
    "mlp": mlp(float32),
    "lenet": (
        lambda: models.lenet(**on()), lambda: (randn(2, 1, 28, 28), classes(10, 2)), of_classes,
        optim.SGD, {"lr": 0.01, "momentum": 0.9},
    ),
    "course's CNN": (
        lambda: single(Network(8, 4)), lambda: (randn(2, 1, 8, 8), classes(10, 2)), of_log_probabilities, optim.SGD, {"lr": 0.05},
    ),
    "course's sentiment CNN": (
        lambda: single(CNNSentimentKim(feature_map_size=6, embedding_size=4)), lambda: (randn(3, 7, 4), classes(2, 3).to(float32)),
        of_probabilities, optim.RMSprop, {"lr": 0.01},
    ),
    "residual block": (Block, lambda: (randn(2, 3, 6, 6), classes(3, 2)), of_classes, optim.SGD, {"lr": 0.1, "momentum": 0.5}),
    "gpt": (
        lambda: single(GPT2(11, context=6, layers=1, heads=2, width=8, backend=FastBackend)),
        lambda: (classes(11, 12).view(2, 6), classes(11, 12)), of_next_token, optim.AdamW, {"lr": 0.01},
    ),
    "text CNN": (
        lambda: models.SentimentCNN(9, embedding_dim=4, maps=3, widths=(2, 3), **on()),
        lambda: (classes(9, 12).view(2, 6), classes(2, 2)), of_classes, optim.Adam, {"lr": 0.01},
    ),
    "rnn": recurrent(nn.RNN), "lstm": recurrent(nn.LSTM), "gru": recurrent(nn.GRU),
}  # fmt: skip
"""For each model: what makes it, what makes the arguments of a step, its loss, its optimizer and the settings of that."""


@pytest.mark.parametrize("case", CASES)
def test_a_fused_model_trains_alike_up_to_rounding(case):
    losses, numbers, _, _ = train(*CASES[case], lambda step: step)
    fused_losses, fused_numbers, _, step = train(*CASES[case], fused_at_once)
    assert step.compiled._latest.program is not None
    np.testing.assert_allclose(fused_losses, losses, rtol=1e-4)
    assert_alike(fused_numbers, numbers, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_a_model_trains_exactly_alike(case):
    check_training(CASES[case])
