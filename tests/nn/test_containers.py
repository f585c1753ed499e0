"""Containers: sequences, lists and dictionaries of modules."""

from collections import OrderedDict

import pytest

import minitorch.torch as torch
from minitorch import tensor
from minitorch.nn import Linear, Module, ModuleDict, ModuleList, ReLU, Sequential
from minitorch.torch import nn
from tests.nn.checks import refuses


class Plus(Module):
    """Adds a number, so that the order matters."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x * 2.0 + self.number


def test_a_sequence_runs_in_order_and_can_be_indexed_sliced_and_extended():
    sequence = Sequential(Plus(1.0), Plus(10.0))
    assert sequence(tensor([1.0])).tolist() == [16.0]
    assert sequence.append(Plus(100.0)) is sequence
    assert [module.number for module in sequence] == [1.0, 10.0, 100.0]
    assert (len(sequence), sequence[-1].number) == (3, 100.0)
    last = sequence[1:]
    assert isinstance(last, Sequential)
    assert last(tensor([0.0])).tolist() == [120.0]
    assert last[0] is sequence[1]
    sequence[-1] = Plus(1000.0)
    assert [(name, module.number) for name, module in sequence.named_children()] == [("0", 1.0), ("1", 10.0), ("2", 1000.0)]
    assert last[-1].number == 100.0
    for use in (lambda: sequence[3], lambda: sequence.__setitem__(3, Plus(0.0))):
        refuses(IndexError, "Sequential expected an index of its 3 modules, got 3", use)


def test_appending_to_a_slice_replaces_no_module():
    part = Sequential(Plus(1.0), Plus(2.0), Plus(3.0))[1:].append(Plus(4.0))
    assert [(name, module.number) for name, module in part.named_children()] == [("1", 2.0), ("2", 3.0), ("3", 4.0)]
    assert [module.number for module in Sequential(OrderedDict(a=Plus(1.0))).extend([Plus(2.0), Plus(3.0)])] == [1.0, 2.0, 3.0]


def test_a_sequence_of_named_modules_keeps_names_and_order():
    sequence = Sequential(OrderedDict([("b", Linear(2, 1)), ("a", ReLU())]))
    assert [name for name, _ in sequence.named_children()] == ["b", "a"]
    assert list(sequence.state_dict()) == ["b.weight", "b.bias"]
    assert sequence.b is sequence[0]


def test_an_empty_sequence_returns_its_input():
    x = tensor([1.0])
    assert Sequential()(x) is x


def test_a_list_of_modules_behaves_like_a_list_and_names_by_position():
    modules = ModuleList([Plus(0.0)])
    modules.extend([Plus(1.0), Plus(2.0)])
    modules.insert(0, Plus(-1.0))
    modules[1] = Plus(5.0)
    del modules[-1]
    assert [module.number for module in modules] == [-1.0, 5.0, 1.0]
    assert [name for name, _ in modules.named_children()] == ["0", "1", "2"]
    assert [module.number for module in modules[:2]] == [-1.0, 5.0]
    assert isinstance(modules[:2], ModuleList)
    refuses(IndexError, "ModuleList expected an index of its 3 modules, got -4", lambda: modules[-4])


def test_a_failed_change_leaves_a_list_of_modules_unchanged():
    modules = ModuleList([Plus(1.0), Plus(2.0)])
    for change in (lambda: modules.insert(0, abs), lambda: modules.extend([Plus(3.0), abs]), lambda: modules.__setitem__(0, abs)):
        with pytest.raises(TypeError, match=r"^ModuleList expected Modules, got builtin_function_or_method as '[01]'; call"):
            change()
        assert [module.number for module in modules] == [1.0, 2.0]
    refuses(TypeError, "… expected a list of Modules, got ReLU; write [module] for one", ModuleList, ReLU())


def test_a_dictionary_of_modules_behaves_like_a_dictionary():
    modules = ModuleDict({"one": Plus(1.0)})
    modules["two"] = Plus(2.0)
    modules.update({"one": Plus(11.0)})
    assert (list(modules), len(modules), "two" in modules) == (["one", "two"], 2, True)
    assert [(name, module.number) for name, module in modules.items()] == [("one", 11.0), ("two", 2.0)]
    assert [list(modules.keys()), [module.number for module in modules.values()]] == [["one", "two"], [11.0, 2.0]]
    del modules["one"]
    assert list(modules) == ["two"]
    refuses(KeyError, repr("ModuleDict expected one of two, got 'three'"), lambda: modules["three"])


@pytest.mark.parametrize("container", [lambda: Sequential(abs), lambda: ModuleList([ReLU(), abs]), lambda: ModuleDict({"a": abs})])
def test_anything_but_a_module_is_refused(container):
    with pytest.raises(
        TypeError, match=r"^(Sequential|ModuleList|ModuleDict) expected Modules, got builtin_function_or_method as '.*'; call"
    ):
        container()


def test_names_must_be_valid_attributes():
    message = "… expected a name without a dot that is no attribute of it, got {!r}; choose another"
    for name in ("", "a.b", "training", "forward"):
        refuses(ValueError, message.format(name), ModuleDict, {name: ReLU()})
    refuses(TypeError, "… expected names as strings, got 1", ModuleDict, {1: ReLU()})


def test_representations_are_those_of_pytorch() -> None:
    net = nn.Sequential(OrderedDict([("conv", nn.Conv2d(1, 8, 3, padding=1)), ("act", nn.ReLU(inplace=True))]))
    expected = "Sequential(\n  (conv): Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n  (act): ReLU(inplace=True)\n)"
    assert repr(net) == expected
    blocks = nn.ModuleList([nn.Linear(1, 2) for _ in range(3)] + [nn.Tanh()])
    assert repr(blocks) == ("ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=2, bias=True)\n  (3): Tanh()\n)")


def test_containers_have_pytorch_s_methods() -> None:
    blocks = nn.ModuleList([nn.Linear(1, 1)])
    blocks += [nn.ReLU()]
    blocks.append(nn.Tanh()).insert(0, nn.Identity())
    assert [type(module).__name__ for module in blocks] == ["Identity", "Linear", "ReLU", "Tanh"]
    assert type(blocks[1:3]) is nn.ModuleList
    assert type(nn.Sequential(*blocks)[:2]) is nn.Sequential
    assert blocks.pop() is not None
    assert len(blocks) == 3
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    assert list(table.keys()) == ["a", "b"]
    lists, named = nn.ParameterList([torch.ones(1), nn.Parameter(torch.ones(2))]), nn.ParameterDict({"x": torch.ones(3)})
    assert [x.numel() for x in lists.parameters()] == [1, 2]
    assert list(lists.state_dict()) == ["0", "1"]
    assert list(named.state_dict()) == ["x"]
    assert named.setdefault("y", torch.zeros(2)) is named.get("y")
    assert named.get("z", 7) == 7
    assert named.pop("x").tolist() == [1.0, 1.0, 1.0]
    assert list(named) == ["y"]
    named.clear()
    assert len(named) == 0
    chain = nn.Sequential(nn.ReLU(), nn.Tanh()).insert(1, nn.Identity())
    assert [(name, type(module).__name__) for name, module in chain.named_children()] == [("0", "ReLU"), ("1", "Identity"), ("2", "Tanh")]
    assert type(chain.pop(0)) is nn.ReLU
    assert list(chain._modules) == ["0", "1"]
