"""Probes of Module 6: low-rank adapters."""

from __future__ import annotations

import math

import numpy as np
from hypothesis.strategies import sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_equal, check_raises
from course.staff.probes.module2 import rng
from course.staff.probes.module6_model import Weights, draw_weights, load, logits, model_shapes
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

LORA = "minitorch.language.lora"

CLOSE = 1e-6

SIZES = [(1, 1, 1), (3, 2, 1), (2, 4, 3), (4, 4, 2), (2, 2, 5)]
"""in_size, out_size and rank."""


def make(p: Program, sizes: tuple[int, int, int], alpha: float, seed: int) -> tuple[Value, dict[str, np.ndarray]]:
    """A layer with an adapter in the child, and its numbers."""
    in_size, out_size, rank = sizes
    shapes = {"weight": (in_size, out_size), "bias": (out_size,), "A": (rank, in_size), "B": (out_size, rank)}
    base = p.find("minitorch.language.layers:Linear")(in_size, out_size, p.find("minitorch:SimpleBackend"))
    layer = p.find(f"{LORA}:LoRALinear")(base, rank, alpha, p.find("numpy.random:default_rng")(0))
    w = draw_weights(shapes, seed)
    return load(p, layer, w), w


def change(w: Weights, scale: float) -> np.ndarray:
    """The delta, in the shape of the weight."""
    return scale * np.einsum("ri,or->io", w["A"], w["B"])


@probe(
    "6.9",
    "forward adds the scaled adapter to the linear layer, and A and B get their gradients",
    weight=4,
    seed=seeds,
    sizes=sampled_from(SIZES),
    alpha=sampled_from([0.5, 2.0, 7.0]),
    examples=[(1, (3, 2, 1), 2.0), (2, (2, 4, 3), 7.0)],
)
def computes(p: Program, seed: int, sizes: tuple[int, int, int], alpha: float) -> Check:
    """For x of one to three dimensions."""
    layer, w = make(p, sizes, alpha, seed)
    scale = alpha / sizes[2]
    lead = [(), (2,), (2, 3)][seed % 3]
    x, grad_output = numbers((*lead, sizes[0]), rng(seed)), numbers((*lead, sizes[1]), rng(seed + 1))
    out = layer(tensor(p, x))
    out.backward(tensor(p, grad_output))
    got, delta, d_a, d_b = yield [out, layer.delta(), layer.A.value.grad, layer.B.value.grad]
    check_equal(got, x @ (w["weight"] + change(w, scale)) + w["bias"], CLOSE)
    check_equal(delta, change(w, scale), CLOSE, of="delta")
    x, grad_output = x.reshape(-1, sizes[0]), grad_output.reshape(-1, sizes[1])
    check_equal(d_a, scale * (grad_output @ w["B"]).T @ x, CLOSE, of="gradient of A")
    check_equal(d_b, scale * grad_output.T @ (x @ w["A"].T), CLOSE, of="gradient of B")


@probe(
    "6.9",
    "merging moves the adapter into the weight, and unmerging gives the old weight back",
    weight=4,
    seed=seeds,
    sizes=sampled_from(SIZES),
)
def merges(p: Program, seed: int, sizes: tuple[int, int, int]) -> Check:
    """The weight is a constant each time, and what it was, bit for bit; twice in a row."""
    layer, w = make(p, sizes, 3.0, seed)
    x = numbers((2, sizes[0]), rng(seed))
    asked: list[Value] = []
    for _ in range(2):
        layer.merge()
        asked += [layer(tensor(p, x)), layer.weight.value.detach() + 0.0, layer.weight.value.requires_grad]
        layer.unmerge()
        asked += [layer(tensor(p, x)), layer.weight.value.detach() + 0.0, layer.weight.value.requires_grad]
    found = yield [*asked, layer.A.value, layer.B.value]
    new = w["weight"] + change(w, 3.0 / sizes[2])
    expected = x @ new + w["bias"]
    for at in (0, 6):
        merged, weight, trained, unmerged, old, trained_again = found[at : at + 6]
        check_equal(merged, expected, CLOSE, of="the output after merge")
        check_equal(weight, new, CLOSE, of="the weight after merge")
        check_equal([trained, trained_again], [False, False], of="requires_grad of the weight after merge and unmerge")
        check_equal(unmerged, expected, CLOSE, of="the output after unmerge")
        check_equal(old, w["weight"], of="the weight after unmerge")
    check_equal(found[12], w["A"], of="A")
    check_equal(found[13], w["B"], of="B")


