"""The pages on tensor functions and tensor graphs: with finished, unwritten and broken code, and with incompatible shapes."""

import pkgutil
import sys

import pytest

from course.manifest import ROOT
from project.lab.cards import plain
from project.lab.explorers import tensor_graph, tensor_sandbox
from tests.project.pages import ignore_saved_files, open_page, texts  # noqa: F401  the fixture works by being here

PAGES = ("m2_functions", "m2_graph")
assert tensor_graph, tensor_sandbox  # imported here, so that every test patches the modules that the pages use


def html(app):
    return "".join(element.proto.body for element in app.get("html"))


def specs(app):
    return [element.proto.spec for element in app.get("vega_lite_chart")]


def table(app):
    return app.table[0].value.to_dict("records")


# Finished code


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("m2_functions", {}),
        ("m2_functions", {"kind": "Two tensors"}),
        ("m2_functions", {"kind": "Two tensors", "two": "x / y"}),  # with a pole
        ("m2_functions", {"kind": "Two tensors", "two": "x < y"}),
        ("m2_functions", {"kind": "Reduction"}),
        ("m2_functions", {"kind": "Reduction", "shape": "()"}),
        ("m2_functions", {"kind": "Reduction", "shape": "0, 3"}),
        ("m2_functions", {"kind": "Reduction", "reduction": "MathTest.mean_red(x)"}),
        ("m2_functions", {"kind": "Layout"}),
        ("m2_graph", {}),
        ("m2_graph", {"tf": "x", "shape_x": ""}),
        ("m2_graph", {"tf": "x.sum()", "shape_x": "0, 2"}),
    ],
)
def test_a_page_shows_finished_code_without_a_notice_of_trouble(page, query):
    app = open_page(page, **query)
    assert len(app.title) == 1
    assert not app.error
    assert not app.warning
    assert not [text for text in texts(app.info) if "not written" in text]


def test_one_tensor_is_drawn_with_its_gradient_and_finite_differences():
    app = open_page("m2_functions", one="MathTest.square(x)")
    (row,) = table(app)
    assert row == {"x": "1", "value": "1", "backward": "2", "central difference": "2"}
    assert all(f'"curve": "{name}"' in specs(app)[0] for name in ("MathTest.square(x)", "backward", "central difference"))
    assert "return a * a" in app.code[0].value
    assert "class Mul(Function)" in app.code[0].value


def test_a_curve_has_gaps_where_its_value_is_undefined():
    app = open_page("m2_functions", one="x.sqrt()")
    assert not app.warning
    assert not any("NaN" in spec or "Infinity" in spec for spec in specs(app))


def test_two_tensors_are_drawn_with_both_partial_derivatives():
    app = open_page("m2_functions", kind="Two tensors", two="x * y")
    assert len(specs(app)) == 3
    rows = [(row["input"], row["backward"], row["central difference"]) for row in table(app)]
    assert rows == [("x", "2", "2"), ("y", "1", "1")]  # at x = 1, y = 2
    assert any("At x = 1, y = 2, the value is **2**" in text for text in texts(app.markdown))


def test_a_reduction_reduces_the_selected_dimension():
    app = open_page("m2_functions", kind="Reduction", shape="2, 3")
    assert "<b>x.sum()</b> <span style='opacity:.75'>shape (1,)" in html(app)
    app.selectbox(key="dim").set_value("1").run()
    assert "<b>x.sum(1)</b> <span style='opacity:.75'>shape (2, 1)" in html(app)
    app.toggle(key="keepdim").set_value(False).run()
    assert "<b>x.sum(1, keepdim=False)</b> <span style='opacity:.75'>shape (2,)" in html(app)
    app.text_input(key="shape").set_value("4").run()  # the other example has no dimension 1
    assert "<b>x.sum(keepdim=False)</b> <span style='opacity:.75'>shape ()" in html(app)


