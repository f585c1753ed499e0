"""Training runs as files: what is recorded, by whom, and how files are read that are no runs."""

import json
import math
import os
import re
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from course.manifest import ROOT
from minitorch import SimpleBackend
from project import run_fast_tensor, run_gpt, run_scalar, run_tensor
from project.lab import language_model
from project.lab.training import checkpoint, run_files, text_trainer
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.text_trainer import Run
from project.lab.training.trainer import Setting, Trainer

UNIQUE = {"id", "started", "seconds"}
"""What differs between two runs with the same setting."""

TEXT = [*run_gpt.Setting(steps=7, batch=2, context=4, layers=1, heads=2, width=8).flags(), "--log-every", "3", "--length", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the runs, empty and not yet created."""
    path = tmp_path / "a" / "runs"
    monkeypatch.setenv("MINITORCH_RUNS", str(path))
    monkeypatch.setattr(language_model, "FastBackend", SimpleBackend)  # compiles no kernels
    monkeypatch.setattr(text_trainer, "VALIDATION_BATCHES", 2)
    return path


def only_run():
    """The one run in the folder."""
    (run,), unreadable = run_files.read_all()
    assert unreadable == []
    return run


class Points(Trainer):
    """A trainer with given results."""

    def __init__(self, losses, epochs=None):
        self.setting = Setting(dataset="Xor", points=4, epochs=epochs or len(losses), seed=9)
        self.graph = SimpleNamespace(N=4)
        self.losses, self.correct, self.seconds = list(losses), [1] * len(losses), [0.25] * len(losses)


def kept_trainer(losses, epochs=None, **options):
    """A trainer with these losses, whose run was kept."""
    trainer = Points(losses, epochs)
    run_files.begin(trainer)
    run_files.keep(trainer, **options)
    return trainer


def kept(losses, epochs=None, **options):
    """The file of a run with these losses, as a document."""
    trainer = kept_trainer(losses, epochs, **options)
    return json.loads((run_files.folder() / f"{trainer.run_file.id}.json").read_text())


def test_a_file_contains_the_setting_the_command_the_results_and_the_curves():
    document = kept([3.0, 1.5], epochs=2)
    assert re.fullmatch(r"\d{8}-\d{6}-\d{3}-run_scalar-[0-9a-f]{6}", document.pop("id"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", document.pop("started"))
    assert document.pop("digest") == run_files.digest("run_scalar")
    assert document == {
        "format": 1,
        "program": "run_scalar",
        "settings": {"dataset": "Xor", "points": 4, "hidden": 2, "rate": 0.5, "epochs": 2, "seed": 9},
        "command": "python project/run_scalar.py --dataset Xor --points 4 --hidden 2 --rate 0.5 --epochs 2 --seed 9",
        "seed": 9,
        "seconds": 0.5,
        "status": "finished",
        "note": "",
        "unit": "epoch",
        "finished": 2,
        "total": 2,
        "resumable_at": None,
        "curves": {"epoch": [1, 2], "loss": [3.0, 1.5], "accuracy": [0.25, 0.25]},
    }


def test_long_curves_leave_epochs_out_but_not_the_first_and_the_last():
    curves = kept([float(epoch) for epoch in range(1, 1204)])["curves"]
    assert {len(values) for values in curves.values()} == {500}
    assert (curves["epoch"][0], curves["epoch"][-1]) == (1, 1203)
    assert {after - before for before, after in zip(curves["epoch"], curves["epoch"][1:], strict=False)} == {2, 3}
    assert curves["loss"] == curves["epoch"]


def test_a_loss_that_is_no_number_becomes_null_and_a_file_that_cannot_be_opened_is_listed(folder):
    assert kept([2.0, math.inf, math.nan])["curves"]["loss"] == [2.0, None, None]
    assert only_run().last("loss") is None
    (folder / "20260101-000000-000-run_scalar-abcdef.json").mkdir()
    runs, (unreadable,) = run_files.read_all()
    assert (len(runs), unreadable.reason) == (1, "could not be read (Is a directory); check its permissions")


def test_a_run_that_ended_early_is_stopped_and_one_without_an_epoch_is_not_kept():
    document = kept([1.0], epochs=3)
    assert (document["status"], document["finished"], document["total"]) == ("stopped", 1, 3)
    kept_trainer([], epochs=3)
    run_files.keep(None)
    assert only_run().id == document["id"]


def test_keeping_a_run_again_replaces_its_file_even_after_the_modules_were_reloaded(monkeypatch):
    trainer = kept_trainer([1.0], epochs=2)
    first = only_run()
    trainer.losses.append(0.5)
    trainer.correct.append(4)
    trainer.changed = True
    monkeypatch.delitem(sys.modules, "project.lab.training.run_files")
    monkeypatch.setattr("project.lab.training.run_files", None)
    from project.lab.training.run_files import keep

    assert keep is not run_files.keep
    keep(trainer)
    second = only_run()
    assert (second.id, second.started, second.status) == (first.id, first.started, "finished")
    assert second.curves["accuracy"] == [0.25, 1.0]
    assert second.note == "Settings, points or weights were changed during this run, so the command does not repeat it."


def test_a_failed_run_stays_failed_and_nothing_is_written_twice():
    trainer = kept_trainer([1.0], 2, status="failed", note="ValueError: no")
    run_files.begin(trainer)
    run_files.keep(trainer)
    assert (only_run().status, only_run().note) == ("failed", "ValueError: no")
    run_files.delete([only_run()])
    run_files.keep(trainer)  # a page keeps it again when it is discarded
    assert run_files.read_all() == ([], [])


def test_only_the_newest_runs_are_kept_and_no_other_file_is_removed(folder, monkeypatch):
    monkeypatch.setattr(run_files, "MOST_RUNS", 3)
    folder.mkdir(parents=True)
    for name in ("notes.json", "00000000.json"):
        (folder / name).write_text("{}")
    ids = [f"20260101-00000{second}-000-run_scalar-abcdef" for second in range(5)]
    for id in ids:
        trainer = Points([1.0])
        run_files.begin(trainer)
        trainer.run_file.id = id
        run_files.keep(trainer)
    assert [run.id for run in run_files.read_all()[0]] == ids[:1:-1]
    assert [run.id for run in run_files.latest(2)] == ids[:2:-1]
    assert {path.name for path in folder.iterdir()} == {"notes.json", "00000000.json", *(f"{id}.json" for id in ids[2:])}


def test_a_digest_depends_on_the_package_the_trainers_and_the_program_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(run_files, "ROOT", tmp_path)
    trainers = ["project/lab/training/x_trainer.py", "project/lab/training/training_run.py"]
    files = ["minitorch/nn/layers.py", *trainers, "project/run_tensor.py", "project/run_scalar.py"]
    digests = {run_files.digest("run_tensor")}
    for number, file in enumerate(files):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1")
        digests.add(run_files.digest("run_tensor"))
        assert len(digests) == min(number + 2, 5)  # the last file belongs to another program
    assert run_files.digest("run_playground") not in digests


def test_a_program_and_a_trainer_in_process_give_the_same_record():
    assert run_tensor.main(["--points", "6", "--hidden", "3", "--epochs", "5", "--seed", "4"]) == 0
    by_program = only_run()
    trainer = TensorTrainer(Setting(points=6, hidden=3, epochs=5, seed=4, program="run_tensor"), run_tensor.Network)
    run_files.begin(trainer)
    for _ in range(5):
        trainer.run_epoch()
    run_files.keep(trainer)
    in_process = next(run for run in run_files.read_all()[0] if run.id != by_program.id)
    assert by_program.curves["loss"] == trainer.losses
    assert by_program.seconds > 0
    first, second = ({name: value for name, value in vars(run).items() if name not in UNIQUE} for run in (by_program, in_process))
    assert first == second


def test_the_programs_print_what_they_record(capsys):
    assert run_fast_tensor.main(["--points", "12", "--hidden", "3", "--epochs", "2", "--log-every", "1"]) == 0
    run = only_run()
    found = re.findall(r"loss +(\S+)  correct +(\d+)/12", capsys.readouterr().out)
    recorded = zip(run.curves["loss"], run.curves["accuracy"], strict=True)
    assert [(f"{loss:.4f}", str(round(12 * right))) for loss, right in recorded] == found
    assert (run.program, run.settings["backend"], run.status) == ("run_fast_tensor", "cpu", "finished")


@pytest.mark.parametrize(
    ("error", "status", "note"),
    [(KeyboardInterrupt(), "stopped", ""), (ZeroDivisionError("division\nby zero"), "failed", "ZeroDivisionError: division by zero")],
)
def test_ctrl_c_leaves_a_stopped_run_and_an_error_a_failed_one_with_its_message(monkeypatch, error, status, note):
    step = ScalarTrainer.train_step

    def failing(self):
        if self.epoch == 2:
            raise error
        return step(self)

    monkeypatch.setattr(ScalarTrainer, "train_step", failing)
    with pytest.raises(ZeroDivisionError) if note else nullcontext():
        assert run_scalar.main(["--points", "3", "--epochs", "9"]) == 130
    run = only_run()
    assert (run.status, run.note, run.finished, run.total, run.curves["epoch"]) == (status, note, 2, 9, [1, 2])


def test_a_folder_that_cannot_be_written_is_one_line_of_warning(folder, capsys):
    folder.parent.write_text("a file where a folder is needed")
    assert run_scalar.main(["--points", "3", "--epochs", "2"]) == 0
    assert capsys.readouterr().err == f"run_scalar.py: this run is not kept in {folder} (Not a directory)\n"


@pytest.mark.parametrize("within_a_step", [False, True])
def test_a_gpt_is_recorded_as_it_is_logged_and_a_resumed_one_replaces_its_own_record(tmp_path, monkeypatch, capsys, within_a_step):
    text = tmp_path / "a text.txt"
    text.write_text("The cat sat on the mat, and the dog lay on the log.\n" * 10)
    flags, path = ["--text", str(text), *TEXT], str(tmp_path / "run")
    assert run_gpt.main(flags) == 0
    whole = only_run()
    found = re.findall(r"step (\d)/7  loss (\S+)  valid (\S+)", capsys.readouterr().out)
    curves = whole.curves
    assert [(str(step), f"{loss:.4f}", f"{valid:.4f}") for step, loss, valid in zip(*curves.values(), strict=True)] == found
    assert list(curves) == ["step", "loss", "valid_loss"]
    assert curves["step"] == [3, 6, 7]
    assert whole.command.endswith(f" --text '{text}'")
    assert (whole.unit, whole.finished, whole.total) == ("step", 7, 7)

    advance = Run.advance

    def interrupted(self):
        if self.step == 3:
            if within_a_step:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)
        return advance(self)

    monkeypatch.setattr(Run, "advance", interrupted)
    assert run_gpt.main([*flags, "--checkpoint", path]) == 130
    stopped = run_files.latest(1)[0]
    step = 3 if within_a_step else 4
    assert (stopped.status, stopped.finished, stopped.curves["step"]) == ("stopped", step, [3])
    assert checkpoint.load(path).about["step"] == step
    monkeypatch.setattr(Run, "advance", advance)
    assert run_gpt.main(["--text", str(text), "--checkpoint", path, "--resume", "--log-every", "3", "--length", "1"]) == 0
    resumed, other = run_files.read_all()[0]
    assert (resumed.id, other.id) == (stopped.id, whole.id)
    assert resumed.curves == whole.curves
    assert resumed.status == "finished"


def test_the_folder_is_that_of_the_environment_or_in_the_workspace(monkeypatch, folder):
    assert run_files.folder() == folder
    monkeypatch.delenv("MINITORCH_RUNS")
    assert run_files.folder() == ROOT / ".course" / "runs"


def spoiled(**changes):
    """The contents of a run's file with other values."""
    return lambda document: json.dumps(document | changes)


DAMAGED = [
    *[{"more": 1}, {"id": "../other"}, {"program": 1}, {"program": "a**b"}, {"started": "yesterday"}, {"status": "lost"}, {"unit": "day"}],
    *[{"settings": {"rate": [1]}}, {"seconds": "1"}, {"seconds": math.nan}, {"finished": -1}, {"total": 1.5}, {"seed": "x"}],
    *[{"resumable_at": "x"}, {"curves": []}, {"curves": {"epoch": 1}}, {"curves": {"epoch": [1, 2], "loss": [1.0]}}],
    *[{"curves": {"epoch": [None], "loss": [1.0]}}, {"curves": {"epoch": [1], "loss": ["1"]}}],
]
DAMAGE, OTHER = "is damaged; delete it", "is not a training run; move it to another folder"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        *[(spoiled(**changes), DAMAGE) for changes in DAMAGED],
        *[(lambda document, text=text: text, DAMAGE) for text in ("", "\udcff", "[" * 100_000)],
        *[(lambda document, text=text: text, OTHER) for text in ("[]", '{"loss": 1}')],
        (lambda document: json.dumps(document)[:-9], DAMAGE),
        (lambda document: json.dumps(document) + " " * 1_000_000, OTHER),
        (spoiled(format=2, more=1), "was written by a newer version of MiniTorch; update this one to read it"),
    ],
)
def test_a_file_that_is_no_run_is_listed_with_what_to_do(folder, spoil, reason):
    document, other = kept([1.0]), kept([2.0])
    path = folder / f"{document['id']}.json"
    path.write_text(spoil(document), errors="surrogateescape")
    runs, unreadable = run_files.read_all()
    assert [run.id for run in runs] == [other["id"]]
    assert [(file.path, file.reason) for file in unreadable] == [(path, reason)]


def test_a_deleted_run_is_gone_and_deleting_it_again_does_nothing():
    first, _second = kept([1.0]), kept([2.0])
    run = next(run for run in run_files.read_all()[0] if run.id == first["id"])
    run_files.delete([run])
    run_files.delete([run, replace(run, id="20200101-000000-000-run_scalar-000000")])
    assert only_run().curves["loss"] == [2.0]
