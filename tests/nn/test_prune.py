"""Pruning: masks by hand, and the same in PyTorch where it is installed."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import pytest

import minitorch.torch as ours
from minitorch.torch.nn.utils import prune

BIAS = [1.0, -2.0, 3.0]


def layer(lib: Any) -> Any:
    """A layer with the weights -5 to 6."""
    made = lib.nn.Linear(4, 3)
    made.weight.data, made.bias.data = lib.arange(12.0).reshape(3, 4) - 5, lib.tensor(BIAS)
    return made


def masks(lib: Any, name: str, *calls: tuple[Any, ...]) -> Any:
    """The mask of a parameter after some calls of functions of prune."""
    module, functions = layer(lib), importlib.import_module(f"{lib.__name__}.nn.utils.prune")
    for function, *args in calls:
        assert getattr(functions, function)(module, name, *args) is module
    return getattr(module, f"{name}_mask").tolist()


def jointly(lib: Any, *amounts: Any, **options: Any) -> Any:
    """The masks of two layers that are pruned together; the weights of the second are ten times as large."""
    functions, one, other = importlib.import_module(f"{lib.__name__}.nn.utils.prune"), layer(lib), layer(lib)
    other.weight.data = other.weight.data * 10
    places = [(one, "weight"), (other, "weight")]
    for amount in amounts:
        functions.global_unstructured(places, functions.L1Unstructured, amount=amount, **options)
    return [int(module.weight_mask.sum().item()) for module, _ in places]


# Rows: a name, a function of the library, and what it returns

MASKS: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("l1 number", lambda lib: masks(lib, "weight", ("l1_unstructured", 3)), [[1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]]),
    ("l1 fraction", lambda lib: masks(lib, "bias", ("l1_unstructured", 0.34)), [0, 1, 1]),
    ("l1 none", lambda lib: masks(lib, "bias", ("l1_unstructured", 0)), [1, 1, 1]),
    ("l1 all", lambda lib: masks(lib, "bias", ("l1_unstructured", 1.0)), [0, 0, 0]),
    ("l1 one", lambda lib: masks(lib, "bias", ("l1_unstructured", 1)), [0, 1, 1]),
    ("l1 twice", lambda lib: masks(lib, "weight", *[("l1_unstructured", n) for n in (3, 2)]), [[1, 1, 1, 0], [0] * 4, [1] * 4]),
    ("l1 of the rest", lambda lib: masks(lib, "bias", ("l1_unstructured", 1), ("l1_unstructured", 0.5)), [0, 0, 1]),
    ("scores", lambda lib: masks(lib, "bias", ("l1_unstructured", 1, lib.tensor([3.0, 2.0, 1.0]))), [1, 1, 0]),
    ("ln rows", lambda lib: masks(lib, "weight", ("ln_structured", 1, 2, 0)), [[1] * 4, [0] * 4, [1] * 4]),
    ("ln columns", lambda lib: masks(lib, "weight", ("ln_structured", 0.4, 1, 1)), [[0, 0, 1, 1]] * 3),
    ("ln largest", lambda lib: masks(lib, "weight", ("ln_structured", 1, math.inf, -1)), [[1, 0, 1, 1]] * 3),
    ("ln twice", lambda lib: masks(lib, "weight", *[("ln_structured", 1, 2, 0)] * 2), [[0] * 4, [0] * 4, [1] * 4]),
    ("ln after l1", lambda lib: masks(lib, "weight", ("l1_unstructured", 9), ("ln_structured", 1, 2, 0)), [[0] * 4, [0] * 4, [0, 0, 1, 1]]),
    ("identity", lambda lib: masks(lib, "bias", ("identity",)), [1, 1, 1]),
    ("custom", lambda lib: masks(lib, "bias", ("custom_from_mask", lib.tensor([1, 0, 1]))), [1, 0, 1]),
    ("custom twice", lambda lib: masks(lib, "bias", *[("custom_from_mask", lib.tensor(m)) for m in ([1, 0, 1], [0, 1, 1])]), [0, 0, 1]),
    ("random", lambda lib: sum(map(sum, masks(lib, "weight", ("random_unstructured", 5)))), 7),
    ("random twice", lambda lib: sum(map(sum, masks(lib, "weight", ("random_unstructured", 5), ("random_unstructured", 0.5)))), 3),
    ("random channels", lambda lib: sorted(map(sum, zip(*masks(lib, "weight", ("random_structured", 2, 1)), strict=True))), [0, 0, 3, 3]),
    ("global", lambda lib: jointly(lib, 10), [3, 11]),
    ("global twice", lambda lib: jointly(lib, 10, 0.2), [0, 11]),
]  # fmt: skip


@pytest.mark.parametrize(("use", "expected"), [pytest.param(*row[1:], id=row[0]) for row in MASKS])
def test_masks_leave_what_counts_most(use: Callable[[Any], Any], expected: Any) -> None:
    assert use(ours) == expected


@pytest.mark.parametrize(("use", "expected"), [pytest.param(*row[1:], id=row[0]) for row in MASKS])
def test_the_expected_masks_are_pytorch_s(use: Callable[[Any], Any], expected: Any) -> None:
    assert use(pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")) == expected


def test_a_pruned_parameter_is_computed_of_the_original_and_a_mask() -> None:
    module = layer(ours)
    original = module.bias
    prune.l1_unstructured(module, "bias", 1)
    assert list(module.state_dict()) == ["weight", "bias_orig", "bias_mask"]
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias_orig"]
    assert [name for name, _ in module.named_buffers()] == ["bias_mask"]
    assert module.bias_orig is original
    assert (type(module.bias), module.bias.tolist()) == (ours.Tensor, [0, -2, 3])
    module(ours.ones(2, 4)).sum().backward()
    assert original.grad.tolist() == [0, 2, 2]
    original.data = original.data + 1
    module(ours.ones(2, 4))
    assert module.bias.tolist() == [0, -1, 4]
    assert (prune.is_pruned(module), prune.is_pruned(ours.nn.Sequential(module)), prune.is_pruned(layer(ours))) == (True, True, False)
    assert prune.remove(module, "bias") is module
    assert module.bias is original
    assert (list(module.state_dict()), module.bias.tolist()) == (["weight", "bias"], [0, -1, 4])
    assert (prune.is_pruned(module), module._pre_hooks) == (False, {})
    with pytest.raises(ValueError, match="Linear has no pruned parameter 'bias' that could be made an ordinary one"):
        prune.remove(module, "bias")


def test_state_dicts_of_pruned_networks_are_read() -> None:
    pruned, fresh = prune.l1_unstructured(layer(ours), "bias", 2), prune.identity(layer(ours), "bias")
    fresh.load_state_dict(pruned.state_dict())
    assert fresh(ours.zeros(1, 4)).tolist() == pruned(ours.zeros(1, 4)).tolist() == [[0, 0, 3]]


def test_further_pruning_makes_a_container() -> None:
    module = layer(ours)
    prune.l1_unstructured(module, "weight", 2)
    prune.random_structured(module, "weight", 1, 0)
    (hook,) = module._forward_pre_hooks.values()
    assert (type(hook), len(hook), hook._tensor_name) == (prune.PruningContainer, 2, "weight")
    assert [type(method) for method in hook] == [prune.L1Unstructured, prune.RandomStructured] == [type(hook[0]), type(hook[1])]
    with pytest.raises(TypeError, match="a PruningContainer expected a BasePruningMethod, got int"):
        hook.add_pruning_method(3)
    other = prune.Identity.apply(module, "bias")
    with pytest.raises(ValueError, match="a PruningContainer expected a method that prunes 'weight', got one for 'bias'"):
        hook.add_pruning_method(other)


class EverySecond(prune.BasePruningMethod):
    """A method of one's own."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def test_methods_of_ones_own() -> None:
    module = layer(ours)
    EverySecond.apply(module, "bias")
    assert module.bias.tolist() == [0, -2, 0]
    prune.l1_unstructured(module, "weight", 2)
    EverySecond.apply(module, "weight")
    assert module.weight_mask.tolist() == [[0, 1, 0, 1], [0, 0, 0, 1], [0, 1, 0, 1]]
    with pytest.raises(TypeError, match="abstract"):
        prune.BasePruningMethod()  # type: ignore[abstract]
    EverySecond.PRUNING_TYPE = "some"
    with pytest.raises(ValueError, match='PRUNING_TYPE expected "unstructured", "structured" or "global", got \'some\''):
        EverySecond.apply(module, "weight")
    EverySecond.PRUNING_TYPE = "unstructured"


