"""torch.compile: what is compiled computes what the same program computes without it."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.compiler import NotRecordable
from minitorch.torch import nn


@pytest.fixture(autouse=True)
def no_fallback() -> Iterator[None]:
    """A warning that a function runs as it is fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def points(rows: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Points and targets."""
    x = np.random.default_rng(3).standard_normal((rows, 3)).astype(np.float32)
    return torch.tensor(x), torch.tensor(x[:, :1] * x[:, 1:2])


def mlp() -> nn.Module:
    """A small network with the same weights each time."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))


def train(optimizer_of: Callable[[Any], Any], compiled: Callable[..., Any], clear_inside: bool = True) -> list[float]:
    """The losses of 20 training steps, each of them a call of one function."""
    model, (x, y) = mlp(), points()
    optimizer = optimizer_of(model.parameters())

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if clear_inside:
            optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if not clear_inside:
            optimizer.zero_grad()
        return loss.detach()

    step = compiled(step)
    losses = [step(x, y).item() for _ in range(20)]
    state = optimizer.state_dict()["state"]
    assert all(entries.get("step", 20) == 20 for entries in state.values())
    if compiled is torch.compile:
        assert (step.recorded, step.replayed) == (1, 19)
    return losses


def as_it_is(fn: Any) -> Any:
    """The function itself."""
    return fn


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD, momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.05, maximize=False),
}


@pytest.mark.parametrize("name", ["SGD, momentum", "Adam"])
def test_a_compiled_step_has_the_same_losses(name: str) -> None:
    check_losses(name)


def check_losses(name: str) -> None:
    """Train with an optimizer, compiled and as it is."""
    wanted = train(OPTIMIZERS[name], as_it_is)
    assert train(OPTIMIZERS[name], torch.compile) == wanted
    assert wanted[-1] < wanted[0]


def test_a_compiled_step_may_clear_gradients_at_its_end() -> None:
    assert train(OPTIMIZERS["Adam"], torch.compile, clear_inside=False) == train(OPTIMIZERS["Adam"], as_it_is)


