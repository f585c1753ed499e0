"""Fifty steps of every optimizer are PyTorch's."""

import numpy as np
import pytest

from minitorch import Parameter, optim, tensor
from tests.optim.test_optimizers import RULES

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

START = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, -0.25]])


def row(name, **settings):
    """The name of an optimizer, and its settings."""
    return pytest.param(name, settings, id=f"{name}{settings or ''}")


OPTIMIZERS = [
    *[row(rule.__name__, **settings) for rule, _, settings in RULES],
    row("SGD", lr=0.05, momentum=0.9, nesterov=True, maximize=True),
    row("Adam", lr=0.1, amsgrad=True, weight_decay=0.1, maximize=True),
    row("AdamW", lr=0.1, amsgrad=True, weight_decay=0.2),
    row("NAdam", lr=0.1, weight_decay=0.2, decoupled_weight_decay=True),
    row("RAdam", lr=0.1, weight_decay=0.2, decoupled_weight_decay=True),
    row("Adadelta"),
    row("Adadelta", lr=0.3, rho=0.6, eps=1e-3, weight_decay=0.1),
    row("Adagrad"),
    row("Adagrad", lr=0.3, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3),
    row("Adamax"),
    row("Adamax", lr=0.1, betas=(0.5, 0.75), eps=1e-3, weight_decay=0.1),
    row("NAdam"),
    row("NAdam", lr=0.1, betas=(0.5, 0.75), eps=1e-3, weight_decay=0.1, momentum_decay=0.3),
    row("RAdam"),
    row("RAdam", lr=0.1, betas=(0.5, 0.75), eps=1e-3, weight_decay=0.1),
    row("RAdam", lr=0.1, betas=(0.5, 0.99)),
    row("Rprop"),
    row("Rprop", lr=0.1, etas=(0.3, 1.5), step_sizes=(0.05, 0.4)),
    row("ASGD"),
    row("ASGD", lr=0.1, lambd=0.02, alpha=0.5, t0=10.0, weight_decay=0.1),
]


@pytest.fixture(autouse=True)
def double():
    """PyTorch with our default dtype, in which it then keeps factors such as the momentum of NAdam, too."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("name", "settings"), OPTIMIZERS)
def test_fifty_steps_are_pytorchs(name, settings, backend):
    value = torch.tensor(START, requires_grad=True)
    theirs = getattr(torch.optim, name)([value], **settings)
    p = Parameter(tensor(START, backend))
    ours = getattr(optim, name)([p], **settings)
    for gradient in np.random.default_rng(1).standard_normal((50, 2, 3)) * np.array([1.0, 1e-7, 30.0]):
        value.grad, p.value.grad = torch.tensor(gradient), tensor(gradient, backend)
        theirs.step(), ours.step()
        np.testing.assert_allclose(p.value.to_numpy(), value.detach().numpy(), rtol=1e-11)
    if name == "ASGD":
        mean = ours.state_dict()["state"][0]["ax"]
        np.testing.assert_allclose(np.asarray(mean), theirs.state[value]["ax"].numpy(), rtol=1e-11)


@pytest.mark.parametrize("name", sorted({case.values[0] for case in OPTIMIZERS}))
def test_defaults_are_pytorchs_but_for_the_published_rate(name):
    theirs = getattr(torch.optim, name)([torch.zeros(1)]).param_groups[0]
    rate = {"lr": 1.0} if name == "SGD" else {}  # as published by the course
    (ours,) = getattr(optim, name)([Parameter(tensor([0.0]))]).param_groups
    assert {key: value for key, value in ours.items() if key != "params"} == {key: theirs[key] for key in ours if key != "params"} | rate
