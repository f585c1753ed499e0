"""The page that trains on images: a complete run, and its messages for unwritten or failing code."""

import time

import numpy as np
import pytest

from project.lab import task_source
from project.lab.cards import WrongResult
from project.lab.explorers import learned_network
from project.lab.training import found_data
from project.lab.training.image_trainer import ImageSetting
from project.lab.training.job import Run
from project.lab.training.jobs import Failed
from project.run_mnist_multiclass import Network
from tests.project.classifier_pages import fake_program, page_text, picture_markup, texts, until_done  # noqa: F401  the fixture is used by name
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  the fixture works by being here

SMALL = {"images_limit": "48", "images_epochs": "2", "images_batch": "48"}


def test_stop_ends_the_program_immediately():
    app = open_page("m4_images", **SMALL)
    app.button(key="images_start").click().run()
    run = app.session_state["images_run"]
    process = run._job._process
    begun = time.monotonic()
    run.stop()
    stopped = time.monotonic() - begun
    assert process.poll() is not None
    assert stopped < 5  # a kill ended the program before the training did
    app.run()
    assert not app.exception
    assert not app.button(key="images_start").disabled


def test_an_unwritten_network_becomes_a_card(fake_program):  # noqa: F811  the fixture
    fake_program(error=NotImplementedError("Need to implement for Task 4.5"))
    app = open_page("m4_images")
    app.button(key="images_start").click().run()
    assert any("Task 4.5 is not written yet: open project/run_mnist_multiclass.py" in text for text in texts(app.info))
    assert not app.exception
    assert not app.button(key="images_start").disabled


@pytest.mark.parametrize("page", ["m4_images", "m4_sentiment"])
def test_an_unwritten_program_shows_its_card_before_it_starts(monkeypatch, page):
    stub = 'class Network:\n    def forward(self, x):\n        raise NotImplementedError("Need to implement for Task 4.5")\n'
    monkeypatch.setattr(task_source, "source", lambda name: stub)
    app = open_page(page)
    assert any("Task 4.5 is not written yet" in text for text in texts(app.info))
    assert "Need to implement for Task 4.5" in texts(app.code)[-1]


def test_an_error_in_the_program_is_shown(fake_program):  # noqa: F811  the fixture
    fake_program(error=Failed("ValueError: shapes do not match"))
    app = open_page("m4_images")
    app.button(key="images_start").click().run()
    assert texts(app.error) == ["Training failed."]
    assert "ValueError: shapes do not match" in texts(app.code)


def test_a_loss_of_nan_is_reported(fake_program):  # noqa: F811  the fixture
    facts = {"setting": {}, "command": "", "about": "", "parameters": 1, "train": 8, "valid": 2}
    numbers = {"train_accuracy": 0.5, "valid_accuracy": 0.5, "seconds": 1.0}
    fake_program([facts, {"epoch": 1, "loss": None, **numbers}])
    app = open_page("m4_images")
    app.button(key="images_start").click().run()
    assert "The loss is not a number (NaN). The learning rate is too high, or a gradient is wrong." in texts(app.caption)
    assert app.metric[1].value == "-"
    assert not app.exception


def test_epochs_reported_after_the_end_update_the_buttons(monkeypatch, fake_program):  # noqa: F811  the fixture
    facts = {"setting": {}, "command": "", "about": "", "parameters": 1, "train": 8, "valid": 2}
    fake_program([facts, {"epoch": 1, "loss": 0.5, "train_accuracy": 0.5, "valid_accuracy": 0.5, "seconds": 1.0}])
    monkeypatch.setattr(Run, "resumable", lambda self, setting: len(self.history) < setting.epochs)
    app = open_page("m4_images", images_epochs="1")
    app.button(key="images_start").click().run()
    assert app.metric[0].value == "1 / 1"
    assert app.button(key="images_resume").disabled


def test_missing_data_sets_are_not_offered(monkeypatch, tmp_path):
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    assert found_data.image_sets() == ["digits"]
    assert found_data.sentence_sets() == ["sentences"]
    assert "glove" not in found_data.word_vectors()
    (tmp_path / "mnist").mkdir()
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"):  # compressed or not
        (tmp_path / "mnist" / name).touch()
    assert found_data.image_sets() == ["digits", "mnist"]
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz"):
        (tmp_path / "mnist" / name).touch()
    assert found_data.image_sets() == ["digits", "mnist", "mnist-all"]
    for name in ("sst2/train.tsv", "glove/glove.6B.50d.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    assert found_data.sentence_sets() == ["sentences"]
    (tmp_path / "sst2" / "dev.tsv").touch()
    assert found_data.sentence_sets() == ["sentences", "sst2"]
    assert "glove" in found_data.word_vectors()


def test_the_page_names_missing_data_sets_and_offers_the_others(monkeypatch, tmp_path):
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    app = open_page("m4_images")
    assert any("MNIST is not installed" in text for text in texts(app.caption))
    assert list(app.selectbox(key="images_dataset").options) == ["digits"]


def test_a_network_with_an_invalid_output_is_rejected():
    network = Network(8, 2)
    with pytest.raises(WrongResult, match=r"expected to return shape \(1, 10\) for one image, got another type"):
        learned_network.predict(ChangedOutput(network, lambda out: None), np.zeros((8, 8)))
    with pytest.raises(WrongResult, match=r"got shape \(10,\)"):
        learned_network.predict(ChangedOutput(network, lambda out: out.view(10)), np.zeros((8, 8)))


class ChangedOutput:
    """A network whose output is changed by a function."""

    def __init__(self, network, change):
        self.network, self.change, self.parameters = network, change, network.parameters

    def __call__(self, x):
        return self.change(self.network(x))


def test_every_field_of_the_setting_has_a_control():
    app = open_page("m4_images", images_rate="0.25", images_momentum="0.5", images_dtype="float64", images_compile="true")
    assert " --compile" in app.code[0].value
    assert "--rate 0.25" in app.code[0].value
    assert "--momentum 0.5" in app.code[0].value
    assert "--dtype float64" in app.code[0].value
    assert "--limit" not in app.code[0].value
    assert ImageSetting(rate=0.25, momentum=0.5, dtype="float64", compile=True).command() == app.code[0].value
