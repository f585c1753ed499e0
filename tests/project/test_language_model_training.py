"""Training of a small model for the page on language models: its texts, its reports, and the process that runs it."""

import json
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from minitorch import SimpleBackend
from minitorch.language import training
from project.lab import language_model
from project.lab.explorers import language_model_training
from project.lab.training import text_trainer
from project.lab.training.text_trainer import Setting

TEXT = "the cat sat on the mat. " * 10
TINY = Setting(steps=12, batch=2, context=8, layers=2, heads=2, width=8, rate=1e-2, seed=1)


@pytest.fixture(autouse=True)
def on_the_simple_backend(monkeypatch):
    """Compile no kernels."""
    monkeypatch.setattr(language_model, "FastBackend", SimpleBackend)
    monkeypatch.setattr(text_trainer, "VALIDATION_BATCHES", 2)


def test_repeated_words_are_lines_of_a_word_several_times():
    lines = language_model_training.repeated_words().splitlines()
    assert {(len(set(line.split())), len(line)) for line in lines} == {(1, 19)}
    assert len(lines) == 3000
    assert set("".join(lines)) == set("abcdefghijklmnop ")


def test_every_text_has_a_beginning_in_its_characters():
    for name, text in language_model_training.TEXTS.items():
        assert set(language_model_training.BEGINNINGS[name]) <= set(text())


def test_training_reports_and_saves(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(language_model_training, "EVERY", 2)
    monkeypatch.setitem(language_model_training.TEXTS, "short", lambda: TEXT)
    setting = replace(TINY, steps=3)
    language_model_training.train("short", setting, tmp_path / "gpt.safetensors")
    first, *reports = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"parameters": 256 * 8 + 8 * 8 + 2 * (12 * 8**2 + 13 * 8) + 2 * 8}
    assert [report["step"] for report in reports] == [2, 3]
    run = text_trainer.Run(setting, TEXT)
    losses = [run.advance() for _ in range(3)]
    assert [report["loss"] for report in reports] == pytest.approx([np.mean(losses[:2]), losses[2]])
    assert reports[1]["valid"] == pytest.approx(run.validation_loss())
    assert all(report["seconds"] > 0 for report in reports)
    assert language_model.load(tmp_path / "gpt.safetensors").step == 3


def test_training_ends_if_the_loss_is_not_a_number(monkeypatch, tmp_path):
    monkeypatch.setitem(language_model_training.TEXTS, "short", lambda: TEXT)
    monkeypatch.setattr(text_trainer.Run, "validation_loss", lambda run: float("nan"))
    with pytest.raises(SystemExit, match="the loss is infinite or not a number after step 2; choose a lower learning rate"):
        language_model_training.train("short", replace(TINY, steps=2), tmp_path / "gpt.safetensors")
    assert not (tmp_path / "gpt.safetensors").exists()


def test_training_ends_if_a_gradient_is_not_a_number(monkeypatch, tmp_path):
    def diverge(*given):
        training._check_norm(float("inf"))

    monkeypatch.setitem(language_model_training.TEXTS, "short", lambda: TEXT)
    monkeypatch.setattr(training, "clip_gradients", diverge)
    with pytest.raises(SystemExit, match="clip_gradients expected finite gradients, got the norm inf; train again with a smaller rate"):
        language_model_training.train("short", TINY, tmp_path / "gpt.safetensors")


class FakeJob:
    """Replaces a process: the test sets its output and whether it runs."""

    started: ClassVar[list["FakeJob"]] = []

    def __init__(self, *command):
        self.command, self.lines, self.running = command, [], True
        FakeJob.started.append(self)

    def read(self):
        return self.running

    def stop(self):
        self.running = False


def test_a_run_follows_the_reports_of_its_process(monkeypatch):
    monkeypatch.setattr(language_model_training, "Job", FakeJob)
    run = language_model_training.Training(TINY, "repeated words")
    job = FakeJob.started[-1]
    program, text, setting, path = job.command
    assert (program, text, path) == ("lab/explorers/language_model_training.py", "repeated words", str(run.checkpoint))
    assert Setting(**json.loads(setting)) == TINY
    assert run.progress == 0
    assert "compiles the kernels" in run.status()
    job.lines += [{"parameters": 1234}, {"step": 2, "loss": 2.0, "valid": 2.5, "seconds": 0.25}]
    assert run.read()
    assert run.progress == pytest.approx(1 / 6)
    assert run.status() == "Step 2 of 12; about 2 s left"  # 10 · 0.25 s, rounded to even
    job.lines.append({"step": 6, "loss": 1.0, "valid": np.log(3.0), "seconds": 3.0})
    assert run.in_words() == (
        "1,234 parameters. After 6 of 12 steps, the loss on text that was not trained on is 1.10 (after 2 steps: 2.50). A loss of 1.10 "
        "means that the model is as uncertain as between 3.0 equally likely tokens."
    )
    points = [(row["step"], row["loss"], row["text"]) for row in run.chart()["data"]["values"]]
    assert points == [(2, 2.0, "training"), (6, 1.0, "training"), (2, 2.5, "validation"), (6, np.log(3.0), "validation")]
    run.stop()
    assert not run.running
    folder = run.checkpoint.parent
    assert folder.is_dir()
    del run
    assert not folder.exists()
