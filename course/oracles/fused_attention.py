"""Tasks 6.5 and 6.5b: attention by tiles, compared with sums of all keys in the logarithm, and its gradients with complex steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference, format_number
from course.explain.unwritten_memory import old_content
from course.oracles.language import LOWEST, is_low, mean_values, settled, weighted_sum
from course.oracles.parts import Part, compare_parts

MODULE = "minitorch.language.fused_attention"

STEP = 1e-100
"""A complex step, by which the imaginary part of an analytic function is divided: the derivative, exact to rounding."""

ENTRIES = 200
"""Of a larger gradient, this many entries are compared, evenly spread."""


def tile(call: Call) -> Difference | None:
    """Compare what is known of some queries after a further tile."""
    with np.errstate(all="ignore"):
        largest, total, output, scores, values = (each.astype(np.float64) for each in call.before)
        highest = np.fmax(largest, np.fmax.reduce(scores, axis=1, initial=-np.inf))
        logs = np.concatenate([(largest + np.log(total))[:, None], scores], 1) - highest[:, None]
        totals = np.exp(np.logaddexp.reduce(logs, axis=1))
        outputs = output * np.exp(largest - highest)[:, None] + weighted_sum(np.exp(logs[:, 1:]), values)
        outputs = settled(outputs, values, False, call.arguments[2])
    got = call.arguments[:3]
    highest = np.where(np.isnan(scores).any(1), got[0], highest)  # NaN may be the largest score, or not
    expected = [each.astype(call.before[0].dtype) for each in (highest, totals, outputs)]
    words = "the largest score so far, the sum of all weights e^(score - largest) so far, and the sum of the values with these weights"
    return compare_parts(call, words, zip(("largest", "total", "output"), expected, got, strict=True))


def attended(call: Call) -> Difference | None:
    """Compare the outputs and the logarithms of the sums."""
    out, _, query, key, value, scale, causal = call.before[:7]
    got, logsumexp = call.arguments[:2]
    with np.errstate(all="ignore"):
        logs = _logs(query.astype(np.float64), key.astype(np.float64), float(scale), causal)
        sums = np.logaddexp.reduce(logs, axis=2, initial=-np.inf)
        expected = settled(weighted_sum(_weights(logs), value.astype(np.float64)), value, is_low(sums)[..., None], got)
        is_free = is_low(sums) | np.isneginf(sums) | np.isposinf(sums) & np.isnan(logsumexp)  # ∞ - ∞ is NaN
        sums = np.where(is_free, logsumexp, sums)

    def parts() -> Iterator[Part]:
        yield "out", expected.astype(out.dtype), got
        yield "logsumexp", sums.astype(out.dtype), logsumexp

    return compare_parts(call, "softmax(query · keyᵀ · scale) · value, zeros without keys, and ln Σ e^score of each query", parts())


def _logs(query: Any, key: Any, scale: float, causal: bool) -> Any:
    scores = np.maximum(np.einsum("hie,hke->hik", query, key) * scale, LOWEST)
    queries, keys = scores.shape[1:]
    return np.where(np.tri(queries, keys, keys - queries, dtype=bool), scores, -np.inf) if causal else scores


def _weights(logs: Any) -> Any:
    """softmax, zeros without keys, NaN where it is not fixed; for complex numbers as well."""
    largest = logs.real.max(axis=2, keepdims=True, initial=-np.inf)
    powers = np.where(np.isneginf(logs.real), 0, np.exp(logs - np.where(np.isfinite(largest), largest, 0)))
    totals = powers.sum(axis=2, keepdims=True)
    return np.where(is_low(largest), np.nan, powers / np.where(totals == 0, 1, totals))


def differentiated(call: Call) -> Difference | None:
    """Compare the gradients with those of the definition, entry by entry."""
    *grads, grad_out, _, _, query, key, value, scale, causal = call.before

    def output(place: int, head: int, row: int, column: int) -> float:
        stepped = [each[head : head + 1].astype(np.complex128) for each in (query, key, value)]
        stepped[place][0, row, column] += STEP * 1j
        rows = slice(row, row + 1) if place == 0 else slice(None)
        logs = _logs(stepped[0], stepped[1], float(scale), causal)[:, rows]
        return float((np.einsum("hik,hkc->hic", _weights(logs), stepped[2]).imag * grad_out[head, rows]).sum() / STEP)

    def is_moderate(head: int) -> bool:
        largest = np.finfo(query.dtype).max ** 0.25  # products of larger numbers may overflow
        return all((np.abs(each[head]) < largest).all() for each in (grad_out, query, key, value))

    def parts() -> Iterator[Part]:
        for place, (name, before) in enumerate(zip(("grad_query", "grad_key", "grad_value"), grads, strict=True)):
            after = call.arguments[place]
            indices = list(np.ndindex(*before.shape))
            indices = indices[:: -(-len(indices) // ENTRIES) or 1]
            expected = after.astype(np.float64)
            with np.errstate(all="ignore"):
                for index in indices:
                    entry = before[index] + output(place, *index)
                    if np.isfinite(entry) and (np.isfinite(after[index]) or is_moderate(index[0])):
                        expected[index] = entry
            yield name, expected.astype(before.dtype), after

    words = "the gradients of Σ grad_out · out, in which the derivative of out is that of the definition"
    return compare_parts(call, words, parts(), "complex steps of softmax(query · keyᵀ · scale) · value, entry by entry")


JUDGES: dict[str, Judge] = {
    f"{MODULE}:add_tile": tile,
    f"{MODULE}:_attend": attended,
    f"{MODULE}:_differentiate": differentiated,
}


# The kernel for CUDA


def attention_kernel(call: Call) -> Difference | None:
    """Compare the outputs of the kernel of attention, in float32."""
    query, key, values, scale, causal = call.before[1:]
    _, queries, size = query.shape
    keys, after = len(key[0]), call.after[0]
    allowed = np.tri(queries, keys, keys - queries, dtype=bool) if causal else None
    with np.errstate(all="ignore"):
        out = mean_values(query * (scale * size**0.5), key, values, allowed, after)
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


CUDA: dict[str, tuple[Judge, bool]] = {"attention_kernel": (attention_kernel, False)}
