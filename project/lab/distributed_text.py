"""Training of a GPT in several processes: each computes the gradients of a part of every batch, and the ring of Task 6.10 sums them.

All processes draw the same batches, and each computes on every size-th sequence of them. So the number of processes changes neither the
steps nor what a checkpoint holds: a run continues from it with any number, also without --distributed.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

import numpy as np

import minitorch
from minitorch import distributed
from minitorch.distributed.group import current_group
from minitorch.language.machines import all_reduce, sum_gradients
from minitorch.language.model import cross_entropy
from minitorch.language.training import NonFiniteGradients
from project.lab.distributed_training import GO_ON, PATIENCE, announce
from project.lab.training.text_trainer import Run


class ParallelRun(Run):
    """A `Run` whose batches are divided among the processes of a job. Rank 0 leads: the others take a step whenever it does.

    Args:
        setting: The settings.
        text: The text to train on.
        base: See `Run`.
    """

    def advance(self) -> float:
        """See `Run.advance`; rank 0 calls it, and the others follow."""
        announce(GO_ON)
        return super().advance()

    def take_step(self) -> float:
        """See `Run.take_step`."""
        return self.step_with(self._sum_gradients)

    def _sum_gradients(self, tokens: minitorch.Tensor, targets: minitorch.Tensor) -> float:
        """Compute the gradients of the own part of a batch, and add those of the others; returns the loss of the whole batch."""
        peer = current_group(f"{self.setting.program}.py")
        own_tokens, own_targets = tokens[peer.rank :: peer.size], targets[peer.rank :: peer.size]
        self.training.optimizer.zero_grad()
        loss = 0.0
        if own_tokens.shape[0]:  # a small batch may leave a rank without sequences
            share = cross_entropy(self.model(own_tokens), own_targets) * (own_targets.numel() / targets.numel())
            share.backward()
            loss = share.item()
        sum_gradients(peer, self.model)
        return float(all_reduce(peer, np.array([loss]))[0])

    def follow(self) -> int:
        """Take the steps that rank 0 announces; returns the exit status that it announces at the end."""
        while (status := announce(0)) == GO_ON:
            with contextlib.suppress(NonFiniteGradients):  # rank 0 has the same gradients, says so, and ends
                super().advance()
        return status


def begin() -> None:
    """Join the processes of the job, over sockets or MPI, whichever its launcher has prepared."""
    if "MASTER_ADDR" in os.environ:
        from minitorch.torch import distributed as sockets

        sockets.init_process_group("gloo")
    else:
        distributed.init_process_group(PATIENCE)


def lead_or_follow(run: ParallelRun, lead: Callable[[], int]) -> int:
    """Train in all processes of the job; returns the exit status.

    Args:
        run: This process's run.
        lead: What rank 0 does; returns its exit status.
    """
    if distributed.get_rank() == 0:
        status = announce(lead())
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 finishes its step, saves, and announces the end
        status = run.follow()
    distributed.destroy_process_group()
    return status
