"""Collective operations and a training step with tensors on the GPU."""

import json

import minitorch
from minitorch import distributed, nn
from minitorch.nn.parallel import DistributedDataParallel

distributed.init_process_group(timeout=60)
rank = distributed.get_rank()
own = minitorch.tensor([1.0 + rank, 2.0 + 2 * rank]).to("cuda")
print(json.dumps(["gather", [x.tolist() for x in distributed.all_gather(own)]]))
distributed.all_reduce(own)
print(json.dumps(["all_reduce", (own * 1).tolist()]))  # computed on the GPU from the sum
x = minitorch.tensor([[[1.0]], [[2.0], [3.0], [4.0]]][rank]).to("cuda")
model = nn.Linear(1, 1).double().to("cuda")
DistributedDataParallel(model)(x).mean().backward()
print(json.dumps(["gradient", model.weight.value.grad.tolist()]))
print(json.dumps(["backend", model.weight.value.grad.backend.name]))
distributed.destroy_process_group()
