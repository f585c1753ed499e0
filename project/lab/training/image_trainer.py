"""Training of an image classifier: the data sets, their split, and the validation results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import minitorch
from minitorch import data
from minitorch.data import DataLoader, ImageDataset
from project.lab.training import checkpoint
from project.lab.training.classifier import ClassifierSetting, ClassifierTrainer
from project.lab.training.settings import option

CLASSES = 10
"""What an image may show: the digits."""

POOL = {8: 2, 28: 4}
"""The windows that pooling takes the maximum of, by the height and width of the images."""

AT_ONCE = 250
"""How many images of the validation set go through the network together."""

WORST = 12
"""How many mistakes are named."""

Split = tuple[ImageDataset, ImageDataset]
"""Images for training and images for validation."""

SPLITS: dict[str, Callable[[], Split]] = {
    "digits": lambda: data.Digits().split(0.8),
    "mnist": lambda: data.load_mnist("test").split(0.8),
    "mnist-all": lambda: (data.load_mnist("train"), data.load_mnist("test")),
}
"""What can be trained on. The split is the same for every seed, so that runs compare."""


@dataclass(frozen=True)
class ImageSetting(ClassifierSetting):
    """Settings for images.

    Attributes:
        dataset: A name in SPLITS.
        momentum: The fraction of the last step that is added to the next; 0 is plain gradient descent.
        limit: Train on this many images, and validate on a quarter as many; None for all.
        dtype: The dtype of the computation.
    """

    program: ClassVar[str] = "run_mnist_multiclass"
    log: ClassVar[str] = "mnist.txt"

    dataset: str = option(
        "digits",
        "digits (8×8, 1,438 + 359), mnist (28×28, its 10,000 test images, 8,000 + 2,000) or mnist-all (60,000 + 10,000)",
        choices=tuple(SPLITS),
    )
    epochs: int = option(30, "how often to go through the training images", low=1, high=100_000)
    rate: float = option(0.1, "learning rate", above=0)
    momentum: float = option(0.0, "how much of the last step goes into the next, below 1", low=0, high=0.999)
    batch: int = option(16, "how many images make a step", low=1, high=10_000)
    limit: int | None = option(None, "train on the first so many images only, and validate on a quarter as many", low=4, high=1_000_000)
    dtype: str = option("float32", "what is computed in: float32 or float64", choices=("float32", "float64"))


class ImageTrainer(ClassifierTrainer):
    """Gradient descent on batches of images; the loss is the mean of -log(probability of the correct class).

    Args:
        setting: The settings.
        make_network: Creates a Module from the height (and width) of the images and the size of the pooling windows, which maps images,
            shape (B, 1, H, W), to the logarithms of the probabilities of the classes, shape (B, 10); called once, after seeding.
        split: The images; those of the settings if omitted.

    Attributes:
        train: The training images.
        valid: The validation images.
        log_probabilities: The network's output for `valid` after the latest epoch, shape (images, 10).
    """

    is_recordable = True

    def __init__(self, setting: ImageSetting, make_network: Callable[[int, int], Any], split: Split | None = None) -> None:
        self.train, self.valid = SPLITS[setting.dataset]() if split is None else split
        if setting.limit is not None:
            self.train, self.valid = self.train[: setting.limit], self.valid[: setting.limit // 4]
        dtype = np.dtype(setting.dtype)
        side = self.train.images.shape[-1]
        minitorch.manual_seed(setting.seed)
        network = make_network(side, POOL.get(side, 1))
        for parameter in network.parameters():
            parameter.update(parameter.value.detach().to(dtype))
        backend = next(iter(network.parameters())).value.backend
        self._one_hot = np.eye(CLASSES, dtype=dtype)
        self._valid_batches = DataLoader(self.valid, AT_ONCE, backend=backend, dtype=dtype)
        self.log_probabilities = np.empty((0, CLASSES), dtype)
        pictures = {"train": self.train.images, "valid": self.valid.images}
        labels = {"train labels": self.train.labels, "valid labels": self.valid.labels}
        super().__init__(
            setting,
            network,
            minitorch.SGD(network.parameters(), setting.rate, setting.momentum),
            DataLoader(self.train, setting.batch, shuffle=True, seed=setting.seed, backend=backend, dtype=dtype),
            (len(self.train), len(self.valid)),
            checkpoint.digest("images", pictures | labels),
        )

    def batch_loss(self, *batch: minitorch.Tensor) -> tuple[minitorch.Tensor, int, int]:
        """See `ClassifierTrainer.batch_loss`."""
        loss, output = self.loss_and_output(*self.prepare(*batch))
        return loss, *self.tally(output.detach(), *batch)

    def prepare(self, *batch: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """The images, and for each a row that is 1 at its label."""
        images, labels = batch
        return images, minitorch.tensor(self._one_hot[labels.to_numpy()], backend=images.backend)

    def loss_and_output(self, *tensors: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """See `ClassifierTrainer.loss_and_output`; the output is log probabilities."""
        images, wanted = tensors
        output = self.network(images)
        return -(output * wanted).sum() * (1 / images.shape[0]), output

    def tally(self, output: minitorch.Tensor, *batch: minitorch.Tensor) -> tuple[int, int]:
        """See `ClassifierTrainer.tally`."""
        wanted = batch[1].to_numpy()
        return int((output.numpy().argmax(1) == wanted).sum()), len(wanted)

    def validate(self) -> float:
        """See `ClassifierTrainer.validate`."""
        self.log_probabilities = np.concatenate([self.network(images).to_numpy() for images, _ in self._valid_batches])
        return float((self.predicted == self.valid.labels).mean())

    @property
    def predicted(self) -> np.ndarray:
        """The class predicted for each image of `valid` after the latest epoch."""
        return self.log_probabilities.argmax(1)

    def confusion(self) -> list[list[int]]:
        """Return the number of images of each class (row) that were classified as each class (column)."""
        counts = np.zeros((CLASSES, CLASSES), np.int64)
        np.add.at(counts, (self.valid.labels, self.predicted), 1)
        return counts.tolist()

    def mistakes(self) -> list[dict[str, Any]]:
        """Return the misclassified images of `valid` with the highest predicted probabilities, the highest first."""
        predicted = self.predicted
        wrong = np.flatnonzero(predicted != self.valid.labels)
        surest = sorted(wrong.tolist(), key=lambda i: -self.log_probabilities[i, predicted[i]])[:WORST]
        return [
            {
                "image": i,
                "label": int(self.valid.labels[i]),
                "predicted": int(predicted[i]),
                "probability": float(np.exp(self.log_probabilities[i, predicted[i]])),
            }
            for i in surest
        ]

    def details(self) -> dict[str, Any]:
        """Return the confusion matrix and the worst mistakes."""
        return {"confusion": self.confusion(), "mistakes": self.mistakes()}


def logged(trainer: ImageTrainer) -> Iterator[tuple[int, float, int, int, list[float], Any]]:
    """Train, and yield the arguments of the published log function after every epoch.

    Yields:
        The epoch, its loss, the number of correct validation images, their total, the losses of all epochs, the network.
    """
    while not trainer.done:
        trainer.run_epoch()
        losses = [epoch.loss for epoch in trainer.history]
        right = int((trainer.predicted == trainer.valid.labels).sum())
        yield trainer.epoch, losses[-1], right, len(trainer.valid), losses, trainer.network


def as_images(images: Any, one_hot: Any) -> ImageDataset:
    """Images and one-hot labels, as returned by `make_mnist`, as a data set."""
    return ImageDataset(np.asarray(images, np.float32)[:, None], np.asarray(one_hot).argmax(1), [str(digit) for digit in range(CLASSES)])