@probe("6.9", "merging twice is refused", weight=1)
def refuses_to_merge(p: Program) -> Check:
    """With a RuntimeError."""
    layer, _ = make(p, (2, 2, 1), 1.0, 0)
    layer.merge()
    yield from check_raises(layer.merge(), "RuntimeError")


@probe("6.9", "unmerging what is not merged is refused", weight=1)
def refuses_to_unmerge(p: Program) -> Check:
    """With a RuntimeError."""
    layer, _ = make(p, (2, 2, 1), 1.0, 0)
    layer.merge()
    layer.unmerge()
    yield from check_raises(layer.unmerge(), "RuntimeError")


@probe("6.9", "add_adapters freezes all but A and B of the named layers, and changes no output", weight=4, seed=seeds, count=5)
def adds(p: Program, seed: int) -> Check:
    """With the numbers of the seed, and without gradients from before."""
    shapes = model_shapes(5, 4, 2, 4)
    w, draw = draw_weights(shapes, seed), rng(seed)
    inside = {"attn.c_attn": (4, 12), "attn.c_proj": (4, 4), "mlp.c_fc": (4, 16), "mlp.c_proj": (16, 4)}
    sizes = {f"h.{number}.{name}": size for number in range(2) for name, size in inside.items()}
    names, rank = [list(sizes)[at] for at in draw.permutation(8)[: 1 + seed % 4]], 1 + seed % 3
    tokens = draw.integers(0, 5, (2, 3))
    model = load(p, p.find("minitorch.language.model:GPT2")(5, 4, 2, 2, 4), w)
    model(tensor(p, tokens)).sum().backward()
    p.find(f"{LORA}:add_adapters")(model, names, rank, 3.0, seed)
    out = model(tensor(p, tokens))
    (out * out).sum().backward()
    every = p.find("builtins:dict")(model.named_parameters())
    parts = [f"{name}.{part}" for name in names for part in "AB"]
    listed = p.find("builtins:sorted")(every)
    values = [every[name].value for name in [*shapes, *parts]]
    count = len(values)
    found = yield [out, listed, *values, *(v.requires_grad for v in values), *(v.grad for v in values[: len(shapes)])]
    check_equal(found[0], logits(w, tokens, 2, 2), CLOSE)
    check_equal(found[1], sorted([*shapes, *parts]), of="names of parameters")
    arrays, trained, gradients = found[2 : 2 + count], found[2 + count : 2 + 2 * count], found[2 + 2 * count :]
    expected, generator = dict(w), np.random.default_rng(seed)
    for name in names:
        in_size, out_size = sizes[name]
        expected[f"{name}.A"] = generator.normal(0, 1 / math.sqrt(in_size), (rank, in_size))
        expected[f"{name}.B"] = np.zeros((out_size, rank))
    for name, array, flag in zip([*shapes, *parts], arrays, trained, strict=True):
        check_equal(array, expected[name], EXACT, of=name)
        check_equal(flag, name in parts, of=f"requires_grad of {name}")
    for name, gradient in zip(shapes, gradients, strict=True):
        check_equal(gradient, None, of=f"gradient of {name}")


@probe(
    "6.9",
    "names that are no linear layers are refused",
    weight=1,
    names=sampled_from([["h.0.attn.c_attn", "h.0.attn"], ["h.0.mlp.c_proj", "wte"], ["lm_head"], []]),
    count=4,
)
def refuses_names(p: Program, names: list[str]) -> Check:
    """With a ValueError."""
    model = p.find("minitorch.language.model:GPT2")(5, 4, 1, 2, 4)
    yield from check_raises(p.find(f"{LORA}:add_adapters")(model, names, 1, 1.0), "ValueError")
