"""Collective operations on tensors of every kind; prints a name and a result for each."""

import json

import numpy as np

import minitorch
from minitorch import distributed

distributed.init_process_group(timeout=20)
rank, size = distributed.get_rank(), distributed.get_world_size()


def show(name, value):
    print(json.dumps([name, value]))


def ramp(*shape):
    """0, 1, 2 …, plus 100 times the rank."""
    return np.arange(float(np.prod(shape))).reshape(shape) + 100 * rank


show("rank", [rank, size, distributed.get_local_rank()])

x = minitorch.tensor(ramp(2, 3))
storage = x._tensor._storage
returned = distributed.all_reduce(x)
show("sum", x.tolist())
show("sum in place", [returned is x, storage is x._tensor._storage, x._tensor.version])
show("mean", distributed.all_reduce(minitorch.tensor(ramp(5)), "mean").tolist())

whole = minitorch.tensor(ramp(4, 6))
part = whole.permute(1, 0)[1::2, 1:3]
distributed.all_reduce(part)
show("sum of a view", whole.tolist())
show("sum of float32", distributed.all_reduce(minitorch.tensor(ramp(3)).float()).tolist())
show("sum of int64", distributed.all_reduce(minitorch.tensor([rank, 2**40], dtype=minitorch.int64)).tolist())
show("sum of float16", distributed.all_reduce(minitorch.tensor([2048.0 if rank == 0 else 0.75]).half()).float().tolist())
show("sum of bfloat16", distributed.all_reduce(minitorch.tensor([256.0 if rank == 0 else 0.75]).bfloat16()).float().tolist())
show("sum of nothing", list(distributed.all_reduce(minitorch.zeros((0, 3))).shape))
show("sum of a number", distributed.all_reduce(minitorch.tensor(ramp())).item())

random = np.random.default_rng(rank)
for count in (1, 7, 1001, 300_001):
    total = distributed.all_reduce(minitorch.tensor(random.standard_normal(count)))
    show(f"bits {count}", [total.to_numpy().tobytes().hex()[:4000], float(total.sum().item())])

y = minitorch.tensor(ramp(3, 2)).permute(1, 0)
show("broadcast", distributed.broadcast(y, size - 1).tolist())
show("broadcast of bool", distributed.broadcast(minitorch.tensor([rank == 0, True], dtype=minitorch.bool_)).tolist())
show("broadcast of bfloat16", distributed.broadcast(minitorch.tensor([1.5 + rank]).bfloat16()).float().tolist())
show("gather", [z.tolist() for z in distributed.all_gather(minitorch.tensor(ramp(2, 2)).permute(1, 0))])
show("gather of nothing", [list(z.shape) for z in distributed.all_gather(minitorch.zeros((0,)))])
show("sampler", list(minitorch.data.DistributedSampler(range(7), shuffle=False)))
distributed.barrier()
distributed.destroy_process_group()
show("after", distributed.is_initialized())
