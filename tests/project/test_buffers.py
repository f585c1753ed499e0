"""What functions save for the backward pass, and when it can be freed."""

import numpy as np

from minitorch import Scalar, tensor
from project.lab.explorers import buffers, graph, orders, tensor_graph
from tests.project.pages import graph as drawn
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  the fixture works by being here


def product_of_a_sum():
    """(x + y) · x at (2, 1): the product saves its factors 3 and 2, the sum nothing."""
    x, y = Scalar(2.0, name="x"), Scalar(1.0, name="y")
    return (x + y) * x


def test_a_product_saves_its_factors_until_its_visit_and_a_sum_nothing():
    recording = graph.record(product_of_a_sum())
    (product,) = [i for i, node in enumerate(recording.nodes) if node.formula == "v1 · x"]
    assert [node.saved for node in recording.nodes if node.saved] == [[("3", 1), ("2", 1)]]
    assert [buffers.alive(recording, moment) for moment in (0, 1)] == [{product: True}, {product: False}]
    assert list(buffers.alive(graph.forward_only(product_of_a_sum()), 0).values()) == [True]
    sums = graph.record(Scalar(1.0, name="x") + 2.0)
    assert buffers.in_words(sums, 0) == "No function of this graph has saved a number for the backward pass."


def test_the_numbers_that_are_needed_and_freed_are_counted():
    x = Scalar(2.0, name="x")
    recording = graph.record((x * 3.0) * x)  # two products: 2, 3 and 6, 2
    for moment, (needed, freed) in enumerate([(4, 0), (2, 2), (0, 4), (0, 4)]):
        expected = f"Saved in the forward pass: 4 numbers. Still needed: {needed}. Freed: {freed}."
        assert buffers.in_words(recording, moment) == expected


def test_a_recursion_needs_the_values_until_its_last_visit():
    x = Scalar(2.0, name="x")
    shared = x * x
    recording = orders.record_in(orders.RECURSION, shared + shared)  # visits: sum, product, x, x, product, x, x
    states = [buffers.alive(recording, moment) for moment in range(len(recording.frames))]
    assert [list(state.values()) for state in states] == [[True], [True], [True], [True], [True], [False], [False], [False]]


def test_a_saved_tensor_is_shown_with_its_shape_and_counts_its_elements():
    x = tensor(np.ones((2, 3)), requires_grad=True)
    y = tensor(np.ones(3), requires_grad=True)
    recording = tensor_graph.record(x * y)
    assert recording.nodes[-1].saved == [("shape (2, 3)", 6), ("shape (3,)", 3)]
    assert buffers.in_words(recording, 0) == "Saved in the forward pass: 9 numbers. Still needed: 9. Freed: 0."


def test_the_pages_count_what_is_saved():
    (data, _), text = drawn(open_page("m1_graph", f="x * y")), "Saved in the forward pass: 2 numbers. Still needed: "
    assert data["steps"][0]["words"].endswith(f"{text}2. Freed: 0.")
    assert data["steps"][1]["words"].endswith(f"{text}0. Freed: 2.")
    assert [(node["saved"], node["freed"]) for node in data["nodes"]] == [("", 3), ("", 2), ("1, 2", 1)]
    data, _ = drawn(open_page("m2_graph", tf="x * y"))
    assert data["steps"][0]["words"].endswith("Saved in the forward pass: 9 numbers. Still needed: 9. Freed: 0.")
