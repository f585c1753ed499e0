"""Task 0.4: the tree of modules, its modes and its parameters."""

from itertools import pairwise

import pytest
from hypothesis import example, given

from minitorch import Module, Parameter

from .strategies import med_ints


class Leaf(Module):
    """Two parameters, not in alphabetical order."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(1.0)
        self.bias = Parameter(2.0)


class Branch(Module):
    """Two leaves and, assigned after them, a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.right = Leaf()
        self.left = Leaf()
        self.scale = Parameter(3.0)


class Tree(Module):
    """Three levels: a parameter, a branch with its leaves, and a leaf."""

    def __init__(self) -> None:
        super().__init__()
        self.rate = Parameter(4.0)
        self.branch = Branch()
        self.head = Leaf()


def modules_of(tree: Tree) -> list[Module]:
    """All five modules of a Tree, written out."""
    return [tree, tree.branch, tree.branch.right, tree.branch.left, tree.head]


def chain(depth: int) -> list[Module]:
    """Modules that each contain the next as `child`; the last has the parameter `p`."""
    links = [Module() for _ in range(depth + 1)]
    for parent, child in pairwise(links):
        parent.child = child
    links[-1].p = Parameter(0.0)
    return links


def names_of(module: Module) -> list[str]:
    """The names from named_parameters(), which must return pairs of name and parameter."""
    named = module.named_parameters()
    pairs = list(named)
    in_pairs = all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs)
    assert in_pairs, f"expected a list of pairs (name, Parameter), got {named!r}"
    return [name for name, _ in pairs]


# train and eval


@pytest.mark.task0_4
def test_train_reaches_every_module_of_the_tree() -> None:
    """train() after eval() sets training back to True everywhere in the tree."""
    tree = Tree()
    for module in modules_of(tree):
        module.training = False
    tree.train()
    assert [module.training for module in modules_of(tree)] == [True] * 5


@pytest.mark.task0_4
def test_a_mode_is_set_below_a_module_that_has_it_already() -> None:
    """train() of a module that is already in training mode still reaches a child in evaluation mode."""
    tree = Tree()
    tree.branch.left.training = False
    tree.train()
    assert tree.branch.left.training is True


@pytest.mark.task0_4
def test_eval_reaches_every_module_of_the_tree() -> None:
    """eval() sets training to False in the module itself, in its children and in their children."""
    tree = Tree()
    tree.eval()
    assert [module.training for module in modules_of(tree)] == [False] * 5


@pytest.mark.task0_4
@given(med_ints)
@example(depth=1)
@example(depth=2)
@example(depth=3)
def test_the_mode_reaches_any_depth(depth: int) -> None:
    """eval() and train() reach the last module of a tree of any depth."""
    links = chain(depth)
    links[0].eval()
    assert [module.training for module in links] == [False] * (depth + 1)
    links[0].train()
    assert [module.training for module in links] == [True] * (depth + 1)


@pytest.mark.task0_4
def test_a_mode_can_be_set_twice() -> None:
    """train() and eval() set the mode, they do not toggle it: a second call changes nothing."""
    tree = Tree()
    tree.train()
    assert tree.training is True
    tree.eval()
    tree.eval()
    assert tree.training is False
    assert tree.head.training is False


@pytest.mark.task0_4
def test_a_mode_does_not_climb_or_spread() -> None:
    """eval() of a child leaves its parent and its siblings in training mode."""
    tree = Tree()
    tree.branch.eval()
    assert [module.training for module in modules_of(tree)] == [True, False, False, False, True]


# named_parameters and parameters


@pytest.mark.task0_4
def test_own_parameters_have_their_own_names() -> None:
    """named_parameters() of a module without children returns its parameters under their own names, in the order of assignment."""
    leaf = Leaf()
    assert names_of(leaf) == ["weight", "bias"]


@pytest.mark.task0_4
def test_a_childs_parameters_carry_its_name_in_front() -> None:
    """named_parameters() returns own parameters first, then each child's as "child.name", at every level."""
    assert names_of(Tree()) == [
        "rate",
        "branch.scale",
        "branch.right.weight",
        "branch.right.bias",
        "branch.left.weight",
        "branch.left.bias",
        "head.weight",
        "head.bias",
    ]


