"""torch.utils.checkpoint and torch.amp, without PyTorch: results must equal those of the plain program."""

from __future__ import annotations

import math
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.amp import GradScaler, autocast
from minitorch.torch.utils.checkpoint import checkpoint


def gradients(use: Any) -> list[Any]:
    """The results and gradients of a network with dropout, whose middle is called through `use`."""
    torch.manual_seed(3)
    first, middle, last = nn.Linear(3, 8), nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.5)), nn.Linear(8, 1)
    x = torch.randn(4, 3, requires_grad=True)
    out = last(use(middle, first(x)))
    out.sum().backward()
    return [out.tolist(), x.grad.tolist(), *[p.grad.tolist() for p in (*first.parameters(), *middle.parameters(), *last.parameters())]]


def test_a_checkpoint_has_the_same_gradients() -> None:
    plain = gradients(lambda fn, x: fn(x))
    assert gradients(lambda fn, x: checkpoint(fn, x, use_reentrant=False)) == plain
    assert gradients(lambda fn, x: torch.utils.checkpoint.checkpoint(fn, x)) == plain


def test_a_checkpoint_runs_its_function_twice_and_takes_other_arguments() -> None:
    calls = []

    def both(x: Any, factor: float, *, shift: Any) -> tuple[Any, Any]:
        calls.append(x.requires_grad)
        return x * factor + shift, x.sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shift = torch.tensor([1.0, 1.0], requires_grad=True)
    y, total = checkpoint(both, x, 3.0, shift=shift)
    assert (y.tolist(), total.item()) == ([4.0, 7.0], 3.0)
    (y.sum() + 10 * total).backward()
    assert calls == [True, True]
    assert (x.grad.tolist(), shift.grad.tolist()) == ([13.0, 13.0], [1.0, 1.0])


def train(scaler: Any) -> tuple[list[float], list[float]]:
    """A weight trained for three steps, of which the second has an infinite gradient; and the scales."""
    w = nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([w], lr=0.5)
    values, scales = [], []
    for factor in (1.0, math.inf, 0.5):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        values.append(w.item())
        scales.append(scaler.get_scale())
    return values, scales


def test_a_grad_scaler_skips_steps_that_overflow() -> None:
    assert train(GradScaler(init_scale=8.0, growth_interval=1)) == ([0.5, 0.5, 0.25], [16.0, 8.0, 16.0])
    assert train(torch.cuda.amp.GradScaler("cpu", init_scale=8.0)) == ([0.5, 0.5, 0.25], [8.0, 4.0, 4.0])


def test_a_skipped_step_leaves_the_gradient() -> None:
    scaler, w = GradScaler(), nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler.scale((w * math.inf).sum()).backward()
    scaler.step(optimizer)
    assert w.grad.item() == math.inf
    assert w.item() == 1


def test_unscale_divides_the_gradients_of_plain_tensors_too() -> None:
    scaler, w = GradScaler(init_scale=4.0), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    losses = scaler.scale([w.sum(), (2 * w).sum()])
    assert [loss.item() for loss in losses] == [4.0, 8.0]
    losses[0].backward()
    assert w.grad.item() == 4
    scaler.unscale_(optimizer)
    assert w.grad.item() == 1


def test_a_disabled_grad_scaler_changes_nothing() -> None:
    scaler = GradScaler(enabled=False)
    loss = torch.ones(1)
    assert scaler.scale(loss).tolist() == [1.0]
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
    again = GradScaler()
    again.load_state_dict(GradScaler(init_scale=32.0).state_dict())
    assert again.get_scale() == 32


def test_autocast_can_be_switched_off_only() -> None:
    @autocast("cpu", enabled=False)
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with torch.autocast("cuda", dtype=torch.float16, enabled=False), torch.cuda.amp.autocast(enabled=False):
        assert double(torch.ones(1)).dtype is torch.float32
    for use in (lambda: autocast("cuda"), torch.cuda.amp.autocast):
        with pytest.raises(NotImplementedError, match="autocast supports enabled=False only"):
            use()
    with pytest.raises(ValueError, match='autocast expected device_type "cpu" or "cuda", got \'tpu\''):
        autocast("tpu", enabled=False)
