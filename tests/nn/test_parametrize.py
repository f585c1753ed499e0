"""Parametrizations of parameters and buffers: by hand, and with the state dicts of PyTorch where it is installed."""

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.nn.parametrizations import householder, matrix_exp, reflectors
from minitorch.nn.parametrize import (
    ParametrizationList,
    cached,
    is_parametrized,
    register_parametrization,
    remove_parametrizations,
    transfer_parametrizations_and_params,
    type_before_parametrizations,
)
from minitorch.torch import nn
from minitorch.torch.nn.utils import parametrizations
from tests.nn.checks import refuses


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, value: Any) -> Any:
        return value.triu()


class Twice(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2


class Sum(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y

    def right_inverse(self, value: Any) -> Any:
        return value * 0.25, value * 0.75


class Returns(nn.Module):
    """What is given, in both directions."""

    def __init__(self, value: Any, inverse: Any = None) -> None:
        super().__init__()
        self.value, self.inverse = (value,), (inverse,)

    def forward(self, x: Any) -> Any:
        return self.value[0]

    def right_inverse(self, value: Any) -> Any:
        if self.inverse[0] is None:
            raise NotImplementedError
        return self.inverse[0]


def layer() -> Any:
    made = nn.Linear(2, 2)
    made.weight.data, made.bias.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([5.0, 6.0])
    return made


def test_the_modules_are_found_by_pytorch_s_names() -> None:
    for name in ("parametrize", "parametrizations", "prune"):
        assert importlib.import_module(f"minitorch.torch.nn.utils.{name}") is getattr(nn.utils, name)
    assert nn.utils.parametrize.register_parametrization is register_parametrization


def test_a_parameter_is_computed_whenever_it_is_read() -> None:
    module = layer()
    original = module.weight
    assert register_parametrization(module, "weight", Symmetric()) is module
    assert isinstance(module, nn.Linear)
    assert (type(module).__name__, type_before_parametrizations(module)) == ("ParametrizedLinear", nn.Linear)
    assert type_before_parametrizations(layer()) is nn.Linear
    assert [name for name, _ in module.named_parameters()] == list(module.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert module.parametrizations.weight.original is original
    assert (original.tolist(), module.weight.tolist(), type(module.weight)) == ([[1, 2], [0, 4]], [[1, 2], [2, 4]], torch.Tensor)
    module(torch.ones(1, 2)).sum().backward()
    assert original.grad.tolist() == [[1, 2], [0, 1]]
    assert [is_parametrized(module), *[is_parametrized(module, name) for name in ("weight", "bias")]] == [True, True, False]
    expected = "(parametrizations): ModuleDict(\n    (weight): ParametrizationList(\n      (0): Symmetric()\n    )\n  )\n)"
    assert repr(module) == f"ParametrizedLinear(\n  in_features=2, out_features=2, bias=True\n  {expected}"
    with pytest.raises(AttributeError, match="ParametrizedLinear has no attribute 'w'"):
        _ = module.w


def test_an_assignment_changes_the_original() -> None:
    module = register_parametrization(layer(), "weight", Symmetric())
    module.weight = torch.tensor([[1.0, 7.0], [9.0, 3.0]])
    assert module.weight.tolist() == [[1, 7], [7, 3]]
    register_parametrization(module, "weight", Twice())
    assert module.weight.tolist() == [[2, 14], [14, 6]]
    with pytest.raises(
        RuntimeError, match=r"Twice has no right_inverse, so its tensor cannot be assigned; define right_inverse\(self, value\)"
    ):
        module.weight = torch.ones(2, 2)
    module.bias = nn.Parameter(torch.zeros(2))
    assert module.bias.tolist() == [0, 0]


@pytest.mark.parametrize("leave", [True, False])
def test_a_parametrization_is_removed(leave: bool) -> None:
    module = layer()
    original, before = module.weight, module.weight.tolist()
    register_parametrization(register_parametrization(module, "weight", Twice()), "bias", Twice())
    expected = module.weight.tolist() if leave else before
    assert remove_parametrizations(module, "weight", leave_parametrized=leave) is module
    assert (module.weight is original, module.weight.tolist()) == (True, expected)
    assert (type(module).__name__, is_parametrized(module, "bias")) == ("ParametrizedLinear", True)
    remove_parametrizations(module, "bias", leave_parametrized=False)
    assert (type(module), list(module.state_dict()), hasattr(module, "parametrizations")) == (nn.Linear, ["weight", "bias"], False)


def test_a_parameter_is_computed_of_several() -> None:
    module = register_parametrization(layer(), "weight", Sum())
    assert list(module.state_dict())[1:] == ["parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert module.weight.tolist() == [[1, 2], [3, 4]]
    module.weight = torch.ones(2, 2) * 8
    assert [x.tolist()[0] for x in module.parametrizations.weight.originals()] == [[2, 2], [6, 6]]
    with pytest.raises(ValueError, match="'weight' is computed of 2 tensors, so it has no original; leave it parametrized"):
        remove_parametrizations(module, "weight", leave_parametrized=False)
    remove_parametrizations(module, "weight")
    assert (type(module.weight), module.weight.tolist()) == (nn.Parameter, [[8, 8]] * 2)


def test_buffers_are_computed() -> None:
    module = register_parametrization(nn.BatchNorm1d(2), "running_var", Twice())
    assert [name for name, _ in module.named_buffers()] == ["running_mean", "num_batches_tracked", "parametrizations.running_var.original"]
    assert module.running_var.tolist() == [2, 2]
    module.eval()(torch.ones(2, 2))
    remove_parametrizations(module, "running_var")
    assert (module.running_var.tolist(), module.parametrizations if is_parametrized(module) else None) == ([2, 2], None)


def test_cached_tensors_are_computed_once() -> None:
    module = register_parametrization(layer(), "weight", Twice())
    assert module.weight is not module.weight
    with cached():
        first = module.weight
        with cached():
            assert module.weight is first
        assert module.weight is first
    assert module.weight is not first


def test_parametrized_modules_are_copied_loaded_and_called_with_other_parameters() -> None:
    module, other = (register_parametrization(layer(), "weight", Symmetric()) for _ in range(2))
    other.weight = torch.ones(2, 2)
    twin = copy.deepcopy(module)
    twin.load_state_dict(other.state_dict())
    assert (twin.weight.tolist(), module.weight.tolist()) == ([[1, 1], [1, 1]], [[1, 2], [2, 4]])
    given = {"parametrizations.weight.original": torch.ones(2, 2), "bias": torch.zeros(2)}
    assert torch.func.functional_call(module, given, torch.ones(1, 2)).tolist() == [[2, 2]]
    message = r"ParametrizedLinear cannot be pickled; save its state_dict\(\), or call remove_parametrizations first"
    with pytest.raises(RuntimeError, match=message):
        pickle.dumps(module)


def test_parametrizations_are_transferred() -> None:
    module, other, empty = register_parametrization(layer(), "weight", Twice()), nn.Linear(2, 2), nn.Module()
    for target in (other, empty):
        assert transfer_parametrizations_and_params(module, target) is target
        assert target.weight.tolist() == module.weight.tolist()
        assert target.parametrizations.weight[0] is module.parametrizations.weight[0]
        assert target.parametrizations.weight.original is not module.parametrizations.weight.original
    assert not is_parametrized(transfer_parametrizations_and_params(layer(), nn.Linear(2, 2)))


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    x, single = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float32)
    same = "expected to return float64 of shape (2, 2), as the tensor is, got"
    cases: list[tuple[Any, str]] = [
        (Returns(single), f"the parametrization {same} float32 of shape (2, 2); pass unsafe=True to change them"),
        (Returns(x[:1]), f"the parametrization {same} float64 of shape (1, 2); pass unsafe=True to change them"),
        (Returns(3), "the parametrization expected to return a Tensor, got int"),
        (Returns(x, 3), "right_inverse expected to return a Tensor or a tuple of them, got int"),
        (Returns(x, single), "right_inverse expected to return float64, the dtype of the tensor, got float32"),
    ]
    for parametrization, message in cases:
        module = layer()
        refuses(ValueError, message, register_parametrization, module, "weight", parametrization)
        assert (type(module), list(module.state_dict())) == (nn.Linear, ["weight", "bias"])
    assert register_parametrization(layer(), "weight", Returns(x[:1]), unsafe=True).weight.shape == (1, 2)
    module, plain = register_parametrization(layer(), "weight", Twice()), layer()
    calls: list[tuple[type[Exception], Callable[[], Any], str]] = [
        (ValueError, lambda: register_parametrization(module, "weight", Returns(x[:1])),
         "the parametrization expected to return float64 of shape"),
        (TypeError, lambda: register_parametrization(plain, "weight", abs),
         "expected a Module as parametrization, got builtin_function_or_method"),
        (ValueError, lambda: register_parametrization(plain, "w", Twice()), "Linear has no parameter or buffer 'w'; it has weight, bias"),
        (ValueError, lambda: remove_parametrizations(plain, "weight"), "Linear has no parametrization of 'weight'"),
        (ValueError, lambda: ParametrizationList([], x), "ParametrizationList expected at least one parametrization, got none"),
    ]  # fmt: skip
    for error_type, call, message in calls:
        with pytest.raises(error_type, match=message):
            call()
    pair = register_parametrization(layer(), "weight", Sum())
    pair.parametrizations.weight[0].right_inverse = lambda value: (value,)
    with pytest.raises(ValueError, match="right_inverse expected to return 2 tensors, got 1"):
        pair.weight = x


# Weights that are normalized or orthogonal by construction


def build(lib: Any, function: str, *shape: int, **options: Any) -> Any:
    """A layer whose weight is parametrized."""
    functions = importlib.import_module(f"{lib.__name__}.nn.utils.parametrizations")
    made = lib.nn.Linear(*shape) if len(shape) == 2 else lib.nn.ConvTranspose2d(*shape) if "spectral" in function else lib.nn.Conv2d(*shape)
    return getattr(functions, function)(made, **options)


SHAPES, MAPS = ((2, 4), (4, 2), (3, 3)), ("matrix_exp", "cayley", "householder")

CASES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    *[("weight_norm", (3, 2), options) for options in ({}, {"dim": None}, {"dim": 1}, {"dim": -1}, {"name": "bias"})],
    *[("spectral_norm", (3, 2), options) for options in ({}, {"dim": 1}, {"name": "bias"})],
    *[("orthogonal", shape, {"orthogonal_map": each}) for shape in SHAPES for each in MAPS],
    *[("orthogonal", shape, {"use_trivialization": False, "orthogonal_map": each}) for shape in SHAPES for each in MAPS[1:]],
    *[(function, (3, 2, 3), {}) for function in ("weight_norm", "spectral_norm", "orthogonal")],
]


@pytest.mark.parametrize(("function", "shape", "options"), CASES)
def test_weights_and_gradients_are_those_of_pytorch(function: str, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    real = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    name = options.get("name", "weight")
    theirs, ours = build(real, function, *shape, **options).double(), build(torch, function, *shape, **options).double()
    assert repr(ours) == repr(theirs)
    for _, x in theirs.named_parameters():  # away from where the parametrization begins; a Householder diagonal stays ±1
        x.data = x.data + real.tril(real.randn(x.shape, dtype=x.dtype), -1) * 0.3 if x.dim() > 1 else x.data
    assert str(ours.load_state_dict(theirs.state_dict())) == "<All keys matched successfully>"
    for module in (theirs, ours):
        module.eval()
    one, other = getattr(ours, name), getattr(theirs, name)
    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12)
    (one * one.detach().cumsum(0)).sum().backward()
    (other * other.detach().cumsum(0)).sum().backward()
    for x, y in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert (x.grad is None) == (y.grad is None)
        if x.grad is not None:
            np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("function", "shape", "options"), [case for case in CASES if case[0] != "spectral_norm"])
def test_a_parametrized_weight_begins_as_it_was_and_can_be_assigned(function: str, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    module, name = build(torch, function, *shape, **options), options.get("name", "weight")
    old = getattr(module, name).detach().clone()
    if function == "orthogonal" and options.get("orthogonal_map") == "cayley" and not options.get("use_trivialization", True):
        with pytest.raises(
            NotImplementedError, match="orthogonal cannot assign to a matrix that cayley computes without a base; pass use_triv"
        ):
            setattr(module, name, old)
        return
    setattr(module, name, old)
    np.testing.assert_allclose(getattr(module, name).detach().numpy(), old.numpy(), rtol=1e-4, atol=1e-5)


def test_norms_and_directions() -> None:
    module = parametrizations.weight_norm(layer())
    assert module.parametrizations.weight.original0.tolist() == [[pytest.approx(5**0.5)], [5]]
    assert module.weight.tolist() == [[1, 2], [3, pytest.approx(4)]]


def test_state_dicts_of_the_older_weight_norm_are_read() -> None:
    old, new = nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 2))), nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 2)))
    assert str(new.load_state_dict(old.state_dict())) == "<All keys matched successfully>"
    assert new(torch.ones(1, 3)).tolist() == old(torch.ones(1, 3)).tolist()
    assert str(new.load_state_dict(copy.deepcopy(new).state_dict())) == "<All keys matched successfully>"


