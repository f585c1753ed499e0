"""A job in which something goes wrong. Usage: faults.py FAULT"""

import os
import signal
import sys
import time

import minitorch
from minitorch import distributed, nn
from minitorch.nn.parallel import DistributedDataParallel


class TwoLayers(nn.Module):
    """Two layers of which the second may be left out."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(2, width), nn.Linear(width, 2)

    def forward(self, x, both=True):
        return self.second(self.first(x)) if both else self.first(x)


fault = sys.argv[1]
distributed.init_process_group(timeout=4)
rank = distributed.get_rank()
odd = rank == 1  # the rank that does something else
x = minitorch.ones((3, 2), dtype="float32").to("cpu")

if fault == "shape":
    distributed.all_reduce(minitorch.zeros((2 + odd, 3)))
if fault == "dtype":
    distributed.broadcast(minitorch.zeros((2,), dtype="float32" if odd else "float64"))
if fault == "operation":
    distributed.barrier() if odd else distributed.all_gather(x)
if fault == "count" and not odd:
    distributed.barrier()
if fault == "exception" and odd:
    raise ValueError("rank 1 fails")
if fault == "status" and odd:
    sys.exit(7)
if fault == "exit" and odd:
    sys.exit()
if fault == "killed" and odd:
    os.kill(os.getpid(), signal.SIGKILL)
if fault in ("exception", "status", "exit", "killed"):
    distributed.barrier()
if fault == "wait":
    print("waiting")
    time.sleep(60)

model = DistributedDataParallel(TwoLayers(2 + (fault == "model" and odd)), bucket_cap_mb=1e-5)
if fault == "names":
    DistributedDataParallel(nn.ModuleDict({"other" if odd else "layer": nn.Linear(2, 2)}))
if fault == "number of parameters":
    DistributedDataParallel(nn.Linear(2, 2, bias=odd))
if fault == "frozen":
    model.module.first.requires_grad_(not odd)
if fault == "unused on one rank":
    model(x, both=not odd).sum().backward()
if fault == "unused on all ranks":
    model(x, both=False).sum().backward()
if fault == "no backward" and odd:
    sys.exit()
if fault == "killed in backward":
    model.module.second.weight.value.register_hook(lambda grad: os.kill(os.getpid(), signal.SIGKILL) if odd else None)
if fault == "penalty first":
    penalty = (model.module.first.weight.value * model.module.first.weight.value).sum()
    (penalty + model(x).sum()).backward()
if fault == "twice":
    (model(x).sum() + model(x[:2]).sum()).backward()
if fault == "create_graph":
    model(x).sum().backward(create_graph=True)
if fault == "grad":
    minitorch.grad(model(x).sum(), [model.module.second.weight.value])
if fault == "no tensor":
    model([1.0, 2.0])
if fault == "scalar":
    model(minitorch.tensor(2.0))
model(x).sum().backward()
print("trained")
