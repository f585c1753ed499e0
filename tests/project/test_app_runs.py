"""The page of training runs and the latest runs on the board; the comparison in words, and the exports."""

import csv
import io
import json
import zipfile

import pytest

from project.lab.charts import run_curves
from project.lab.training import run_files, runs_comparison, runs_export
from project.lab.training.run_files import RunFile
from tests.project.pages import ignore_saved_files, open_page, page_text, press, specs, texts  # noqa: F401  a fixture

POINTS = {"dataset": "Xor", "points": 20, "hidden": 5, "rate": 0.25, "epochs": 30, "seed": 3}
FAST = POINTS | {"hidden": 12, "eager": True, "backend": "cpu"}
IMAGES = {"dataset": "digits", "epochs": 2, "rate": 0.125, "batch": 24, "seed": 3, "eager": False, "momentum": 0.5, "limit": 48}
SENTENCES = {"dataset": "sentences", "epochs": 2, "rate": 0.125, "batch": 5, "seed": 3, "eager": False, "embeddings": "drawn"}
UNITS = {"network": "scalars", "dataset": "Circle", "points": 12, "noise": 0.1, "test": 20, "file": "", "features": "x1,x1^2"}
UNITS |= {"layers": "2", "activation": "relu", "optimizer": "Adam", "rate": 0.25, "batch": 5, "regularization": "L2", "penalty": 0.5}
UNITS |= {"epochs": 9, "seed": 3}
COMMANDS = {
    "run_scalar": (POINTS, "--dataset Xor --points 20 --hidden 5 --rate 0.25 --epochs 30 --seed 3"),
    "run_tensor": (POINTS, "--dataset Xor --points 20 --hidden 5 --rate 0.25 --epochs 30 --seed 3"),
    "run_fast_tensor": (FAST, "--dataset Xor --points 20 --hidden 12 --rate 0.25 --epochs 30 --seed 3 --eager --backend cpu"),
    "run_mnist_multiclass": (
        IMAGES | {"dtype": "float64"},
        "--dataset digits --epochs 2 --rate 0.125 --batch 24 --seed 3 --momentum 0.5 --limit 48 --dtype float64",
    ),
    "run_sentiment": (
        SENTENCES | {"train": 40, "valid": 10, "optimizer": "adam"},
        "--dataset sentences --epochs 2 --rate 0.125 --batch 5 --seed 3 --embeddings drawn --train 40 --valid 10 --optimizer adam",
    ),
    "run_playground": (
        UNITS,
        "--network scalars --dataset Circle --points 12 --noise 0.1 --test 20 --features 'x1,x1^2' --layers 2 --activation relu "
        "--optimizer Adam --rate 0.25 --batch 5 --regularization L2 --penalty 0.5 --epochs 9 --seed 3",
    ),
}
"""By program: settings other than the defaults, and the options of the command line that has them."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the runs."""
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path))
    return tmp_path


def a_run(second, program="run_scalar", settings=POINTS, loss=(3.0, 1.5), **changes):
    """A run that started in this second, written to the folder."""
    epochs = list(range(1, len(loss) + 1))
    id, started = f"20260102-0304{second:02}-000-{program}-abcdef", f"2026-01-02T03:04:{second:02}+00:00"
    command = f"python project/{program}.py {COMMANDS[program][1] if program in COMMANDS else ''}"
    curves = {"epoch": epochs, "loss": list(loss), "accuracy": [0.5 + 0.25 * (epoch > 1) for epoch in epochs]}
    facts = {"id": id, "program": program, "settings": settings, "command": command, "seed": 3, "digest": run_files.digest(program)}
    facts |= {"started": started, "seconds": 1.25, "status": "finished", "note": "", "unit": "epoch", "finished": len(loss)}
    facts |= {"total": len(loss), "resumable_at": None, "curves": curves}
    run = RunFile(**facts | changes)
    (run_files.folder() / f"{run.id}.json").write_bytes(run.to_json())
    return run