def losses_of(model: Any, call: Any) -> list[float]:
    """The losses of 20 steps in which only the model's call may be compiled."""
    x, y = points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        loss = ((call(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_compiled_module_trains_like_the_module() -> None:
    model, other = mlp(), mlp()
    compiled = torch.compile(model)
    assert losses_of(compiled, compiled) == losses_of(other, other)
    assert compiled.replayed >= 18
    assert isinstance(compiled, nn.Module)
    assert list(compiled.state_dict()) == list(model.state_dict())
    assert compiled.eval().training is model.training is False
    assert isinstance(compiled(points()[0]), torch.Tensor)


class Remembers(nn.Module):
    """A module that keeps what it computed last, in a buffer and in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.last = torch.zeros(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        self.last = x * 2
        return x + 1


def test_a_compiled_module_may_keep_tensors() -> None:
    model = Remembers()
    compiled = torch.compile(model)
    for number in range(1, 5):
        assert compiled(torch.full((2,), float(number))).tolist() == [number + 1.0] * 2
        assert isinstance(model.last, torch.Tensor)
        assert isinstance(model.total, torch.Tensor)
        assert model.last.tolist() == [number * 2.0] * 2
    assert model.total.tolist() == [10.0, 10.0]
    assert compiled.replayed == 3


def test_a_compiled_function_of_two_shapes_is_recorded_for_each() -> None:
    @torch.compile
    def distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return ((a - b) ** 2).sum(-1).sqrt()

    for rows in (2, 3, 2, 3, 2):
        a, b = torch.arange(rows * 2.0).reshape(rows, 2), torch.ones(rows, 2)
        np.testing.assert_allclose(distance(a, b).numpy(), np.hypot(a.numpy()[:, 0] - 1, a.numpy()[:, 1] - 1), 1e-6)
    assert (distance.recorded, distance.replayed) == (2, 3)


@pytest.mark.parametrize("draw", [nn.Dropout(0.5), lambda x: x + torch.rand(x.shape), lambda x: torch.randn_like(x), torch.bernoulli,
                                  lambda x: torch.randint(0, 1000, (64,)) + x, lambda x: torch.randperm(64) + x])  # fmt: skip
def test_random_numbers_are_drawn_anew_and_from_the_same_stream(draw: Any) -> None:
    compiled, x = torch.compile(draw), torch.full((64,), 0.5)
    torch.manual_seed(7)
    wanted = [draw(x).tolist() for _ in range(4)]
    torch.manual_seed(7)
    assert [compiled(x).tolist() for _ in range(4)] == wanted
    assert compiled.replayed == 3
    assert len({tuple(each) for each in wanted}) == 4


def test_tensors_around_the_function_are_read_at_every_call() -> None:
    scale = torch.tensor([2.0])
    double = torch.compile(lambda x: x * scale)
    x = torch.tensor([1.0, 3.0])
    assert [double(x).tolist() for _ in range(3)] == [[2.0, 6.0]] * 3
    scale.fill_(5.0)
    assert double(x).tolist() == [5.0, 15.0]
    scale = torch.tensor([7.0])
    assert double(x).tolist() == [7.0, 21.0]


def test_arguments_and_results_may_be_nested_and_named() -> None:
    def both(pair: list[torch.Tensor], *, scale: float) -> dict[str, Any]:
        return {"sum": pair[0] + pair[1], "rest": (pair[0] * scale, 3), "largest": torch.max(pair[0].view(1, 2), 1).values}

    compiled = torch.compile(both)
    for a in (1.0, 2.0, 3.0):
        found = compiled([torch.tensor([a, 0.0]), torch.ones(2)], scale=2.0)
        assert found["sum"].tolist() == [a + 1, 1.0]
        assert found["rest"][0].tolist() == [2 * a, 0.0]
        assert found["rest"][1] == 3
        assert found["largest"].tolist() == [a]
    assert compiled([torch.ones(2), torch.ones(2)], scale=3.0)["rest"][0].tolist() == [3.0, 3.0]


def test_new_tensors_are_part_of_the_program() -> None:
    mask = torch.compile(lambda x: (x * torch.tril(torch.ones(2, 2))).masked_fill(torch.eye(2).bool(), 0.0) + torch.arange(2))
    for _ in range(3):
        assert mask(torch.full((2, 2), 3.0)).tolist() == [[0.0, 1.0], [3.0, 1.0]]
    assert mask.replayed == 2


def test_another_default_dtype_is_recorded_anew() -> None:
    shifted = torch.compile(lambda x: x + torch.ones(1))
    x = torch.ones(1, dtype=torch.int64)
    assert shifted(x).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert [shifted(x).dtype for _ in range(2)] == [torch.float64] * 2
    finally:
        torch.set_default_dtype(torch.float32)
    assert shifted(x).dtype is torch.float32


class Scaled:
    """A class with a compiled method."""

    def __init__(self) -> None:
        self.scale = torch.tensor([2.0])

    @torch.compile
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale

    @torch.compile(fullgraph=True)
    def shift(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.scale


def test_methods_are_compiled_by_a_decorator() -> None:
    scaled = Scaled()
    for _ in range(3):
        assert scaled(torch.ones(1)).tolist() == [2.0]
        assert scaled.shift(torch.ones(1)).tolist() == [3.0]


def branch(x: torch.Tensor) -> torch.Tensor:
    """A function that no recording can repeat."""
    return x * 2 if x.sum() > 0 else x


def test_what_cannot_be_recorded_runs_as_it_is_after_a_warning() -> None:
    compiled = torch.compile(branch)
    with pytest.warns(RuntimeWarning, match="branch runs as it is, because it cannot be compiled") as warned:
        assert compiled(torch.ones(1)).tolist() == [2.0]
    assert [each.filename for each in warned] == [__file__]  # the line that called it, not one of the library
    assert compiled(-torch.ones(1)).tolist() == [-1.0]
    with pytest.raises(NotRecordable, match=r"branch cannot be compiled.*Or leave out fullgraph to run it as it is"):
        torch.compile(branch, fullgraph=True)(torch.ones(1))


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (lambda x: torch.tensor(np.sin(x.numpy())), r"numpy\(\)"),
        (torch.nonzero, r"a search or an order, as by nonzero\(\), sort\(\) or topk\(\),"),
        (lambda x: x.topk(1).values, "a search or an order"),
        (lambda x: torch.isin(x, torch.zeros(1)), r"isin\(\)"),
    ],
)
def test_what_numpy_finds_among_numbers_is_refused(fn: Any, what: str) -> None:
    with pytest.raises(NotRecordable, match=f"cannot be compiled: {what}.* cannot be recorded"):
        torch.compile(fn, fullgraph=True)(torch.tensor([0.0, 1.0]))


def test_too_many_shapes_are_named_with_a_way_out_that_exists() -> None:
    double = torch.compile(lambda x: x * 2, fullgraph=True)
    for size in range(1, 9):
        double(torch.ones(size))
    with pytest.raises(NotRecordable, match=r"8 recordings are not enough; what differed last is the shape.*Call it with fewer shapes"):
        double(torch.ones(9))


def test_a_layer_frozen_between_two_steps_is_left_as_it_is() -> None:
    def train(compiled: bool) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(5, 2)

        def step() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = torch.compile(step, fullgraph=True) if compiled else step
        losses = [float(run()) for _ in range(3)]
        model[0].weight.requires_grad_(False)
        before = model[0].weight.tolist()
        losses += [float(run()) for _ in range(3)]  # the first one finds the gradient of the step before, the others none
        assert model[0].weight.tolist() == before
        assert model[0].weight.grad is None
        model[0].weight.grad = torch.ones_like(model[0].weight)
        losses += [float(run()) for _ in range(2)]
        assert model[0].weight.grad is None
        return losses

    assert train(True) == train(False)


@pytest.mark.parametrize(
    "option", [{"mode": "max-autotune"}, {"backend": "eager"}, {"dynamic": True}, {"options": {"trace": True}}], ids=str
)
def test_options_without_a_meaning_are_refused(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(NotImplementedError, match=f"compile supports {name}="):
        torch.compile(branch, **option)
    with pytest.raises(TypeError, match="compile expected a function or a Module, got Tensor"):
        torch.compile(torch.ones(1))


def test_defaults_of_options_are_accepted() -> None:
    assert torch.compile(branch, disable=True) is branch
    compiled = torch.compile(branch, mode="default", backend="inductor", dynamic=False, options=None)
    assert compiled.name == "branch"
