"""Probes of Module 0: trees of modules, and a line drawn by hand."""

from __future__ import annotations

import random
from typing import Any

from hypothesis.strategies import booleans, integers, lists, sampled_from, tuples

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, number, same
from course.staff.probes.program import Program, Value

# Task 0.4

entries = lists(tuples(integers(0, 9), sampled_from("zyxabc"), booleans()), max_size=8)
"""What a tree of modules is grown from: of each entry the number of a module, a letter of its name, and whether it is a module."""

IN_ORDER = "the module's own parameters come first, then those of its children"

DEEP = [(0, "a", True), (1, "b", True), (2, "c", True), (3, "z", False), (3, "a", False), (1, "z", False), (0, "y", True), (4, "x", False)]
"""One in which every level holds a parameter."""


class Tree:
    """A tree of modules in the child and what is known of it here.

    Args:
        p: The program that makes it.
        grown: What it is grown from.
    """

    def __init__(self, p: Program, grown: list[tuple[int, str, bool]]) -> None:
        self.p = p
        module, parameter, self.set = p.find("minitorch.module:Module"), p.find("minitorch.module:Parameter"), p.find("builtins:setattr")
        self.modules = [module()]
        self.children: list[list[tuple[str, int]]] = [[]]
        self.own: list[list[tuple[str, Value]]] = [[]]
        for n, (at, letter, is_module) in enumerate(grown):
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

    def named(self, at: int = 0) -> list[tuple[str, Value]]:
        """Every parameter below a module with its dotted name, own ones first."""
        return self.own[at] + [(f"{child}.{name}", made) for child, number in self.children[at] for name, made in self.named(number)]

    def below(self, at: int) -> set[int]:
        """A module and all its descendants."""
        return {at}.union(*(self.below(number) for _, number in self.children[at]))


@probe(
    "0.4",
    "train() and eval() set the mode of a module and of all below it",
    weight=2,
    examples=[(DEEP, 0, 5), (DEEP, 1, 2)],
    grown=entries,
    at=integers(0, 9),
    before=integers(0, 255),
)
def modes(p: Program, grown: list[tuple[int, str, bool]], at: int, before: int) -> Check:
    """From any modes before, which the bits of a number say."""
    tree = Tree(p, grown)
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
    same(got, expected)


@probe(
    "0.4",
    "named_parameters() gives every parameter of the tree with its dotted name",
    weight=2,
    examples=[(DEEP,)],
    labels=[IN_ORDER],
    grown=entries,
)
def named_parameters(p: Program, grown: list[tuple[int, str, bool]]) -> Check:
    """Under each name the Parameter itself; the same at a second call."""
    tree = Tree(p, grown)
    root, expected = tree.modules[0], tree.named()
    as_list, is_same, as_dict = p.find("builtins:list"), p.find("operator:is_"), p.find("builtins:dict")
    by_name = as_dict(root.named_parameters())
    each = [is_same(by_name.get(name), made) for name, made in expected]
    first, second, *found = yield [as_list(root.named_parameters()), as_list(root.named_parameters()), *each]
    names, again = [_name(pair) for pair in first], [_name(pair) for pair in second]
    same(sorted(names), sorted(name for name, _ in expected), of="the names")
    same(again, names, of="the same names again,")
    same(found, [True] * len(expected), of="the Parameters themselves,")
    if names != [name for name, _ in expected]:
        raise Wrong("", {IN_ORDER: f"expected the names in the order {[name for name, _ in expected]}, got {names}"})


def _name(pair: Any) -> str:
    """The name in a pair.

    Raises:
        Wrong: If it is none.
    """
    if type(pair) not in (tuple, list) or len(pair) != 2:
        raise Wrong(f"expected pairs of a name and a Parameter, got {pair!r}")
    return pair[0]


@probe(
    "0.4",
    "named_parameters() sees what was assigned since the last call, and registers nothing",
    edge=True,
    examples=[(DEEP,)],
    grown=entries,
    count=10,
)
def named_again(p: Program, grown: list[tuple[int, str, bool]]) -> Check:
    """Ask, assign one more to the last module, ask again."""
    tree = Tree(p, grown)
    root, last = tree.modules[0], tree.modules[-1]
    root.named_parameters()
    own = p.find("builtins:len")(root._parameters)
    made = p.find("minitorch.module:Parameter")(7.0)
    tree.set(last, "late", made)
    tree.own[-1].append(("late", made))
    pairs, count = yield [p.find("builtins:list")(root.named_parameters()), own]
    same(sorted(_name(pair) for pair in pairs), sorted(name for name, _ in tree.named()), of="the names")
    same(count, len(tree.own[0]) - (len(tree.modules) == 1), of="as many parameters of its own as were assigned,")


@probe("0.4", "parameters() gives every parameter of the tree", weight=2, examples=[(DEEP,)], labels=[IN_ORDER], grown=entries)
def parameters(p: Program, grown: list[tuple[int, str, bool]]) -> Check:
    """Themselves, those with the value 0 as well."""
    tree = Tree(p, grown)
    as_list, id_of = p.find("builtins:list"), p.find("builtins:id")
    listed = as_list(p.find("builtins:map")(id_of, tree.modules[0].parameters()))
    found, *each = yield [listed, *(id_of(made) for _, made in tree.named())]
    same(len(found), len(each), of="as many parameters as the tree has,")
    same(sorted(found), sorted(each), of="the Parameters themselves, by id,")
    if found != each:
        raise Wrong("", {IN_ORDER: "expected the parameters in the order of their names, got another"})


# Task 0.5


@probe("0.5", "the line gives all points of Simple their labels", weight=3, published=False)
def separating_line(p: Program) -> Check:
    """Points near the middle, and others all over the unit square."""
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
            raise Wrong(f"expected label {int(x < 0.5)} at ({x:.3f}, {y:.3f}), where the line {got} gives the other")