CLASSIFIER = {"epoch": [1, 2], "loss": [2.0, 1.0], "train_accuracy": [0.25, 0.5], "valid_accuracy": [0.4, 0.6]}
GPT = {"step": [50, 100], "loss": [3.0, 2.0], "valid_loss": [3.5, 2.5]}


def choose(app, *rows):
    app.session_state[app.dataframe[0].key] = {"selection": {"rows": list(rows)}}
    return app.run()


def lines(spec):
    """The points of each line of each plot of a chart, by plot, run and data."""
    found = {}
    for panel in spec["vconcat"]:
        name = panel["encoding"]["y"]["field"]
        for row in panel["data"]["values"]:
            found.setdefault((name, row["run"], row["data"]), []).append((row["at"], row[name]))
    return found


# The page


def test_without_runs_the_page_says_how_to_make_one():
    app = open_page("runs")
    assert "There are no runs yet. Open a training page and press **Start**" in app.info[0].value
    assert app.code[0].value == "python project/run_scalar.py"
    assert not app.dataframe
    example = lines(specs(app)[0])
    assert {run for _, run, _ in example} == {"A: rate 0.1", "B: rate 0.5", "C: rate 2"}
    assert [at for at, _ in example["loss", "A: rate 0.1", "training"]] == list(range(1, 101))
    assert "The newest 200 are kept" in page_text(app)


def test_the_table_lists_the_newest_run_first_with_what_differs_and_what_it_reached():
    a_run(1)
    a_run(2, settings=POINTS | {"hidden": 9}, loss=(3.0,), status="stopped", total=30, digest="of other code")
    a_run(3, "run_gpt", {"steps": 100, "seed": 0}, unit="step", finished=100, total=100, curves=GPT)
    rows = open_page("runs").dataframe[0].value.astype(object).fillna("").to_dict("records")
    assert {row.pop("started") for row in rows} == {"2026-01-02 03:04"}
    assert {row.pop("seconds") for row in rows} == {1.25}
    assert [list(row.values()) for row in rows] == [
        ["run_gpt", "steps 100, seed 0", "100 of 100 steps", 2.0, "", "finished", ""],
        ["run_scalar", "hidden 9", "1 of 30 epochs", 3.0, 0.5, "stopped", "changed"],
        ["run_scalar", "hidden 5", "2 of 2 epochs", 1.5, 0.75, "finished", ""],
    ]
    assert list(rows[0]) == ["program", "settings", "trained", "loss", "accuracy", "status", "your code"]


