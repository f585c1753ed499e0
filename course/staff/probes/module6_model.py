"""Probes of Module 6: the model, compared with GPT-2's architecture in NumPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis.strategies import sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal
from course.staff.probes.module2 import rng
from course.staff.probes.module6_attention import attended
from course.staff.probes.module6_layers import gelu, normalize
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import numbers, seeds, tensor

MODEL, WEIGHTS = "minitorch.language.model", "minitorch.language.weights"

CLOSE = 1e-6

Weights = Mapping[str, np.ndarray]


def block_shapes(width: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a block's parameters."""
    pairs = {"ln_1": (width,), "attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width), "ln_2": (width,)}
    pairs |= {"mlp.c_fc": (width, 4 * width), "mlp.c_proj": (4 * width, width)}
    return {f"{name}.{kind}": shape if kind == "weight" else shape[-1:] for name, shape in pairs.items() for kind in ("weight", "bias")}


def model_shapes(vocabulary: int, context: int, layers: int, width: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's parameters."""
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (vocabulary, width), "wpe.weight": (context, width)}
    for number in range(layers):
        shapes |= {f"h.{number}.{name}": shape for name, shape in block_shapes(width).items()}
    return {**shapes, "ln_f.weight": (width,), "ln_f.bias": (width,)}


def draw_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    """Random weights."""
    draw = rng(seed)
    return {name: draw.normal(0, 0.5, shape).round(3) for name, shape in shapes.items()}


def load(p: Program, module: Value, w: Weights) -> Value:
    """Give the weights to a module in the child."""
    pairs = [(name, p.find("numpy:array")(array.reshape(-1).tolist()).reshape(array.shape)) for name, array in w.items()]
    p.find(f"{WEIGHTS}:load_weights")(module, p.find("builtins:dict")(pairs))
    return module


def linear(w: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """A linear layer."""
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def norm(w: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """A normalization with weight and bias."""
    return normalize(x, 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def attend(w: Weights, name: str, x: np.ndarray, heads: int) -> np.ndarray:
    """Causal self-attention."""
    batch, length, width = x.shape
    parts = linear(w, f"{name}c_attn", x).reshape(batch, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    out = attended(list(parts), np.tri(length, dtype=bool)).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return linear(w, f"{name}c_proj", out)


def feed(w: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """The network of a block."""
    return linear(w, f"{name}c_proj", gelu(linear(w, f"{name}c_fc", x)))


def block(w: Weights, name: str, x: np.ndarray, heads: int) -> np.ndarray:
    """A block."""
    x = x + attend(w, f"{name}attn.", norm(w, f"{name}ln_1", x), heads)
    return x + feed(w, f"{name}mlp.", norm(w, f"{name}ln_2", x))


def logits(w: Weights, tokens: np.ndarray, layers: int, heads: int) -> np.ndarray:
    """The logits of the model."""
    x = w["wte.weight"][tokens] + w["wpe.weight"][: tokens.shape[1]]
    for number in range(layers):
        x = block(w, f"h.{number}.", x, heads)
    return norm(w, "ln_f", x) @ w["wte.weight"].T


def part(shapes: Mapping[str, tuple[int, ...]], prefix: str) -> dict[str, tuple[int, ...]]:
    """The shapes below a prefix."""
    return {name.removeprefix(prefix): shape for name, shape in shapes.items() if name.startswith(prefix)}


@probe("6.4", "attention, network and block of a layer compute what GPT-2's do", weight=4, seed=seeds, count=8)
def layers_of_a_block(p: Program, seed: int) -> Check:
    """With 1, 2 or 4 heads."""
    heads, backend = (1, 2, 4)[seed % 3], p.find("minitorch:SimpleBackend")
    x = numbers((2, 3, 4), rng(seed))
    shapes = block_shapes(4)
    w = [draw_weights(each, seed) for each in (part(shapes, "attn."), part(shapes, "mlp."), shapes)]
    made = [
        load(p, p.find(f"{MODEL}:SelfAttention")(4, heads, backend), w[0]),
        load(p, p.find(f"{MODEL}:MLP")(4, backend), w[1]),
        load(p, p.find(f"{MODEL}:Block")(4, heads, backend), w[2]),
    ]
    attention, network, whole = yield [module(tensor(p, x)) for module in made]
    check_equal(attention, attend(w[0], "", x, heads), CLOSE, of="SelfAttention")
    check_equal(network, feed(w[1], "", x), CLOSE, of="MLP")
    check_equal(whole, block(w[2], "", x, heads), CLOSE, of="Block")


@probe(
    "6.4",
    "the logits are those of GPT-2's architecture with the same weights",
    weight=4,
    seed=seeds,
    count=6,
    length=sampled_from([1, 2, 4]),
)
def computes_logits(p: Program, seed: int, length: int) -> Check:
    """With one and two layers, up to the whole context."""
    layers = 1 + seed % 2
    w = draw_weights(model_shapes(5, 4, layers, 4), seed)
    tokens = rng(seed).integers(0, 5, (2, length))
    model = load(p, p.find(f"{MODEL}:GPT2")(5, 4, layers, 2, 4), w)
    (got,) = yield [model(tensor(p, tokens))]
    check_equal(got, logits(w, tokens, layers, 2), CLOSE)


@probe("6.4", "with a cache, queries attend to all tokens in it, and positions go on", weight=2, seed=seeds, count=4)
def goes_on(p: Program, seed: int) -> Check:
    """The cache is made in the child: it returns keys and values of two earlier tokens, then its own."""
    w = draw_weights(model_shapes(5, 4, 1, 4), seed)
    tokens = rng(seed).integers(0, 5, (1, 4))
    model = load(p, p.find(f"{MODEL}:GPT2")(5, 4, 1, 2, 4), w)
    x = w["wte.weight"][tokens] + w["wpe.weight"]
    projected = linear(w, "h.0.attn.c_attn", norm(w, "h.0.ln_1", x)).reshape(1, 4, 3, 2, 2).transpose(2, 0, 3, 1, 4)
    both = p.find("builtins:tuple")([tensor(p, np.ascontiguousarray(projected[at])) for at in (1, 2)])
    cache = p.find("types:SimpleNamespace")(length=2, append=p.find("unittest.mock:Mock")(return_value=both))
    (got,) = yield [model(tensor(p, tokens[:, 2:]), [cache])]
    check_equal(got, logits(w, tokens, 1, 2)[:, 2:], CLOSE)


@probe("6.4", "the weights at the start have the distributions of the docstring", weight=2, seed=seeds, count=3)
def starts(p: Program, seed: int) -> Check:
    """Mean and standard deviation within five standard errors; biases 0; normalizations 1; trained ones replaced."""
    p.find("minitorch:manual_seed")(seed)
    shapes = model_shapes(30, 20, 3, 8)
    model = p.find(f"{MODEL}:GPT2")(30, 20, 3, 2, 8)
    load(p, model, {name: np.full(shape, 9.0) for name, shape in shapes.items()})
    p.find(f"{MODEL}:init_weights")(model, 3)
    named = p.find("builtins:dict")(model.named_parameters())
    found = yield [named[name].value for name in shapes]
    for (name, shape), got in zip(shapes.items(), found, strict=True):
        array = np.asarray(getattr(got, "array", got), float)
        if array.shape != shape:
            raise Wrong(f"expected {name} of shape {shape}, got {array.shape}")
        if "ln_" in name or name.endswith("bias"):
            check_equal(got, np.full(shape, float("ln_" in name and name.endswith("weight"))), of=name)
            continue
        std, error = 0.02 / math.sqrt(6) if "c_proj" in name else 0.02, 5 / math.sqrt(array.size)
        if abs(array.mean()) > std * error or abs(array.std() / std - 1) > error:
            raise Wrong(f"expected {name} with mean 0 and standard deviation {std:.4f}, got {array.mean():.4f} and {array.std():.4f}")


@probe("6.4", "cross_entropy is the mean of -ln p, and its gradient that of softmax", weight=3, seed=seeds)
def loses(p: Program, seed: int) -> Check:
    """Also for large logits."""
    draw = rng(seed)
    shape = (int(draw.integers(1, 4)), int(draw.integers(1, 4)), int(draw.integers(1, 5)))
    x, targets = numbers(shape, draw), draw.integers(0, shape[-1], shape[:2])
    x = x * (200 if seed % 4 == 0 else 1)
    made = tensor(p, x, grad=True)
    loss = p.find(f"{MODEL}:cross_entropy")(made, tensor(p, targets))
    loss.sum().backward()
    got, gradient = yield [loss.sum().item(), made.grad]
    shifted = x - x.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    check_equal(got, float(-np.take_along_axis(logs, targets[..., None], -1).mean()), CLOSE)
    check_equal(gradient, (np.exp(logs) - np.eye(shape[-1])[targets]) / targets.size, CLOSE, of="gradient")


@probe("6.4", "the table of tokens gets the gradients of both its uses", weight=1)
def ties(p: Program) -> Check:
    """By finite differences."""
    w = draw_weights(model_shapes(4, 3, 1, 2), 3)
    tokens = np.array([[1, 1, 0]])
    model = load(p, p.find(f"{MODEL}:GPT2")(4, 3, 1, 1, 2), w)
    grad_output = numbers((1, 3, 4), rng(4))
    model(tensor(p, tokens)).backward(tensor(p, grad_output))
    (gradient,) = yield [model.wte.weight.value.grad]
    expected = np.zeros((4, 2))
    for index in np.ndindex(4, 2):
        ends: Sequence[float] = []
        for step in (1e-5, -1e-5):
            table = w["wte.weight"].copy()
            table[index] += step
            ends = [*ends, float((logits({**w, "wte.weight": table}, tokens, 1, 1) * grad_output).sum())]
        expected[index] = (ends[0] - ends[1]) / 2e-5
    check_equal(gradient, expected, 1e-4)
