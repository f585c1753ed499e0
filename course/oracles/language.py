"""Tasks 6.3, 6.4, 6.5b, 6.7 and 6.9: heads, masks, attention, cross-entropy, a schedule's rate and adapters, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference, format_number
from course.explain.unwritten_memory import old_content
from course.oracles.operators import compare
from course.oracles.tensors import array, value


def merged(call: Call) -> Difference | None:
    """Compare heads side by side."""
    words = "the numbers of all heads side by side, for each token"
    return value(call, "merge_heads", words, lambda x: np.concatenate(list(np.moveaxis(x, 1, 0)), -1), call.before)


def mask(call: Call) -> Difference | None:
    """Compare a causal mask."""
    words = "True for a query's own key and the earlier ones; the last query belongs to the last key"
    return value(call, "causal_mask", words, lambda n, keys: np.tri(n, keys, keys - n, dtype=bool), call.before[:2])


def attended(call: Call) -> Difference | None:
    """Compare the weighted means of the values."""
    return value(call, "attention", "the mean of the values, weighted by softmax; zeros without keys", _attention, call.before)


def _attention(query: Any, key: Any, values: Any, allowed: Any = None) -> Any:
    logs = np.einsum("...le,...se->...ls", query, key) * query.shape[-1] ** -0.5
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    total = np.logaddexp.reduce(logs, axis=-1, keepdims=True)
    return np.einsum("...ls,...sd->...ld", np.nan_to_num(np.exp(logs - total)), values)


def attention_kernel(call: Call) -> Difference | None:
    """Compare the outputs of the kernel of attention, in float32."""
    query, key, values, scale, causal = call.before[1:]
    _, queries, size = query.shape
    keys = len(key[0])
    allowed = np.tri(queries, keys, keys - queries, dtype=bool) if causal else None
    with np.errstate(all="ignore"):
        out = _attention(query * (scale * size**0.5), key, values, allowed)
    after = call.after[0]
    wrong = np.argwhere(~np.isclose(after, out, 1e-3, 1e-5, equal_nan=True))
    if not len(wrong):
        return None
    head, i, c = map(int, wrong[0])
    got = after[head, i, c]
    origin = old_content(got) if np.array_equal(got, call.before[0][head, i, c], equal_nan=True) else ""
    words = f"{format_number(out[head, i, c])}, the mean of column {c} of the values, weighted by softmax"
    rows = (
        ("Expected", words if allowed is None or allowed[i].any() else "0, because the query has no keys"),
        ("Yours", f"{format_number(got)}{', ' if origin else ''}{origin}"),
        ("Launch", f"queries: {queries}, keys: {keys}{', causal' if causal else ''}; {len(wrong)} of {out.size} elements differ"),
    )
    return Difference(f"out[{head}, {i}, {c}]", rows, "NumPy")


def loss(call: Call) -> Difference | None:
    """Compare a loss."""
    return value(call, "cross_entropy", "the mean of -ln p over all positions", _cross_entropy, call.before)


def _cross_entropy(logits: Any, targets: Any) -> Any:
    right = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return np.mean(np.logaddexp.reduce(logits, axis=-1) - right, keepdims=True).reshape(1)


def rate(call: Call) -> Difference | None:
    """Compare the rate of a step."""
    words = "on the line from 0 to the largest rate before the end of the warm-up; then on half a cosine down to the smallest"
    step, schedule = call.before
    return compare("learning_rate", words, _rate, [step, *schedule], call.result)


def _rate(step: float, steps: float, warmup: float, largest: float, smallest: float) -> float:
    if step < warmup:
        return float(np.interp(step, [0, warmup], [0, largest]))
    turn = np.pi * np.clip((step - warmup) / (steps - warmup), 0, 1)
    return float(np.average([largest, smallest], weights=[1 + np.cos(turn), 1 - np.cos(turn)]))


def adapted(call: Call) -> Difference | None:
    """Compare the output of a layer with an adapter."""
    layer = call.arguments[0]
    weight, bias = array(layer.weight.value), array(layer.bias.value)
    changed = weight if layer.original is not None else weight + _change(layer)
    words = "that of the linear layer, plus that of the adapter unless it is merged"
    return value(call, "LoRALinear.forward", words, lambda x: np.einsum("...i,io->...o", x, changed) + bias, call.before[1:2])


def change(call: Call) -> Difference | None:
    """Compare the change of a weight."""
    words = "the change of weight that has the effect of the adapter, in the shape of weight"
    return value(call, "LoRALinear.delta", words, lambda: _change(call.arguments[0]), [])


def _change(layer: Any) -> Any:
    return np.einsum("ri,or->io", array(layer.A.value), array(layer.B.value)) * layer.alpha / layer.rank


JUDGES: dict[str, Judge] = {
    "minitorch.language.attention:merge_heads": merged,
    "minitorch.language.attention:causal_mask": mask,
    "minitorch.language.attention:attention": attended,
    "minitorch.language.model:cross_entropy": loss,
    "minitorch.language.training:learning_rate": rate,
    "minitorch.language.lora:LoRALinear.forward": adapted,
    "minitorch.language.lora:LoRALinear.delta": change,
}

CUDA: dict[str, tuple[Judge, bool]] = {"attention_kernel": (attention_kernel, False)}
