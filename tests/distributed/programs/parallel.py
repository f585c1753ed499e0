"""Random models trained by all processes on shards, and by each process alone on the whole batch; prints the differences.

Usage: parallel.py FIRST_SEED CONFIGURATIONS
"""

import json
import sys

import numpy as np

import minitorch
from minitorch import distributed, nn, optim
from minitorch.nn.parallel import DistributedDataParallel

STEPS = 3
BACKENDS = {"cpu": minitorch.FastBackend, "simple": minitorch.SimpleBackend}


def make_model(random, features, outputs, kind, backend):
    """A model of one of three kinds; a shared layer is used twice."""
    width = int(random.integers(1, 9))
    if kind == "convolution":
        layers = [nn.Conv2d(1, width, 3), nn.ReLU(), nn.Flatten(), nn.Linear(width * (features - 2) ** 2, outputs)]
    else:
        middle = nn.Linear(width, width)
        twice = [middle, nn.Tanh(), middle] if kind == "shared" else [middle, nn.Tanh()]
        layers = [nn.Linear(features, width), nn.Tanh(), *twice, nn.Linear(width, outputs, bias=bool(random.integers(2)))]
    return nn.Sequential(*layers).double().to(BACKENDS[backend])


def make_optimizer(random, parameters):
    """An optimizer with state."""
    return optim.Adam(parameters, lr=0.01) if random.integers(2) else optim.SGD(parameters, lr=0.05, momentum=0.9)


def train(model, wrap, batches, seed, backend, penalty):
    """Take a step per batch; returns the parameters. The gradients of every other step are accumulated with those of the next."""
    optimizer = make_optimizer(np.random.default_rng(seed), model.parameters())
    network = wrap(model)
    for step, (inputs, targets) in enumerate(batches):
        x, y = (minitorch.tensor(part, backend=BACKENDS[backend]) for part in (inputs, targets))
        with np.errstate(all="ignore"):  # the mean over no examples
            loss = ((network(x) - y) ** 2).mean() if len(inputs) else network(x).sum() * float("nan")
            if penalty:
                loss = loss + 0.01 * sum((parameter.value * parameter.value).sum() for parameter in model.parameters())
            loss.backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
    return [parameter.value.to_numpy() for parameter in model.parameters()]


def difference(seed):
    """The largest difference between the parameters, for one random configuration, and its description."""
    random = np.random.default_rng(seed)
    rank, size = distributed.get_rank(), distributed.get_world_size()
    kind = ["linear", "shared", "convolution"][random.integers(3)]
    backend = ["cpu", "simple"][random.integers(2)] if kind != "convolution" else "cpu"
    features, outputs, batch = int(random.integers(3, 6)), int(random.integers(1, 4)), int(random.integers(1, 12))
    anywhere = kind != "convolution" and random.integers(2)  # a convolution needs an example on every rank
    batch = batch if anywhere else max(batch, size)
    cuts = np.sort(random.integers(0, batch + 1, size - 1)) if anywhere else np.linspace(0, batch, size + 1)[1:-1].astype(int)
    shape = (1, features, features) if kind == "convolution" else (features,)
    batches = [(random.standard_normal((batch, *shape)), random.standard_normal((batch, outputs))) for _ in range(2 * STEPS)]
    cap, penalty = float(random.choice([1e-6, 1e-4, 25.0])), bool(random.integers(2))
    minitorch.manual_seed(seed + 1000 * rank)  # the ranks begin differently
    model = make_model(random, features, outputs, kind, backend)
    if rank == 0:
        alone = [parameter.value.to_numpy() for parameter in model.parameters()]
    shards = [(np.split(x, cuts)[rank], np.split(y, cuts)[rank]) for x, y in batches]
    together = train(model, lambda model: DistributedDataParallel(model, bucket_cap_mb=cap), shards, seed, backend, penalty)
    description = f"{kind} {backend} batch {batch} in {np.diff([0, *cuts, batch]).tolist()} cap {cap} penalty {penalty}"
    if rank:
        return 0.0, description, together
    for parameter, value in zip(model.parameters(), alone, strict=True):
        parameter.update(minitorch.tensor(value, backend=parameter.value.backend))
    expected = train(model, lambda model: model, batches, seed, backend, penalty)
    return max(float(np.abs(x - y).max()) for x, y in zip(together, expected, strict=True)), description, together


if __name__ == "__main__":
    distributed.init_process_group(timeout=60)
    first, count = map(int, sys.argv[1:])
    for seed in range(first, first + count):
        worst, description, found = difference(seed)
        print(json.dumps([str(seed), [worst, description, float(sum(each.sum() for each in found))]]))
    distributed.destroy_process_group()
