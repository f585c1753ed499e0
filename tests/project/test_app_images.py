"""The page that trains on images: a complete run, and its messages for unwritten or failing code."""

import re
import time

import numpy as np
import pytest

from project.lab import kernels, task_source
from project.lab.cards import WrongResult
from project.lab.explorers import learned_network
from project.lab.training import found_data
from project.lab.training.image_trainer import ImageSetting
from project.lab.training.job import Run
from project.lab.training.jobs import Failed
from project.run_mnist_multiclass import Network
from tests.project.classifier_pages import fake_program, page_text, texts  # noqa: F401  the fixture is used by name
from tests.project.pages import ignore_saved_files, open_page, press  # noqa: F401  a fixture

SMALL = {"images_limit": "48", "images_epochs": "2", "images_batch": "48"}
FACTS = {"setting": {}, "command": "", "about": "", "parameters": 1, "train": 8, "valid": 2}
EPOCH = {"epoch": 1, "loss": 0.5, "train_accuracy": 0.5, "valid_accuracy": 0.5, "seconds": 1.0}


def test_stop_ends_the_program_immediately():
    app = press(open_page("m4_images", **SMALL), "images_start")
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


def test_a_page_that_is_loaded_again_continues_with_its_run(fake_program):  # noqa: F811  the fixture
    fake_program([FACTS, EPOCH])
    app = press(open_page("m4_images"), "images_start").run()
    run = app.session_state["images_run"]
    again = open_page("m4_images", images_run=app.query_params["images_run"])
    assert again.session_state["images_run"] is run
    assert again.metric[0].value == "1 / 30"
    assert open_page("m4_images").session_state["images_run"] is None
    assert open_page("m4_images", images_run="minitorch-run-none").session_state["images_run"] is None


def test_the_page_does_not_wait_until_kernels_are_compiled(monkeypatch):
    monkeypatch.setattr(kernels, "ready", lambda: False)
    assert "Until you press" not in page_text(open_page("m4_images"))


@pytest.mark.parametrize(
    "error", [NotImplementedError("Need to implement for Task 4.5"), WrongResult("other parameters")], ids=["unwritten", "other"]
)
def test_a_network_that_does_not_take_those_weights_is_trained_first(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(kernels, "ready", lambda: True)
    monkeypatch.setattr(learned_network, "image_network", fail)
    app = open_page("m4_images")
    assert "Until you press" not in page_text(app)
    assert "Press **Start** to train. This page updates after every epoch." in page_text(app)
    assert not app.error


def test_an_unwritten_network_becomes_a_card(fake_program):  # noqa: F811  the fixture
    fake_program(error=NotImplementedError("Need to implement for Task 4.5"))
    app = press(open_page("m4_images"), "images_start")
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
    app = press(open_page("m4_images"), "images_start")
    assert texts(app.error) == ["Training failed."]
    assert "ValueError: shapes do not match" in texts(app.code)


def test_a_loss_of_nan_is_reported(fake_program):  # noqa: F811  the fixture
    fake_program([FACTS, EPOCH | {"loss": None}])
    app = press(open_page("m4_images"), "images_start")
    assert "The loss is not a number (NaN). The learning rate is too high, or a gradient is wrong." in texts(app.caption)
    assert app.metric[1].value == "-"
    assert not app.exception


def test_epochs_reported_after_the_end_update_the_buttons(monkeypatch, fake_program):  # noqa: F811  the fixture
    fake_program([FACTS, EPOCH])
    monkeypatch.setattr(Run, "resumable", lambda self, setting: len(self.history) < setting.epochs)
    app = press(open_page("m4_images", images_epochs="1"), "images_start")
    assert app.metric[0].value == "1 / 1"
    assert app.button(key="images_resume").disabled


def test_missing_data_sets_are_not_offered(monkeypatch, tmp_path):
    def found_after(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        return found_data.image_sets(), found_data.sentence_sets(), "glove" in found_data.word_vectors()

    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    assert found_after() == (["digits"], ["sentences"], False)
    small, large = ["digits", "mnist"], ["digits", "mnist", "mnist-all"]
    assert found_after("mnist/t10k-images-idx3-ubyte.gz")[0] == ["digits"]
    assert found_after("mnist/t10k-labels-idx1-ubyte")[0] == small  # compressed or not
    assert found_after("mnist/train-images-idx3-ubyte", "mnist/train-labels-idx1-ubyte.gz")[0] == large
    assert found_after("sst2/train.tsv")[1] == ["sentences"]
    assert found_after("sst2/dev.tsv", "glove/glove.6B.50d.txt") == (large, ["sentences", "sst2"], True)


def test_the_page_names_missing_data_sets_and_offers_the_others(monkeypatch, tmp_path):
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    app = open_page("m4_images")
    assert any("MNIST is not installed" in text for text in texts(app.caption))
    assert list(app.selectbox(key="images_dataset").options) == ["digits"]


@pytest.mark.parametrize(
    ("change", "got"), [(lambda out: None, "another type"), (lambda out: out.view(10), "shape (10,)")], ids=["nothing", "another shape"]
)
def test_a_network_with_an_invalid_output_is_rejected(change, got):
    class Changed(Network):
        def forward(self, x):
            return change(super().forward(x))

    with pytest.raises(WrongResult, match=re.escape(f"expected to return shape (1, 10) for one image, got {got}")):
        learned_network.predict(Changed(8, 2), np.zeros((8, 8)))


def test_every_field_of_the_setting_has_a_control():
    app = open_page("m4_images", images_rate="0.25", images_momentum="0.5", images_dtype="float64", images_eager="true")
    for words in (" --eager", "--rate 0.25", "--momentum 0.5", "--dtype float64"):
        assert words in app.code[0].value
    assert "--limit" not in app.code[0].value
    assert ImageSetting(rate=0.25, momentum=0.5, dtype="float64", eager=True).command() == app.code[0].value
