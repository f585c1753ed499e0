"""Tasks 6.2 to 6.4: normalization, GELU, embedding, attention, the model and its loss, compared with NumPy."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.modules import tree
from course.oracles.parts import ORACLE, Part, compare_parts, compare_result, refusal
from course.oracles.tensors import array, gradients, value

FUNCTIONS, ATTENTION, MODEL = (f"minitorch.language.{name}" for name in ("functions", "attention", "model"))

SPREAD = 0.02
"""The standard deviation of new weights."""

LOWEST = -1e38
"""Lower scores count as this one, which differs from -∞, that of a masked key."""

# Functions with gradients


def _normalize(x: Any, eps: float) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def _gelu(x: Any) -> Any:
    """By the logistic function: (1 + tanh(u)) / 2 = 1 / (1 + e^-2u)."""
    return x * np.exp(-np.logaddexp(0, -np.sqrt(8 / np.pi) * (x + 0.044715 * x**3)))


FORWARDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "Normalize": ("each row minus its mean, divided by the root of its variance plus eps", _normalize),
    "Gelu": ("x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2", _gelu),
}
"""The functions: what they compute, in words, and their values."""


def forward(call: Call) -> Difference | None:
    """Compare the value of a function."""
    words, oracle = FORWARDS[call.owner]
    return value(call, f"{call.owner}.forward", words, oracle, call.before[1:])


def backward(call: Call) -> Difference | None:
    """Compare gradients with finite differences at the arguments of the call of forward that had the same context."""
    inputs = call.recorder.forwards[id(call.arguments[0])].before[1:]
    if not np.isfinite(array(inputs[0]) ** 3).all():
        raise OverflowError  # a right function may compute x³, and so NaN
    return gradients(call, inputs, FORWARDS[call.owner][1], array(call.before[1]), call.result)


def layer_norm(call: Call) -> Difference | None:
    """Compare normalized rows with a weight and a bias."""

    def oracle(x: Any, weight: Any, bias: Any, eps: float) -> Any:
        return _normalize(x, eps) * weight + bias

    return value(call, "layer_norm", "each normalized row times weight, plus bias", oracle, call.before)


def lookup(call: Call) -> Difference | None:
    """Compare the rows of a table, and that neither the table nor the tokens themselves are saved."""
    context, tokens, weight = call.arguments
    wrong = value(call, "Lookup.forward", "the row of the table for each token", lambda t, w: np.take(w, t, 0), call.before[1:])
    if wrong is not None:
        return wrong
    for saved in map(array, context.saved_values):
        for name, given in (("tokens", tokens), ("weight", weight)):
            if isinstance(saved, np.ndarray) and np.shares_memory(saved, array(given)):
                wish = "a copy of the tokens, which may change before the backward pass" if name == "tokens" else "the shape of the table"
                rows = (("Expected", wish), ("Yours", f"the {name}, as the memory that was passed"))
                return Difference("what it saves for the backward pass", rows, ORACLE)
    return None


def lookup_gradient(call: Call) -> Difference | None:
    """Compare the gradient of a table, row by row."""
    _, tokens, weight = call.recorder.forwards[id(call.arguments[0])].before
    grad, count = array(call.before[1]), weight.shape[0]
    rows, grads = tokens.array.ravel(), grad.reshape(-1, grad.shape[-1])
    expected = np.stack([grads[rows == row].sum(0) for row in range(count)])

    def parts() -> Iterator[Part]:
        yield "the number of gradients", 2, len(call.result)
        yield "the gradient of tokens", None, call.result[0]
        yield "the gradient of weight", expected, array(call.result[1])
        yield "the dtype of the gradient of weight", grad.dtype.name, array(call.result[1]).dtype.name

    return compare_result(call, "None for tokens; for each row of the table, the sum of the gradients where it was looked up", parts())


# Attention


def split(call: Call) -> Difference | None:
    """Compare the queries, keys and values of all heads."""
    projected, heads = call.before
    blocks = np.split(projected.array, 3 * heads, -1)

    def parts() -> Iterator[Part]:
        yield "the number of results", 3, len(call.result)
        for place, name in enumerate(("queries", "keys", "values")):
            yield f"the {name}", np.stack(blocks[place * heads :][:heads], 1), array(call.result[place])
            shared = np.shares_memory(array(call.result[place]), array(call.arguments[0]))
            yield f"whether the {name} are a view, without a copy of a number", True, shared

    return compare_result(call, "queries, keys and values of shape (B, heads, T, D): for each, first the numbers of head 0", parts())


def merge(call: Call) -> Difference | None:
    """Compare heads side by side."""
    words = "the numbers of all heads side by side, for each token"
    return value(call, "merge_heads", words, lambda x: np.concatenate(list(np.moveaxis(x, 1, 0)), -1), call.before)


def mask(call: Call) -> Difference | None:
    """Compare a causal mask."""
    words = "True for a query's own key and the earlier ones; the last query belongs to the last key"
    wrong = value(call, "causal_mask", words, lambda n, keys: np.tri(n, keys, keys - n, dtype=bool), call.before[:2])
    if wrong is not None:
        return wrong
    backend = call.arguments[2] or call.result.backend

    def parts() -> Iterator[Part]:
        yield "the dtype of the result", "bool", call.result.dtype.name
        yield "whether the backend is the one that was asked for", True, call.result.backend is backend

    return compare_parts(call, words, parts())


def attended(call: Call) -> Difference | None:
    """Compare the weighted means of the values."""
    words = "the mean of the values, weighted by softmax; zeros without keys"
    wrong = value(call, "attention", words, lambda *given: mean_values(*given, got=array(call.result)), call.before)
    return wrong or compare_parts(call, words, [("the dtype of the result", call.before[0].storage.dtype.name, call.result.dtype.name)])


def mean_values(query: Any, key: Any, values: Any, allowed: Any = None, got: Any = None) -> Any:
    """The mean of the values, weighted by softmax, for each query; zeros without keys. For got, see `settled`."""
    logs = np.maximum(np.einsum("...le,...se->...ls", query, key) * query.shape[-1] ** -0.5, LOWEST)
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    total = np.logaddexp.reduce(logs, axis=-1, keepdims=True)
    weights = np.where(np.isneginf(total), 0, np.exp(logs - total))
    return settled(weighted_sum(weights, values), values, is_low(total), got)


def weighted_sum(weights: Any, values: Any) -> Any:
    """The weighted sum of the values, to which those of weight 0 add nothing; NaN where another one is not finite."""
    finite = np.isfinite(values)
    sums = np.einsum("...ls,...sd->...ld", weights, np.where(finite, values, 0))
    return np.where(np.einsum("...ls,...sd->...ld", weights != 0, ~finite), np.nan, sums)


def settled(sums: Any, values: Any, is_free: Any, got: Any) -> Any:
    """Weighted sums, or what was found where another number is right, too.

    Args:
        sums: The sums.
        values: The values. If one is not finite, a sum may be NaN although the weight is 0, because 0 · NaN is NaN.
        is_free: Where any number is right.
        got: What was found; another shape is ignored.
    """
    if getattr(got, "shape", None) != sums.shape:
        return sums
    must_be_finite = np.isfinite(sums) & np.isfinite(values).all(-2, keepdims=True)
    return np.where(is_free | ~(np.isfinite(got) | must_be_finite), got, sums)


def is_low(scores: Any) -> Any:
    """Where scores, or their sum in the logarithm, are so low that a masked key, whose score may be -1e30, may have a weight."""
    return (scores < -1e29) & ~np.isneginf(scores)


# The model


def copies(call: Call) -> Any:
    """The caches, as copies to which the oracle may append, and how many tokens they have.

    Raises:
        ValueError: If several blocks share a cache, which is the mistake of another function.
    """
    given = call.arguments[2]
    caches = list(given) if isinstance(given, list | tuple) else [given]
    if len({*map(id, caches)}) < len(caches):
        raise ValueError
    return [(cache, copy.copy(cache), cache.length) for cache in caches if cache is not None]


def _weights(module: Any) -> dict[str, Any]:
    """The arrays of a module by name.

    Raises:
        TypeError: If one is not of float64, or a layer is none of those of Task 6.2.
    """
    entries = tree(module)
    kinds = {type(entry).__name__ for _, entry in entries if hasattr(entry, "_modules")}
    arrays = {name: array(entry.value) for name, entry in entries if not hasattr(entry, "_modules")}
    others = kinds - {"GPT2", "Module", "Block", "SelfAttention", "MLP", "LayerNorm", "Linear", "Embedding"}
    if others or any(each.dtype != np.float64 for each in arrays.values()):
        raise TypeError
    return arrays


class Architecture:
    """GPT-2 in NumPy.

    Args:
        weights: The weights by name.
        caches: See `copies`; they are used one after the other.
    """

    def __init__(self, weights: Mapping[str, Any], caches: Any = ()) -> None:
        self.weights, self.caches = weights, iter(caches)

    def linear(self, name: str, x: Any) -> Any:
        """A linear layer."""
        return np.einsum("...i,io->...o", x, self.weights[f"{name}.weight"]) + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: Any) -> Any:
        """A normalization."""
        return _normalize(x, 1e-5) * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attend(self, name: str, x: Any, heads: int) -> Any:
        """Causal self-attention."""
        query, key, values = (np.stack(np.split(part, heads, -1), 1) for part in np.split(self.linear(f"{name}c_attn", x), 3, -1))
        if (entry := next(self.caches, None)) is not None:
            tensor = sys.modules["minitorch.tensor"].tensor
            key, values = map(array, entry[1].append(tensor(key), tensor(values)))
        if not np.isfinite(values).all():
            raise ValueError  # whether a value of weight 0 adds NaN or nothing is not fixed
        length, keys = query.shape[2], key.shape[2]
        means = mean_values(query, key, values, np.tri(length, keys, keys - length, dtype=bool))
        return self.linear(f"{name}c_proj", np.concatenate(list(np.moveaxis(means, 1, 0)), -1))

    def network(self, name: str, x: Any) -> Any:
        """The network of one hidden layer."""
        return self.linear(f"{name}c_proj", _gelu(self.linear(f"{name}c_fc", x)))

    def block(self, name: str, x: Any, heads: int) -> Any:
        """A pre-norm block."""
        x = x + self.attend(f"{name}attn.", self.norm(f"{name}ln_1", x), heads)
        return x + self.network(f"{name}mlp.", self.norm(f"{name}ln_2", x))

    def logits(self, tokens: Any, start: int, layers: int, heads: int) -> Any:
        """The whole model."""
        x = np.take(self.weights["wte.weight"], tokens, 0) + self.weights["wpe.weight"][start:][: tokens.shape[1]]
        for number in range(layers):
            x = self.block(f"h.{number}.", x, heads)
        return np.einsum("...c,vc->...v", self.norm("ln_f", x), self.weights["wte.weight"])


def module(call: Call) -> Difference | None:
    """Compare the result of a module, and the lengths of its caches."""
    made, x = call.arguments[0], call.before[1].array
    caches = call.start or []
    numpy = Architecture(_weights(made), caches)
    name = call.owner
    if name == "GPT2":
        start = caches[0][2] if caches else 0
        if x.ndim != 2 or not x.size or start + x.shape[1] > made.context:
            return refusal(call, "a ValueError", f"tokens of shape {x.shape} after {start} do not fit")
        expected = numpy.logits(x, start, made.layers, getattr(made.h, "0").attn.heads)
    elif name == "Block":
        expected = numpy.block("", x, made.attn.heads)
    else:
        expected = numpy.network("", x) if name == "MLP" else numpy.attend("", x, made.heads)
    words = {
        "SelfAttention": "c_proj of the merged heads, which attend causally to all tokens so far",
        "MLP": "c_proj of gelu of c_fc of x",
        "Block": "x + attn(ln_1(x)), and to that its own mlp(ln_2(…)) added",
        "GPT2": "embeddings of tokens and positions, all blocks, ln_f, then the product with the transposed wte",
    }[name]

    def parts() -> Iterator[Part]:
        yield "the result", expected, array(call.result)
        for place, (cache, _, length) in enumerate(caches):
            yield f"the length of cache {place} after the call", length + x.shape[1], cache.length

    return compare_result(call, words, parts(), f"a tensor of shape {expected.shape}")


def start(call: Call) -> Difference | None:
    """Compare new weights; random ones by their mean and their standard deviation."""
    model, layers = call.before
    pools: dict[str, list[Any]] = {"the projections c_proj": [], "the other weights": []}

    def parts() -> Iterator[Part]:
        for name, entry in tree(model):
            if hasattr(entry, "_modules"):
                continue
            found = array(entry.value)
            if name.endswith("bias") or ".ln_" in f".{name}":
                yield name, np.full_like(found, not name.endswith("bias")), found
            else:
                pools["the projections c_proj" if ".c_proj." in name else "the other weights"].append(found.ravel())
        for name, arrays in pools.items():
            if arrays:
                yield from _spread(name, np.concatenate(arrays), SPREAD if name == "the other weights" else SPREAD * (2 * layers) ** -0.5)

    words = "biases 0, normalizations 1, others from the normal distribution with the standard deviation 0.02, c_proj 0.02 / √(2 · layers)"
    return compare_parts(call, words, parts())


def _spread(name: str, numbers: Any, spread: float) -> Iterator[Part]:
    """The mean and the standard deviation, within six standard errors."""
    error = 6 / np.sqrt(numbers.size)
    for what, expected, got in (("mean", 0.0, numbers.mean()), ("standard deviation", spread, np.sqrt(np.square(numbers).mean()))):
        about = f"about {expected:.3g}"
        yield f"the {what} of {name}", about, about if abs(got - expected) < error * spread else f"{got:.3g}"


def loss(call: Call) -> Difference | None:
    """Compare a loss."""
    return value(call, "cross_entropy", "the mean of -ln p over all positions", mean_loss, call.before)


def mean_loss(logits: Any, targets: Any) -> Any:
    """The mean of -ln p, of one element."""
    right = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return np.mean(np.logaddexp.reduce(logits, axis=-1) - right, keepdims=True).reshape(1)


JUDGES: dict[str, Judge] = (
    {f"{FUNCTIONS}:{name}.forward": forward for name in FORWARDS}
    | {f"{FUNCTIONS}:{name}.backward": backward for name in FORWARDS}
    | {
        f"{FUNCTIONS}:layer_norm": layer_norm,
        f"{FUNCTIONS}:Lookup.forward": lookup,
        f"{FUNCTIONS}:Lookup.backward": lookup_gradient,
        f"{ATTENTION}:split_heads": split,
        f"{ATTENTION}:merge_heads": merge,
        f"{ATTENTION}:causal_mask": mask,
        f"{ATTENTION}:attention": attended,
        f"{MODEL}:init_weights": start,
        f"{MODEL}:cross_entropy": loss,
    }
    | {f"{MODEL}:{name}.forward": module for name in ("SelfAttention", "MLP", "Block", "GPT2")}
)

PREPARE: dict[str, Callable[[Call], Any]] = {f"{MODEL}:{name}.forward": copies for name in ("SelfAttention", "Block", "GPT2")}
"""What is read at the beginning of a call."""
