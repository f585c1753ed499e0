"""Train a convolutional network that classifies images of digits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import minitorch
from minitorch import data
from project.lab.training import command_line
from project.lab.training import run as training_run
from project.lab.training.image_trainer import CLASSES, ImageSetting, ImageTrainer, as_images, logged

BACKEND = minitorch.FastBackend
"""What computes."""


def RParam(*shape: int, bound: float) -> minitorch.Parameter:
    """Return a parameter initialized uniformly in (-bound, bound)."""
    return minitorch.Parameter(2 * bound * (minitorch.rand(shape, backend=BACKEND) - 0.5))


class Linear(minitorch.Module):
    """A linear layer. Weights and biases are initialized uniformly in (-1/√in_size, 1/√in_size).

    Args:
        in_size: Number of inputs for an image.
        out_size: Number of outputs.

    Attributes:
        weights: Parameter of shape (in_size, out_size): [i, j] is the weight from input i to output j.
        bias: Parameter of shape (out_size,): [j] is added to output j.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weights = RParam(in_size, out_size, bound=in_size**-0.5)
        self.bias = RParam(out_size, bound=in_size**-0.5)

    def forward(self, inputs: minitorch.Tensor) -> minitorch.Tensor:
        """Shape (images, in_size) to (images, out_size)."""
        return inputs @ self.weights.value + self.bias.value


class Conv2d(minitorch.Module):
    """A convolution layer. Weights and biases are initialized uniformly in (-1/√n, 1/√n), n = in_channels · kh · kw.

    Args:
        in_channels: Number of input channels.
        out_channels: Number of output channels, each with its own kernel for every input channel.
        kh: Height of the kernels.
        kw: Width of the kernels.

    Attributes:
        weights: Parameter of shape (out_channels, in_channels, kh, kw).
        bias: Parameter of shape (out_channels, 1, 1): [j] is added to channel j at every position.
    """

    def __init__(self, in_channels: int, out_channels: int, kh: int, kw: int) -> None:
        super().__init__()
        bound = (in_channels * kh * kw) ** -0.5
        self.weights = RParam(out_channels, in_channels, kh, kw, bound=bound)
        self.bias = RParam(out_channels, 1, 1, bound=bound)

    def forward(self, input: minitorch.Tensor) -> minitorch.Tensor:
        """Return every output channel: its bias plus the convolution of the images with its kernels.

        Args:
            input: Images, shape (B, in_channels, H, W).

        Returns:
            Shape (B, out_channels, H, W).
        """
        return minitorch.conv2d(input, self.weights.value) + self.bias.value


