"""The training pages of Modules 1 to 3: their buttons, their settings, and their messages for unwritten or wrong code."""

from types import SimpleNamespace

import pytest

import minitorch
from project.lab import registry
from project.lab.charts import charts
from project.lab.training import page as training_page
from project.lab.training import run_files
from tests.project.pages import epoch, fill, ignore_saved_files, open_page, open_with, press, texts, unwritten  # noqa: F401  a fixture

CHANGED = "The learning rate was changed"


def test_step_trains_one_epoch_and_updates_the_pictures():
    app = open_page("m2_training", points="10")
    assert epoch(app) == 0
    assert len(app.get("vega_lite_chart")) == 1  # no curves yet
    press(app, "step")
    assert epoch(app) == 1
    assert len(app.get("vega_lite_chart")) == 2
    assert any("After 1 epochs" in text for text in texts(app.caption))
    assert epoch(press(app, "step")) == 2


@pytest.mark.parametrize("page", ["m1_training", "m2_training"])
def test_start_trains_pause_stops_and_reset_starts_over(page):
    app = press(open_page(page, points="10", hidden="2", epochs="10000"), "start")
    assert app.button(key="start").disabled
    assert app.button(key="step").disabled
    for _ in range(3):
        app.run()
    paused = epoch(press(app, "pause"))
    assert paused > 0
    assert epoch(app.run()) == paused
    assert epoch(press(app, "reset")) == 0
    assert not app.button(key="start").disabled


def test_training_ends_after_the_last_epoch_and_shows_the_time_of_each():
    app = press(open_page("m2_training", points="4", epochs="2"), "start")
    app.run()
    assert app.metric[0].value == "2 / 2"
    assert [metric.label for metric in app.metric] == ["Epoch", "Loss", "Correct points", "Seconds per epoch"]
    assert float(app.metric[3].value) >= 0
    assert app.button(key="start").disabled
    assert app.button(key="pause").disabled


@pytest.mark.parametrize(("page", "program"), [("m1_training", "run_scalar"), ("m2_training", "run_tensor")])
def test_the_address_contains_the_setting_and_the_command_repeats_it(page, program):
    app = open_page(page, dataset="Xor", hidden="5", rate="0.2", points="20", epochs="30", seed="3")
    assert app.code[0].value == f"python project/{program}.py --dataset Xor --points 20 --hidden 5 --rate 0.2 --epochs 30 --seed 3"
    assert "--hidden 6" in fill(app, hidden=6).code[0].value


@pytest.mark.parametrize("page", ["m1_training", "m2_training"])
def test_changing_a_setting_restarts_training_and_changing_the_rate_does_not(page):
    app = press(open_page(page, points="10"), "step")
    assert epoch(fill(app, rate=0.25)) == 1
    assert any(CHANGED in text for text in texts(app.caption))
    assert epoch(fill(app, seed=1)) == 0
    assert not any(CHANGED in text for text in texts(app.caption))


def test_a_rate_changed_before_the_first_step_applies_to_the_whole_run():
    app = press(fill(open_page("m1_training", points="10"), rate=2.0), "step")
    assert "--rate 2.0" in app.code[0].value
    assert not any(CHANGED in text for text in texts(app.caption))


@pytest.mark.parametrize(
    ("first", "then", "hidden", "epochs", "program"),
    [("m1_training", "m2_training", "10", "1000", "run_tensor"), ("m2_training", "m1_training", "2", "500", "run_scalar")],
)
def test_another_training_page_does_not_continue_the_run_of_this_page(first, then, hidden, epochs, program):
    app = press(open_page(first, hidden=hidden, epochs=epochs), "step")
    assert epoch(app) == 1
    options = app.code[0].value.split(".py ")[1]
    fill(app, **registry.view(then).query)
    assert app.code[0].value == f"python project/{program}.py {options}"  # only the page differs
    assert epoch(app) == 0


def test_another_kind_of_network_has_its_own_defaults_and_the_settings_that_were_changed():
    app = fill(open_page("m1_training", points="10"), training_part="Tensors")
    assert app.code[0].value == "python project/run_tensor.py --dataset Simple --points 10 --hidden 10 --rate 0.5 --epochs 1000 --seed 0"
    app = fill(app, hidden=7, training_part="Scalars")
    assert app.code[0].value == "python project/run_scalar.py --dataset Simple --points 10 --hidden 7 --rate 0.5 --epochs 500 --seed 0"


@pytest.mark.parametrize("link", [True, False])
def test_a_setting_that_is_the_default_of_another_network_stays_when_the_reader_has_given_it(link):
    app = open_page("m1_training", points="10", **({"epochs": "1000"} if link else {}))
    app = fill(app, **({} if link else {"epochs": 1000}), training_part="Tensors")  # whose default is 1000
    assert "--hidden 10 --rate 0.5 --epochs 1000" in app.code[0].value
    assert "--hidden 2 --rate 0.5 --epochs 1000" in fill(app, training_part="Scalars").code[0].value


