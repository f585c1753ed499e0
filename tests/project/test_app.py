"""The app: the board, and the pages of Modules 0 and 1."""

import json
import re
import sys
import tomllib
from urllib.parse import parse_qs

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from course.manifest import ROOT, course
from course.runner.progress import TaskState
from project.lab import registry
from project.lab.explorers import derivative
from tests.project.pages import (  # noqa: F401  a fixture
    fill,
    graph,
    ignore_saved_files,
    open_page,
    open_with,
    page_text,
    replace_function,
    specs,
    texts,
    unwritten,
)

TASKS = [task.id for task in course().tasks]


def test_a_thread_that_trains_gives_way_to_the_others_after_a_millisecond():
    sys.setswitchinterval(0.005)
    open_page("home")
    assert sys.getswitchinterval() == pytest.approx(0.001)


def test_the_app_opens_the_board_first():
    app = AppTest.from_file(str(ROOT / "project" / "app.py"), default_timeout=60).run()
    assert texts(app.title) == ["MiniTorch"]


def test_streamlit_knows_all_options_of_the_app():
    """A file with an error is left out as a whole, with a line in the terminal only."""
    options = tomllib.loads((ROOT / "project" / ".streamlit" / "config.toml").read_text())
    names = [f"{section}.{name}" for section, values in options.items() for name in values if section != "theme"]
    assert options["runner"]["magicEnabled"] is False
    assert set(names) <= set(config.get_config_options())


# Addresses

MOVED = {  # the address of a former page: the page and the part of it that is opened
    "m0_datasets?dataset=Xor&points=40": "playground?pg_dataset=Xor&pg_points=40&pg_table=true",
    "sweeps?sweep=a": "runs?sweep=a&runs_part=Sweeps",
    "m1_trace?x3=4.0&seed_input=x2": "m1_graph?x3=4.0&seed_input=x2&graph_part=Traces",
    "m2_graph?tf=x+%2A+y&step=1": "m1_graph?tf=x+%2A+y&step=1&graph_part=Tensors",
    "m2_training?points=20": "m1_training?points=20&training_part=Tensors",
    "m3_training": "m1_training?training_part=Compiled+backend",
    "m3_diagnostics?kernel=zip": "m3_speed?kernel=zip&speed_part=Parallel+loops",
    "m4_pooling?pool_rows=3": "m4_convolution?pool_rows=3&conv_part=Pooling",
    "m4_dropout?drop_rate=0.5": "m4_softmax?drop_rate=0.5&softmax_part=Dropout",
}


def test_every_part_of_a_page_has_an_address():
    assert [address.partition("?")[0] for address in MOVED] == [row.name for row in registry.PARTS]


def redirect(path, query):
    """The scripts of the page for which a browser asks with this path and query."""
    app = AppTest.from_file(str(ROOT / "project" / "app.py"))
    app._page_hash = calc_hash(path)  # AppTest itself opens files only
    app.query_params.update(query)
    assert not app.run().exception
    return [html.proto.body for html in app.get("html")]


@pytest.mark.parametrize(("before", "now"), MOVED.items())
def test_the_address_of_a_former_page_leads_to_the_part_of_a_page_that_shows_it(before, now):
    path, _, query = before.partition("?")
    assert f"<script>location.replace('{now}')</script>" in redirect(path, parse_qs(query))


def test_a_script_in_an_address_stays_in_the_address():
    address = "m4_softmax?drop_rate=%27%3C%2Fscript%3E&softmax_part=Dropout"
    assert f"<script>location.replace('{address}')</script>" in redirect("m4_dropout", {"drop_rate": "'</script>"})


def test_a_link_opens_its_part_although_another_one_was_open():
    app = open_page("m4_dropout")
    assert app.segmented_control(key="softmax_part").value == "Dropout"
    app.query_params.update(registry.view("m4_softmax").query)
    assert app.run().segmented_control(key="softmax_part").value == "Softmax"


@pytest.mark.parametrize(
    ("state", "name"), [({}, "m1_graph"), ({"graph_part": "Scalars"}, "m1_graph"), ({"graph_part": "Tensors"}, "m2_graph")]
)
def test_the_open_part_of_a_page_is_known(state, name):
    assert registry.opened("m1_graph", state).name == name


# The board


def open_board(monkeypatch, *known):
    """The board when the states of these tasks are known."""
    states = {id: TaskState(id) for id in TASKS} | {state.task: state for state in known}
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: states)
    return open_page("home")


KNOWN = [
    TaskState("0.1", "passed", passed=9, total=9),
    TaskState("0.2", "failing", passed=2, failing=1, total=3),
    TaskState("0.3", "todo", todo=5, total=5),
    TaskState("1.4", "blocked", blocked=4, total=4, blocked_by=("1.2", "1.3")),
]