def test_the_gradient_of_the_result_can_be_set_to_increasing_numbers():
    app = open_page("m2_functions", kind="Layout", layout="x.permute(1, 0)", shape="2, 2", flow="1, 2, 3 …")
    after = html(app).split("gradient of x, backward", 1)[1]
    assert [part.split("</td>")[0].split(">")[-1] for part in after.split("<td")[1:5]] == ["1", "3", "2", "4"]


def test_selecting_a_layout_example_replaces_the_method():
    app = open_page("m2_functions", kind="Layout")
    app.selectbox(key="layout_example").set_value("x.flatten()").run()
    assert app.text_input(key="layout").value == "x.flatten()"
    assert "shape (6,)" in html(app)


def test_the_graph_shows_shapes_and_where_a_gradient_is_summed():
    app = open_page("m2_graph")
    assert "The backward pass has not started" in app.info[0].value
    app.button(key="forward").click().run()
    assert app.info[0].value.startswith("v2 = v1 + z is the output, so its derivative is [[1, 1, 1], [1, 1, 1]].")
    app.button(key="forward").click().run()
    app.button(key="back").click().run()
    assert "passed to z</b> <span style='opacity:.75'>shape (2, 1)" in html(app)
    remark = "The gradient passed to z was summed from shape (2, 3) over dimension 1."
    assert any(plain(remark) in text for text in texts(app.caption))
    app.button(key="back").click().run()
    assert app.button(key="back").disabled
    assert app.button(key="forward").disabled is False


def test_the_step_is_clamped_to_the_graph_of_a_shorter_expression():
    app = open_page("m2_graph")
    app.slider(key="step").set_value(5).run()
    assert app.button(key="forward").disabled
    app.text_input(key="tf").set_value("x * y").run()
    assert app.slider(key="step").value == 3


def test_selecting_an_example_sets_its_shapes():
    app = open_page("m2_graph")
    app.selectbox(key="tensor_example").set_value("A layer without a matrix product").run()
    assert [app.text_input(key=f"shape_{name}").value for name in "xyz"] == ["2, 3", "3, 2", "2"]
    assert not app.warning
    assert all(float(row["largest difference from the central difference"]) < 1e-6 for row in table(app))


def test_every_example_works():
    app = open_page("m2_graph")
    for name in app.selectbox(key="tensor_example").options:
        app.selectbox(key="tensor_example").set_value(name).run()
        assert not app.exception
        assert not app.error
        assert not app.warning


def test_large_inputs_have_no_finite_differences():
    app = open_page("m2_graph", tf="x * y", shape_x="8, 8", shape_y="8")
    assert not [table for table in app.table if "at index" in table.value.columns]
    assert any("Central differences are omitted" in text for text in texts(app.caption))


def test_a_constant_expression_is_explained():
    for page, query in (("m2_graph", {"tf": "1 + 2"}), ("m2_functions", {"kind": "Layout", "layout": "2"})):
        assert any("nothing is recorded" in text for text in texts(open_page(page, **query).info))


# Incompatible and invalid shapes


@pytest.mark.parametrize(
    ("page", "query", "message"),
    [
        ("m2_functions", {"kind": "Layout", "layout": "x.view(5)"}, "view expected a shape of 6 elements like (2, 3), got (5,) of 5"),
        ("m2_functions", {"kind": "Layout", "layout": "x.permute(0, 2)"}, "dimension 2 is out of range for shape (2, 3), which has 2"),
        ("m2_functions", {"kind": "Reduction", "shape": "()", "dim": "0"}, "dimension 0 is out of range for shape (), which has 0"),
        (
            "m2_graph",
            {"tf": "x * y", "shape_y": "2"},
            "Mul: shapes (2, 3) and (2,) do not broadcast: aligned from the right, 3 does not match 2",
        ),
        ("m2_graph", {"tf": "x.sum(2)"}, "dimension 2 is out of range for shape (2, 3), which has 2"),
        (
            "m2_graph",
            {"tf": "x.max(0)", "shape_x": "0, 2"},
            "max and min expected at least one element along dimension 0, got shape (0, 2)",
        ),
    ],
)
def test_incompatible_shapes_show_the_message_of_the_library(page, query, message):
    app = open_page(page, **query)
    assert message in app.warning[0].value.replace("\\", "")
    assert not app.error
    assert app.expander[-1].label == "Where the error was raised"


