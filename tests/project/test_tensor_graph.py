"""The graph of tensors: shapes, gradients and where they are summed. Expected values are by hand or from NumPy."""

import numpy as np
import pytest

import minitorch
from minitorch import Function, tensor
from minitorch.core.context import grad_mode
from minitorch.tensor_functions import Mul
from project.lab.explorers.graph_drawing import drawing
from project.lab.explorers.tensor_graph import TENSORS, forward_only, record, remark
from project.lab.typed.expressions import parse


def leaf(values, name):
    x = tensor(values, requires_grad=True)
    x.name = name
    return x


def row_times_matrix():
    """x · y with x of shape (2, 3) and y of shape (3,): the gradient of y is the sum of the rows of x."""
    return leaf([[1, 2, 3], [4, 5, 6]], "x") * leaf([10, 20, 30], "y")


def final_gradients(recording):
    return {recording.nodes[i].name: gradient.tolist() for i, gradient in recording.frames[-1].gradients.items()}


def test_no_local_derivatives_are_computed_for_a_tensor(monkeypatch):
    arrived, backward = [], Mul.backward
    monkeypatch.setattr(Mul, "backward", staticmethod(lambda ctx, grad_output: arrived.append(grad_output) or backward(ctx, grad_output)))
    recording = record(row_times_matrix())
    assert [node.local for node in recording.nodes] == [{}, {}, {}]
    assert [gradient.tolist() for gradient in arrived] == [[[1, 1, 1], [1, 1, 1]]] * 2  # for the chain rule and for the remark


def test_nodes_contain_the_elements_and_their_formula():
    recording = record(row_times_matrix().sum(0))
    nodes = {node.name: node for node in recording.nodes}
    assert {name: (node.formula, node.value.tolist()) for name, node in nodes.items()} == {
        "x": ("", [[1, 2, 3], [4, 5, 6]]),
        "y": ("", [10, 20, 30]),
        "v1": ("x · y", [[10, 40, 90], [40, 100, 180]]),
        "v2": ("sum(v1)", [[50, 140, 270]]),
    }


def test_the_gradient_of_every_leaf_has_its_shape_and_the_summed_value():
    gradients = {"v1": [[1, 1, 1], [1, 1, 1]], "x": [[10, 20, 30], [10, 20, 30]], "y": [5, 7, 9]}
    assert final_gradients(record(row_times_matrix())) == gradients


def test_the_text_and_the_drawing_say_over_which_dimension_a_broadcast_gradient_is_summed():
    recording = record(row_times_matrix())
    assert recording.frames[1].sentence == (
        "v1 = x · y is the output, so its derivative is [[1, 1, 1], [1, 1, 1]]. The chain rule passes [[10, 20, 30], [10, 20, 30]] to x "
        "and [5, 7, 9] to y (summed from shape (2, 3) over dimension 0)."
    )
    drawn = drawing(recording)
    assert [step["remarks"] for step in drawn["steps"][:2]] == [{}, {"2.1": "summed from shape (2, 3) over dimension 0"}]
    assert [edge["remark"] for edge in drawn["edges"]] == [[], ["summed from shape (2, 3)", "over dimension 0"]]
    assert drawn["edges"][1]["box"][2:] == [6 * len("summed from shape (2, 3)") + 14, 6 * 15 + 8]  # the remark counts on both sides


class Forgot(Function):
    """The negative, whose backward returns nothing."""

    @staticmethod
    def forward(ctx, a):
        return a.f.neg_map(a)

    @staticmethod
    def backward(ctx, grad_output):
        pass


class Broken(Forgot):
    """The negative, whose backward fails."""

    @staticmethod
    def backward(ctx, grad_output):
        raise ValueError("broken")


@pytest.mark.parametrize(
    ("build", "end"),
    [
        (lambda x, y: x * x, "passes [1, 3] to x and [1, 3] to x (added to [1, 3], the sum is [2, 6])."),
        (lambda x, y: x * 0.5, "passes [0.5, 0.5] to x."),
        (lambda x, y: x < y, "is the output, so its derivative is [1, 1]. The chain rule passes [0, 0] to x and [0, 0] to y."),
        (lambda x, y: Forgot.apply(x), "passes [0, 0] to x (backward returned None, which means zeros)."),
    ],
)
def test_the_sentence_says_what_is_passed_on(build, end):
    """Gradients that arrive twice are added, a constant gets none, a comparison passes zeros."""
    assert record(build(leaf([1, 3], "x"), leaf([2, 2], "y"))).frames[1].sentence.endswith(end)