def test_the_board_shows_each_state_as_a_word_and_the_next_task(monkeypatch):
    app = open_board(monkeypatch, *KNOWN)
    shown = "\n".join(texts(app.markdown))
    for words in ("passed]", "failing, 2 of 3 tests]", "todo, 0 of 5 tests]", "blocked by Task 1.2, 1.3, 0 of 4 tests]"):
        assert words in shown
    assert shown.count("not tested") == len(TASKS) - 4
    assert "Next: Task 0.2, Testing and debugging." in app.info[-1].value


def test_the_board_draws_each_task_as_wide_as_its_points_with_its_state(monkeypatch):
    (drawn,) = [each.proto.body for each in open_board(monkeypatch, *KNOWN).get("html") if "class='map'" in each.proto.body]
    cells = re.findall(r"<span title='([^']*)' style='width:([\d.]+)%", drawn)
    assert [about.split(" ")[0] for about, _ in cells] == list(TASKS)
    assert cells[1] == ("0.2 Testing and debugging, 10 points: failing", "5.71")  # of the 175 points of Module 6
    assert re.findall(r"</i>([\w ]+)", drawn) == ["passed", "failing", "todo", "blocked", "not tested"]


def test_the_board_distinguishes_untested_tasks_from_open_ones(monkeypatch):
    notes = open_board(monkeypatch).info
    assert "The tests have not run on these files yet" in notes[-1].value
    assert ("`make workspace`" in notes[0].value) == (ROOT / "course" / "staff").is_dir()
    app = open_board(monkeypatch, TaskState("0.3", "passed", passed=5, total=5))
    assert "All tasks tested so far pass" in app.info[-1].value
    assert not any("Next:" in text for text in texts(app.info))
    assert app.get("progress")[0].proto.text == f"10 of 410 points; {len(TASKS) - 1} of {len(TASKS)} tasks not tested since the last change"
    assert "All tasks pass" in open_board(monkeypatch, *(TaskState(id, "passed") for id in TASKS)).success[0].value


def test_the_board_celebrates_a_task_that_has_passed_since_it_was_opened(monkeypatch):
    states = {id: TaskState(id) for id in TASKS} | {"0.1": TaskState("0.1", "passed")}
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: states)
    app = open_page("home")
    assert not app.toast  # it had passed before
    states["0.2"] = TaskState("0.2", "passed")
    assert texts(app.run().toast) == ["**Task 0.2, Testing and debugging, passes:** 10 points."]
    assert app.get("balloons")
    assert not app.run().toast
    states["0.2"] = TaskState("0.2", "stale")
    app.run()
    states["0.2"] = TaskState("0.2", "passed")
    assert not app.run().toast  # once is enough


def test_the_button_runs_the_tests_of_all_tasks(monkeypatch):
    ran = []
    monkeypatch.setattr("course.runner.progress.run_tasks", ran.append)
    open_board(monkeypatch).button[0].click().run()
    assert ran == [TASKS]


# Module 0


def test_the_operator_page_says_at_which_point_a_curve_is_wrong(monkeypatch):
    app = open_with(
        monkeypatch, "m0_operators", "minitorch.operators.relu", "return abs(x)", "minitorch/operators.py", "x", operator="relu"
    )
    assert "relu(-5) expected 0, got 5" in app.error[0].value.replace("\\", "")
    rows = {row["curve"]: row["y"] for row in specs(app)[0]["layer"][0]["data"]["values"] if row["x"] == -5}
    assert rows == {"relu(x)": 5.0, "relu_back(x, 1)": 0.0, "relu(x), expected": 0.0}
    app = open_with(monkeypatch, "m0_operators", "minitorch.operators.max", "return x", "minitorch/operators.py", "x, y", operator="max")
    assert "max(-5, 1) expected 1, got -5" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("operator", ["sigmoid", "relu", "log", "exp", "inv", "neg", "id", "add", "mul", "max", "lt", "eq", "is_close"])
def test_the_operator_page_finds_no_fault_in_right_curves(operator):
    assert not open_page("m0_operators", operator=operator).error


def test_the_operator_page_refuses_lists_of_words():
    app = open_page("m0_operators", operator="addLists")
    app.text_input[0].set_value("1, two").run()
    assert "expected numbers separated by commas" in app.error[0].value


def test_the_module_tree_is_shown_although_train_and_eval_are_unwritten(monkeypatch):
    replace_function(monkeypatch, "minitorch.module.Module.eval", unwritten("0.4"))
    app = open_page("m0_modules")
    app.segmented_control(key="mode").set_value("eval()").run()
    assert "Task 0\\.4 is not written yet" in app.info[0].value
    assert "named_parameters()" in texts(app.subheader)


