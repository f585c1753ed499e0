"""The pages on tensor functions and tensor graphs: their results, and what they show while code is wrong or shapes are incompatible."""

import pytest

from tests.project.pages import fill, graph, ignore_saved_files, open_page, open_with, texts, unwritten  # noqa: F401  a fixture


def html(app):
    return "".join(element.proto.body for element in app.get("html"))


def specs(app):
    return [element.proto.spec for element in app.get("vega_lite_chart")]


def table(app):
    return app.table[0].value.to_dict("records")


def test_one_tensor_is_drawn_with_its_gradient_and_finite_differences():
    app = open_page("m2_functions", one="MathTest.square(x)")
    (row,) = table(app)
    assert row == {"x": "1", "value": "1", "backward": "2", "central difference": "2"}
    assert all(f'"curve": "{name}"' in specs(app)[0] for name in ("MathTest.square(x)", "backward", "central difference"))
    assert "return a * a" in app.code[0].value
    assert "class Mul(Function)" in app.code[0].value


def test_two_tensors_are_drawn_with_both_partial_derivatives():
    app = open_page("m2_functions", kind="Two tensors", two="x * y")
    assert len(specs(app)) == 3
    rows = [(row["input"], row["backward"], row["central difference"]) for row in table(app)]
    assert rows == [("x", "2", "2"), ("y", "1", "1")]  # at x = 1, y = 2


def test_a_reduction_reduces_the_selected_dimension():
    app = open_page("m2_functions", kind="Reduction", shape="2, 3")
    assert "<b>x.sum()</b> <span style='opacity:.75'>shape (1,)" in html(app)
    assert "<b>x.sum(1)</b> <span style='opacity:.75'>shape (2, 1)" in html(fill(app, dim="1"))
    assert "<b>x.sum(1, keepdim=False)</b> <span style='opacity:.75'>shape (2,)" in html(fill(app, keepdim=False))
    assert "<b>x.sum(keepdim=False)</b> <span style='opacity:.75'>shape ()" in html(fill(app, shape="4"))  # which has no dimension 1


def test_the_gradient_of_the_result_can_be_set_to_increasing_numbers():
    app = open_page("m2_functions", kind="Layout", layout="x.permute(1, 0)", shape="2, 2", flow="1, 2, 3 …")
    after = html(app).split("gradient of x, backward", 1)[1]
    assert [part.split("</td>")[0].split(">")[-1] for part in after.split("<td")[1:5]] == ["1", "3", "2", "4"]


def test_the_graph_shows_shapes_and_where_a_gradient_is_summed():
    app = open_page("m2_graph")
    _, step = graph(app)
    assert step["sentence"].startswith("v2 = v1 + z is the output, so its derivative is [[1, 1, 1], [1, 1, 1]].")
    assert "passed to z</b> <span style='opacity:.75'>shape (2, 1)" in step["pictures"]
    assert "<p>summed from shape (2, 3) over dimension 1</p>" in step["pictures"]
    assert "The backward pass has not started" in graph(fill(app, step=0))[1]["sentence"]


def test_selecting_an_example_sets_its_shapes():
    app = fill(open_page("m2_graph"), tensor_example="A layer without a matrix product")
    assert [app.text_input(key=f"shape_{name}").value for name in "xyz"] == ["2, 3", "3, 2", "2"]
    assert not app.warning
    assert all(float(row["largest difference from the central difference"]) < 1e-6 for row in table(app))


def test_every_example_works():
    app = open_page("m2_graph")
    for name in app.selectbox(key="tensor_example").options:
        fill(app, tensor_example=name)
        assert not app.exception
        assert not app.error
        assert not app.warning


def test_large_inputs_have_no_finite_differences():
    app = open_page("m2_graph", tf="x * y", shape_x="8, 8", shape_y="8")
    assert not [table for table in app.table if "at index" in table.value.columns]
    assert any("Central differences are omitted" in text for text in texts(app.caption))


OF_TWO, OF_NONE = "dimension 2 is out of range for shape (2, 3), which has 2", "dimension 0 is out of range for shape (), which has 0"
UNEQUAL = "Mul: shapes (2, 3) and (2,) do not broadcast: aligned from the right, 3 does not match 2"
EMPTY = "max and min expected at least one element along dimension 0, got shape (0, 2)"


@pytest.mark.parametrize(
    ("page", "query", "message"),
    [
        ("m2_functions", {"kind": "Layout", "layout": "x.view(5)"}, "view expected a shape of 6 elements like (2, 3), got (5,) of 5"),
        ("m2_functions", {"kind": "Layout", "layout": "x.permute(0, 2)"}, OF_TWO),
        ("m2_functions", {"kind": "Reduction", "shape": "()", "dim": "0"}, OF_NONE),
        ("m2_graph", {"tf": "x * y", "shape_y": "2"}, UNEQUAL),
        ("m2_graph", {"tf": "x.sum(2)"}, OF_TWO),
        ("m2_graph", {"tf": "x.max(0)", "shape_x": "0, 2"}, EMPTY),
    ],
)
def test_incompatible_shapes_show_the_message_of_the_library(page, query, message):
    app = open_page(page, **query)
    assert message in app.warning[0].value.replace("\\", "")
    assert not app.error
    assert app.expander[-1].label == "Where the error was raised"


def test_values_are_shown_while_backward_is_unwritten(monkeypatch):
    app = open_with(monkeypatch, "m2_functions", "minitorch.tensor_functions.Mul.backward", unwritten("2.4"), one="MathTest.square(x)")
    assert table(app) == [{"x": "1", "value": "1", "central difference": "2"}]
    assert len(specs(open_page("m2_functions", kind="Two tensors"))) == 1
    app = open_page("m2_graph")
    data, step = graph(app)
    assert "The backward pass needs code that is not written yet" in step["sentence"]
    assert len(data["nodes"]) == 5


def test_a_wrong_backward_differs_visibly_from_the_central_difference(monkeypatch):
    body = "return (grad_output * 2).expand(*ctx.saved_values[0])"
    target = "minitorch.tensor_functions.Sum.backward"
    app = open_with(monkeypatch, "m2_functions", target, body, parameters="ctx, grad_output", kind="Reduction")
    assert "The gradients differ" in app.warning[0].value
    assert any("The largest difference is 1.0e+00" in text for text in texts(app.caption))
    app = open_page("m2_graph", tf="x.sum()")
    assert float(table(app)[0]["largest difference from the central difference"]) == pytest.approx(1.0, abs=1e-3)
