"""The given code of Module and Parameter: registration, replacement, deletion, messages, text representation."""

import copy
from typing import Any

import pytest

from minitorch import Module, Parameter

from .errors import raises


class Leaf(Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(1.0)
        self.bias = Parameter(2.0)

    def forward(self, x: float, scale: float = 1.0) -> float:
        return scale * (self.weight.value * x + self.bias.value)


class Pair(Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Leaf()
        self.second = Leaf()
        self.size = 3


class Recorder:
    """A value that can record gradients, like a Scalar or a Tensor."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        self.name = "unnamed"

    def requires_grad_(self, wanted: bool) -> None:
        self.asked.append(wanted)


# Registration


def test_parameters_and_children_are_registered_and_read_as_attributes() -> None:
    pair = Pair()
    assert pair.training is True
    assert pair.first.weight.value == 1.0
    assert pair.__dict__["_modules"] == {"first": pair.first, "second": pair.second}
    assert pair.first.__dict__["_parameters"] == {"weight": pair.first.weight, "bias": pair.first.bias}
    assert pair.modules() == [pair.first, pair.second]
    pair.modules().clear()  # a new list
    assert len(pair.modules()) == 2


def test_other_values_are_ordinary_attributes() -> None:
    pair = Pair()
    pair.parts = [Parameter(1.0)]
    assert pair.__dict__["size"] == pair.size == 3
    assert pair.__dict__["_parameters"] == {}


def test_add_parameter_registers_under_a_computed_name() -> None:
    module = Module()
    made = [module.add_parameter(f"weight_{i}", i) for i in range(3)]
    assert module.weight_0 is made[0]
    assert [(parameter.value, parameter.name) for parameter in made] == [(0, "weight_0"), (1, "weight_1"), (2, "weight_2")]
    assert list(module.__dict__["_parameters"]) == ["weight_0", "weight_1", "weight_2"]


# Replacement and deletion


def test_a_parameter_can_be_replaced_by_a_parameter_which_keeps_its_position() -> None:
    leaf = Leaf()
    leaf.weight = Parameter(7.0)
    assert [(name, parameter.value) for name, parameter in leaf.named_parameters()] == [("weight", 7.0), ("bias", 2.0)]


@pytest.mark.parametrize("value", [0.5, Leaf()])
def test_replacing_a_parameter_by_anything_else_is_an_error(value: Any) -> None:
    leaf = Leaf()
    message = f"Leaf.weight is a parameter, got {type(value).__name__}; change its value with weight.update(value), or assign a Parameter"
    with raises(TypeError, message):
        leaf.weight = value
    assert leaf.weight.value == 1.0


def test_a_child_can_be_replaced_by_a_parameter_or_a_plain_value() -> None:
    pair = Pair()
    pair.first, pair.second = Parameter(1.0), None
    assert (pair.first.value, pair.second, pair.modules()) == (1.0, None, [])


@pytest.mark.parametrize("value", [Parameter(1.0), Leaf()])
def test_a_plain_value_can_be_replaced_by_a_parameter_or_a_child(value: Any) -> None:
    module = Module()
    module.bias = None
    module.bias = value
    assert module.bias is value


def test_parameters_children_and_plain_values_can_be_deleted() -> None:
    pair = Pair()
    del pair.first.weight
    del pair.second
    del pair.size
    assert not hasattr(pair.first, "weight")
    assert list(pair.first.__dict__["_parameters"]) == ["bias"]
    assert pair.modules() == [pair.first]
    assert not hasattr(pair, "size")
    with pytest.raises(AttributeError, match="nothing"):
        del pair.nothing


def test_a_copy_is_independent() -> None:
    pair = Pair()
    twin = copy.deepcopy(pair)
    twin.first.weight.update(9.0)
    assert (pair.first.weight.value, twin.first.weight.value) == (1.0, 9.0)


# Messages


class ReadsFirst(Module):
    """Reads an attribute before there can be any."""

    def __init__(self) -> None:
        _ = self.part


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Leaf().wieght, AttributeError, "Leaf has no attribute 'wieght'; it has weight, bias, training"),
        (lambda: Pair().third, AttributeError, "Pair has no attribute 'third'; it has first, second, training, size"),
        (ReadsFirst, AttributeError, "ReadsFirst has no attribute 'part'; it has none"),
        (lambda: Pair()(1.0), NotImplementedError, "Pair has no forward; define forward(self, ...) in the class"),
    ],
)
def test_a_wrong_use_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with raises(error, message):
        call()


@pytest.mark.parametrize(
    ("value", "use"),
    [(Parameter(1.0), lambda cls: cls()), (Leaf(), lambda cls: cls()), (3, lambda cls: cls().train()), (3, lambda cls: cls().parameters())],
)
def test_a_missing_super_init_is_an_error_that_says_so(value: Any, use: Any) -> None:
    class Hasty(Module):
        def __init__(self) -> None:
            self.part = value

    with raises(AttributeError, "Hasty is used before Module.__init__ has run; call super().__init__() first"):
        use(Hasty)


def test_calling_a_module_runs_forward_with_all_arguments() -> None:
    assert Leaf()(10.0) == 12.0
    assert Leaf()(10.0, scale=2.0) == 24.0


# Text representation


class Outer(Module):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.last = Leaf()


TREE = "Outer(\n  (pair): Pair(\n    (first): Leaf()\n    (second): Leaf()\n  )\n  (last): Leaf()\n)"


@pytest.mark.parametrize(
    ("shown", "text"),
    [(repr(Leaf()), "Leaf()"), (repr(Outer()), TREE), (str(Outer()), TREE), (repr(Parameter("a")), "'a'"), (str(Parameter("a")), "a")],
)
def test_the_text_of_a_module_is_its_tree_and_that_of_a_parameter_its_value(shown: str, text: str) -> None:
    assert shown == text


# Parameter


def test_a_parameter_may_contain_any_value() -> None:
    for value in (1, 2.5, None, "text", [1.0]):
        assert Parameter(value).value is value
    assert Parameter(1.0).name is None


def test_update_replaces_the_value_everywhere_and_keeps_the_name() -> None:
    parameter = Parameter(1.0, "weight")
    same = [parameter]
    parameter.update(2.0)
    assert (same[0].value, parameter.name) == (2.0, "weight")


@pytest.mark.parametrize(("given", "name"), [(("weight",), "weight"), ((), "unnamed")])
def test_a_value_that_can_record_gradients_starts_recording_and_takes_the_name_of_the_parameter(given: Any, name: str) -> None:
    first, second = Recorder(), Recorder()
    Parameter(first, *given).update(second)
    assert (first.asked, first.name) == ([True], name)
    assert (second.asked, second.name) == ([True], name)


def test_a_value_needs_only_requires_grad() -> None:
    class OnlyRequiresGrad:
        __slots__ = ("asked",)

        def requires_grad_(self, wanted: bool) -> None:
            self.asked = wanted

    value = OnlyRequiresGrad()
    Parameter(value)
    assert value.asked is True
