"""The dimensions of a tensor as cards that are dragged: the operations that follow from an order, and the cards in a browser."""

import pytest

from project.lab.typed.steps import parse_steps, permute, to_text
from project.lab.widgets.dimension_order import read

ORDERS = [
    ("x", [1, 0], "x.permute(1, 0)"),
    ("x[1:]", [2, 0, 1], "x[1:].permute(2, 0, 1)"),
    ("x.permute(1, 0)", [1, 0], "x"),
    ("x.permute(2, 0, 1)", [1, 0, 2], "x.permute(0, 2, 1)"),
    ("x.permute(-1, 0, 1)", [1, 2, 0], "x"),
    ("x.permute(1, 0)[1:]", [1, 0], "x.permute(1, 0)[1:].permute(1, 0)"),
]


@pytest.mark.parametrize(("before", "order", "after"), ORDERS)
def test_an_order_becomes_one_permutation_at_the_end_of_the_chain(before, order, after):
    assert to_text(permute(parse_steps(before), order)) == after


NO_ORDERS = [None, "10", [0, 1], [1], [1, 1], [1, 0, 2], [1.0, 0.0], [True, 0], {"1": 0}]


@pytest.mark.parametrize(("sent", "order"), [([1, 0], [1, 0]), *((sent, []) for sent in NO_ORDERS)])
def test_an_order_from_the_browser_is_a_list_of_all_dimensions_and_everything_else_is_ignored(sent, order):
    assert read(sent, 2) == order
