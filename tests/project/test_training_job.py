"""A training run as a page follows it: its messages, stopping and resuming, and its report."""

import io
import re
import zipfile

import pytest

from project.lab.training import classifier_page, run_report
from project.lab.training import job as training_job
from project.lab.training.image_trainer import ImageSetting
from project.lab.training.job import Run
from tests.project.test_language_model_training import FakeJob

FACTS = {"setting": {"program": "run_mnist_multiclass"}, "command": "…", "about": "", "parameters": 9242, "train": 40, "valid": 10}


def epoch_message(epoch, loss, train, valid, seconds, **details):
    return {"epoch": epoch, "loss": loss, "train_accuracy": train, "valid_accuracy": valid, "seconds": seconds, **details}


ONE = epoch_message(1, 2.0, 0.25, 0.3, 4.0, confusion=[[1]], mistakes=[])
TWO = epoch_message(2, 1.0, 0.5, 0.8, 2.0, confusion=[[2]], mistakes=[])


@pytest.fixture
def run(monkeypatch):
    """A run that has been started."""
    monkeypatch.setattr(training_job, "Job", FakeJob)
    FakeJob.started = []
    run = Run(ImageSetting(epochs=4, batch=8, seed=3, limit=40))
    run.start()
    return run


def test_a_run_starts_with_the_flags_of_its_setting(run):
    wrapper, program, *flags = FakeJob.started[0].command
    assert (wrapper, program) == ("lab/training/kernel_events.py", "run_mnist_multiclass.py")
    assert flags[:3] == ["--json", "--checkpoint", str(run.checkpoint)]
    assert " ".join(flags[3:]) == "--dataset digits --epochs 4 --rate 0.1 --batch 8 --seed 3 --momentum 0.0 --limit 40 --dtype float32"


def test_an_unset_setting_gives_no_flag(monkeypatch):
    monkeypatch.setattr(training_job, "Job", FakeJob)
    Run(ImageSetting()).start()
    assert "--limit" not in FakeJob.started[-1].command


def test_lines_are_classified_as_they_arrive(run):
    work = FakeJob.started[0]
    work.lines += [FACTS, {"epoch": 1, "step": 2, "steps": 5}]
    assert run.read()
    assert (run.facts["parameters"], run.step, run.steps, run.history) == (9242, 2, 5, [])
    assert run.progress == pytest.approx(0.1)  # 2 of 5 steps of the first of 4 epochs
    assert run.seconds_left is None
    work.lines += [ONE, TWO, {"epoch": 3, "step": 1, "steps": 4}]
    run.read()
    assert run.history == [ONE, TWO]
    assert run.details == {"confusion": [[2]], "mistakes": []}
    assert run.progress == pytest.approx(2.25 / 4)
    assert run.seconds_left == pytest.approx(3.0 * 1.75)
    work.lines.append({"summary": "Done.", "best": 2})
    work.running = False
    assert not run.read()
    assert run.summary == "Done."


def test_a_run_names_the_kernel_that_is_compiled_until_its_first_step(run):
    work = FakeJob.started[0]
    assert (run.preparing, classifier_page.status(run)) == (False, "Starting the program …")
    work.lines.append({"kernel": 9, "name": "a matrix product"})
    run.read()
    assert (run.preparing, run.kernels) == (True, 27)
    text = "Preparing kernel 9 of about 27: a matrix product. Each is compiled once and stored on disk."
    assert classifier_page.status(run) == text
    work.lines.append({"kernel": 28, "name": "a convolution"})  # another network may need more than expected
    run.read()
    assert classifier_page.status(run).startswith("Preparing kernel 28: a convolution.")
    work.lines += [FACTS, {"epoch": 1, "step": 2, "steps": 5}, {"kernel": 29, "name": "a convolution"}]
    run.read()
    assert not run.preparing
    assert classifier_page.status(run) == "Epoch 1, step 2 of 5."


class ImportedAnew(ImageSetting):
    """The class after its module was reloaded."""


def test_a_run_resumes_from_its_checkpoint_and_lists_each_epoch_once(run):
    work = FakeJob.started[0]
    work.lines += [FACTS, ONE, {"epoch": 2, "step": 3, "steps": 5}]
    assert not run.resumable(run.setting)  # it runs
    run.stop()
    assert not work.running
    assert run.history == [ONE]
    assert run.progress == 0.25  # progress since the checkpoint is lost
    assert not run.resumable(run.setting)  # there is no checkpoint
    run.checkpoint.touch()
    for setting in (ImageSetting, ImportedAnew):
        settings = [setting(epochs=epochs, batch=8, seed=seed, limit=40) for epochs, seed in ((4, 3), (9, 3), (1, 3), (4, 4))]
        assert [run.resumable(other) for other in settings] == [True, True, False, False]

    run.start(epochs=9)
    assert FakeJob.started[1].command[5:] == ("--resume", "--epochs", "9")
    assert run.history == [ONE]  # until the program reports it again
    FakeJob.started[1].lines += [FACTS, epoch_message(1, 2.0, 0.25, 0.3, 4.0), TWO]
    run.read()
    assert [line["epoch"] for line in run.history] == [1, 2]
    assert run.setting.epochs == 9


def test_details_stay_while_epochs_are_reported_again(run):
    FakeJob.started[0].lines += [FACTS, ONE]
    run.read()
    run.checkpoint.touch()
    run.start()
    FakeJob.started[1].lines += [FACTS, epoch_message(1, 2.0, 0.25, 0.3, 4.0)]
    run.read()
    assert run.details["confusion"] == [[1]]


def test_the_folder_of_a_run_is_deleted_with_it(run):
    folder = run.checkpoint.parent
    assert folder.is_dir()
    del run
    FakeJob.started.clear()


def test_the_report_contains_the_command_the_log_and_the_curves(run):
    FakeJob.started[0].lines += [FACTS, ONE, epoch_message(2, None, 0.5, 0.8, 2.0)]
    run.read()
    with zipfile.ZipFile(io.BytesIO(run_report.packed(run))) as archive:
        assert sorted(archive.namelist()) == ["curves.png", "mnist.txt", "report.md"]
        assert archive.read("curves.png").startswith(b"\x89PNG")
        page, log = archive.read("report.md").decode(), archive.read("mnist.txt").decode()
    assert run.setting.command() in page
    assert "](curves.png)" in page
    assert re.search(r"^epoch 1/4  loss 2\.0000  train 25\.00%  valid 30\.00% \( 3/10\)  4\.00 s$", log, re.MULTILINE)
    assert "epoch 2/4  loss nan" in log
    assert "digits: 40 training and 10 validation examples; 9242 parameters" in log
    assert "Best validation: 80.00% (8 of 10) after epoch 2." in log
    assert log.strip().splitlines()[-1] in page