@pytest.mark.task0_4
def test_names_come_with_the_parameters_themselves() -> None:
    """named_parameters() pairs each name with the Parameter object itself, not with a copy or its value."""
    tree = Tree()
    named = dict(tree.named_parameters())
    assert named["rate"] is tree.rate
    assert named["branch.scale"] is tree.branch.scale
    assert named["branch.right.weight"] is tree.branch.right.weight
    assert named["branch.left.weight"] is tree.branch.left.weight
    assert named["head.bias"] is tree.head.bias


@pytest.mark.task0_4
@given(med_ints)
@example(depth=1)
@example(depth=2)
@example(depth=3)
def test_a_name_has_one_part_for_every_level(depth: int) -> None:
    """A parameter p that is n children deep is named "child.child. … .p", with n times "child."."""
    names = names_of(chain(depth)[0])
    assert names == ["child." * depth + "p"]


@pytest.mark.task0_4
def test_a_module_without_parameters_has_none() -> None:
    """named_parameters() and parameters() of an empty module, or of one with empty children, are empty."""
    empty = Module()
    assert len(empty.named_parameters()) == 0
    assert len(empty.parameters()) == 0
    empty.child = Module()
    assert len(empty.named_parameters()) == 0
    assert len(empty.parameters()) == 0


@pytest.mark.task0_4
def test_parameters_gives_every_parameter_in_order() -> None:
    """parameters() gives all Parameters of the tree, in the order of named_parameters()."""
    tree = Tree()
    expected = {
        "rate": tree.rate,
        "branch.scale": tree.branch.scale,
        "branch.right.weight": tree.branch.right.weight,
        "branch.right.bias": tree.branch.right.bias,
        "branch.left.weight": tree.branch.left.weight,
        "branch.left.bias": tree.branch.left.bias,
        "head.weight": tree.head.weight,
        "head.bias": tree.head.bias,
    }
    found = list(tree.parameters())
    assert [type(parameter).__name__ for parameter in found] == ["Parameter"] * len(expected)
    names = {id(parameter): name for name, parameter in expected.items()}
    assert [names.get(id(parameter), "a copy") for parameter in found] == list(expected)


@pytest.mark.task0_4
def test_a_parameter_counts_whatever_its_value() -> None:
    """A parameter whose value is 0 or None is listed, and two parameters with equal values are both listed."""
    module = Module()
    module.add_parameter("zero", 0)
    module.add_parameter("nothing", None)
    module.add_parameter("another_zero", 0)
    assert names_of(module) == ["zero", "nothing", "another_zero"]
    assert [parameter.value for parameter in module.parameters()] == [0, None, 0]


@pytest.mark.task0_4
def test_only_parameters_are_listed() -> None:
    """Numbers, lists and other attributes of a module are not among its parameters."""
    module = Leaf()
    module.size = 3
    module.history = [0.5]
    assert names_of(module) == ["weight", "bias"]


@pytest.mark.task0_4
def test_asking_twice_gives_the_same() -> None:
    """named_parameters() and parameters() modify nothing: a second call returns the same, and the module keeps only its own parameters."""
    tree = Tree()
    first = names_of(tree)
    tree.parameters()
    assert names_of(tree) == first
    assert list(tree.__dict__["_parameters"]) == ["rate"]
    assert list(tree.__dict__["_modules"]) == ["branch", "head"]


@pytest.mark.task0_4
def test_what_is_assigned_later_is_listed() -> None:
    """A parameter or a child assigned after the first call is listed by the next call."""
    leaf = Leaf()
    assert len(leaf.parameters()) == 2
    leaf.slope = Parameter(5.0)
    leaf.child = Leaf()
    assert names_of(leaf) == ["weight", "bias", "slope", "child.weight", "child.bias"]
    assert len(leaf.parameters()) == 5


@pytest.mark.task0_4
def test_two_trees_share_nothing() -> None:
    """The parameters of one module do not appear in another of the same class."""
    first, second = Tree(), Tree()
    first.parameters()
    assert len(second.parameters()) == 8
    assert not any(parameter is other for parameter in first.parameters() for other in second.parameters())
