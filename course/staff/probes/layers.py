"""Probes that several training tasks share: a linear layer of tensors, and a network of three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis.strategies import integers

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, same
from course.staff.probes.module2 import drawn
from course.staff.probes.networks import Perceptron
from course.staff.probes.plain import Seen
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import numbers, seeds, tensor

DIFFERENT = "the parameters of a layer start with different numbers"


def write(p: Program, module: Value, values: dict[str, np.ndarray], backend: Value | None = None) -> None:
    """Write arrays into the parameters of a module, by their names."""
    named = p.find("builtins:dict")(module.named_parameters())
    for name, array in values.items():
        named[name].update(tensor(p, array, backend))


def linear_layer(task: str, program: str, backends: Sequence[str] = (), told: bool = True) -> None:
    """Enter the probe of a Linear layer of tensors.

    Args:
        task: The task's id.
        program: The module that has it.
        backends: What its parameters may lie on; none if that of Module 2 is the only one.
        told: Whether the layer is told on which.
    """

    def check(p: Program, n: int, m: int, points: int, seed: int) -> Check:
        draw, backend = drawn(seed), chosen(p, backends, seed)
        weights, bias, x, w = numbers((n, m), draw), numbers((m,), draw), numbers((points, n), draw), numbers((points, m), draw)
        layer = p.find(f"{program}:Linear")(n, m, *([backend] if backend and told else []))
        write(p, layer, {"weights": weights, "bias": bias}, backend)
        inputs = tensor(p, x, backend, grad=True)
        out = layer(inputs)
        out.backward(tensor(p, w, backend))
        there = p.find("operator:is_")(out.backend, inputs.backend)
        *got, stayed = yield [out, layer.weights.value.grad, layer.bias.value.grad, inputs.grad, there]
        for one, right in zip(got, [x @ weights + bias, x.T @ w, w.sum(0), w @ weights.T], strict=True):
            same(one, right, 1e-6)
        same(stayed, True, of="a result on the backend of the inputs,")

    small = integers(1, 4)
    says = f"Linear of {program} gives every row its biases and weighted sums, and passes gradients on"
    examples = [(2, 3, 4, 0), (1, 1, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)]
    probe(task, says, weight=3, examples=examples, count=8, seconds=120, n=small, m=small, points=small, seed=seeds)(check)


def network(task: str, program: str, backends: Sequence[str] = ()) -> None:
    """Enter the probes of a network of three Linear layers; see `linear_layer`."""

    def layers(p: Program, hidden: int) -> Check:
        backend = chosen(p, backends, hidden)
        named = p.find("builtins:dict")(p.find(f"{program}:Network")(hidden, *([backend] if backend else [])).named_parameters())
        known = Perceptron(hidden, 0).named()
        there = [p.find("operator:is_")(named[name].value.backend, backend) for name in known] if backend else []
        names, *values = yield [p.find("builtins:list")(named), *(named[name].value for name in known), *there]
        same(sorted(map(str, names)), sorted(known), of="the parameters")
        for (name, array), one in zip(known.items(), values, strict=False):
            same(one.array.shape if isinstance(one, Seen) else None, array.shape, of=f"{name} of shape")
        same(values[len(known) :], [True] * len(there), of="all parameters on the backend that was asked for,")
        for (name, array), one in zip(known.items(), values, strict=False):
            if array.size > 1 and len(set(one.array.reshape(-1).tolist())) == 1:
                raise Wrong("", {DIFFERENT: f"expected {name} to start with different numbers, got {one.array.reshape(-1)[0]} everywhere"})

    def forward(p: Program, hidden: int, seed: int) -> Check:
        known, backend = Perceptron(hidden, seed), chosen(p, backends, seed)
        made = p.find(f"{program}:Network")(hidden, *([backend] if backend else []))
        write(p, made, known.named(), backend)
        points = drawn(seed).uniform(0, 1, (5, 2))
        (got,) = yield [made(tensor(p, points, backend))]
        same(got, known(points), 1e-6)

    says = "Network has three layers, 2 → H → H → 1, by their names"
    probe(task, says, labels=[DIFFERENT], examples=[(1,), (2,), (5,)], seconds=120)(layers)
    says = "Network gives the probability of each point"
    inputs: Any = {"hidden": integers(1, 4), "seed": seeds}
    probe(task, says, weight=3, examples=[(2, 0), (4, 1), (1, 1), (1, 2)], count=6, seconds=120, **inputs)(forward)


def chosen(p: Program, backends: Sequence[str], seed: int) -> Value | None:
    """One of several backends in the child; None if there are none."""
    return p.find(backends[seed % len(backends)]) if backends else None