def test_power_iterations_find_the_largest_singular_value_in_training() -> None:
    torch.manual_seed(0)
    module = parametrizations.spectral_norm(nn.Linear(5, 4), n_power_iterations=5)
    for _ in range(10):
        weight = module.weight
    assert np.linalg.norm(weight.detach().numpy(), 2) == pytest.approx(1, rel=1e-5)
    before = module.parametrizations.weight[0]._u.tolist()
    module.eval().weight = torch.ones(4, 5)
    assert module.weight is not None
    assert module.parametrizations.weight[0]._u.tolist() == before
    assert module.train().weight is not None
    assert module.parametrizations.weight[0]._u.tolist() != before


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3)])
def test_training_keeps_a_matrix_orthogonal(shape: tuple[int, int], orthogonal_map: str) -> None:
    torch.manual_seed(0)
    module = parametrizations.orthogonal(nn.Linear(*shape, bias=False), orthogonal_map=orthogonal_map)
    optimizer, before = torch.optim.SGD(module.parameters(), lr=0.3), module.weight.detach().numpy()
    for _ in range(3):
        optimizer.zero_grad()
        (module(torch.arange(float(shape[0])).reshape(1, -1)) - 1).square().sum().backward()
        optimizer.step()
    W = module.weight.detach().numpy()
    assert not np.allclose(W, before, atol=1e-3)
    np.testing.assert_allclose(W @ W.T if shape[1] <= shape[0] else W.T @ W, np.eye(min(shape)), atol=1e-5)


