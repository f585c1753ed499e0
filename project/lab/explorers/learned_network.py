"""The student's networks with the weights of a checkpoint, asked what they make of an image or of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import minitorch
from project.lab.cards import WrongResult
from project.lab.training import checkpoint
from project.lab.training.checkpoint import Checkpoint
from project.lab.training.image_trainer import POOL
from project.lab.training.job import Run
from project.lab.training.sentiment_setup import make_trainer
from project.lab.training.sentiment_trainer import SentimentSetting, SentimentTrainer


@dataclass(frozen=True)
class Seen:
    """What a network for images makes of one.

    Attributes:
        probabilities: Of the classes.
        maps: By name of the attribute that keeps it, what came out of each convolution: channels, rows, columns.
    """

    probabilities: np.ndarray
    maps: dict[str, np.ndarray]


def with_weights(network: Any, saved: Checkpoint) -> Any:
    """The network with the parameters of a checkpoint, in evaluation mode.

    Raises:
        WrongResult: If its parameters have other names or shapes.
    """
    own = {name: tuple(parameter.value.shape) for name, parameter in network.named_parameters()}
    kept = {name.removeprefix("parameter."): array for name, array in saved.arrays.items() if name.startswith("parameter.")}
    if own != {name: array.shape for name, array in kept.items()}:
        raise WrongResult("your Network has other parameters than the one that was trained: press Start to train it as it is now")
    for name, parameter in network.named_parameters():
        parameter.update(minitorch.tensor(kept[name], backend=parameter.value.backend, dtype=kept[name].dtype))
    network.eval()
    return network


def image_network(run: Run, make_network: Callable[[int, int], Any], side: int) -> tuple[int, Any]:
    """The network of a run as it is now, and after how many epochs that is.

    Args:
        run: One with a checkpoint.
        make_network: The student's class.
        side: Height and width of the images.
    """
    saved = checkpoint.load(run.checkpoint)
    return len(saved.about["history"]), with_weights(make_network(side, POOL.get(side, 1)), saved)


def seen(network: Any, image: np.ndarray) -> Seen:
    """Show a network an image.

    Args:
        network: Maps shape (B, 1, H, W) to logarithms of probabilities, shape (B, classes).
        image: Shape (H, W), numbers from 0 to 1.

    Raises:
        WrongResult: If what it gives has another shape.
    """
    first = network.parameters()[0].value
    with minitorch.no_grad():
        out = network(minitorch.tensor(image[None, None], backend=first.backend, dtype=first.dtype))
        found = {name: getattr(network, name, None) for name in ("mid", "out")}
    logs = out.to_numpy() if isinstance(out, minitorch.Tensor) else None
    if logs is None or logs.ndim != 2 or logs.shape[0] != 1:
        got = "something else" if logs is None else f"shape {logs.shape}"
        raise WrongResult(f"your Network expected to give a row of numbers for an image, shape (1, 10), got {got}")
    maps = {name: value.to_numpy()[0] for name, value in found.items() if isinstance(value, minitorch.Tensor) and len(value.shape) == 4}
    return Seen(np.exp(logs[0].astype(float)), maps)


def kernels(network: Any) -> dict[str, np.ndarray]:
    """By name of the layer, the weights of every convolution: output channels, channels, rows, columns."""
    named = {name: parameter.value for name, parameter in network.named_parameters()}
    return {name.rpartition(".")[0]: value.to_numpy() for name, value in named.items() if len(value.shape) == 4}


def reader(setting: SentimentSetting, make_network: Callable[..., Any]) -> SentimentTrainer:
    """What reads sentences by the network of a setting, untrained.

    Args:
        setting: That of the run.
        make_network: The student's class.
    """
    if setting.embeddings == "learned":  # its words are those of all sentences that it is trained on
        return make_trainer(replace(setting, valid=1), make_network)
    return make_trainer(replace(setting, train=1, valid=1), make_network)


def learned(trainer: SentimentTrainer, run: Run) -> int:
    """Give the reader the weights of a run as they are now; returns after how many epochs that is."""
    saved = checkpoint.load(run.checkpoint)
    with_weights(trainer.network, saved)
    return len(saved.about["history"])


def probability(trainer: SentimentTrainer, sentences: Sequence[str]) -> np.ndarray:
    """The probability that each of some sentences is positive.

    Raises:
        WrongResult: If the network gives another number of them.
    """
    found = np.asarray(trainer.read(sentences), float).reshape(-1)
    if len(found) != len(sentences):
        raise WrongResult(f"your network expected to give a probability for each of {len(sentences)} sentences, got {len(found)}")
    return found