class Network(minitorch.Module):
    """A network that classifies images of ten digits.

    1. A convolution from 1 to 4 channels with kernels of 3×3, and relu: `mid`.
    2. A convolution from 4 to 8 channels with kernels of 3×3, and relu: `out`.
    3. Pooling over windows of pool×pool, by the maximum (the mean works too), and the result viewed as one row per image.
    3. Pooling over windows of pool×pool, by the maximum (the mean works too); then a view with one row per image.
    4. A linear layer to 64 units, relu, and in training mode dropout with rate 0.25.

    Attributes:
        conv1: The first convolution.
        conv2: The second.
        linear1: The first linear layer.
        linear2: The second.
        mid: The result of step 1 for the latest images, for pages that show it; shape (B, 4, H, W).
        out: The result of step 2 for the latest images; shape (B, 8, H, W).
    """

    conv1: Conv2d
    conv2: Conv2d
    linear1: Linear
    linear2: Linear
    mid: minitorch.Tensor
    out: minitorch.Tensor

    def __init__(self, side: int = 28, pool: int = 4) -> None:
        """Create the four layers `conv1`, `conv2`, `linear1` and `linear2`.

        Args:
            side: Height and width of the images.
            pool: Height and width of the pooling windows; must divide side.
        """
        super().__init__()
        self.pool = pool
        self.features = 8 * (side // pool) ** 2
        self.conv1 = Conv2d(1, 4, 3, 3)
        self.conv2 = Conv2d(4, 8, 3, 3)
        self.linear1 = Linear(self.features, 64)
        self.linear2 = Linear(64, CLASSES)

    def forward(self, x: minitorch.Tensor) -> minitorch.Tensor:
        """Return the log probabilities of the ten digits.

        Args:
            x: Images, shape (B, 1, side, side).

        Returns:
            Shape (B, 10).
        """
        self.mid = self.conv1(x).relu()
        self.out = self.conv2(self.mid).relu()
        pooled = minitorch.maxpool2d(self.out, (self.pool, self.pool))
        hidden = self.linear1(pooled.view(x.shape[0], self.features)).relu()
        kept = minitorch.dropout(hidden, 0.25, ignore=not self.training)
        return minitorch.logsoftmax(self.linear2(kept), dim=1)


def make_mnist(start: int, stop: int) -> tuple[list[list[list[float]]], list[list[float]]]:
    """Return images of MNIST's training set, from number start to number stop - 1.

    Returns:
        The images, each 28 rows of 28 numbers from 0 to 1, and for each image a one-hot label of ten numbers.
    """
    chosen = data.load_mnist("train")[start:stop]
    return chosen.images[:, 0].tolist(), [[float(digit == label) for digit in range(CLASSES)] for label in chosen.labels]


def default_log_fn(epoch: int, total_loss: float, correct: int, total: int, losses: list[float], model: Network) -> None:
    """Print an epoch."""
    print(f"Epoch {epoch} loss {total_loss:.4f} valid acc {correct}/{total}", flush=True)


class ImageTrain:
    """The trainer of the published program, for images and labels as returned by `make_mnist`.

    Args:
        seed: For the initial weights, the order of the images and dropout.

    Attributes:
        model: The network.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        minitorch.manual_seed(seed)
        self.model = Network()

    def run_one(self, image: Any) -> minitorch.Tensor:
        """Return the log probabilities for one image, shape (1, 10)."""
        return self.run_many([image])

    def run_many(self, images: Any) -> minitorch.Tensor:
        """Return the log probabilities for several images, shape (images, 10)."""
        batch = minitorch.tensor(images, backend=BACKEND, dtype=self.model.linear2.bias.value.dtype)
        return self.model(batch.view(batch.shape[0], 1, *batch.shape[1:]))

    def train(
        self,
        data_train: tuple[Any, Any],
        data_val: tuple[Any, Any],
        learning_rate: float,
        max_epochs: int = 500,
        log_fn: Callable[..., None] = default_log_fn,
    ) -> None:
        """Train the model.

        Args:
            data_train: Images to train on, and their labels.
            data_val: Images to validate on, all of which are used, and their labels.
            learning_rate: Learning rate.
            max_epochs: Number of epochs.
            log_fn: Called after every epoch with the epoch, its loss, the number of correct images of data_val, their total, the losses
                of all epochs, and the model.
        """
        setting = ImageSetting(dataset="mnist", rate=learning_rate, epochs=max_epochs, seed=self.seed)
        split = as_images(*data_train), as_images(*data_val)
        for entry in logged(ImageTrainer(setting, lambda side, pool: self.model, split)):
            log_fn(*entry)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line, with --distributed in all processes of a job; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--distributed" in words:
        words.remove("--distributed")
        try:
            training = import_module("project.lab.distributed_training")
        except ModuleNotFoundError as error:  # a workspace of the course lacks it
            message = f"--distributed expected the library after the course; leave it out ({error})"
            raise SystemExit(f"run_mnist_multiclass.py: {message}") from None
        return training.main(__doc__, Network, words)
    return training_run.main(__doc__, ImageSetting(), lambda setting: ImageTrainer(setting, Network), words)


if __name__ == "__main__":
    command_line.run("run_mnist_multiclass.py", main)
