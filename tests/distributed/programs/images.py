"""run_mnist_multiclass without dropout, whose random units depend on the number of processes; rank 1 may be killed after some steps.

Usage: images.py KILLED_AFTER OPTIONS; 0: not killed
"""

import os
import signal
import sys

import minitorch
from project import run_mnist_multiclass

minitorch.dropout = lambda input, rate, ignore=False: input
killed_after, *options = sys.argv[1:]
if int(killed_after) and "--distributed" in options:
    from minitorch import distributed
    from project.lab.distributed_training import ParallelTrainer

    original = ParallelTrainer.batch_loss

    def batch_loss(self, *batch):
        if distributed.get_rank() == 1 and self.finished == int(killed_after):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *batch)

    ParallelTrainer.batch_loss = batch_loss
raise SystemExit(run_mnist_multiclass.main(options))
