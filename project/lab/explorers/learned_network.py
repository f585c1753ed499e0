"""The student's networks with the weights of a checkpoint, and their predictions for an image or a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
class Prediction:
    """The prediction for an image.

    Attributes:
        probabilities: The probabilities of the classes.
        maps: The output of each convolution, shape (C, H, W), by the name of the attribute that stores it.
    """

    probabilities: np.ndarray
    maps: dict[str, np.ndarray]


def load_weights(network: Any, saved: Checkpoint) -> Any:
    """Load the parameters of a checkpoint into a network and switch it to evaluation mode.

    Raises:
        WrongResult: If its parameters have other names or shapes.
    """
    own = {name: tuple(parameter.value.shape) for name, parameter in network.named_parameters()}
    kept = {name.removeprefix("parameter."): array for name, array in saved.arrays.items() if name.startswith("parameter.")}
    if own != {name: array.shape for name, array in kept.items()}:
        raise WrongResult("the parameters of your Network differ from those of the trained one; press Start to train the current Network")
    for name, parameter in network.named_parameters():
        parameter.update(minitorch.tensor(kept[name], backend=parameter.value.backend, dtype=kept[name].dtype))
    network.eval()
    return network


def image_network(path: Path, make_network: Callable[[int, int], Any], side: int) -> tuple[int, Any]:
    """Return the number of finished epochs and the network of a checkpoint.

    Args:
        path: The checkpoint.
        make_network: The student's class.
        side: Height and width of the images.
    """
    saved = checkpoint.load(path)
    return len(saved.about["history"]), load_weights(make_network(side, POOL.get(side, 1)), saved)


def predict(network: Any, image: np.ndarray) -> Prediction:
    """Return the prediction for an image.

    Args:
        network: Maps shape (B, 1, H, W) to logarithms of probabilities, shape (B, classes).
        image: Shape (H, W), values from 0 to 1.

    Raises:
        WrongResult: If the output of the network has another shape.
    """
    first = next(iter(network.parameters())).value
    with minitorch.no_grad():
        out = network(minitorch.tensor(image[None, None], backend=first.backend, dtype=first.dtype))
        found = {name: getattr(network, name, None) for name in ("mid", "out")}
    logs = out.to_numpy() if isinstance(out, minitorch.Tensor) else None
    if logs is None or logs.ndim != 2 or logs.shape[0] != 1:
        got = "another type" if logs is None else f"shape {logs.shape}"
        raise WrongResult(f"your Network expected to return shape (1, 10) for one image, got {got}")
    maps = {name: value.to_numpy()[0] for name, value in found.items() if isinstance(value, minitorch.Tensor) and len(value.shape) == 4}
    return Prediction(np.exp(logs[0].astype(float)), maps)


def kernels(network: Any) -> dict[str, np.ndarray]:
    """Return the weight of every convolution, shape (O, C, kh, kw), by the name of the layer."""
    named = {name: parameter.value for name, parameter in network.named_parameters()}
    return {name.rpartition(".")[0]: value.to_numpy() for name, value in named.items() if len(value.shape) == 4}


def reader(setting: SentimentSetting, make_network: Callable[..., Any]) -> SentimentTrainer:
    """Return a trainer that can classify sentences, with an untrained network.

    Args:
        setting: The setting of the run.
        make_network: The student's class.
    """
    if setting.embeddings == "learned":  # its vocabulary comes from all training sentences
        return make_trainer(replace(setting, valid=1), make_network)
    return make_trainer(replace(setting, train=1, valid=1), make_network)


def load_checkpoint(trainer: SentimentTrainer, run: Run) -> int:
    """Load the latest checkpoint of a run into a trainer; return the number of finished epochs."""
    saved = checkpoint.load(run.checkpoint)
    load_weights(trainer.network, saved)
    return len(saved.about["history"])


def probability(trainer: SentimentTrainer, sentences: Sequence[str]) -> np.ndarray:
    """Return the probability that each sentence is positive.

    Raises:
        WrongResult: If the network returns another number of probabilities.
    """
    found = np.asarray(trainer.read(sentences), float).reshape(-1)
    if len(found) != len(sentences):
        raise WrongResult(f"your network expected to return a probability for each of {len(sentences)} sentences, got {len(found)}")
    return found
