"""Models from checkpoints of run_gpt.py, and texts that go on beyond the context."""

import numpy as np
import pytest

import minitorch
from minitorch import SimpleBackend, tensor
from minitorch.language import GPT2, Tokenizer, generate, named_weights
from minitorch.language import model as models
from project.lab import language_model
from project.lab.training import checkpoint
from project.lab.training.text_trainer import Run, Setting
from tests.errors import raises

TEXT = "The cat sat on the mat, and the dog lay on the log.\n" * 10
TINY = Setting(steps=3, batch=2, context=6, layers=1, heads=2, width=8, seed=3, tokens=270)


@pytest.fixture(autouse=True)
def on_the_simple_backend(monkeypatch):
    """Compile no kernels."""
    monkeypatch.setattr(language_model, "FastBackend", SimpleBackend)


@pytest.fixture
def saved(tmp_path):
    """A run, and the file of its checkpoint."""
    run = Run(TINY, TEXT)
    run.advance()
    checkpoint.save(tmp_path / "run", run.checkpoint())
    return run, tmp_path / "run"


def test_a_model_is_read_with_its_weights_and_its_tokenizer(saved):
    run, path = saved
    found = language_model.load(path)
    assert {name: array.tobytes() for name, array in named_weights(found.model).items()} == {
        name: array.tobytes() for name, array in named_weights(run.model).items()
    }
    assert found.tokenizer == Tokenizer.train(TEXT, 270)
    assert found.step == 1
    assert found.model(tensor(np.array([[1, 2]]))).dtype.name == "float32"


def test_other_files_are_refused(saved):
    _, path = saved
    found = checkpoint.load(path)
    found.arrays["model.ln_f.weight"] = np.ones(9, np.float32)
    checkpoint.save(path, found)
    weights = (
        "load_weights expected the 16 weights of the model, got ln_f.weight of shape (9,) instead of (8,); build it with the same sizes"
    )
    with raises(checkpoint.CheckpointError, f"{path} expected the weights and merges of this version, got others ({weights}); train again"):
        language_model.load(path)
    del found.about["merges"]
    checkpoint.save(path, found)
    with raises(checkpoint.CheckpointError, f"{path} expected the weights and merges of this version, got others ('merges'); train again"):
        language_model.load(path)
    found.about["program"] = "run_sentiment"
    checkpoint.save(path, found)
    message = f"{path} expected a checkpoint of run_gpt.py, got one of run_sentiment.py; name another file"
    with raises(checkpoint.CheckpointError, message):
        language_model.load(path)


def test_an_error_of_the_student_s_model_is_not_taken_for_an_old_checkpoint(monkeypatch, saved):
    def broken(model, layers):
        raise ValueError("broken")

    monkeypatch.setattr(models, "init_weights", broken)
    with raises(ValueError, "broken") as found:
        language_model.load(saved[1])
    assert not isinstance(found.value, checkpoint.CheckpointError)


@pytest.mark.parametrize(("length", "count"), [(1, 0), (1, 4), (4, 1), (4, 2), (3, 9), (9, 6)])
def test_a_text_goes_on_beyond_the_context_after_half_of_it(length, count):
    model = GPT2(7, 4, 1, 1, 4)
    prompt = np.random.default_rng(length).integers(0, 7, length).tolist()
    minitorch.manual_seed(5)
    found = list(language_model.continue_tokens(model, prompt, count, 1.0))
    minitorch.manual_seed(5)
    expected = []
    while len(expected) < count:
        known = prompt + expected
        known = known if len(known) <= 4 else known[-2:]
        expected += generate(model, known, min(5 - len(known), count - len(expected)), 1.0)
    assert found == expected
    assert len(found) == count
