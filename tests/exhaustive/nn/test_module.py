"""Modules after the course: the tree, buffers, states, moves, hooks, text representation."""

import pytest

import minitorch
from minitorch import FastBackend, float32, float64, tensor
from minitorch.nn import Linear


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_converting_to_half_precision_and_back_keeps_the_optimizer_state(kind):
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    module = Linear(2, 1, device=FastBackend)
    optimizer = minitorch.Adam(module.parameters())
    kept = {}
    for step in (getattr(module, kind), module.double):
        x = tensor([[1.0, 2.0]], FastBackend, dtype=step().weight.value.dtype)
        module(x).sum().backward()
        optimizer.step()
        kept[x.dtype.name] = {optimizer.state[p][name].dtype for p in module.parameters() for name in ("exp_avg", "exp_avg_sq")}
    assert kept == {{"half": "float16"}.get(kind, kind): {float32}, "float64": {float64}}
