"""Probes of Module 0: trees of modules, and a linear classifier set by hand."""

from __future__ import annotations

import random
from typing import Any

from hypothesis.strategies import booleans, integers, lists, sampled_from, tuples

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, number
from course.staff.probes.program import Program, Value

# Task 0.4

tree_entries = lists(tuples(integers(0, 9), sampled_from("zyxabc"), booleans()), max_size=8)
"""Entries of a module tree: the number of the parent module, a letter for the name, and whether the entry is a module."""

IN_ORDER = "the module's own parameters come first, then those of its children"

DEEP = [(0, "a", True), (1, "b", True), (2, "c", True), (3, "z", False), (3, "a", False), (1, "z", False), (0, "y", True), (4, "x", False)]
"""A tree with a parameter at every level."""


class Tree:
    """A tree of modules in the child and its expected structure.

    Args:
        p: The program that creates it.
        entries: See `tree_entries`.
    """

    def __init__(self, p: Program, entries: list[tuple[int, str, bool]]) -> None:
        self.p = p
        module, parameter, self.set = p.find("minitorch.module:Module"), p.find("minitorch.module:Parameter"), p.find("builtins:setattr")
        self.modules = [module()]
        self.children: list[list[tuple[str, int]]] = [[]]
        self.own: list[list[tuple[str, Value]]] = [[]]
        for n, (at, letter, is_module) in enumerate(entries):
            at = at % len(self.modules)
            taken = [name for name, _ in self.children[at] + self.own[at]]
            name = f"{letter}{n}" if letter in taken else letter
            made = module() if is_module else parameter(float(n % 3))
            self.set(self.modules[at], name, made)
            if is_module:
                self.children[at].append((name, len(self.modules)))
                self.modules.append(made)
                self.children.append([])
                self.own.append([])
            else:
                self.own[at].append((name, made))

    def parameters(self, at: int = 0) -> list[tuple[str, Value]]:
        """Every parameter of a module and its descendants with its dotted name, its own parameters first."""
        return self.own[at] + [(f"{child}.{name}", made) for child, number in self.children[at] for name, made in self.parameters(number)]

    def below(self, at: int) -> set[int]:
        """A module and all its descendants."""
        return {at}.union(*(self.below(number) for _, number in self.children[at]))


@probe(
    "0.4",
    "train() and eval() set the mode of a module and all its descendants",
    weight=2,
    examples=[(DEEP, 0, 0), (DEEP, 0, 5), (DEEP, 0, 255), (DEEP, 1, 2)],
    entries=tree_entries,
    at=integers(0, 9),
    before=integers(0, 255),
    source="docstring of Module.train; docstring of Module.eval; test_module",
)
def modes(p: Program, entries: list[tuple[int, str, bool]], at: int, before: int) -> Check:
    """Starting from arbitrary modes, encoded in the bits of a number."""
    tree = Tree(p, entries)
    at %= len(tree.modules)
    was = [bool(before >> n & 1) for n in range(len(tree.modules))]
    got: list[Value] = []
    for method in ("train", "eval"):
        for module, mode in zip(tree.modules, was, strict=True):
            tree.set(module, "training", mode)
        getattr(tree.modules[at], method)()
        got += [module.training for module in tree.modules]
    below = tree.below(at)
    expected = [method == "train" if n in below else mode for method in ("train", "eval") for n, mode in enumerate(was)]
    got = yield got
    check_equal(got, expected)


