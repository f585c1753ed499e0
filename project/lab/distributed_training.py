"""Training of the image classifier in several processes: each batch is divided, and rank 0 alone logs, saves and downloads.

All processes iterate over the same batches, and each computes on every size-th image of them. So the number of processes changes neither
the steps nor what a checkpoint holds: a run continues from it with any number, also without --distributed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minitorch
from minitorch import distributed
from minitorch.nn.parallel import DistributedDataParallel
from minitorch.tensor import generator
from project.lab.training import command_line
from project.lab.training import run as training_run
from project.lab.training.image_trainer import SPLITS, ImageSetting, ImageTrainer, Split
from project.lab.training.settings import with_setting

PATIENCE = 600.0
"""Seconds that the processes wait for rank 0 while it downloads, validates or saves."""

GO_ON = -1
"""What rank 0 announces before every step; at the end it announces the exit status instead."""


class ParallelTrainer(ImageTrainer):
    """An `ImageTrainer` whose batches are divided among the processes. Rank 0 leads: the others take a step whenever it does.

    Args:
        setting: The settings.
        make_network: See `ImageTrainer`.
        split: The images.
    """

    is_recordable = False  # a recording has no messages

    def __init__(self, setting: ImageSetting, make_network: Callable[[int, int], Any], split: Split) -> None:
        super().__init__(setting, make_network, split)
        self.parallel = DistributedDataParallel(self.network)

    def advance(self) -> None:
        """Train one batch, on all ranks; rank 0 calls it."""
        announce(GO_ON)
        super().advance()

    def follow(self) -> int:
        """Take the steps that rank 0 announces; returns the exit status that it announces at the end."""
        while (status := announce(0)) == GO_ON:
            super().advance()
        return status

    def batch_loss(self, *batch: minitorch.Tensor) -> tuple[minitorch.Tensor, int, int]:
        """See `ClassifierTrainer.batch_loss`. The loss and the count are those of the whole batch, the gradient is that of the own part."""
        rank, size = distributed.get_rank(), distributed.get_world_size()
        seeds = [self.setting.seed, self.finished, rank]  # dropout: other units on each rank, the same when the step is repeated
        generator.bit_generator.state = np.random.default_rng(seeds).bit_generator.state
        part = tuple(x[rank::size] for x in batch)
        loss, output = self.loss_and_output(*self.prepare(*part))
        right, count = self.tally(output.detach(), *part)
        own = loss.item()
        total = distributed.all_reduce(minitorch.tensor([own * count, float(right)], dtype="float64")).tolist()
        examples = batch[0].shape[0]
        return loss + (total[0] / examples - own), round(total[1]), examples

    def loss_and_output(self, *tensors: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """See `ClassifierTrainer.loss_and_output`."""
        images, wanted = tensors
        output = self.parallel(images)
        return -(output * wanted).sum() * (1 / max(1, images.shape[0])), output  # a small batch may leave a rank without images

    def validate(self) -> float:
        """See `ClassifierTrainer.validate`; only rank 0 needs it."""
        return super().validate() if distributed.get_rank() == 0 else 0.0


def announce(number: int) -> int:
    """The number that rank 0 passes, on every rank."""
    return int(distributed.broadcast(minitorch.tensor([number], dtype="int64")).item())


def main(description: str | None, make_network: Callable[[int, int], Any], arguments: Sequence[str]) -> int:
    """Train with the options of a command line in all processes of the job.

    Args:
        description: What the program does, for --help.
        make_network: See `ImageTrainer`.
        arguments: The command line.

    Returns:
        The exit status.
    """
    distributed.init_process_group(PATIENCE)

    def make_trainer(setting: ImageSetting) -> ParallelTrainer:
        if distributed.get_rank() == 0:
            split = SPLITS[setting.dataset]()  # which may download them
            distributed.barrier()
        else:
            distributed.barrier()
            split = SPLITS[setting.dataset]()
        return ParallelTrainer(setting, make_network, split)

    if distributed.get_rank() == 0:
        status = announce(training_run.main(description, ImageSetting(), make_trainer, arguments))
    else:
        status = _follow(make_trainer, arguments)
    distributed.destroy_process_group()
    return status


def _follow(make_trainer: Callable[[ImageSetting], ParallelTrainer], arguments: Sequence[str]) -> int:
    """Train as rank 0 does, with the same options; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 finishes its step, saves, and announces the end

    def command(
        given: dict[str, Any],
        log_every: training_run.loop.LogEvery = 1,
        report: training_run.ReportFolder = None,
        checkpoint: training_run.resuming.CheckpointFile = None,
        resume: training_run.resuming.Resume = False,
        json: training_run.AsJson = False,
    ) -> int:
        trainer = training_run.open_trainer(ImageSetting(), given, make_trainer, checkpoint if resume else None)
        assert isinstance(trainer, ParallelTrainer)
        return trainer.follow()

    return command_line.call(f"{ImageSetting.program}.py", with_setting(ImageSetting(), command), arguments)