def test_the_module_tree_has_every_module_and_parameter_with_its_mode():
    app = open_page("m0_modules", module="Pair: two children and a parameter")
    app.segmented_control(key="mode").set_value("eval()").run()
    app.selectbox(key="where").set_value("left").run()
    drawn = json.loads(app.get("bidi_component")[0].proto.json)
    modules = re.findall(r'class="module (\w+)( selected)?" data-pick="([^"]*)"', drawn)
    assert modules == [("training", "", "."), ("evaluation", " selected", "left."), ("training", "", "right.")]
    named = dict(re.findall(r'class="parameter"><b>(\w+)</b> ([^<]*)<', drawn))
    assert named == {"scale": "3.0", "slope": "-2.0", "shift": "0.5"}  # those of right replace those of left, which have the same names
    assert drawn.count("<li>") == 3 + 5
    assert "3 modules, 2 in training mode, 1 in evaluation mode." in page_text(app)


def test_the_manual_page_counts_errors_and_shows_the_code_of_the_line():
    app = open_page("m0_manual")
    assert not app.session_state["manual_separated"]  # the first line does not separate the points
    for key, value in {"weight_1": -10.0, "weight_2": 0.0, "bias": 5.0}.items():
        app.number_input(key=key).set_value(value).run()
    assert app.session_state["manual_separated"]  # Simple has label 1 where x_1 < 1/2
    assert app.code[0].value == "return (-10.0, 0.0, 5.0)"


# Module 1


def test_the_derivative_page_has_the_analytic_and_the_numerical_derivative_of_every_place():
    table = open_page("m1_derivative", fx="x ** 3").session_state["derivative_table"]
    assert (derivative.PLACES[140], derivative.EPSILONS[1], derivative.AROUND[160]) == (2, 0.1, 2)
    # ((2.1)³ - (1.9)³) / 0.2, the derivative, and the value
    assert [table["numeric"][1][140], table["slopes"][140], table["heights"][160]] == pytest.approx([12.01, 12, 8])


def test_a_place_where_a_function_or_its_derivative_is_undefined_is_a_gap():
    app = open_page("m1_derivative", fx="sqrt(x)", at="0.5")
    table = app.session_state["derivative_table"]
    assert table["heights"][:121] == 120 * [None] + [0]
    assert table["slopes"][:102] == [*101 * [None], pytest.approx(0.5 / 0.05**0.5)]  # 1 / 0 at 0 is an error of no code
    assert table["numeric"][0][119:121] == [None, pytest.approx(2**0.5 / 2)]  # at 1, with epsilon 1: (√2 - √0) / 2
    assert not app.error
    assert "undefined within epsilon of x = 0.5" in page_text(app)
    assert open_page("m1_derivative", at="77").number_input(key="at").value == 5


def test_a_backward_pass_that_fails_everywhere_is_an_error(monkeypatch):
    target, file = "minitorch.scalar.Mul.backward", "minitorch/scalar_functions.py"
    app = open_with(monkeypatch, "m1_derivative", target, 'raise ValueError("broken")', file, fx="x * x")
    assert "ValueError: broken" in page_text(app)


def test_values_that_are_not_finite_are_gaps():
    table = open_page("m1_derivative", fx="x * 1e308 * 1e308").session_state["derivative_table"]
    assert [each for each in table["heights"] if each is not None] == [0]
    specs = [element.proto.spec for element in open_page("m2_functions", one="x.sqrt()").get("vega_lite_chart")]
    assert specs
    assert not any("NaN" in spec or "Infinity" in spec for spec in specs)


def test_the_graph_is_drawn_before_backpropagation_is_written(monkeypatch):
    app = open_with(monkeypatch, "m1_graph", "project.lab.explorers.graph.topological_sort", unwritten("1.4"))
    assert "Task 1\\.4 is not written yet" in app.info[0].value
    data, step = graph(app)
    assert "The backward pass needs code that is not written yet" in step["sentence"]
    assert len(data["nodes"]) == 8
    assert len(data["steps"]) == 1


def test_a_trace_shows_the_sign_of_each_derivative_as_a_color():
    forward, reverse = (table.value.iloc[:, 2] for table in open_page("m1_trace", trace_f="x1 - x2").table)
    assert list(forward) == [":blue-background[1.0000]", ":gray-background[0.0000]", ":gray-background[0.0000]", ":blue-background[1.0000]"]
    assert list(reverse)[::-1][:2] == [":blue-background[1.0000]", ":orange-background[-1.0000]"]


@pytest.mark.parametrize(("page", "steps", "field", "last"), [("m1_graph", "moment", "f", 8), ("m2_graph", "step", "tf", 5)])
def test_the_step_is_clamped_to_the_graph_of_a_shorter_expression(page, steps, field, last):
    app = fill(open_page(page), **{steps: last})
    assert graph(app)[0]["moment"] == len(graph(app)[0]["steps"]) - 1 == last
    assert graph(fill(app, **{field: "x * y"}))[0]["moment"] == 3
    assert app.session_state[steps] == 3
