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


class OnlyRequiresGrad:
    """A value whose only method is requires_grad_."""

    __slots__ = ("asked",)

    def requires_grad_(self, wanted: bool) -> None:
        self.asked = wanted


# Registration


def test_a_new_module_is_in_training_mode() -> None:
    assert Module().training is True


def test_parameters_and_children_are_registered_and_read_as_attributes() -> None:
    pair = Pair()
    assert pair.first.weight.value == 1.0
    assert pair.__dict__["_modules"] == {"first": pair.first, "second": pair.second}
    assert pair.first.__dict__["_parameters"] == {"weight": pair.first.weight, "bias": pair.first.bias}
    assert pair.modules() == [pair.first, pair.second]


def test_other_values_are_ordinary_attributes() -> None:
    pair = Pair()
    pair.parts = [Parameter(1.0)]
    assert pair.size == 3
    assert "size" in pair.__dict__
    assert pair.__dict__["_parameters"] == {}


def test_modules_returns_a_new_list() -> None:
    pair = Pair()
    pair.modules().clear()
    assert len(pair.modules()) == 2


def test_add_parameter_registers_under_a_computed_name() -> None:
    module = Module()
    made = [module.add_parameter(f"weight_{i}", i) for i in range(3)]
    assert module.weight_0 is made[0]
    assert [parameter.value for parameter in made] == [0, 1, 2]
    assert [parameter.name for parameter in made] == ["weight_0", "weight_1", "weight_2"]
    assert list(module.__dict__["_parameters"]) == ["weight_0", "weight_1", "weight_2"]


# Replacement and deletion


def test_a_parameter_can_be_replaced_by_a_parameter() -> None:
    leaf = Leaf()
    leaf.weight = Parameter(7.0)
    assert leaf.weight.value == 7.0
    assert len(leaf.__dict__["_parameters"]) == 2


def test_replacing_a_parameter_by_a_plain_value_is_an_error() -> None:
    leaf = Leaf()
    with raises(TypeError, "Leaf.weight is a parameter, got float; change its value with weight.update(value), or assign a Parameter"):
        leaf.weight = 0.5
    assert leaf.weight.value == 1.0


def test_replacing_a_parameter_by_a_module_is_an_error() -> None:
    leaf = Leaf()
    with pytest.raises(TypeError, match=r"^Leaf\.weight is a parameter, got Leaf; "):
        leaf.weight = Leaf()


def test_a_child_can_be_replaced_by_a_parameter_or_a_plain_value() -> None:
    pair = Pair()
    pair.first = Parameter(1.0)
    pair.second = None
    assert pair.first.value == 1.0
    assert pair.second is None
    assert pair.modules() == []


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


def test_deleting_a_missing_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        del Pair().nothing


def test_a_copy_is_independent() -> None:
    pair = Pair()
    twin = copy.deepcopy(pair)
    twin.first.weight.update(9.0)
    assert pair.first.weight.value == 1.0
    assert twin.first.weight.value == 9.0


# Messages


def test_a_missing_attribute_error_lists_the_existing_ones() -> None:
    with raises(AttributeError, "Leaf has no attribute 'wieght'; it has weight, bias, training"):
        _ = Leaf().wieght
    with raises(AttributeError, "Pair has no attribute 'third'; it has first, second, training, size"):
        _ = Pair().third
    assert not hasattr(Leaf(), "wieght")


@pytest.mark.parametrize("value", [Parameter(1.0), Leaf()])
def test_a_missing_super_init_is_an_error_that_says_so(value: Any) -> None:
    class Hasty(Module):
        def __init__(self) -> None:
            self.part = value

    with raises(AttributeError, "Hasty is used before Module.__init__ has run; call super().__init__() first"):
        Hasty()


def test_a_module_without_super_init_says_so_when_it_is_used() -> None:
    class Hasty(Module):
        def __init__(self) -> None:
            self.size = 3

    for use in (Hasty().train, Hasty().parameters):
        with raises(AttributeError, "Hasty is used before Module.__init__ has run; call super().__init__() first"):
            use()


def test_a_replaced_parameter_keeps_its_position() -> None:
    module = Module()
    module.a, module.b = Parameter(1.0), Parameter(2.0)
    module.a = Parameter(3.0)
    assert [(name, parameter.value) for name, parameter in module.named_parameters()] == [("a", 3.0), ("b", 2.0)]


def test_a_missing_attribute_before_super_init_does_not_recurse_endlessly() -> None:
    class Hasty(Module):
        def __init__(self) -> None:
            _ = self.part

    with raises(AttributeError, "Hasty has no attribute 'part'; it has none"):
        Hasty()


def test_a_module_without_forward_says_so_when_called() -> None:
    with raises(NotImplementedError, "Pair has no forward; define forward(self, ...) in the class"):
        Pair()(1.0)


def test_calling_a_module_runs_forward_with_all_arguments() -> None:
    assert Leaf()(10.0) == 12.0
    assert Leaf()(10.0, scale=2.0) == 24.0


# Text representation


def test_the_repr_of_a_module_shows_its_tree() -> None:
    class Outer(Module):
        def __init__(self) -> None:
            super().__init__()
            self.pair = Pair()
            self.last = Leaf()

    assert repr(Leaf()) == "Leaf()"
    assert repr(Outer()) == "Outer(\n  (pair): Pair(\n    (first): Leaf()\n    (second): Leaf()\n  )\n  (last): Leaf()\n)"
    assert str(Outer()) == repr(Outer())


def test_the_repr_of_a_parameter_shows_its_value() -> None:
    assert repr(Parameter("a")) == "'a'"
    assert str(Parameter("a")) == "a"


# Parameter


def test_a_parameter_may_contain_any_value() -> None:
    for value in (1, 2.5, None, "text", [1.0]):
        assert Parameter(value).value is value
    assert Parameter(1.0).name is None


def test_update_replaces_the_value() -> None:
    parameter = Parameter(1.0, "weight")
    parameter.update(2.0)
    assert parameter.value == 2.0
    assert parameter.name == "weight"


def test_a_value_that_can_record_gradients_starts_recording() -> None:
    first, second = Recorder(), Recorder()
    parameter = Parameter(first)
    parameter.update(second)
    assert first.asked == [True]
    assert second.asked == [True]
    assert second.name == "unnamed"


def test_a_value_that_can_record_gradients_takes_the_name_of_the_parameter() -> None:
    first, second = Recorder(), Recorder()
    Parameter(first, "weight").update(second)
    assert first.name == "weight"
    assert second.name == "weight"


def test_a_value_needs_only_requires_grad() -> None:
    value = OnlyRequiresGrad()
    Parameter(value)
    assert value.asked is True


def test_an_update_is_visible_through_every_reference() -> None:
    leaf = Leaf()
    held = [leaf.weight]
    leaf.weight.update(5.0)
    assert held[0].value == 5.0
