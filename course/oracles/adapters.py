"""Task 6.9: low-rank adapters, compared with NumPy, and what they change in a layer and a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.modules import tree
from course.oracles.parts import Part, compare_parts, refusal
from course.oracles.tensors import array, value

MODULE = "minitorch.language.lora"

# The layer


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


def layer_before(call: Call) -> dict[str, Any]:
    """The arrays of a layer, its weight as an object, and whether it is merged."""
    layer = call.arguments[0]
    arrays = {name: array(getattr(layer, name).value).copy() for name in ("weight", "bias", "A", "B")}
    original = None if layer.original is None else array(layer.original).copy()
    return {"arrays": arrays, "value": layer.weight.value, "original": original, "change": _change(layer)}


def merged(call: Call) -> Difference | None:
    """Compare a layer after merge."""
    layer, arrays = call.arguments[0], call.start["arrays"]
    if call.start["original"] is not None:
        return refusal(call, "a RuntimeError", "the adapter is merged already", _arrays(layer, arrays))

    def parts() -> Iterator[Part]:
        yield from _arrays(layer, arrays | {"weight": arrays["weight"] + call.start["change"]})
        yield "whether original is the old value of weight", True, layer.original is call.start["value"]
        yield "original, which must not change", arrays["weight"], array(layer.original)
        yield from _constant(layer)

    return compare_parts(call, "weight + delta, a constant, as a new value of weight; the old one is kept as original", parts())


def unmerged(call: Call) -> Difference | None:
    """Compare a layer after unmerge."""
    layer, arrays, original = call.arguments[0], call.start["arrays"], call.start["original"]
    if original is None:
        return refusal(call, "a RuntimeError", "the adapter is not merged", _arrays(layer, arrays))

    def parts() -> Iterator[Part]:
        yield "whether weight has its old numbers, bit for bit", True, np.array_equal(array(layer.weight.value), original)
        yield from _arrays(layer, arrays | {"weight": original})
        yield "original", None, layer.original
        yield from _constant(layer)

    return compare_parts(call, "the value of weight from before merge, bit for bit, as a constant", parts())


def _arrays(layer: Any, arrays: Mapping[str, Any]) -> Iterator[Part]:
    for name, expected in arrays.items():
        yield name, expected, array(getattr(layer, name).value)


def _constant(layer: Any) -> Iterator[Part]:
    yield "whether weight needs a gradient", False, layer.weight.value.requires_grad


# A model


def model_before(call: Call) -> dict[str, Any]:
    """The modules and parameters of a model by name, and whether the arguments are refused by the function that the course gives."""
    check = sys.modules[MODULE]._check_adapters
    try:
        error = check(*call.before[:4])
    except (TypeError, ValueError, RuntimeError) as refused:
        error = refused
    entries = dict(tree(call.arguments[0]))
    needs = {name: entry.value.requires_grad for name, entry in entries.items() if not _is_module(entry)}
    return {"error": error, "entries": entries, "needs": needs}


def _is_module(entry: Any) -> bool:
    return hasattr(entry, "_modules")


def added(call: Call) -> Difference | None:
    """Compare a model with adapters."""
    model, entries = call.arguments[0], call.start["entries"]
    now = dict(tree(model))
    if error := call.start["error"]:
        same = [(f"whether {name or 'the model'} is as before", True, now.get(name) is entry) for name, entry in entries.items()]
        needs = [
            (f"whether {name} needs a gradient", need, entries[name].value.requires_grad) for name, need in call.start["needs"].items()
        ]
        return refusal(call, f"a {type(error).__name__}", str(error).partition(", got")[0], same + needs)
    words = "constants without gradients; each named layer with an adapter, A by default_rng(seed) in the order of names, B zeros"
    return compare_parts(call, words, _adapters(call, entries, now))


def _adapters(call: Call, entries: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Part]:
    _, names, rank, alpha, seed = call.before
    draw = np.random.Generator(np.random.PCG64(seed))  # that of default_rng
    for name in dict.fromkeys(names):
        yield f"the class of {name}", "LoRALinear", type(now.get(name)).__name__
        layer, old = now[name], entries[name]
        rows, columns = array(old.weight.value).shape
        yield f"rank and alpha of {name}", (rank, alpha), (layer.rank, layer.alpha)
        yield f"{name}.A", draw.normal(0, rows**-0.5, (rank, rows)).astype(array(old.weight.value).dtype), array(layer.A.value)
        yield f"{name}.B", np.zeros((columns, rank)), array(layer.B.value)
        for part in (layer.A, layer.B):
            yield f"whether the adapter of {name} needs a gradient", True, part.value.requires_grad
    for name, entry in entries.items():
        if name not in names:
            yield f"whether {name or 'the model'} is as before", True, now.get(name) is entry
        if not _is_module(entry):
            yield f"whether {name} needs a gradient", False, entry.value.requires_grad
            yield f"the gradient of {name}", None, entry.value.grad


JUDGES: dict[str, Judge] = {
    f"{MODULE}:LoRALinear.forward": adapted,
    f"{MODULE}:LoRALinear.delta": change,
    f"{MODULE}:LoRALinear.merge": merged,
    f"{MODULE}:LoRALinear.unmerge": unmerged,
    f"{MODULE}:add_adapters": added,
}

PREPARE: dict[str, Callable[[Call], Any]] = {
    f"{MODULE}:LoRALinear.merge": layer_before,
    f"{MODULE}:LoRALinear.unmerge": layer_before,
    f"{MODULE}:add_adapters": model_before,
}
"""What is read at the beginning of a call."""
