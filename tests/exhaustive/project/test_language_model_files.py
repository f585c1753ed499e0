"""The training of the adapters of the page on language models."""

from minitorch.io.formats import read_arrays
from project.lab import language_model
from project.lab.models import __main__ as files
from project.lab.training import checkpoint
from project.lab.training.text_trainer import Run
from tests.project.test_language_model_training import TEXT, TINY


def test_adapters_are_trained_and_fit_the_model(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "STEPS", 12)
    monkeypatch.setattr(files, "text", lambda: TEXT)
    checkpoint.save(tmp_path / "run", Run(TINY, TEXT).checkpoint())
    losses = files.adapt(language_model.load(tmp_path / "run"), tmp_path / "adapters")
    assert losses[-1] < losses[0]
    language_model.load_adapter(language_model.load(tmp_path / "run").model, tmp_path / "adapters")
    assert len(read_arrays(tmp_path / "adapters")[0]) == 2 * 2 * 4  # A and B of four layers in each of two blocks
