"""Optimizers and schedules of minitorch.torch.optim against PyTorch's, over several steps."""

import importlib
import math
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from minitorch.torch import nn, optim
from tests.optim.test_further_optimizers_against_torch import OPTIMIZERS

theirs = pytest.importorskip("torch", reason="compares with PyTorch")

X = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 16)


def network(torch: Any) -> Any:
    """A small network with the same parameters in both libraries."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    random = np.random.default_rng(2)
    state = {name: torch.from_numpy(random.standard_normal(tuple(x.shape)).astype(np.float32)) for name, x in model.state_dict().items()}
    model.load_state_dict(state)
    return model


def train(torch: Any, model: Any, optimizer: Any, steps: int) -> list[float]:
    """Make steps; return the losses."""
    x, y, losses = torch.from_numpy(X).to(next(iter(model.parameters())).dtype), torch.from_numpy(Y), []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return losses


def numbers(model: Any) -> np.ndarray:
    """All parameters as one vector."""
    return np.concatenate([x.detach().numpy().reshape(-1) for x in model.parameters()])


def test_steps_of_lbfgs_are_those_of_pytorch() -> None:
    models = [network(torch).double() for torch in (ours, theirs)]  # it amplifies rounding errors
    optimizers = [torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3) for torch, model in zip((ours, theirs), models, strict=True)]
    losses = [train(torch, m, o, 10) for torch, m, o in zip((ours, theirs), models, optimizers, strict=True)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(numbers(models[0]), numbers(models[1]), rtol=1e-3, atol=2e-5)
    again = optim.LBFGS(models[0].parameters(), lr=0.5, max_iter=3)
    again.load_state_dict(optimizers[0].state_dict())
    np.testing.assert_allclose(train(ours, models[0], again, 1), train(theirs, models[1], optimizers[1], 1), rtol=1e-4)


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_a_state_of_pytorch_is_continued(name: str, options: dict[str, Any]) -> None:
    models = [network(torch) for torch in (ours, theirs)]
    optimizers = [getattr(torch.optim, name)(model.parameters(), **options) for torch, model in zip((ours, theirs), models, strict=True)]
    train(theirs, models[1], optimizers[1], 4)
    models[0].load_state_dict(models[1].state_dict())
    optimizers[0].load_state_dict(optimizers[1].state_dict())
    losses = [train(*each, 6) for each in zip((ours, theirs), models, optimizers, strict=True)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(numbers(models[0]), numbers(models[1]), rtol=1e-3, atol=2e-5)
    assert all(x.grad is not None for x in models[0].parameters())
    mine, other = (optimizer.state_dict() for optimizer in optimizers)
    for number, entries in other["state"].items():
        assert set(mine["state"].get(number, ())) == {key for key, value in entries.items() if value is not None}
    assert set(mine["param_groups"][0]) == set(other["param_groups"][0])


def test_a_state_is_loaded_by_pytorch() -> None:
    models = [network(torch) for torch in (ours, theirs)]
    mine, other = optim.Adam(models[0].parameters(), lr=0.05), theirs.optim.Adam(models[1].parameters(), lr=0.05)
    train(ours, models[0], mine, 3)
    state = mine.state_dict()
    converted = {i: {k: theirs.from_numpy(v.numpy().copy()) for k, v in entries.items()} for i, entries in state["state"].items()}
    other.load_state_dict({"state": converted, "param_groups": state["param_groups"]})
    models[1].load_state_dict({name: theirs.from_numpy(x.numpy().copy()) for name, x in models[0].state_dict().items()})
    for torch, model, optimizer in ((ours, models[0], mine), (theirs, models[1], other)):
        train(torch, model, optimizer, 3)
    np.testing.assert_allclose(numbers(models[0]), numbers(models[1]), rtol=1e-3, atol=2e-5)


def test_groups_have_settings_of_their_own() -> None:
    models = [network(torch) for torch in (ours, theirs)]
    for torch, model in zip((ours, theirs), models, strict=True):
        groups = [{"params": model[0].parameters(), "lr": 0.5}, {"params": [model[2].weight]}]
        optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.5)
        optimizer.add_param_group({"params": model[2].bias, "momentum": 0.0})
        train(torch, model, optimizer, 3)
    np.testing.assert_allclose(numbers(models[0]), numbers(models[1]), rtol=1e-4, atol=1e-5)


def test_strong_wolfe_finds_the_minimum_of_rosenbrock() -> None:
    x = ours.tensor([-1.5, 2.0], dtype=ours.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    optimizer.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-5)


SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5, 5], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 6}),
    ("PolynomialLR", {"total_iters": 8, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 1 / (1 + epoch)}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.9 if epoch % 2 else 0.8}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 20}),
    ("OneCycleLR", {"max_lr": 0.5, "epochs": 4, "steps_per_epoch": 5, "anneal_strategy": "linear", "three_phase": True}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 3, "step_size_down": 5, "mode": "triangular2"}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False}),
]


def optimizer_of(torch: Any, momentum: float = 0.9) -> Any:
    """SGD over two groups."""
    first, second = (torch.zeros(2, requires_grad=True) for _ in range(2))
    return torch.optim.SGD([{"params": [first]}, {"params": [second], "lr": 0.2}], lr=0.1, momentum=momentum)


def rates(torch: Any, make: Any, steps: int = 19) -> list[list[float]]:
    """Rates and momenta of every epoch."""
    optimizer = optimizer_of(torch)
    scheduler, found = make(torch.optim.lr_scheduler, optimizer), []
    for _ in range(steps):
        found.append([*scheduler.get_last_lr(), *[group["momentum"] for group in optimizer.param_groups]])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_a_schedule_has_pytorch_s_rates(name: str, options: dict[str, Any]) -> None:
    mine, other = (rates(torch, lambda module, optimizer: getattr(module, name)(optimizer, **options)) for torch in (ours, theirs))
    np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-12)


def sequence(module: Any, optimizer: Any) -> Any:
    """A warm-up, a cosine and an exponential."""
    parts = [module.LinearLR(optimizer, 0.1, total_iters=4), module.CosineAnnealingLR(optimizer, 5), module.ExponentialLR(optimizer, 0.8)]
    return module.SequentialLR(optimizer, parts, [4, 9])


def chain(module: Any, optimizer: Any) -> Any:
    """Two schedules at once."""
    return module.ChainedScheduler([module.ConstantLR(optimizer, 0.5, 3), module.ExponentialLR(optimizer, 0.9)])


@pytest.mark.filterwarnings("ignore:The epoch parameter in:UserWarning")
@pytest.mark.parametrize("make", [sequence, chain])
def test_schedules_combine_as_pytorch_s(make: Any) -> None:
    np.testing.assert_allclose(*(rates(torch, make) for torch in (ours, theirs)), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{"patience": 1}, {"mode": "max", "patience": 0, "cooldown": 2, "threshold": 0.1, "threshold_mode": "abs"}]
)
def test_a_plateau_lowers_the_rate_as_pytorch_s(options: dict[str, Any]) -> None:
    found = []
    for torch in (ours, theirs):
        optimizer = optimizer_of(torch)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, min_lr=0.02, **options)
        found.append([])
        for value in (1.0, 0.8, 0.8, 0.8, 0.79, 0.85, 0.9, 0.9, 0.95, 0.9, 0.9, 0.9):
            optimizer.step()
            scheduler.step(value)
            found[-1].append(scheduler.get_last_lr().copy())
    np.testing.assert_allclose(*found)


@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_a_schedule_continues_from_its_state(name: str, options: dict[str, Any]) -> None:
    expected = rates(ours, lambda module, optimizer: getattr(module, name)(optimizer, **options), 12)
    optimizer = optimizer_of(ours)
    scheduler = getattr(optim.lr_scheduler, name)(optimizer, **options)
    for _ in range(6):
        scheduler.step()
    state, groups = scheduler.state_dict(), optimizer.state_dict()
    other = optimizer_of(ours)
    again = getattr(optim.lr_scheduler, name)(other, **options)
    other.load_state_dict(groups)
    again.load_state_dict(state)
    for row in expected[7:]:
        again.step()
        np.testing.assert_allclose(again.get_last_lr(), row[:2], rtol=1e-6)


def test_own_optimizers_and_schedules_derive_from_the_base_classes() -> None:
    class Signs(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for x in group["params"]:
                    state = self.state[x]
                    state["count"] = state.get("count", 0) + 1
                    with ours.no_grad():
                        x.sub_(x.grad.sign() * group["lr"])

    class Halving(optim.lr_scheduler.LRScheduler):
        def get_lr(self) -> list[float]:
            return [rate * 0.5**self.last_epoch for rate in self.base_lrs]

    x = nn.Parameter(ours.tensor([1.0, -1.0]))
    optimizer = Signs([x], lr=0.5)
    scheduler = Halving(optimizer)
    for _ in range(2):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
        scheduler.step()
    assert x.detach().tolist() == [0.25, -0.25]
    assert optimizer.state[x]["count"] == 2
    assert scheduler.get_last_lr() == [0.125]
    assert math.isclose(optimizer.state_dict()["param_groups"][0]["lr"], 0.125)
    other = Signs([x], lr=0.5)
    other.load_state_dict(optimizer.state_dict())
    assert (other.state[x], other.lr) == ({"count": 2}, 0.125)


# Averages of parameters


def swa_utils(torch: Any) -> Any:
    """The module of a library."""
    return importlib.import_module(f"{torch.__name__}.optim.swa_utils")


def numbers_like(torch: Any, x: Any, seed: int) -> Any:
    """Positive numbers in the shape and dtype of a tensor."""
    return torch.from_numpy(np.asarray(np.random.default_rng(seed).uniform(1, 9, tuple(x.shape)))).to(x.dtype)


@pytest.mark.parametrize("average", ["mean", "exponential"])
@pytest.mark.parametrize("use_buffers", [False, True])
def test_parameters_are_averaged_as_by_pytorch(average: str, use_buffers: bool) -> None:
    found = []
    for torch in (ours, theirs):
        model, utils = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)), swa_utils(torch)
        averaged = utils.AveragedModel(
            model, avg_fn=utils.get_ema_avg_fn(0.75) if average == "exponential" else None, use_buffers=use_buffers
        )
        for step in range(4):
            model.load_state_dict({name: numbers_like(torch, x, step + len(name)) for name, x in model.state_dict().items()})
            averaged.update_parameters(model)
        found.append({name: x.numpy() for name, x in averaged.state_dict().items() if "tracked" not in name or not use_buffers})
        assert averaged.n_averaged.item() == 4
        assert averaged.eval()(torch.from_numpy(X)).shape == (16, 3)
    assert list(found[0]) == list(found[1])
    for name, value in found[0].items():
        np.testing.assert_allclose(value, found[1][name], rtol=1e-5, err_msg=name)


def test_statistics_are_computed_again_as_by_pytorch() -> None:
    found = []
    for torch in (ours, theirs):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.0)).eval()
        swa_utils(torch).update_bn([(torch.from_numpy(X[start : start + 8]), 0) for start in (0, 8)], model)
        assert (model.training, model[0].momentum) == (False, 0.1)
        found.append({name: x.numpy() for name, x in model.state_dict().items()})
    for name, value in found[0].items():
        np.testing.assert_allclose(value, found[1][name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [
        {"swa_lr": 0.05, "anneal_epochs": 4},
        {"swa_lr": [0.05, 0.3], "anneal_epochs": 5, "anneal_strategy": "linear"},
        {"swa_lr": 1.0, "anneal_epochs": 0},
    ],
)
def test_the_rate_goes_to_that_of_the_average_as_by_pytorch(options: dict[str, Any]) -> None:
    def make(module: Any, optimizer: Any) -> Any:
        return swa_utils(ours if module is optim.lr_scheduler else theirs).SWALR(optimizer, **options)

    mine, other = (rates(torch, make, 9) for torch in (ours, theirs))
    np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_what_averages_do_not_support_is_refused() -> None:
    utils, optimizer = optim.swa_utils, optimizer_of(ours)
    with pytest.raises(NotImplementedError, match="AveragedModel supports multi_avg_fn=None only"):
        utils.AveragedModel(nn.Linear(1, 1), multi_avg_fn=print)
    with pytest.raises(ValueError, match="get_ema_avg_fn expected decay from 0 to 1, got 2"):
        utils.get_ema_avg_fn(2)
    with pytest.raises(ValueError, match="SWALR expected one rate or 2, one for each group, got 1"):
        utils.SWALR(optimizer, [0.1])
    with pytest.raises(ValueError, match="got 'sin' and 10"):
        utils.SWALR(optimizer, 0.1, anneal_strategy="sin")
    with pytest.raises(ValueError, match=r"Rprop expected etas below and above 1, got \(1.0, 2.0\)"):
        optim.Rprop([ours.zeros(1, requires_grad=True)], etas=(1.0, 2.0))
