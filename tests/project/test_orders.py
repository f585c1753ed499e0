"""Other orders of backpropagation: what a recursion costs, and what visiting in the order of arrival gets wrong."""

import pytest

import minitorch
from minitorch import Scalar
from project.lab.explorers import orders
from tests.project.pages import fill, graph, ignore_saved_files, open_page, page_text, texts

__all__ = ["ignore_saved_files"]


def example():
    """out = x + v2, v2 = v1 · y, v1 = x · y; its derivatives are 1 + y² and 2xy."""
    x, y = Scalar(2.0, name="x"), Scalar(3.0, name="y")
    return x + (x * y) * y


def leaves(recording):
    return {node.name: recording.frames[-1].gradients.get(i) for i, node in enumerate(recording.nodes) if node.kind == "leaf"}


@pytest.mark.parametrize("order", [orders.TOPOLOGICAL, orders.RECURSION])
def test_the_derivatives_are_right_in_topological_order_and_by_recursion(order):
    assert leaves(orders.record_in(order, example())) == {"x": 10.0, "y": 12.0}


def test_a_recursion_visits_a_variable_once_for_each_path():
    frames = orders.record_recursion(example()).frames
    assert len(frames) - 1 == 7  # v3; x; v2; v1; x; y; y
    assert [frame.sentence.split(": ")[0] for frame in frames[1:3]] == ["Visit 1, the first of v3", "Visit 2, the first of x"]
    assert "the second of x: it receives 9 and adds it up to 10." in frames[5].sentence


def test_a_recursion_without_end_in_sight_is_cut(monkeypatch):
    monkeypatch.setattr(orders, "MOST_FRAMES", 10)
    frames = orders.record_recursion(orders.ladder(20, Scalar(1.0, name="x"))).frames
    assert len(frames) == 11
    assert frames[-1].sentence.endswith("There are more visits; 10 are shown.")


def test_a_constant_is_not_visited():
    assert len(orders.record_recursion(Scalar(1.0, None) * 2.0).frames) == 1


def test_in_the_order_of_arrival_a_variable_passes_on_what_came_too_late():
    recording = orders.record_in(orders.FIRST_COME, orders.ladder(2, Scalar(1.0, name="x")))
    assert leaves(recording) == {"x": 2.0}  # F(4) = 3
    assert any("too late: it has already been visited" in frame.sentence for frame in recording.frames)


def test_the_costs_of_ten_sums():
    topological, recursion, first_come = orders.costs(10)
    assert topological == {"order": orders.TOPOLOGICAL, "visits": "13", "derivative of x": "144", "": "right"}
    assert recursion == {"order": orders.RECURSION, "visits": "431", "derivative of x": "144", "": "right"}
    assert (first_come["visits"], first_come[""]) == ("13", "wrong, it is 144")


def test_a_wrong_order_of_student_code_is_shown_in_the_costs(monkeypatch):
    right = minitorch.autodiff.topological_sort
    monkeypatch.setattr("project.lab.explorers.graph.topological_sort", lambda out: list(right(out))[::-1])
    assert orders.costs(3)[0][""] == "wrong, it is 5"


def test_the_page_steps_through_a_recursion_and_another_order_begins_at_the_first_step():
    app = fill(open_page("m1_graph", f="x + x * y * y", order=orders.RECURSION), moment=2)
    assert graph(app)[1]["sentence"] == "Visit 2, the first of x: it receives 1 and adds it up to 1."
    assert orders.ORDERS[orders.RECURSION].replace("`", "") in page_text(app).replace("`", "")
    app.selectbox(key="order").select(orders.FIRST_COME).run()
    assert app.session_state["moment"] == 1


def test_the_quiz_compares_a_prediction_with_what_is_passed_on():
    app = open_page("m1_graph", f="x * y", quiz="true", moment="0")
    field = app.number_input(key="answer_0")
    assert field.label == "v1 = x · y is next. Which derivative does it pass on to x?"
    field.set_value(2.0).run()  # y
    assert texts(app.success) == ["Right: 2."]
    app.number_input(key="answer_0").set_value(1.0).run()
    assert "Not 1. Try again" in page_text(app)
    fill(app, moment=1)
    assert "The next variable passes nothing on." in page_text(app)