def test_constants_are_drawn_and_a_leaf_alone_is_a_graph_of_one_node():
    nodes = record(leaf([1, 2], "x") * 0.5).nodes
    assert [node.name for node in nodes if node.kind == "constant"] == ["0.5"]
    assert len(record(leaf([1.0], "x")).frames) == 2


def test_recording_keeps_the_graph_and_restores_the_mode_even_after_an_error():
    out = row_times_matrix().sum()
    first, second = record(out), record(out)
    assert first.frames[-1].sentence == second.frames[-1].sentence
    with pytest.raises(ValueError, match="broken"):
        record(Broken.apply(leaf([1.0], "x")))
    assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
    out.backward()  # the graph was not freed


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1, 1)])
def test_any_shape_can_be_recorded(shape):
    x = leaf(np.ones(shape), "x")
    assert final_gradients(record((x + 1.0) * x))["x"] == np.full(shape, 3.0).tolist()


def test_a_graph_can_be_drawn_without_its_gradients():
    recording = forward_only(row_times_matrix())
    assert recording.frames[0].sentence == "The forward pass is complete. The backward pass needs code that is not written yet."
    drawn = drawing(recording)
    assert len(drawn["nodes"]) == 3
    assert drawn["steps"][0]["gradients"] == {}


def test_boxes_show_short_tensors_in_full_and_the_shape_of_others():
    drawn = drawing(record(row_times_matrix()))
    lines, gradients = [node["lines"] for node in drawn["nodes"]], drawn["steps"][1]["gradients"].values()
    assert ["y", "shape (3,)", "value [10, 20, 30]"] in lines
    assert ["x", "shape (2, 3)"] in lines
    assert set(gradients) == {"[5, 7, 9]", "(2, 3)"}
    assert [(edge["label"], edge["local"]) for edge in drawn["edges"]] == [("y", ""), ("x", "")]  # the rule of the product


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array(1.5), "1.5"),
        (np.array([[1, 2, 3], [4, 5, 6]]), "[[1, 2, 3], [4, 5, 6]]"),
        (np.arange(7.0), "[0, 1, …] of shape (7,)"),
        (np.arange(12.0).reshape(4, 3), "[[0, 1, …], [3, 4, …], …] of shape (4, 3)"),
        (np.zeros((0, 2)), "[] of shape (0, 2)"),
        (np.array([1 / 3, np.nan, -np.inf]), "[0.333, nan, -inf]"),
    ],
)
def test_a_tensor_in_a_sentence_is_short(values, text):
    assert TENSORS.short(values) == text


@pytest.mark.parametrize(
    ("returned", "shape", "expected"),
    [
        ((2, 3), (2, 3), ""),
        ((2, 3), (3,), "summed from shape (2, 3) over dimension 0"),
        ((2, 3), (2, 1), "summed from shape (2, 3) over dimension 1"),
        ((4, 1, 3), (1, 3), "summed from shape (4, 1, 3) over dimension 0"),
        ((4, 2, 3), (1, 3), "summed from shape (4, 2, 3) over dimensions 0 and 1"),
        ((2, 3), (), "summed from shape (2, 3) over dimensions 0 and 1"),
        ((1,), (2, 3), "repeated from shape (1,)"),
    ],
)
def test_the_remark_describes_the_change_of_shape(returned, shape, expected):
    assert remark(np.zeros(returned), np.zeros(shape)) == expected


def test_a_typed_expression_of_tensors_is_evaluated_with_their_methods():
    x, y = tensor([[1, 2, 3], [4, 5, 6]]), tensor([1, 10, 100])
    f = parse("2 * (x * y).sum(1).view(2) - x.permute(1, 0).max(0)", ("x", "y"), methods=True).function(("x", "y"), minitorch.tensor)
    assert f(x, y).tolist() == [[2 * 321 - 3, 2 * 654 - 6]]
