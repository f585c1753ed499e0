"""The benchmark of optimizers runs, takes the step that the table names, and gives verdicts."""

import numpy as np
import pytest

from benchmarks import optim, optim_contenders
from minitorch import Parameter


@pytest.mark.parametrize(
    ("rule", "way"), [("sgd", lambda g: 0.01 * g), ("adam", lambda g: 0.001 * np.sign(g)), ("momentum", lambda g: 0.01 * g)]
)
def test_ours_takes_the_step_that_the_table_names(rule, way, monkeypatch):
    made = []
    monkeypatch.setattr("minitorch.Parameter", lambda value: made.append(Parameter(value)) or made[-1])
    optim_contenders.of_minitorch(f"{rule} small usual")()
    pairs = optim_contenders.arrays("small")
    assert len(made) == len(pairs) == 6
    for parameter, (value, gradient) in zip(made, pairs, strict=True):
        np.testing.assert_allclose(parameter.value.to_numpy(), value - way(gradient), rtol=1e-4, atol=1e-6)


def test_every_optimizer_is_asked_over_all_parameters_and_beside_torchs_fused_loops_where_it_has_some():
    assert [optim.shown(row) for row in optim.ROWS[:5]] == [
        "SGD, 10⁶ in a tensor",
        "SGD, momentum 0.9, 10⁶ in a tensor",
        "Adam, 10⁶ in a tensor",
        "AdamW, 10⁶ in a tensor",
        "RMSprop, 10⁶ in a tensor",
    ]
    assert len(optim.ROWS) == 3 * 5 + 3 * 4
    assert optim.shown("adam mlp fused") == "Adam, 784-256-256-10, torch fused"
    assert [sum(np.prod(shape) for shape in shapes) for shapes in optim_contenders.LAYOUTS.values()] == [1_000_000, 269_322, 10_501]


def test_pytorchs_optimizer_is_the_same():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for row in optim.ROWS:
        kind, settings = optim_contenders.RULES[row.split()[0]]
        getattr(torch.optim, kind)([torch.zeros(1)], **settings, **({"fused": True} if row.endswith("fused") else {}))
