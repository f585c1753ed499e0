"""What torch.distributed and DistributedDataParallel give, in either library, in a file of each rank.

Usage: torch_calls.py LIBRARY FOLDER, with 2 processes
"""

import importlib
import json
import sys
from datetime import timedelta
from pathlib import Path

torch = importlib.import_module(sys.argv[1])
dist = importlib.import_module(f"{sys.argv[1]}.distributed")
DistributedDataParallel = importlib.import_module(f"{sys.argv[1]}.nn.parallel").DistributedDataParallel
DistributedSampler = importlib.import_module(f"{sys.argv[1]}.utils.data.distributed").DistributedSampler
found = {}


def base():
    """A tensor that differs between the ranks."""
    return torch.arange(6).float().reshape(2, 3) + 10 * rank


def empty(count=2):
    return [torch.zeros(2, 3) for _ in range(count)]


def reductions():
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        x = base()
        found[f"all_reduce {op}"] = [dist.all_reduce(x, getattr(dist.ReduceOp, op)), x.tolist()]
    for op in ("BAND", "BOR", "BXOR"):
        x = torch.tensor([5 + rank, 3])
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        found[f"all_reduce {op}"] = x.tolist()
    for dtype in ("float16", "bfloat16", "float64", "int64", "uint8"):
        x = torch.tensor([1, 2, 3]).to(getattr(torch, dtype))
        dist.all_reduce(x)
        found[f"all_reduce {dtype}"] = x.tolist()
    x, view, number = base(), base().t(), torch.tensor(2.0)
    work = dist.all_reduce(x, async_op=True)
    found["all_reduce async_op"] = [work.wait(), work.is_completed(), x.tolist()]
    dist.all_reduce(view), dist.all_reduce(number), dist.all_reduce(torch.zeros(0))
    found["all_reduce of a view and a number"] = [view.tolist(), number.item()]
    x = base()
    dist.reduce(x, dst=0)
    found["reduce"] = x.tolist() if rank == 0 else None
    part, row = torch.zeros(2, 3), torch.zeros(1, 3)
    dist.reduce_scatter(part, [base(), base() + 100])
    dist.reduce_scatter_tensor(row, base())
    found["reduce_scatter"] = [part.tolist(), row.tolist()]


def exchanges():
    x, places, joined = base(), empty(), torch.zeros(4, 3)
    dist.broadcast(x, 1)
    dist.all_gather(places, base())
    dist.all_gather_into_tensor(joined, base())
    found["broadcast and all_gather"] = [x.tolist(), [each.tolist() for each in places], joined.tolist()]
    places = empty() if rank == 0 else None
    dist.gather(base(), places, dst=0)
    dist.scatter(x, [base(), base() + 100] if rank == 1 else None, src=1)
    found["gather and scatter"] = [places and [each.tolist() for each in places], x.tolist()]
    uneven = torch.zeros(3 - 2 * rank)
    dist.all_to_all_single(x, base())
    dist.all_to_all_single(uneven, torch.arange(3.0 - 2 * rank) + 10 * rank, [2 - rank, 1 - rank], [2 - rank, 1 - rank])
    found["all_to_all_single"] = [x.tolist(), uneven.tolist()]


def messages():
    x, y = torch.zeros(2, 3), torch.zeros(2, 3)
    if rank == 0:
        dist.send(base(), 1)
        sent = [dist.isend(base() + tag, 1, tag=tag) for tag in (3, 4)]
        found["messages"] = [[work.wait() for work in sent], dist.recv(x), x.tolist()]
    else:
        source = dist.recv(x, 0)
        first, waits = x.tolist(), [dist.irecv(x, 0, tag=4), dist.irecv(y, 0, tag=3)]
        found["messages"] = [source, first, [work.wait() for work in waits], x.tolist(), y.tolist()]
        dist.send(base(), 0)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, base(), 1 - rank), dist.P2POp(dist.irecv, y, 1 - rank)]):
        work.wait()
    found["batch_isend_irecv"] = y.tolist()


def objects():
    some, gathered, one, out = [{"rank": rank}, "x" * rank], [None, None], [None, None], [None]
    dist.broadcast_object_list(some, src=1)
    dist.all_gather_object(gathered, ["a" * 1000 * rank])
    dist.gather_object(rank + 7, one if rank == 0 else None, dst=0)
    dist.scatter_object_list(out, ["first", "second"] if rank == 0 else None, src=0)
    found["objects"] = [some, gathered, one, out]


def groups():
    alone, every, turned = dist.new_group([1]), dist.new_group(), dist.new_group([1, 0])
    x = base()
    dist.all_reduce(x, group=every), dist.all_reduce(x, group=alone), dist.barrier(group=turned), dist.barrier()
    found["groups"] = [
        dist.get_rank(alone),
        dist.get_world_size(alone),
        alone == dist.GroupMember.NON_GROUP_MEMBER,
        x.tolist(),
        [dist.get_rank(dist.group.WORLD), dist.group.WORLD.size(), dist.get_group_rank(every, 1), dist.get_global_rank(turned, 1)],
        dist.get_process_group_ranks(turned),
    ]


class Net(torch.nn.Module):
    """A network with a buffer that differs between the ranks, and two ends, only one of which is used."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.b, self.c = (
            torch.nn.Linear(3, 4, bias=False),
            torch.nn.BatchNorm1d(4),
            *(torch.nn.Linear(4, 2) for _ in "bc"),
        )

    def forward(self, x, end="b"):
        return getattr(self, end)(torch.tanh(self.norm(self.first(x))))


def training():
    net = Net().double()
    with torch.no_grad():
        for i, parameter in enumerate(net.parameters()):
            parameter.copy_(torch.sin(torch.arange(parameter.numel()).double() * (i + 1) + rank).reshape(parameter.shape))
    model = DistributedDataParallel(net, find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def backward(step, end="b"):
        x = torch.cos(torch.arange(12).double() * (rank + 1) + step).reshape(4, 3)
        model(x, end).pow(2).sum().backward()
        return [None if parameter.grad is None else parameter.grad.flatten().tolist() for parameter in net.parameters()]

    found["names"], found["weight of rank 0"] = list(model.state_dict()), net.first.weight.flatten().tolist()
    for step in range(3):
        optimizer.zero_grad()
        found[f"step {step}"] = backward(step)
        optimizer.step()
    optimizer.zero_grad()
    found["unused on one rank"] = backward(5, "bc"[rank])
    optimizer.zero_grad()
    with model.no_sync():
        found["no_sync"] = [backward(6), backward(7, "c")]
    found["after no_sync"] = [backward(8), backward(9)]
    found["running means"] = net.norm.running_mean.tolist()


init_method = {"init_method": sys.argv[3]} if len(sys.argv) > 3 else {}
dist.init_process_group(timeout=timedelta(seconds=60), **init_method)
rank = dist.get_rank()
for part in (reductions, exchanges, messages, objects, groups, training):
    part()
samplers = [DistributedSampler(range(11), shuffle=False, drop_last=drop) for drop in (False, True)]
found["samplers"] = [[list(each), len(each), each.num_samples, each.total_size] for each in samplers]
(Path(sys.argv[2]) / f"{rank}.json").write_text(json.dumps(found))
dist.destroy_process_group()
