"""Tasks 6.3 and 6.4: heads, the causal mask, attention and cross-entropy, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.tensors import value


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


def loss(call: Call) -> Difference | None:
    """Compare a loss."""
    return value(call, "cross_entropy", "the mean of -ln p over all positions", _cross_entropy, call.before)


def _cross_entropy(logits: Any, targets: Any) -> Any:
    right = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return np.mean(np.logaddexp.reduce(logits, axis=-1) - right, keepdims=True).reshape(1)


JUDGES: dict[str, Judge] = {
    "minitorch.language.attention:merge_heads": merged,
    "minitorch.language.attention:causal_mask": mask,
    "minitorch.language.attention:attention": attended,
    "minitorch.language.model:cross_entropy": loss,
}
