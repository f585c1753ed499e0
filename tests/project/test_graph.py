"""The expression graph: every step of backpropagation, and what each node and each frame holds."""

import math
import re

import pytest

import project.lab.explorers.graph as graph
from minitorch import Scalar
from project.lab.cards import WrongResult
from project.lab.explorers.graph import record


def diamond():
    """(x + y) · (x + y) at (1, 2): the gradient of both is 2 · 3 = 6."""
    x, y = Scalar(1.0, name="x"), Scalar(2.0, name="y")
    a = x + y
    return a * a


def test_nodes_show_their_formula_value_and_position():
    recording = record(diamond())
    nodes = {node.name: node for node in recording.nodes}
    assert {name: (node.formula, node.value, node.kind) for name, node in nodes.items()} == {
        "x": ("", 1.0, "leaf"),
        "y": ("", 2.0, "leaf"),
        "v1": ("x + y", 3.0, "step"),
        "v2": ("v1 · v1", 9.0, "step"),
    }
    assert (nodes["v2"].place, nodes["v1"].place) == (1, 2)
    assert {nodes["x"].place, nodes["y"].place} == {3, 4}


def test_constants_and_functions_of_one_argument_are_drawn_and_nothing_is_passed_to_a_constant():
    x = Scalar(2.0, name="x")
    names = {node.name: node.formula for node in record(-(x * 3.0).sigmoid()).nodes}
    assert names == {"x": "", "3": "", "v1": "x · 3", "v2": "sigmoid(v1)", "v3": "-v2"}
    assert record(x * 3.0).frames[1].sentence == "v1 = x · 3 is the output, so its derivative is 1. The chain rule passes 3 to x."


def test_each_frame_shows_what_has_arrived_so_far():
    recording = record(diamond())
    names = [node.name for node in recording.nodes]
    gradients = [{names[i]: value for i, value in frame.gradients.items()} for frame in recording.frames]
    assert gradients == [{}, {"v2": 1.0, "v1": 6.0}, *[{"v2": 1.0, "v1": 6.0, "x": 6.0, "y": 6.0}] * 3]
    assert [frame.current if frame.current is None else names[frame.current] for frame in recording.frames][:3] == [None, "v2", "v1"]


def test_the_sentences_contain_the_numbers():
    sentences = [frame.sentence for frame in record(diamond()).frames]
    assert sentences[0] == "The forward pass is complete: v2 = 9. The backward pass has not started."
    assert sentences[1] == (
        "v2 = v1 · v1 is the output, so its derivative is 1. The chain rule passes 3 to v1 and 3 to v1 (added to 3, the sum is 6)."
    )
    assert sentences[2] == "v1 = x + y has the derivative 6. The chain rule passes 6 to x and 6 to y."
    assert sentences[3].endswith("is a leaf. It stores the derivative 6, the sum of all derivatives it received.")


def test_a_wrong_order_is_reported(monkeypatch):
    out = diamond()
    a = out.parents[0]
    x, y = a.parents
    monkeypatch.setattr(graph, "topological_sort", lambda variable: [out, x, a, y])
    sentences = [frame.sentence for frame in record(out).frames]
    assert sentences[2] == "x is visited before it has received a derivative, so it passes nothing on. The order is wrong."
    assert "6 to x, too late: it has already been visited" in sentences[3]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (None, "topological_sort expected to return the variables in order, got None"),
        ([], "topological_sort expected to return the variables in order, the output first, got none of them"),
        ([Scalar(4.0)], "topological_sort returned Scalar(4.000000), which is not part of the graph of the output"),
    ],
)
def test_an_invalid_order_is_reported_as_the_student_s_result(monkeypatch, order, message):
    monkeypatch.setattr(graph, "topological_sort", lambda variable: order and [variable, *order])
    with pytest.raises(WrongResult, match=re.escape(message)):
        record(diamond())


def test_numbers_are_short_and_an_infinite_one_is_named():
    assert [graph.SCALARS.short(value) for value in (1 / 3, -2.0, math.inf, -math.inf, math.nan)] == ["0.33333", "-2", "inf", "-inf", "nan"]


def test_the_nodes_are_counted_in_words():
    assert record(diamond()).in_words(2) == "4 nodes, from the inputs on the left to the output on the right; 2 of 4 visited."
    assert record(Scalar(1.0, name="x")).in_words(0) == "1 node, which is both input and output; 0 of 1 visited."
