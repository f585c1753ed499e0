"""The training page of Module 2: its buttons, and its messages for unwritten or wrong code."""

import re
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import minitorch
from course.manifest import ROOT, course
from project.lab.training import run_files
from tests.project.pages import epoch, ignore_saved_files, texts  # noqa: F401  the fixture works by being here


def open_page(name="m2_training", app=None, **query):
    app = app or AppTest.from_file(str(ROOT / "project" / "app.py"), default_timeout=60)
    app.run()
    app.switch_page(f"views/{name}.py")
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception[0].message
    return app


# Finished code


def test_step_trains_one_epoch_and_updates_the_pictures():
    app = open_page(points="10")
    assert epoch(app) == 0
    assert len(app.get("vega_lite_chart")) == 1  # no curves yet
    app.button(key="step").click().run()
    assert epoch(app) == 1
    assert len(app.get("vega_lite_chart")) == 2
    assert any("After 1 epochs" in text for text in texts(app.caption))


def test_start_trains_pause_stops_and_reset_starts_over():
    app = open_page(points="10", hidden="2")
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


def test_training_ends_after_the_last_epoch_and_shows_the_time_of_each():
    app = open_page(points="4", epochs="2")
    app.button(key="start").click().run()
    app.run()
    assert app.metric[0].value == "2 / 2"
    assert [metric.label for metric in app.metric] == ["Epoch", "Loss", "Correct points", "Seconds per epoch"]
    assert float(app.metric[3].value) >= 0
    assert app.button(key="start").disabled
    assert app.button(key="pause").disabled


def test_the_command_is_the_tensor_program_with_its_defaults():
    app = open_page()
    assert app.code[0].value == "python project/run_tensor.py --dataset Simple --points 50 --hidden 10 --rate 0.5 --epochs 1000 --seed 0"


def test_the_address_contains_the_setting():
    app = open_page(dataset="Xor", hidden="5", rate="0.2", points="20", epochs="30", seed="3")
    assert app.code[0].value == "python project/run_tensor.py --dataset Xor --points 20 --hidden 5 --rate 0.2 --epochs 30 --seed 3"
    app.number_input(key="hidden").set_value(6).run()
    assert "--hidden 6" in app.code[0].value


def test_a_package_without_compile_has_no_switch(monkeypatch):
    assert open_page().toggle(key="compile").value is False
    monkeypatch.setattr(minitorch, "compile", None)
    assert not open_page().toggle


def test_changing_a_setting_restarts_training_and_changing_the_rate_does_not():
    app = open_page(points="10")
    app.button(key="step").click().run()
    app.number_input(key="rate").set_value(0.25).run()
    assert epoch(app) == 1
    assert any("The learning rate was changed" in text for text in texts(app.caption))
    app.number_input(key="seed").set_value(1).run()
    assert epoch(app) == 0


@pytest.mark.parametrize(
    ("first", "then", "hidden", "epochs", "program"),
    [("m1_training", "m2_training", "10", "1000", "run_tensor"), ("m2_training", "m1_training", "2", "500", "run_scalar")],
)
def test_another_training_page_does_not_continue_the_run_of_this_page(first, then, hidden, epochs, program):
    app = open_page(first, hidden=hidden, epochs=epochs)
    app.button(key="step").click().run()
    assert epoch(app) == 1
    options = app.code[0].value.split(".py ")[1]
    app.switch_page(f"views/{then}.py").run()
    assert app.code[0].value == f"python project/{program}.py {options}"  # only the page differs
    assert epoch(app) == 0


# Unwritten and wrong code


def unwritten_function(task):
    def body(*args, **kwargs):
        raise NotImplementedError(f"Need to implement for Task {task}")

    return body


STUBS = [
    ("project.run_tensor.Network.__init__", "2.5", "project/run_tensor.py"),
    ("project.run_tensor.Linear.forward", "2.5", "project/run_tensor.py"),
    ("minitorch.Tensor.__rmul__", "2.3b", None),
    ("minitorch.Tensor.relu", "2.3b", None),
]


@pytest.mark.parametrize(("target", "task", "file"), STUBS)
def test_unwritten_code_becomes_a_card_with_task_hint_and_command(monkeypatch, target, task, file):
    open_page()  # a test can only patch imported modules
    monkeypatch.setattr(target, unwritten_function(task))
    app = open_page()
    (card,) = [text for text in texts(app.info) if "not written yet" in text]
    title, body = card.split("\n\n", 1)
    assert title.replace("\\", "") == f"**Task {task} is not written yet: open {file or course().task(task).files[0]}**"
    assert body.startswith("Book: ")
    assert f"`course test {task}`" in body
    assert not app.error


def test_training_that_meets_unwritten_code_stops_and_keeps_the_card(monkeypatch):
    open_page()
    monkeypatch.setattr("minitorch.tensor_functions.Mul.backward", staticmethod(unwritten_function("2.4")))
    app = open_page()
    app.button(key="start").click().run()
    assert "Task 2\\.4 is not written yet" in app.info[0].value
    assert app.button(key="start").disabled
    assert app.button(key="pause").disabled
    app.run()
    assert "Task 2\\.4 is not written yet" in app.info[0].value