@pytest.mark.parametrize(
    ("page", "query", "message"),
    [
        ("m2_functions", {"kind": "Reduction", "shape": "2, x"}, "expected integers separated by commas, got 'x'"),
        ("m2_functions", {"kind": "Layout", "shape": "9, 9"}, "expected at most 64 elements, got 81"),
        ("m2_functions", {"kind": "Layout", "layout": "x.foo()"}, "unknown method 'foo'"),
        ("m2_graph", {"shape_y": "1,1,1,1,1"}, "Shape of y: expected a shape of 0 to 4 dimensions, got 5"),
        ("m2_graph", {"tf": '__import__("os")'}, "unknown function '__import__'"),
        ("m2_graph", {"tf": "x.numpy()"}, "unknown method 'numpy'"),
    ],
)
def test_typed_code_is_refused_with_a_message(page, query, message):
    app = open_page(page, **query)
    assert message in app.error[0].value.replace("\\", "")


# Code that is not written yet


def student_function(source, file):
    """A function that appears to be in a file of the student."""
    names = {}
    exec(compile(source, str(ROOT / file), "exec"), names)
    return names["f"]


def unwritten(task, file):
    return student_function(f'def f(*args, **kwargs):\n    raise NotImplementedError("Need to implement for Task {task}")', file)


FUNCTIONS = "minitorch.tensor_functions"
STUBS = [
    ("m2_functions", "minitorch.Tensor.sigmoid", "2.3b", "minitorch/tensor.py", {}),
    ("m2_functions", f"{FUNCTIONS}.Sigmoid.forward", "2.3", "minitorch/tensor_functions.py", {}),
    ("m2_functions", f"{FUNCTIONS}.Sigmoid.backward", "2.4", "minitorch/tensor_functions.py", {}),
    ("m2_functions", "project.lab.explorers.tensor_sandbox.central_difference", "1.1", "minitorch/autodiff.py", {}),
    ("m2_functions", f"{FUNCTIONS}.Mul.forward", "2.3", "minitorch/tensor_functions.py", {"kind": "Two tensors"}),
    ("m2_functions", f"{FUNCTIONS}.Mul.backward", "2.4", "minitorch/tensor_functions.py", {"kind": "Two tensors"}),
    ("m2_functions", f"{FUNCTIONS}.Sum.backward", "2.4", "minitorch/tensor_functions.py", {"kind": "Reduction"}),
    ("m2_functions", "minitorch.tensor.central_difference", "1.1", "minitorch/autodiff.py", {"kind": "Reduction"}),
    ("m2_functions", "minitorch.Tensor.permute", "2.3b", "minitorch/tensor.py", {"kind": "Layout", "layout": "x.permute(1, 0)"}),
    ("m2_graph", f"{FUNCTIONS}.Mul.forward", "2.3", "minitorch/tensor_functions.py", {}),
    ("m2_graph", f"{FUNCTIONS}.Mul.backward", "2.4", "minitorch/tensor_functions.py", {}),
    ("m2_graph", "project.lab.explorers.graph.topological_sort", "1.4", "minitorch/autodiff.py", {}),
    ("m2_graph", "minitorch.tensor.backpropagate", "1.4", "minitorch/autodiff.py", {}),
]


