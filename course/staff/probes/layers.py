"""Probes that several training tasks share: a linear layer of tensors, and a network of three linear layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import integers

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal
from course.staff.probes.module2 import rng
from course.staff.probes.networks import Perceptron
from course.staff.probes.plain import TensorSnapshot
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import numbers, seeds, tensor

INITIAL_VALUES = "the parameters of a layer are initialized to different values"


def write(p: Program, module: Value, values: dict[str, np.ndarray], backend: Value | None = None) -> None:
    """Update the parameters of a module with arrays, by name."""
    named = p.find("builtins:dict")(module.named_parameters())
    for name, array in values.items():
        named[name].update(tensor(p, array, backend))


def source_of(task: str, program: str) -> str:
    """The source of the probes of a network: the text of the task, which asks to train it."""
    return f"Task {task}: the network of {program.partition(':')[0].replace('.', '/')}.py"


def linear_layer_probe(task: str, program: str, backends: Sequence[str] = (), takes_backend: bool = True) -> None:
    """Register the probe of a Linear layer of tensors.

    Args:
        task: The task's id.
        program: The module that defines it.
        backends: Possible backends of its parameters; empty for the backend of Module 2.
        takes_backend: Whether the constructor takes the backend as an argument.
    """

    def check(p: Program, n: int, m: int, points: int, seed: int) -> Check:
        draw, backend = rng(seed), pick_backend(p, backends, seed)
        weights, bias, x, w = numbers((n, m), draw), numbers((m,), draw), numbers((points, n), draw), numbers((points, m), draw)
        layer = p.find(f"{program}:Linear")(n, m, *([backend] if backend and takes_backend else []))
        write(p, layer, {"weights": weights, "bias": bias}, backend)
        inputs = tensor(p, x, backend, grad=True)
        out = layer(inputs)
        out.backward(tensor(p, w, backend))
        same_backend = p.find("operator:is_")(out.backend, inputs.backend)
        *got, is_same_backend = yield [out, layer.weights.value.grad, layer.bias.value.grad, inputs.grad, same_backend]
        for one, right in zip(got, [x @ weights + bias, x.T @ w, w.sum(0), w @ weights.T], strict=True):
            check_equal(one, right, 1e-6)
        check_equal(is_same_backend, True, of="the output is on the backend of the inputs")

    inputs: Any = {"n": integers(1, 4), "m": integers(1, 4), "points": integers(1, 4), "seed": seeds}
    says = f"Linear of {program} computes x @ weights + bias, and propagates gradients"
    examples = [(2, 3, 4, 0), (1, 1, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)]
    probe(task, says, weight=3, examples=examples, count=8, seconds=120, own_package=False, source=source_of(task, program), **inputs)(
        check
    )


def network_probes(task: str, program: str, backends: Sequence[str] = ()) -> None:
    """Register the probes of a network of three Linear layers; see `linear_layer_probe`."""

    def layers(p: Program, hidden: int) -> Check:
        backend = pick_backend(p, backends, hidden)
        named = p.find("builtins:dict")(p.find(f"{program}:Network")(hidden, *([backend] if backend else [])).named_parameters())
        known = Perceptron(hidden, 0).parameters()
        on_backend = [p.find("operator:is_")(named[name].value.backend, backend) for name in known] if backend else []
        names, *values = yield [p.find("builtins:list")(named), *(named[name].value for name in known), *on_backend]
        check_equal(sorted(map(str, names)), sorted(known), of="parameter names")
        for (name, array), one in zip(known.items(), values, strict=False):
            check_equal(one.array.shape if isinstance(one, TensorSnapshot) else None, array.shape, of=f"shape of {name}")
        check_equal(values[len(known) :], [True] * len(on_backend), of="parameters are on the requested backend")
        for (name, array), one in zip(known.items(), values, strict=False):
            if array.size > 1 and len(set(one.array.reshape(-1).tolist())) == 1:
                message = f"expected {name} to be initialized to different values, got {one.array.reshape(-1)[0]} everywhere"
                raise Wrong("", {INITIAL_VALUES: message})

    def forward(p: Program, hidden: int, seed: int) -> Check:
        known, backend = Perceptron(hidden, seed), pick_backend(p, backends, seed)
        network = p.find(f"{program}:Network")(hidden, *([backend] if backend else []))
        write(p, network, known.parameters(), backend)
        points = rng(seed).uniform(0, 1, (5, 2))
        (got,) = yield [network(tensor(p, points, backend))]
        check_equal(got, known(points), 1e-6)

    says = "Network has three layers, 2 → H → H → 1, under their expected names"
    probe(
        task, says, labels=[INITIAL_VALUES], examples=[(1,), (2,), (5,)], seconds=120, own_package=False, source=source_of(task, program)
    )(layers)
    says = "Network returns the probability of each point"
    inputs: Any = {"hidden": integers(1, 4), "seed": seeds}
    probe(
        task,
        says,
        weight=3,
        examples=[(2, 0), (4, 1), (1, 1), (1, 2)],
        count=6,
        seconds=120,
        own_package=False,
        source=source_of(task, program),
        **inputs,
    )(forward)


def pick_backend(p: Program, backends: Sequence[str], seed: int) -> Value | None:
    """One of several backends in the child; None if the list is empty."""
    return p.find(backends[seed % len(backends)]) if backends else None
