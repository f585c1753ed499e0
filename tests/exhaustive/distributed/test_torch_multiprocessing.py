"""torch.multiprocessing.spawn: new interpreters."""

import minitorch.torch as torch
import minitorch.torch.multiprocessing as mp
from tests.distributed import workers


def test_spawned_processes_share_tensors_with_the_one_that_started_them():
    model, shared = torch.nn.Linear(2, 1).share_memory(), torch.zeros(2).share_memory_()
    before, queue = model.bias.item(), mp.get_context("spawn").Queue()
    mp.spawn(workers.train, args=(model, shared, queue), nprocs=2)
    assert shared.tolist() == [1.0, 2.0]
    assert abs(model.bias.item() - (before - 2.0)) < 1e-6
    assert sorted(queue.get(timeout=60)[1].tolist() for _ in range(2)) == [[0, 1, 2], [1, 2, 3]]
