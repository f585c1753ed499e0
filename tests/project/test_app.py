"""Every page of the app, with finished, unwritten and broken code."""

import sys

import pytest
from streamlit.testing.v1 import AppTest

from course.manifest import ROOT, course
from course.runner.progress import TaskState
from project.lab import registry
from tests.project.pages import epoch, ignore_saved_files, open_page, texts  # noqa: F401  the fixture works by being here

PAGES = [row.name for row in registry.VIEWS]


def stub(monkeypatch, target, task, static=False):
    def unwritten(*args, **kwargs):
        raise NotImplementedError(f"Need to implement for Task {task}")

    monkeypatch.setattr(target, staticmethod(unwritten) if static else unwritten)


def test_a_thread_that_trains_gives_way_to_the_others_after_a_millisecond():
    sys.setswitchinterval(0.005)
    open_page("home")
    assert sys.getswitchinterval() == pytest.approx(0.001)


# Finished code


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_finished_code_without_a_notice_of_trouble(name):
    app = open_page(name)
    assert len(app.title) == 1
    assert not app.error
    assert not app.warning
    assert not [text for text in texts(app.info) if "not written" in text]


def test_the_app_opens_the_board_first():
    app = AppTest.from_file(str(ROOT / "project" / "app.py"), default_timeout=60).run()
    assert texts(app.title) == ["MiniTorch"]


# Code that is not written yet: the page says so, and where to start

STUBS = [
    ("m0_operators", "minitorch.operators.sigmoid", "0.1", "minitorch/operators.py", {}),
    ("m0_operators", "minitorch.operators.relu_back", "0.1", "minitorch/operators.py", {"operator": "relu"}),
    ("m0_operators", "minitorch.operators.zipWith", "0.3", "minitorch/operators.py", {"operator": "zipWith"}),
    ("m0_modules", "minitorch.module.Module.named_parameters", "0.4", "minitorch/module.py", {}),
    ("m0_manual", "project.run_manual.separating_line", "0.5", "project/run_manual.py", {}),
    ("m1_derivative", "minitorch.central_difference", "1.1", "minitorch/autodiff.py", {}),
    ("m1_derivative", "minitorch.scalar.Sigmoid.forward", "1.2", "minitorch/scalar_functions.py", {"fx": "sigmoid(x)"}),
    ("m1_graph", "minitorch.scalar.Mul.forward", "1.2", "minitorch/scalar_functions.py", {}),
    ("m1_graph", "project.lab.explorers.graph.topological_sort", "1.4", "minitorch/autodiff.py", {}),
    ("m1_graph", "minitorch.scalar.backpropagate", "1.4", "minitorch/autodiff.py", {}),
    ("m1_trace", "minitorch.scalar.Scalar.chain_rule", "1.3", "minitorch/scalar.py", {}),
    ("m1_training", "project.run_scalar.Network.__init__", "1.5", "project/run_scalar.py", {}),
    ("m1_training", "project.run_scalar.Linear.forward", "1.5", "project/run_scalar.py", {}),
    ("m1_training", "minitorch.scalar.ReLU.forward", "1.2", "minitorch/scalar_functions.py", {}),
    ("m2_strides", "minitorch.TensorData.permute", "2.1", "minitorch/tensor_data.py", {}),
    ("m2_strides", "project.lab.explorers.strides.index_to_position", "2.1", "minitorch/tensor_data.py", {}),
    ("m2_strides", "project.lab.explorers.strides.to_index", "2.1", "minitorch/tensor_data.py", {}),
    ("m2_broadcasting", "project.lab.explorers.broadcasting.shape_broadcast", "2.2", "minitorch/tensor_data.py", {}),
    ("m2_broadcasting", "project.lab.explorers.broadcasting.broadcast_index", "2.2", "minitorch/tensor_data.py", {}),
]