@probe(
    "0.4",
    "named_parameters() returns every parameter of the module tree with its dotted name",
    weight=2,
    examples=[(DEEP,)],
    labels=[IN_ORDER],
    entries=tree_entries,
    source="test_module; test_stacked_module",
)
def named_parameters(p: Program, entries: list[tuple[int, str, bool]]) -> Check:
    """Each name maps to the same Parameter object, also on a second call."""
    tree = Tree(p, entries)
    root, expected = tree.modules[0], tree.parameters()
    as_list, is_same, as_dict = p.find("builtins:list"), p.find("operator:is_"), p.find("builtins:dict")
    by_name = as_dict(root.named_parameters())
    each = [is_same(by_name.get(name), made) for name, made in expected]
    first, second, *got = yield [as_list(root.named_parameters()), as_list(root.named_parameters()), *each]
    names, again = [_name(pair) for pair in first], [_name(pair) for pair in second]
    check_equal(sorted(names), sorted(name for name, _ in expected), of="names")
    check_equal(again, names, of="names on the second call")
    check_equal(got, [True] * len(expected), of="values are the Parameter objects")
    if names != [name for name, _ in expected]:
        raise Wrong("", {IN_ORDER: f"expected the names in the order {[name for name, _ in expected]}, got {names}"})


def _name(pair: Any) -> str:
    """The name in a pair of a name and a Parameter.

    Raises:
        Wrong: If the value is not a pair.
    """
    if type(pair) not in (tuple, list) or len(pair) != 2:
        raise Wrong(f"expected pairs of a name and a Parameter, got {pair!r}")
    return pair[0]


@probe(
    "0.4",
    "named_parameters() includes parameters assigned since the last call, and registers none itself",
    edge=True,
    examples=[(DEEP,)],
    entries=tree_entries,
    count=10,
)
def named_again(p: Program, entries: list[tuple[int, str, bool]]) -> Check:
    """Call it, assign a parameter to the last module, and call it again."""
    tree = Tree(p, entries)
    root, last = tree.modules[0], tree.modules[-1]
    root.named_parameters()
    own = p.find("builtins:len")(root._parameters)
    made = p.find("minitorch.module:Parameter")(7.0)
    tree.set(last, "late", made)
    tree.own[-1].append(("late", made))
    pairs, count = yield [p.find("builtins:list")(root.named_parameters()), own]
    check_equal(sorted(_name(pair) for pair in pairs), sorted(name for name, _ in tree.parameters()), of="names")
    check_equal(count, len(tree.own[0]) - (len(tree.modules) == 1), of="number of its own parameters")


@probe(
    "0.4",
    "parameters() returns every parameter of the module tree",
    weight=2,
    examples=[(DEEP,)],
    labels=[IN_ORDER],
    entries=tree_entries,
    source="test_module",
)
def parameters(p: Program, entries: list[tuple[int, str, bool]]) -> Check:
    """The Parameter objects, including those with the value 0."""
    tree = Tree(p, entries)
    as_list, id_of = p.find("builtins:list"), p.find("builtins:id")
    listed = as_list(p.find("builtins:map")(id_of, tree.modules[0].parameters()))
    got, *each = yield [listed, *(id_of(made) for _, made in tree.parameters())]
    check_equal(len(got), len(each), of="number of parameters")
    check_equal(sorted(got), sorted(each), of="ids of the Parameter objects")
    if got != each:
        raise Wrong("", {IN_ORDER: "expected the parameters in the order of named_parameters(), got another order"})


# Task 0.5


@probe("0.5", "the line classifies every point of Simple correctly", weight=3, published=False)
def separating_line(p: Program) -> Check:
    """Points near the boundary, and random points in the unit square."""
    (got,) = yield [p.find("project.run_manual:separating_line")()]
    if type(got) not in (tuple, list) or len(got) != 3:
        raise Wrong(f"expected weight_1, weight_2 and bias, got {got!r}")
    weight_1, weight_2, bias = map(number, got)
    draw = random.Random("points of Simple").random
    points = [(x, y) for x in (0.0, 0.499, 0.501, 1.0) for y in (0.0, 0.5, 1.0)] + [(draw(), draw()) for _ in range(500)]
    for x, y in points:
        if 0.499 < x < 0.501 and abs(x - 0.5) < 0.001:
            continue
        if (weight_1 * x + weight_2 * y + bias > 0) != (x < 0.5):
            raise Wrong(f"expected label {int(x < 0.5)} at ({x:.3f}, {y:.3f}), but the line {got} predicts the other label")
