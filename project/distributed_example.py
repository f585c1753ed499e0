"""Train a network that classifies digits in several processes, each on its own part of every batch.

python -m minitorch.distributed.run --nproc-per-node 4 project/distributed_example.py --checkpoint digits.safetensors
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import minitorch
from minitorch import FastBackend, distributed
from minitorch.data import DataLoader, Digits, DistributedSampler
from minitorch.nn import Linear, Module, ReLU, Sequential, cross_entropy
from minitorch.nn.parallel import DistributedDataParallel
from minitorch.optim import SGD
from project.lab.training import command_line

PROGRAM = "distributed_example.py"

Epochs = Annotated[int, command_line.whole(1, "how often to go through the training images")]
Batch = Annotated[int, command_line.whole(1, "images in a batch, all processes together")]
Rate = Annotated[Any, typer.Option(parser=command_line.positive, metavar="X", help="learning rate")]
Seed = Annotated[int, command_line.whole(0, "for the initial weights and the order of the images")]
CheckpointFile = Annotated[Path | None, typer.Option(metavar="FILE", help="save after every epoch here, and resume from here")]


def make_network() -> Module:
    """Return a network from 64 pixels to 10 logits, in float64 on the compiled backend."""
    return Sequential(Linear(64, 64), ReLU(), Linear(64, 10)).double().to(FastBackend)


def accuracy(network: Module, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of images that the network classifies correctly."""
    with minitorch.no_grad():
        logits = network(minitorch.tensor(images, FastBackend)).to_numpy()
    return float((logits.argmax(1) == labels).mean())


def train(epochs: int, batch: int, rate: float, seed: int, path: Path | None) -> None:
    """Train in all processes of the job; rank 0 prints and saves.

    Args:
        epochs: Number of epochs.
        batch: Batch size over all processes.
        rate: Learning rate.
        seed: For the initial weights and the order of the images.
        path: The checkpoint, or None.
    """
    rank, size = distributed.get_rank(), distributed.get_world_size()
    digits, held_out = Digits().split(0.8)
    minitorch.manual_seed(seed)
    network = make_network()
    optimizer = SGD(network.parameters(), lr=rate, momentum=0.9)
    first = resume(network, optimizer, path)
    parallel = DistributedDataParallel(network)
    sampler = DistributedSampler(digits, seed=seed)
    loader = DataLoader(digits, max(1, batch // size), sampler=sampler, backend=FastBackend, dtype="float64")
    loader.set_epoch(first)
    for epoch in range(first, epochs):
        total = np.zeros(2)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = cross_entropy(parallel(images.view(images.shape[0], 64)), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels), len(labels)
        sums = distributed.all_reduce(minitorch.tensor(total)).tolist()
        if rank == 0:
            valid = accuracy(network, held_out.images.reshape(-1, 64).astype(np.float64), held_out.labels)
            print(
                f"epoch {epoch + 1}/{epochs}  loss {sums[0] / sums[1]:.4f}  valid {valid:.2%}  on {size} process{'es' * (size > 1)}",
                flush=True,
            )
            if path is not None:
                minitorch.save({"epoch": epoch + 1, "network": network.state_dict(), "optimizer": optimizer.state_dict()}, path)


def resume(network: Module, optimizer: SGD, path: Path | None) -> int:
    """Restore a checkpoint if there is one; returns the number of finished epochs. All processes read the same file.

    Raises:
        UsageError: If it is not a checkpoint of this program.
    """
    if path is None or not path.exists():
        return 0
    try:
        state = minitorch.load(path)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"]
    except (ValueError, KeyError) as error:
        raise command_line.UsageError(f"--checkpoint expected a file of this program, got {str(path)!r} ({error})") from None


def command(epochs: Epochs = 10, batch: Batch = 64, lr: Rate = 0.05, seed: Seed = 0, checkpoint: CheckpointFile = None) -> int:
    """Train with these options; returns the exit status."""
    if checkpoint is not None and not checkpoint.parent.is_dir():
        raise command_line.UsageError(f"--checkpoint expected a file in an existing folder, got {str(checkpoint)!r}")
    distributed.init_process_group()
    train(epochs, batch, lr, seed, checkpoint)
    distributed.destroy_process_group()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
