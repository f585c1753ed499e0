"""Gradients of a single weight, computed by hand in the test; rank 0 has one example, rank 1 three."""

import json
from collections import namedtuple

import numpy as np

import minitorch
from minitorch import distributed, nn
from minitorch.nn.parallel import DistributedDataParallel

Pair = namedtuple("Pair", "left right")

distributed.init_process_group(timeout=30)
rank = distributed.get_rank()
x = minitorch.tensor([[[1.0]], [[2.0], [3.0], [4.0]]][rank])


class Scale(nn.Module):
    """w · x, with buffers of the rank's own."""

    def __init__(self, weights=1, pack=lambda y: y):
        super().__init__()
        self.pack, self.count = pack, weights
        for number in range(weights):
            self.add_parameter(f"w{number}", minitorch.tensor([1.0 + rank]))
        self.register_buffer("mean", minitorch.tensor(10.0 * (rank + 1)))
        self.register_buffer("steps", minitorch.tensor(rank, dtype="int64"))

    def forward(self, x):
        return self.pack(sum(x * getattr(self, f"w{number}").value for number in range(self.count)))


def show(name, value):
    print(json.dumps([name, value]))


def gradient(parameter):
    grad = parameter.value.grad
    return None if grad is None else grad.tolist()


model = Scale()
network = DistributedDataParallel(model)
show("parameters of rank 0", model.w0.value.tolist())
show("buffers of rank 0", [model.mean.item(), model.steps.item()])
network(x).mean().backward()
show("weighted", gradient(model.w0))
(2 * network(x).mean()).backward()
show("accumulated", gradient(model.w0))

equal = Scale()
DistributedDataParallel(equal, batch_dim=None)(x).mean().backward()
show("equal weights", gradient(equal.w0))

empty = Scale()
nothing = x[:0] if rank == 0 else x
output = DistributedDataParallel(empty)(nothing)
(output.sum() * (1 / 3) + empty.w0.value.sum() * (0.0 if rank else float("nan"))).backward()
show("without examples", gradient(empty.w0))

frozen = Scale(2)
frozen.w0.value.requires_grad_(False)
DistributedDataParallel(frozen)(x).mean().backward()
show("frozen", [gradient(frozen.w0), gradient(frozen.w1)])

half = Scale().half()
DistributedDataParallel(half)(x.half()).mean().backward()
show("float16", [half.w0.value.grad.dtype.name, half.w0.value.grad.float().tolist()])

several = Scale(pack=lambda y: Pair(y, {"twice": 2 * y}))
output = DistributedDataParallel(several)(x)
output.left.mean().backward(retain_graph=True)
first = gradient(several.w0)[0]
(output.right["twice"].mean()).backward()
show("outputs", [type(output).__name__, type(output.right).__name__, first, (gradient(several.w0)[0] - first) / 2])

model.load_state_dict(model.state_dict())
model.zero_grad()
network(x).mean().backward()
show("loaded", gradient(model.w0))

model.float().zero_grad()
network(x.float()).mean().backward()
show("converted", [network._reducer._buckets[0].buffer.dtype.name, gradient(model.w0)])

norm = nn.BatchNorm1d(1, momentum=1.0).double().to(x.backend)
DistributedDataParallel(norm)(minitorch.tensor(np.repeat(x.to_numpy(), 2, 0)))
show("statistics", norm.running_mean.tolist())

if rank == 0:
    with minitorch.no_grad():
        network(x)
show("evaluation", "rank 0 alone")
distributed.destroy_process_group()
