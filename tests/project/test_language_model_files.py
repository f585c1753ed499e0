"""What makes the files of the page on language models: weights without the optimizer, and adapters."""

import re
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from minitorch import SimpleBackend
from minitorch.data.story_words import COLORS
from project.lab import language_model
from project.lab.models import __main__ as files
from project.lab.training import checkpoint
from project.lab.training.text_trainer import Run
from tests.project.test_language_model_training import TEXT, TINY

SETTING = replace(TINY, tokens=260)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """The checkpoint of a run of one step, on the backend that compiles nothing."""
    monkeypatch.setattr(language_model, "FastBackend", SimpleBackend)
    run = Run(SETTING, TEXT)
    run.advance()
    checkpoint.save(tmp_path / "run", run.checkpoint())
    return tmp_path / "run"


def test_the_weights_are_written_without_the_optimizer_and_with_their_command(run, tmp_path):
    files.strip(run, tmp_path / "model")
    before, after = checkpoint.load(run), checkpoint.load(tmp_path / "model")
    assert after.arrays.keys() == {name for name in before.arrays if name.startswith("model.")} < before.arrays.keys()
    np.testing.assert_array_equal(after.arrays["model.wte.weight"], before.arrays["model.wte.weight"])
    assert (after.about["command"], after.about["date"]) == (SETTING.command(), date.today().isoformat())
    assert len(language_model.load(tmp_path / "model").tokenizer) == 260


def test_everything_is_red_in_the_stories_of_the_adapters():
    text = files.text()
    assert text.count("\n") > 500
    assert set(re.findall(rf"\b({'|'.join(COLORS)})\b", text)) == {"red"}
    assert all(re.search(r"\bred\b", line) for line in text.splitlines())


def test_without_a_checkpoint_the_program_names_the_commands(capsys):
    assert files.main([]) == 2
    error = capsys.readouterr().err
    assert error == f"expected the checkpoint of a run, got 0 arguments; make one:\n\n{files.__doc__}\n"
    assert "project/run_gpt.py" in error