@pytest.mark.parametrize(("page", "target", "task", "file", "query"), STUBS)
def test_unwritten_code_becomes_a_card_with_task_file_hint_and_command(monkeypatch, page, target, task, file, query):
    stub = unwritten(task, file)
    owner, _, name = target.rpartition(".")
    owner = sys.modules.get(owner) or pkgutil.resolve_name(owner)  # minitorch.tensor is a module and a function
    monkeypatch.setattr(owner, name, staticmethod(stub) if FUNCTIONS in target else stub)
    app = open_page(page, **query)
    cards = [text for text in texts(app.info) if "not written yet" in text]
    assert cards, "no card"
    title, body = cards[0].split("\n\n", 1)
    assert title.replace("\\", "") == f"**Task {task} is not written yet: open {file}, line 2**"
    assert body.startswith("Book: ")
    assert f"`course test {task}`" in body
    assert len(cards) == len(set(cards)), "the same card twice"
    assert not app.error
    assert not app.warning


def test_values_are_shown_while_backward_is_unwritten(monkeypatch):
    monkeypatch.setattr(f"{FUNCTIONS}.Mul.backward", staticmethod(unwritten("2.4", "minitorch/tensor_functions.py")))
    (row,) = table(open_page("m2_functions", one="MathTest.square(x)"))
    assert row == {"x": "1", "value": "1", "central difference": "2"}
    assert len(specs(open_page("m2_functions", kind="Two tensors"))) == 1
    app = open_page("m2_graph")
    assert any("The backward pass needs code that is not written yet" in text for text in texts(app.info))
    assert "5 nodes" in app.caption[0].value


# Broken code


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_students_frame_when_their_code_raises(monkeypatch, page):
    broken = student_function("def f(ctx, a, b):\n    return a.f.mul_zip(a, b) + missing", "minitorch/tensor_functions.py")
    monkeypatch.setattr(f"{FUNCTIONS}.Mul.forward", staticmethod(broken))
    app = open_page(page, kind="Two tensors")
    assert "minitorch/tensor_functions.py, line 2: NameError" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_students_frame_when_their_backward_raises(monkeypatch, page):
    broken = student_function("def f(ctx, grad_output):\n    return missing", "minitorch/tensor_functions.py")
    monkeypatch.setattr(f"{FUNCTIONS}.Mul.backward", staticmethod(broken))
    app = open_page(page, kind="Two tensors")
    assert "minitorch/tensor_functions.py, line 2: NameError" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_a_missing_return_in_forward_is_named(monkeypatch, page):
    monkeypatch.setattr(f"{FUNCTIONS}.Mul.forward", staticmethod(lambda ctx, a, b: None))
    app = open_page(page, kind="Two tensors")
    assert "Mul.forward expected to return a Tensor, got None" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_a_backward_with_too_few_gradients_is_named(monkeypatch, page):
    monkeypatch.setattr(f"{FUNCTIONS}.Mul.backward", staticmethod(lambda ctx, grad_output: grad_output))
    app = open_page(page, kind="Two tensors")
    assert "Mul.backward expected to return 2 gradients" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_an_operator_that_returns_nothing_is_named(monkeypatch, page):
    monkeypatch.setattr("minitorch.Tensor.__mul__", lambda self, b: None)
    app = open_page(page, kind="Two tensors", tf="x * y")
    assert "x * y expected to return a Tensor, got NoneType; is the return missing?" in app.error[0].value.replace("\\", "")


def test_a_wrong_backward_differs_visibly_from_the_central_difference(monkeypatch):
    monkeypatch.setattr(f"{FUNCTIONS}.Sum.backward", staticmethod(lambda ctx, grad_output: (grad_output * 2).expand(*ctx.saved_values[0])))
    app = open_page("m2_functions", kind="Reduction")
    assert "The gradients differ" in app.warning[0].value
    assert any("The largest difference is 1.0e+00" in text for text in texts(app.caption))
    app = open_page("m2_graph", tf="x.sum()")
    assert float(table(app)[0]["largest difference from the central difference"]) == pytest.approx(1.0, abs=1e-3)