@pytest.mark.parametrize(("page", "target", "task", "file", "query"), STUBS)
def test_unwritten_code_becomes_a_card_with_task_file_hint_and_command(monkeypatch, page, target, task, file, query):
    open_page(page)  # a test can only patch imported modules
    stub(monkeypatch, target, task, static=".forward" in target and "Linear" not in target)
    app = open_page(page, **query)
    cards = [text for text in texts(app.info) if "not written yet" in text]
    assert cards, "no card"
    title, body = cards[0].split("\n\n", 1)
    assert title.replace("\\", "") == f"**Task {task} is not written yet: open {file}**"
    assert body.startswith("Book: ")
    assert len(cards) == len(set(cards)), "the same card twice"
    assert f"`course test {task}`" in body
    assert course().task(task).page in body
    assert not app.error


def test_the_module_tree_is_shown_although_train_and_eval_are_unwritten(monkeypatch):
    stub(monkeypatch, "minitorch.module.Module.eval", "0.4")
    app = open_page("m0_modules")
    app.segmented_control(key="mode").set_value("eval()").run()
    assert "Task 0\\.4 is not written yet" in app.info[0].value
    assert "named_parameters()" in texts(app.subheader)


def test_training_that_meets_unwritten_code_stops_and_keeps_the_card(monkeypatch):
    stub(monkeypatch, "minitorch.scalar.backpropagate", "1.4")
    app = open_page("m1_training")
    app.button(key="start").click().run()
    assert "Task 1\\.4 is not written yet" in app.info[0].value
    assert app.button(key="start").disabled
    assert app.button(key="pause").disabled
    app.run()
    assert "Task 1\\.4 is not written yet" in app.info[0].value


# Broken code


def test_a_page_shows_the_students_frame_and_inputs_when_their_code_raises(monkeypatch):
    names = {}
    exec(compile("def sigmoid(x):\n    return x / 0", str(ROOT / "minitorch" / "operators.py"), "exec"), names)
    monkeypatch.setattr("minitorch.operators.sigmoid", names["sigmoid"])
    app = open_page("m0_operators")
    assert "ZeroDivisionError" in app.error[0].value
    assert "with `x = 1.0`" in app.error[0].value


def test_a_missing_return_is_named_on_the_page(monkeypatch):
    monkeypatch.setattr("minitorch.operators.sigmoid", lambda x: None)
    app = open_page("m0_operators")
    assert "is the return missing" in app.error[0].value


def test_a_missing_return_in_training_is_named(monkeypatch):
    open_page("m1_training")
    monkeypatch.setattr("minitorch.scalar.Scalar.log", lambda self: None)
    app = open_page("m1_training")
    app.button(key="start").click().run()
    assert "is a return missing" in app.error[0].value


# The board


def states(**known):
    return {task.id: known.get(f"t{task.id.replace('.', '_')}", TaskState(task.id)) for task in course().tasks}


def test_the_board_says_if_the_tests_have_not_run(monkeypatch):
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: states())
    app = open_page("home")
    assert "The tests have not run on these files yet" in app.info[0].value
    assert sum("not tested" in text for text in texts(app.markdown)) == len(course().tasks)


def test_the_board_shows_each_state_as_a_word_and_the_next_task(monkeypatch):
    known = states(
        t0_1=TaskState("0.1", "passed", passed=9, total=9),
        t0_2=TaskState("0.2", "failing", passed=2, failing=1, total=3),
        t0_3=TaskState("0.3", "todo", todo=5, total=5),
        t1_4=TaskState("1.4", "blocked", blocked=4, total=4, blocked_by=("1.2", "1.3")),
    )
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: known)
    app = open_page("home")
    shown = "\n".join(texts(app.markdown))
    for words in ("passed]", "failing, 2 of 3 tests]", "to write, 0 of 5 tests]", "waiting for Task 1.2, 1.3, 0 of 4 tests]"):
        assert words in shown
    assert "Next: Task 0.2, Testing and debugging." in app.info[0].value


def test_the_board_distinguishes_untested_tasks_from_open_ones(monkeypatch):
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: states(t0_3=TaskState("0.3", "passed", passed=5, total=5)))
    app = open_page("home")
    assert "All tasks tested so far pass" in app.info[0].value
    assert not any("Next:" in text for text in texts(app.info))
    assert app.get("progress")[0].proto.text == "10 of 410 points; 29 of 30 tasks not tested since the last change"