def test_a_layer_that_returns_nothing_is_named(monkeypatch):
    open_page()
    monkeypatch.setattr("project.run_tensor.Linear.forward", lambda self, inputs: None)
    app = open_page()
    title = app.error[0].value.replace("\\", "").split("\n")[0]
    assert re.fullmatch(r"\*\*project/run_tensor\.py, line \d+: AttributeError: 'NoneType' object has no attribute 'relu'\*\*", title)


def test_incompatible_shapes_are_reported_with_the_student_s_line(monkeypatch):
    open_page()
    names = {}
    source = "def forward(self, inputs):\n    return inputs * self.weights.value\n"
    exec(compile(source, str(ROOT / "project" / "run_tensor.py"), "exec"), names)
    monkeypatch.setattr("project.run_tensor.Linear.forward", names["forward"])
    app = open_page()
    shown = app.error[0].value.replace("\\", "")
    assert "IndexingError: Mul: shapes (400, 2) and (2, 10) do not broadcast" in shown  # the 20 × 20 cells of the picture
    assert "in `forward`" in shown


# Pace


@pytest.fixture
def page(monkeypatch):
    """The module of the page, with a state and a clock of the test."""
    from project.lab.training import page

    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(page, "state", SimpleNamespace(running=True, grid=None, pace=page.new_pace()))
    monkeypatch.setattr(page.time, "perf_counter", lambda: clock.now)
    return SimpleNamespace(page=page, clock=clock)


def test_training_gets_its_share_of_the_time_over_all_turns(page, monkeypatch):
    turns = []

    def advance(train):
        train(SimpleNamespace(run_for=turns.append))
        page.clock.now += turns[-1]

    monkeypatch.setattr(page.page, "advance", advance)
    monkeypatch.setattr(page.page, "SHARE", 0.9)
    for drawing in (0.02, 0.001, 0.03, 5.0, 0.0):
        page.page.train_for_a_turn(page.clock.now)
        page.clock.now += drawing
    # The first; 9 · 0.02 without the first; at least 0.05, which is 0.041 too much; 9 · 0.03 - 0.041; at most 0.3.
    assert turns == pytest.approx([0.05, 0.13, 0.05, 0.229, 0.3])


def test_the_page_admits_when_training_gets_little_of_the_time(page):
    page.page.state.pace = {"since": 100.0, "until": 110.0, "training": 4.0}
    text = "Training got 40% of the time since the last start; drawing this page, or other sessions, took the rest."
    assert page.page.pace_in_words() == text
    page.page.state.pace["training"] = 7.1
    assert page.page.pace_in_words() == ""
    page.page.state.pace = {"since": 100.0, "until": 101.0, "training": 0.1}  # too early to tell
    assert page.page.pace_in_words() == ""


def test_a_slow_boundary_is_computed_in_parts_while_training(page):
    asked, value = [], [0.0]

    def probabilities(points):
        page.clock.now += 0.01 * len(points) / 400  # 10 ms for all cells
        asked.append(len(points))
        return [value[0] + x_2 for _, x_2 in points]

    def grid(n):
        values = probabilities([((i + 0.5) / n, (j + 0.5) / n) for j in range(n) for i in range(n)])
        return [values[row : row + n] for row in range(0, n * n, n)]

    trainer = SimpleNamespace(grid=grid, probabilities=probabilities)
    page.page.grid_so_far(trainer)
    value[0] = 1.0
    rows = [page.page.grid_so_far(trainer)[j][7] for j in (0, 1, 2)]
    assert asked == [400, 4 * 20, 4 * 20, 4 * 20]  # five parts of at most 2 ms
    assert rows == pytest.approx([1.025, 1.075, 1.125])  # the centers of rows 0, 1 and 2
    page.page.state.running = False
    page.page.grid_so_far(trainer)
    assert asked[-1] == 400


def test_new_data_leave_the_specification_of_a_chart_as_it_is(page):
    from project.lab.charts import charts

    graph = minitorch.datasets["Xor"](20, 0)
    first, second = (page.page.live(charts.boundary([[p] * 4] * 4, graph)) for p in (0.25, 0.75))
    tables = [spec.pop("datasets") for spec in (first, second)]
    assert first == second
    assert [table["layer 0"]["p"].to_pylist() for table in tables] == [[0.25] * 16, [0.75] * 16]
    assert tables[0]["layer 1"].num_rows == 20


def test_a_session_that_waits_for_its_turn_still_shows_the_page(monkeypatch):
    app = open_page(points="10")
    from project.lab.training import page

    monkeypatch.setattr(page, "PATIENCE", 0.05)
    with page.turn:
        app.button(key="start").click().run()
        assert epoch(app) == 0
        assert len(app.get("vega_lite_chart")) == 1
    app.run()
    assert epoch(app) > 0


def test_a_run_of_a_page_is_kept_with_what_was_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path))
    app = open_page("m2_training", points="5", epochs="3")
    app.button(key="step").click().run()
    app.number_input(key="rate").set_value(0.2).run()
    app.button(key="step").click().run()
    app.button(key="reset").click().run()
    app.number_input(key="rate").set_value(0.5).run()
    for _ in range(3):
        app.button(key="step").click().run()
    (finished, stopped), unreadable = run_files.read_all()
    assert unreadable == []
    assert (finished.status, finished.finished, finished.note) == ("finished", 3, "")
    assert (stopped.status, stopped.finished, stopped.note) == ("stopped", 2, run_files.CHANGED)
    assert stopped.curves["loss"][0] == finished.curves["loss"][0]
