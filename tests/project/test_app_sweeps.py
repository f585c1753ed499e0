"""The page of sweeps: the choice, the charts, the table, the best command, and sweeps that are running, failed or damaged."""

import pytest

from project.lab.charts import sweep_chart
from project.lab.sweeps import page, store, trials
from project.lab.sweeps.store import Outcome, Result
from tests.project.pages import ignore_saved_files, open_page, page_text, specs, texts  # noqa: F401  a fixture
from tests.project.test_sweep_search import a_request


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the sweeps."""
    monkeypatch.setenv("MINITORCH_SWEEPS", str(tmp_path))
    return tmp_path


def a_sweep(name, outcomes, **request):
    """A sweep whose first trials have these outcomes, in the folder of the sweeps."""
    request = a_request(program="run_tensor", **request)
    path = store.folder() / name
    store.begin(path, request)
    results = {}
    for outcome in outcomes:
        trial = store.due(request, results)[0]
        results[trial.key] = Result(trial, outcome)
        store.write_result(path, results[trial.key])
    return request, list(results.values())


def reached(accuracy, loss=1.0):
    return Outcome("", {"loss": loss, "accuracy": accuracy}, 2.0, f"python project/run_tensor.py --accuracy {accuracy}")


FAILED = Outcome("ValueError: broken", {}, 0.5, "")


def test_without_sweeps_the_page_shows_a_command_and_what_it_has_found():
    app = open_page("sweeps")
    assert app.info[0].value.startswith("There are no sweeps yet. Run this command in a terminal")
    command = "python project/sweep.py run_tensor --vary rate=0.03,0.1,0.3,1 --vary hidden=2,4,10 --set dataset=Xor"
    assert app.code[0].value == command
    assert store.read_request(page.EXAMPLE).command(page.EXAMPLE) == f"{command} --out project/lab/models/m2_sweep"
    assert "12 of 12 trials have finished." in page_text(app)
    assert [spec["description"].split(":")[0] for spec in specs(app)] == ["Accuracy over rate", "Accuracy over hidden"]


def test_without_the_example_the_page_shows_the_command_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(page, "EXAMPLE", tmp_path / "none")
    assert not open_page("sweeps").dataframe


def test_the_command_is_for_a_program_of_the_workspace(monkeypatch, tmp_path):
    monkeypatch.setattr(trials, "PROJECT", tmp_path)
    assert open_page("sweeps").info[0].value == "There are no sweeps yet. The first training program comes with Module 1."
    (tmp_path / "run_scalar.py").touch()
    assert open_page("sweeps").code[0].value.startswith("python project/sweep.py run_scalar --vary")


def test_a_finished_sweep_shows_the_best_command_the_charts_and_the_table():
    a_sweep("a", [reached(0.5), reached(0.75, 3.0)], vary=["rate=0.1,0.5"])
    app = open_page("sweeps")
    assert "2 of 2 trials have finished." in page_text(app)
    assert "Trial 2 (rate 0.5) reached accuracy 75.0%. To repeat it:" in page_text(app)
    assert texts(app.code) == ["python project/run_tensor.py --accuracy 0.75"]
    (spec,) = specs(app)
    assert spec["description"] == "Accuracy over rate: the best is 75.0% at rate 0.5."
    assert app.dataframe[0].value.to_dict("records") == [
        {"rank": 1, "trial": 2, "rate": 0.5, "accuracy": 0.75, "loss": 3.0, "seconds": 2.0},
        {"rank": 2, "trial": 1, "rate": 0.1, "accuracy": 0.5, "loss": 1.0, "seconds": 2.0},
    ]


def test_an_unfinished_sweep_says_how_it_continues(folder):
    request, _ = a_sweep("a", [reached(0.5)])
    app = open_page("sweeps")
    assert "1 of 2 trials have finished." in page_text(app)
    assert "This command continues the sweep if it was stopped:" in page_text(app)
    assert app.code[0].value == request.command(folder / "a")
    a_sweep("a", [reached(0.5), reached(0.6)])
    app.run()
    assert "2 of 2 trials have finished." in page_text(app)
    assert len(app.code) == 1


def test_failed_trials_are_listed_with_their_error():
    a_sweep("a", [FAILED, reached(0.5)])
    app = open_page("sweeps")
    assert "2 of 2 trials have finished, 1 of them with an error. The first (rate 0.1: ValueError: broken)." in page_text(app)
    rows = app.dataframe[0].value.astype(object).where(app.dataframe[0].value.notna(), None).to_dict("records")
    assert [(row["rank"], row["trial"], row["error"]) for row in rows] == [(1, 2, ""), (None, 1, "ValueError: broken")]


@pytest.mark.parametrize(("outcomes", "finished", "errors"), [([], 0, []), ([FAILED] * 2, 2, ["ValueError: broken"] * 2)])
def test_without_a_successful_trial_there_is_no_chart(outcomes, finished, errors):
    a_sweep("a", outcomes)
    app = open_page("sweeps")
    assert f"{finished} of 2 trials have finished" in page_text(app)
    assert [row["error"] for table in app.dataframe for row in table.value.to_dict("records")] == errors
    assert not specs(app)
    assert len(app.code) == (finished < 2)  # the command that continues


def test_another_sweep_can_be_chosen_and_is_kept_in_the_address():
    a_sweep("old", [reached(0.5)])
    a_sweep("new", [reached(0.9)], vary=["hidden=2,3"])
    app = open_page("sweeps", sweep="old")
    assert app.selectbox[0].value == "old"
    app.selectbox[0].select("new").run()
    assert "Trial 1 (hidden 2)" in page_text(app)
    assert app.query_params["sweep"] in ("new", ["new"])
    assert set(app.selectbox[0].options) == {"run_tensor: rate (grid), old", "run_tensor: hidden (grid), new"}
    assert open_page("sweeps", sweep="unknown").selectbox[0].value in ("old", "new")


def test_values_of_several_types_are_shown_as_text():
    a_sweep("a", [reached(0.5), reached(0.6)], vary=["layers=4,3;8"])
    assert [row["layers"] for row in open_page("sweeps").dataframe[0].value.to_dict("records")] == ["8", "4,3"]


def test_damaged_files_are_reported(folder):
    a_sweep("a", [reached(0.5)])
    (folder / "b").mkdir()
    (folder / "b" / "sweep.json").write_text("{")
    app = open_page("sweeps")
    assert f"{folder / 'b' / 'sweep.json'} is damaged; delete it." in page_text(app)
    assert "1 of 2 trials have finished." in page_text(app)
    (folder / "a" / "trial-1-0001.json").write_text("{")
    assert f"{folder / 'a' / 'trial-1-0001.json'} is damaged; delete it" in page_text(open_page("sweeps"))


# The charts


def layers(name, outcomes, **request):
    """The two layers of the chart of an option: all trials, and the best."""
    return sweep_chart.chart(*a_sweep("a", outcomes, **request), name)["layer"]


def test_each_trial_is_a_point_and_the_best_has_a_ring():
    diverged = Outcome("loss became infinite or not a number", {"loss": None, "accuracy": 0.9}, 1.0, "")
    points, ring = layers("rate", [reached(0.5), diverged, reached(0.75)], vary=["rate=0.1,0.3,0.5"])
    assert [row["accuracy"] for row in points["data"]["values"]] == [0.5, 0.75]
    assert [row["trial"] for row in ring["data"]["values"]] == [3]
    assert points["data"]["values"][0] == {"trial": 1, "rate": 0.1, "accuracy": 0.5}
    assert "color" not in points["encoding"]


@pytest.mark.parametrize(
    ("vary", "scale"),
    [
        ("rate=0.01..0.1", {"type": "log", "domain": [0.01, 0.1]}),
        ("rate=0.01..0.09", {"zero": False, "domain": [0.01, 0.09]}),
        ("rate=10,1,2", {"type": "log", "domain": [1, 10]}),
        ("rate=0,1,2", {"zero": False, "domain": [0, 2]}),
    ],
)
def test_the_axis_of_an_option_is_logarithmic_where_its_range_is(vary, scale):
    points, _ = layers("rate", [reached(0.5)], vary=[vary], search="random", trials=3)
    assert points["encoding"]["x"]["scale"] == {"nice": False} | scale


def test_names_are_in_the_order_of_the_command_line():
    points, _ = layers("dataset", [reached(0.5)], vary=["dataset=Xor,Split,8"])
    assert points["encoding"]["x"]["type"] == "ordinal"
    assert points["encoding"]["x"]["sort"] == ["Xor", "Split", 8]


def test_a_loss_that_differs_by_ten_times_has_a_logarithmic_axis():
    wide, narrow = (layers("rate", [reached(0.5, 1.0), reached(0.5, last)], metric="loss")[0]["encoding"]["y"] for last in (10.0, 9.0))
    assert wide["scale"]["type"] == "log"
    assert "type" not in narrow["scale"]
    assert narrow["field"] == "loss"


def test_each_rung_of_halving_has_a_color():
    outcomes = [reached(accuracy) for accuracy in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)]
    points, ring = layers("rate", outcomes, vary=["rate=0.1..0.5"], search="halving", trials=4, epochs=8, eta=2)
    assert points["encoding"]["color"]["scale"]["domain"] == ["2 epochs", "4 epochs", "8 epochs"]
    assert [row["trained"] for row in points["data"]["values"]] == ["2 epochs"] * 4 + ["4 epochs"] * 2 + ["8 epochs"]
    assert [row["trained"] for row in ring["data"]["values"]] == ["8 epochs"]