def test_a_log_of_summary_writer_is_a_row_with_its_curves(folder):
    (folder / "mine").mkdir()
    head = {"format": 1, "program": "train", "command": "python train.py", "started": "2026-01-02T03:04:05+00:00"}
    events = [{"kind": "hparams", "tag": "", "step": None, "time": 1767323046.0, "value": {"lr": 0.5}}]
    events += [{"kind": "scalar", "tag": "Loss/train", "step": step, "time": 1767323046.0, "value": 3.0 - step} for step in range(2)]
    (folder / "mine" / "events-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *events]))
    row = open_page("runs").dataframe[0].value.astype(object).fillna("").to_dict("records")[0]
    assert list(row.values())[1:] == ["train", "lr 0.5", "2 of 2 steps", 2.0, "", 1.0, "stopped", ""]
    (run,) = run_files.read_all()[0]
    (spec,) = specs(open_page("runs", selected=run.id))
    (((panel, _, data), points),) = lines(spec).items()
    assert (panel, data, points) == ("loss", "training", [(1, 3.0), (2, 2.0)])


def test_selected_runs_are_overlaid_and_compared():
    a_run(1)
    a_run(2, "run_mnist_multiclass", IMAGES, curves=CLASSIFIER)
    a_run(3, settings=POINTS | {"rate": 1.0}, loss=(4.0, None))
    app = open_page("runs")
    assert "No run is selected" in page_text(app)
    (newest,) = specs(app)
    assert next(iter(lines(newest).values())) == [(1, 4.0), (2, None)]
    choose(app, 0, 2)
    (spec,) = specs(app)
    assert lines(spec) == {
        ("loss", "A: rate 1", "training"): [(1, 4.0), (2, None)],
        ("loss", "B: rate 0.25", "training"): [(1, 3.0), (2, 1.5)],
        ("accuracy", "A: rate 1", "training"): [(1, 0.5), (2, 0.75)],
        ("accuracy", "B: rate 0.25", "training"): [(1, 0.5), (2, 0.75)],
    }
    assert "A: rate 1: after 2 epochs, the loss became infinite or not a number, the accuracy is 75.0%." in page_text(app)
    assert "B: rate 0.25: after 2 epochs, the loss changed from 3 to 1.5, the accuracy is 75.0%." in page_text(app)
    table = [{name: cell.replace("\\", "") for name, cell in row.items()} for row in app.table[0].value.to_dict("records")]
    assert table[:2] == [
        {"setting": "rate", "differs": "yes", "A": "1.0", "B": "0.25"},
        {"setting": "program", "differs": "", "A": "run_scalar", "B": "run_scalar"},
    ]
    assert texts(app.code) == [f"python project/run_scalar.py {COMMANDS['run_scalar'][1]}"] * 2
    assert app.query_params["selected"] == "20260102-030403-000-run_scalar-abcdef,20260102-030401-000-run_scalar-abcdef"
    choose(app, 1, 2)
    assert lines(specs(app)[0])["accuracy", "A: run_mnist_multiclass", "validation"] == [(1, 0.4), (2, 0.6)]
    assert "The losses of different programs are not comparable" in page_text(app)


def test_a_selection_in_the_address_is_opened_and_survives_a_new_run():
    first = a_run(1)
    app = open_page("runs", selected=f"{first.id},unknown")
    assert texts(app.code) == [first.command]
    a_run(2, "run_tensor")
    app.run()
    assert [row["program"] for row in app.dataframe[0].value.to_dict("records")] == ["run_tensor", "run_scalar"]
    assert texts(app.code) == [first.command]
    choose(app)
    assert "selected" not in app.query_params


def test_at_most_six_runs_are_compared():
    for second in range(8):
        a_run(second, settings=POINTS | {"hidden": second + 1})
    app = choose(open_page("runs"), *range(8))
    assert "The first 6 of the 8 selected runs are compared; CSV, JSON and Delete apply to all." in page_text(app)
    colors = specs(app)[0]["vconcat"][0]["encoding"]["color"]["scale"]
    assert colors["domain"] == [f"{letter}: hidden {8 - i}" for i, letter in enumerate("ABCDEF")]
    assert len(set(colors["range"])) == 6
    assert app.button(key="runs_delete").label == "Delete 8 runs"


def test_deleting_removes_the_selected_files_after_a_confirmation(folder):
    kept, deleted = a_run(1), a_run(2)
    app = choose(open_page("runs"), 0)
    assert "Delete 1 run? This cannot be undone." in page_text(app)
    press(app, "runs_delete")
    assert [path.stem for path in folder.iterdir()] == [kept.id] != [deleted.id]
    assert "No run is selected" in page_text(app)


def test_a_run_that_cannot_be_deleted_is_reported(monkeypatch):
    def refuse(runs):
        raise PermissionError(13, "Permission denied", "a/run.json")

    a_run(1)
    app = choose(open_page("runs"), 0)
    monkeypatch.setattr(run_files, "delete", refuse)
    press(app, "runs_delete")
    reason = "a/run.json could not be deleted (Permission denied); check the permissions of its folder."
    assert [error.value.replace("\\", "") for error in app.error] == [reason]
    assert not app.run().error


def test_unreadable_files_and_the_error_of_a_failed_run_are_shown(folder):
    a_run(1, status="failed", note="ZeroDivisionError: *division* by zero", digest="of other code")
    (folder / "notes.json").write_text("{")
    app = choose(open_page("runs"), 0)
    assert app.warning[0].value.replace("\\", "") == f"In `{folder}`:\n\n* notes.json is damaged; delete it."
    assert "ZeroDivisionError: *division* by zero" in page_text(app)
    assert "Your code has changed since this run started" in page_text(app)


# The page that shows a run's settings


@pytest.mark.parametrize("program", COMMANDS)
def test_a_link_opens_the_page_with_the_settings_of_the_run(program):
    settings, options = COMMANDS[program]
    page, query = runs_comparison.link(a_run(1, program, settings))
    assert f"python project/{program}.py {options}" in texts(open_page(page, **query).code)


def test_the_page_of_a_run_is_linked_where_its_fields_allow_the_settings():
    a_run(1)
    app = choose(open_page("runs"), 0)
    (link,) = [link.proto for link in app.get("page_link") if link.proto.label == "Open in Training"]
    assert link.page == "m1_training"
    assert link.query_string == "dataset=Xor&points=20&hidden=5&rate=0.25&epochs=30&seed=3&training_part=Scalars"
    for changes in ({"points": 501}, {"hidden": 51}, {"rate": 0.001}, {"epochs": 10_001}, {"seed": 10_001}, {"rate": None}):
        assert runs_comparison.link(a_run(2, settings=POINTS | changes)) is None
    assert runs_comparison.link(a_run(2, "run_gpt", {"steps": 3})) is None
    assert runs_comparison.link(a_run(2, "run_playground", UNITS | {"file": "points.csv"})) is None
    _, query = runs_comparison.link(a_run(2, "run_mnist_multiclass", IMAGES | {"limit": None}))
    assert query.keys() == {f"images_{name}" for name in IMAGES if name != "limit"}


@pytest.mark.parametrize("program", COMMANDS)
def test_the_ranges_are_those_of_the_fields_of_the_page(program):
    name, prefix, ranges = runs_comparison.PAGES[program]
    app = open_page(name)
    assert {field: (box.min, box.max) for field in ranges for box in [app.number_input(key=f"{prefix}{field}")]} == ranges


# The board


def test_the_board_shows_the_latest_three_runs():
    assert "Latest training runs" not in texts(open_page("home").subheader)
    for second in range(5):
        a_run(second, settings=POINTS | {"seed": second}, loss=(3.0, 2.0 - second / 10))
    app = open_page("home")
    assert "Latest training runs" in texts(app.subheader)
    results = [text.replace("\\", "") for text in texts(app.markdown) if text.startswith("finished")]
    assert results == [f"finished, loss {loss}, accuracy 75%" for loss in ("1.6", "1.7", "1.8")]
    links = [link.proto for link in app.get("page_link") if link.proto.page == "runs"]
    assert [link.query_string for link in links] == [
        f"runs_part=Runs&selected=20260102-0304{second:02}-000-run_scalar-abcdef" for second in (4, 3, 2)
    ]


# Words


def test_labels_name_programs_and_settings_only_where_they_differ():
    settings = [POINTS | {"hidden": 9, "eager": True}, POINTS | {"eager": False}]
    runs = [a_run(1, settings=settings[0]), a_run(2, settings=settings[1]), a_run(3, "run_tensor", POINTS)]
    assert runs_comparison.labels(runs[:1]) == ["A: run_scalar"]
    assert runs_comparison.labels(runs[:2]) == ["A: hidden 9, eager true", "B: hidden 5, eager false"]
    both = ["A: run_scalar, hidden 9, eager true", "B: run_scalar, hidden 5, eager false"]
    assert runs_comparison.labels(runs) == [*both, "C: run_tensor"]
    assert runs_comparison.labels([runs[2]] * 2) == ["A: 2026-01-02 03:04", "B: 2026-01-02 03:04"]
    many = a_run(4, settings=dict.fromkeys(POINTS, 0))
    assert runs_comparison.labels([runs[1], many])[1] == "B: dataset 0, points 0, hidden 0 …"


def test_a_chart_has_a_plot_of_the_accuracy_only_if_a_run_has_one():
    gpt = a_run(1, "run_gpt", {"steps": 100}, unit="step", curves=GPT)
    spec = runs_comparison.chart([gpt])
    assert lines(spec) == {
        ("loss", "A: run_gpt", "training"): [(50, 3.0), (100, 2.0)],
        ("loss", "A: run_gpt", "validation"): [(50, 3.5), (100, 2.5)],
    }
    assert spec["vconcat"][0]["encoding"]["x"]["title"] == "step"
    both = runs_comparison.chart([gpt, a_run(2, "run_mnist_multiclass", IMAGES, curves=CLASSIFIER)])
    assert [panel["encoding"]["x"]["title"] for panel in both["vconcat"]] == [None, "epoch or step"]
    assert runs_comparison.chart([a_run(3, curves={}, finished=0)]) is None
    assert runs_comparison.in_words(a_run(3, curves={}, finished=0), "A") == "A: no epoch was finished."
    assert len(set(run_curves.COLORS)) == runs_comparison.MOST == 6


# Exports


def test_csv_has_a_row_for_each_point_with_the_settings():
    runs = [a_run(1), a_run(2, "run_gpt", {"steps": 100, "seed": 1}, unit="step", curves=GPT), a_run(3, curves={}, loss=())]
    rows = list(csv.DictReader(io.StringIO(runs_export.to_csv(runs).decode())))
    assert [(row["program"], row["unit"], row["at"], row["loss"], row["accuracy"], row["valid_loss"]) for row in rows] == [
        ("run_scalar", "epoch", "1", "3.0", "0.5", ""),
        ("run_scalar", "epoch", "2", "1.5", "0.75", ""),
        ("run_gpt", "step", "50", "3.0", "", "3.5"),
        ("run_gpt", "step", "100", "2.0", "", "2.5"),
        ("run_scalar", "epoch", "", "", "", ""),
    ]
    assert [(row["setting_hidden"], row["setting_steps"], row["setting_seed"]) for row in rows[1:3]] == [("5", "", "3"), ("", "100", "1")]


def test_json_contains_everything():
    run = a_run(1)
    assert json.loads(runs_export.to_json([run])) == {"format": 1, "runs": [vars(run)]}


def test_the_report_is_markdown_with_a_picture():
    runs = [a_run(1, status="failed", note="broke", loss=(3.0, None)), a_run(2, settings=POINTS | {"dataset": "a|b"})]
    with zipfile.ZipFile(io.BytesIO(runs_export.to_zip(runs))) as archive:
        assert sorted(archive.namelist()) == ["curves.png", "report.md", "runs.json"]
        assert archive.read("curves.png").startswith(b"\x89PNG")
        report = archive.read("report.md").decode()
    assert "| A | 2026-01-02 03:04 | 2 of 2 epochs | - | 75.00% | 1.2 | failed |" in report
    assert "| B | 2026-01-02 03:04 | 2 of 2 epochs | 1.5000 | 75.00% | 1.2 | finished |" in report
    assert "| dataset | yes | Xor | a&#124;b |" in report
    assert f"```\n{runs[0].command}\n```" in report
    assert "\nbroke\n" in report
    assert "](curves.png)" in report
    with zipfile.ZipFile(io.BytesIO(runs_export.to_zip([a_run(3, curves={}, finished=0)]))) as archive:
        assert sorted(archive.namelist()) == ["report.md", "runs.json"]
        assert "curves.png" not in archive.read("report.md").decode()