def test_the_board_congratulates_when_every_task_has_passed(monkeypatch):
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: {task.id: TaskState(task.id, "passed") for task in course().tasks})
    assert "All tasks pass" in open_page("home").success[0].value


def test_the_button_runs_the_tests_of_all_tasks(monkeypatch):
    ran = []
    monkeypatch.setattr("course.runner.progress.run_tasks", ran.append)
    monkeypatch.setattr("course.runner.progress.cached_states", lambda: states())
    open_page("home").button[0].click().run()
    assert ran == [[task.id for task in course().tasks]]


# What the pages show


def test_the_operator_page_computes_with_lists():
    app = open_page("m0_operators", operator="addLists")
    assert "addLists(a, b) = [11.0, 22.0, 33.0]" in app.code[0].value
    app.text_input[0].set_value("1, two").run()
    assert "expected numbers separated by commas" in app.error[0].value


def test_eval_on_a_child_reaches_its_subtree_only():
    app = open_page("m0_modules")
    app.selectbox(key="module").set_value("Tower: two levels of children").run()
    app.selectbox(key="where").set_value("base").run()
    app.segmented_control(key="mode").set_value("eval()").run()
    assert "5 modules, 2 in training mode, 3 in evaluation mode." in texts(app.caption)


def test_the_manual_page_counts_errors_and_shows_the_code_of_the_line():
    app = open_page("m0_manual")
    app.slider(key="weight_1").set_value(-10.0).run()
    app.slider(key="weight_2").set_value(0.0).run()
    app.slider(key="bias").set_value(5.0).run()
    assert app.metric[0].value == "50 / 50"  # Simple has label 1 where x_1 < 1/2
    assert app.code[0].value == "return (-10.0, 0.0, 5.0)"


def test_the_manual_page_starts_with_a_line_that_does_not_separate_the_points():
    assert open_page("m0_manual").metric[0].value != "50 / 50"


def test_the_derivative_page_compares_the_analytic_and_the_numerical_derivative():
    app = open_page("m1_derivative", fx="x ** 3")
    app.slider(key="at").set_value(2.0).run()
    app.select_slider(key="epsilon").set_value(0.1).run()
    central, autodiff, difference = texts(app.metric)
    assert float(autodiff) == pytest.approx(12.0)
    assert float(central) == pytest.approx(12.01)  # ((2.1)³ - (1.9)³) / 0.2
    assert float(difference) == pytest.approx(0.01)


def test_the_error_curve_omits_steps_outside_the_domain():
    app = open_page("m1_derivative", fx="sqrt(x)")
    app.slider(key="at").set_value(0.05).run()
    app.select_slider(key="epsilon").set_value(0.001).run()
    assert not app.error
    assert any("Error of the central difference against epsilon" in text for text in texts(app.caption))


def test_an_infinite_value_is_a_gap_in_the_curve():
    app = open_page("m1_derivative", fx="x * 1e308 * 1e308")
    specs = [element.proto.spec for element in app.get("vega_lite_chart")]
    assert specs
    assert not any("NaN" in spec or "Infinity" in spec for spec in specs)


def test_a_point_outside_the_domain_is_reported():
    app = open_page("m1_derivative", fx="sqrt(x - 3)")
    assert "The function is undefined at x = 1" in app.warning[0].value
    app.slider(key="at").set_value(3.0).run()
    assert "undefined within epsilon of x = 3" in app.warning[0].value


@pytest.mark.parametrize(("page", "field"), [("m1_graph", "f"), ("m1_derivative", "fx"), ("m1_trace", "trace_f")])
def test_typed_code_is_refused_with_a_message(page, field):
    app = open_page(page)
    app.text_input(key=field).set_value('__import__("os")').run()
    assert "unknown function" in app.error[0].value
    assert not app.exception


@pytest.mark.parametrize(("page", "field"), [("m1_graph", "f"), ("m1_trace", "trace_f")])
def test_an_expression_without_variables_is_explained(page, field):
    app = open_page(page)
    app.text_input(key=field).set_value("1 + 2").run()
    assert "no variable" in app.info[0].value