def test_tensors_are_pruned_without_a_module() -> None:
    x, method = ours.tensor([3.0, -1.0, 2.0, 0.5]), prune.L1Unstructured(amount=2)
    assert method.prune(x).tolist() == [3, 0, 2, 0]
    assert method.prune(x, importance_scores=ours.tensor([0.0, 1.0, 0.0, 1.0])).tolist() == [0, -1, 0, 0.5]
    assert prune.L1Unstructured(1).prune(x, default_mask=ours.tensor([1.0, 1.0, 0.0, 1.0])).tolist() == [3, -1, 0, 0]


def test_wrong_arguments_are_refused_and_change_nothing() -> None:
    module, scores = layer(ours), ours.zeros(2)
    any_amount: Any = prune.l1_unstructured
    cases: list[tuple[type[Exception], Callable[[], Any], str]] = [
        (ValueError, lambda: prune.l1_unstructured(module, "weight", 13),
         "L1Unstructured expected amount of at most 12, what there is to prune, got 13"),
        (ValueError, lambda: prune.ln_structured(module, "weight", 9, 2, 0),
         "LnStructured expected amount of at most 3, what there is to prune, got 9"),
        (ValueError, lambda: prune.l1_unstructured(module, "weight", -1),
         "expected amount as an integer of at least 0 or a fraction from 0 to 1, got -1"),
        (ValueError, lambda: prune.random_unstructured(module, "weight", 1.5),
         "RandomUnstructured expected amount as an integer of at least 0 or a"),
        (TypeError, lambda: any_amount(module, "weight", "a"), "L1Unstructured expected amount as an integer or a fraction, got 'a'"),
        (ValueError, lambda: prune.random_structured(module, "bias", 1, 0),
         r"RandomStructured expected a parameter of at least two dimensions, got shape \(3,\)"),
        (IndexError, lambda: prune.ln_structured(module, "weight", 1, 2, 2), "LnStructured expected dim from -2 to 1, got 2"),
        (ValueError, lambda: prune.ln_structured(module, "weight", 1, "nuc", 0),
         "LnStructured expected n as a number, math.inf or \"fro\", got 'nuc'"),
        (ValueError, lambda: prune.custom_from_mask(module, "bias", scores),
         r"pruning expected a mask of shape \(3,\), that of the parameter, got \(2,\)"),
        (ValueError, lambda: prune.l1_unstructured(module, "bias", 1, scores),
         r"pruning expected importance_scores of shape \(3,\), that of the"),
        (AttributeError, lambda: prune.identity(module, "w"), "Linear has no attribute 'w'; it has weight, bias"),
        (TypeError, lambda: prune.global_unstructured([(module, "weight")], prune.RandomStructured, amount=1),
         "expected a method that prunes single elements"),
        (TypeError, lambda: jointly(ours, 1, importance_scores=[scores]),
         "global_unstructured expected importance_scores as a dictionary, got list"),
    ]  # fmt: skip
    for error, call, message in cases:
        with pytest.raises(error, match=message):
            call()
    assert list(module.state_dict()) == ["weight", "bias"]
    assert module._pre_hooks == {}