def test_a_setting_that_was_set_back_to_the_default_stays():
    app = fill(open_page("m1_training", points="10"), hidden=3)
    assert "--hidden 2 " in fill(app, hidden=2, training_part="Tensors").code[0].value


# Unwritten and wrong code


@pytest.mark.parametrize(
    ("page", "target", "task"),
    [("m1_training", "minitorch.scalar.backpropagate", "1.4"), ("m2_training", "minitorch.tensor_functions.Mul.backward", "2.4")],
)
def test_training_that_meets_unwritten_code_stops_and_keeps_the_card(monkeypatch, page, target, task):
    app = press(open_with(monkeypatch, page, target, unwritten(task)), "start")
    card = f"Task {task} is not written yet"
    assert card in app.info[0].value.replace("\\", "")
    assert app.button(key="start").disabled
    assert app.button(key="pause").disabled
    assert card in app.run().info[0].value.replace("\\", "")


# Pace


@pytest.fixture
def clock(monkeypatch):
    """The clock of the page, in a state of the test."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(training_page, "state", SimpleNamespace(running=True, grid=None, pace=training_page.new_pace()))
    monkeypatch.setattr(training_page.time, "perf_counter", lambda: clock.now)
    return clock


def test_training_gets_its_share_of_the_time_over_all_turns(clock, monkeypatch):
    turns = []

    def advance(train):
        train(SimpleNamespace(run_for=turns.append))
        clock.now += turns[-1]

    monkeypatch.setattr(training_page, "advance", advance)
    monkeypatch.setattr(training_page, "SHARE", 0.9)
    for drawing in (0.02, 0.001, 0.03, 5.0, 0.0):
        training_page.train_for_a_turn(clock.now)
        clock.now += drawing
    # The first; 9 · 0.02 without the first; at least 0.05, which is 0.041 too much; 9 · 0.03 - 0.041; at most 0.3.
    assert turns == pytest.approx([0.05, 0.13, 0.05, 0.229, 0.3])


def test_the_page_admits_when_training_gets_little_of_the_time(clock):
    training_page.state.pace = {"since": 100.0, "until": 110.0, "training": 4.0}
    text = "Training got 40% of the time since the last start; drawing this page, or other sessions, took the rest."
    assert training_page.pace_in_words() == text
    training_page.state.pace["training"] = 7.1
    assert training_page.pace_in_words() == ""
    training_page.state.pace = {"since": 100.0, "until": 101.0, "training": 0.1}  # too early to tell
    assert training_page.pace_in_words() == ""


def test_a_slow_boundary_is_computed_in_parts_while_training(clock):
    asked, value = [], [0.0]

    def probabilities(points):
        clock.now += 0.01 * len(points) / 400  # 10 ms for all cells
        asked.append(len(points))
        return [value[0] + x_2 for _, x_2 in points]

    def grid(n):
        values = probabilities([((i + 0.5) / n, (j + 0.5) / n) for j in range(n) for i in range(n)])
        return [values[row : row + n] for row in range(0, n * n, n)]

    trainer = SimpleNamespace(grid=grid, probabilities=probabilities)
    training_page.grid_so_far(trainer)
    value[0] = 1.0
    rows = [training_page.grid_so_far(trainer)[j][7] for j in (0, 1, 2)]
    assert asked == [400, 4 * 20, 4 * 20, 4 * 20]  # five parts of at most 2 ms
    assert rows == pytest.approx([1.025, 1.075, 1.125])  # the centers of rows 0, 1 and 2
    training_page.state.running = False
    training_page.grid_so_far(trainer)
    assert asked[-1] == 400


def test_new_data_leave_the_specification_of_a_chart_as_it_is():
    graph = minitorch.datasets["Xor"](20, 0)
    first, second = (training_page.live(charts.boundary([[p] * 4] * 4, graph)) for p in (0.25, 0.75))
    tables = [spec.pop("datasets") for spec in (first, second)]
    assert first == second
    assert [table["layer 0"]["p"].to_pylist() for table in tables] == [[0.25] * 16, [0.75] * 16]
    assert tables[0]["layer 1"].num_rows == 20


def test_a_session_that_waits_for_its_turn_still_shows_the_page(monkeypatch):
    app = open_page("m2_training", points="10")
    monkeypatch.setattr(training_page, "PATIENCE", 0.05)
    with training_page.turn:
        press(app, "start")
        assert epoch(app) == 0
        assert len(app.get("vega_lite_chart")) == 1
    assert epoch(app.run()) > 0


def test_a_run_of_a_page_is_kept_with_what_was_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path))
    app = press(open_page("m2_training", points="5", epochs="3"), "step")
    press(press(fill(app, rate=0.2), "step"), "reset")
    fill(app, rate=0.5)
    for _ in range(3):
        press(app, "step")
    (finished, stopped), unreadable = run_files.read_all()
    assert unreadable == []
    assert (finished.status, finished.finished, finished.note) == ("finished", 3, "")
    assert (stopped.status, stopped.finished, stopped.note) == ("stopped", 2, run_files.CHANGED)
    assert stopped.curves["loss"][0] == finished.curves["loss"][0]