def test_the_graph_is_drawn_before_backpropagation_is_written(monkeypatch):
    stub(monkeypatch, "project.lab.explorers.graph.topological_sort", "1.4")
    app = open_page("m1_graph")
    assert "Task 1\\.4 is not written yet" in app.info[0].value
    assert "The backward pass needs code that is not written yet" in app.info[1].value
    assert "8 nodes" in app.caption[1].value


def test_backpropagation_can_be_stepped_forward_and_back():
    app = open_page("m1_graph", f="x * y")
    assert "The backward pass has not started" in app.info[0].value
    app.button(key="forward").click().run()
    assert "The chain rule passes 2 to x and 1 to y." in app.info[0].value
    app.button(key="back").click().run()
    assert "The backward pass has not started" in app.info[0].value
    assert app.button(key="back").disabled


def test_the_step_is_clamped_to_the_graph_of_a_shorter_expression():
    app = open_page("m1_graph")
    app.slider(key="moment").set_value(8).run()
    assert app.button(key="forward").disabled
    app.text_input(key="f").set_value("x * y").run()
    assert app.slider(key="moment").value == 3


def test_an_example_replaces_the_expression():
    app = open_page("m1_graph")
    app.selectbox(key="example").set_value("A shared subexpression").run()
    assert app.text_input(key="f").value == "(x + y) * (x + y)"


def test_the_trace_page_shows_the_worked_example():
    app = open_page("m1_trace")
    words = " ".join(texts(app.caption))
    assert "with respect to all inputs: 5.5000 for x1, 1.7163 for x2" in words
    app.selectbox(key="seed_input").set_value("x2").run()
    assert "One pass gives the derivative with respect to x2: 1.7163." in " ".join(texts(app.caption))


# Training


def test_step_trains_one_epoch():
    app = open_page("m1_training")
    assert epoch(app) == 0
    app.button(key="step").click().run()
    assert epoch(app) == 1
    app.button(key="step").click().run()
    assert epoch(app) == 2


def test_start_trains_pause_stops_and_reset_starts_over():
    app = open_page("m1_training", points="10", epochs="10000")
    app.button(key="start").click().run()
    assert app.button(key="start").disabled
    assert app.button(key="step").disabled
    for _ in range(3):
        app.run()
    assert epoch(app) > 0
    app.button(key="pause").click().run()
    paused = epoch(app)
    app.run()
    assert epoch(app) == paused
    app.button(key="reset").click().run()
    assert epoch(app) == 0
    assert not app.button(key="start").disabled


def test_training_ends_after_the_last_epoch():
    app = open_page("m1_training", points="4", epochs="2")
    app.button(key="start").click().run()
    app.run()
    assert app.metric[0].value == "2 / 2"
    assert app.button(key="start").disabled
    assert app.button(key="pause").disabled


def test_the_address_contains_the_setting_and_the_command_repeats_it():
    app = open_page("m1_training", dataset="Xor", hidden="5", rate="0.2", points="20", epochs="30", seed="3")
    assert app.code[0].value == "python project/run_scalar.py --dataset Xor --points 20 --hidden 5 --rate 0.2 --epochs 30 --seed 3"
    app.number_input(key="hidden").set_value(6).run()
    assert "--hidden 6" in app.code[0].value


def test_changing_a_setting_restarts_training_and_changing_the_rate_does_not():
    app = open_page("m1_training", points="10")
    app.button(key="step").click().run()
    app.number_input(key="rate").set_value(0.25).run()
    assert epoch(app) == 1
    assert any("The learning rate was changed" in text for text in texts(app.caption))
    app.number_input(key="seed").set_value(1).run()
    assert epoch(app) == 0
    assert not any("The learning rate was changed" in text for text in texts(app.caption))


def test_a_rate_changed_before_the_first_step_applies_to_the_whole_run():
    app = open_page("m1_training", points="10")
    app.number_input(key="rate").set_value(2.0).run()
    app.button(key="step").click().run()
    assert "--rate 2.0" in app.code[0].value
    assert not any("The learning rate was changed" in text for text in texts(app.caption))


def test_saving_a_file_starts_a_new_run(monkeypatch):
    app = open_page("m1_training", points="10")
    app.button(key="step").click().run()
    app.session_state["made_from"] = None  # as if the file had another modification time
    app.run()
    assert epoch(app) == 0