def test_matrix_exponentials_and_reflections() -> None:
    angle = 3.0
    rotation = matrix_exp(torch.tensor([[0.0, -angle], [angle, 0.0]], dtype=torch.float64)).numpy()
    np.testing.assert_allclose(rotation, [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], rtol=1e-12)
    assert matrix_exp(torch.zeros(2, 2)).tolist() == [[1, 0], [0, 1]]
    for Q in (np.linalg.qr(np.random.default_rng(0).standard_normal((2, 4, 3)))[0], np.eye(3), -np.eye(3)[:, :2]):
        np.testing.assert_allclose(householder(torch.tensor(reflectors(Q))).numpy(), Q, atol=1e-12)


def test_wrong_arguments_are_refused() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: parametrizations.weight_norm(layer(), "w"), "Linear has no parameter or buffer 'w'; it has weight, bias"),
        (lambda: parametrizations.spectral_norm(layer(), n_power_iterations=0),
         "spectral_norm expected n_power_iterations of at least 1, got 0"),
        (lambda: parametrizations.orthogonal(layer(), orthogonal_map="x"),
         "orthogonal expected orthogonal_map matrix_exp, cayley, householder, got 'x'"),
        (lambda: parametrizations.orthogonal(layer(), "bias"),
         r"orthogonal expected a parameter of shape \(…, rows, columns\), got \(2,\)"),
        (lambda: setattr(parametrizations.orthogonal(layer()), "weight", torch.ones(2, 3)),
         r"orthogonal expected a value of shape \(2, 2\), got \(2, 3\)"),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
