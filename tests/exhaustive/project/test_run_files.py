"""Training runs as files: what is recorded, by whom, and how files are read that are no runs."""

import json

import pytest

from project import run_mnist_multiclass
from project.lab.training import run as training_run
from project.lab.training import run_files
from tests.project.test_run_files import folder, only_run

DIGITS = ["--limit", "40", "--batch", "20", "--dtype", "float64"]


@pytest.mark.parametrize("name", ["digest", "_describe"])
def test_no_error_in_recording_reaches_the_program(monkeypatch, capsys, tmp_path, name):
    def broken(*arguments):
        raise RuntimeError("broken")

    monkeypatch.setattr(run_files, name, broken)
    assert run_mnist_multiclass.main([*DIGITS, "--epochs", "2", "--checkpoint", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().err.count("this run is not kept in") == 1


def test_a_classifier_is_recorded_after_every_checkpoint_because_a_page_kills_it(monkeypatch, tmp_path):
    seen, step = [], training_run._Log.step

    def watched(self, due):
        if due:
            seen.append((only_run().status, only_run().finished))
        step(self, due)

    monkeypatch.setattr(training_run._Log, "step", watched)
    assert run_mnist_multiclass.main([*DIGITS, "--epochs", "2", "--checkpoint", str(tmp_path / "run")]) == 0
    assert seen == [("stopped", 1), ("finished", 2)]


def test_a_resumed_classifier_replaces_its_own_record(tmp_path, capsys):
    path = str(tmp_path / "run")
    assert run_mnist_multiclass.main([*DIGITS, "--epochs", "1", "--checkpoint", path]) == 0
    first = only_run()
    assert run_mnist_multiclass.main([*DIGITS, "--epochs", "1"]) == 0  # another run of the same setting
    (tmp_path / "copy").write_bytes((tmp_path / "run").read_bytes())
    capsys.readouterr()
    assert run_mnist_multiclass.main(["--resume", "--epochs", "3", "--checkpoint", path, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    *_, run = run_files.read_all()[0]
    assert len(run_files.read_all()[0]) == 2
    assert (run.id, run.started, run.status, run.settings["epochs"]) == (first.id, first.started, "finished", 3)
    epochs = [line for line in lines if "loss" in line]
    for name in ("epoch", "loss", "train_accuracy", "valid_accuracy"):
        assert run.curves[name] == [line[name] for line in epochs]
    assert run.curves["loss"][0] == first.curves["loss"][0]
    assert run_mnist_multiclass.main(["--resume", "--epochs", "2", "--checkpoint", str(tmp_path / "copy")]) == 0
    assert len(run_files.read_all()[0]) == 3  # the other run went on, so this is a run of its own
