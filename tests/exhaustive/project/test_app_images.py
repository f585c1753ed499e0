"""The page that trains on images: a complete run, and its messages for unwritten or failing code."""

import pytest

from course.manifest import ROOT
from minitorch import FastBackend, tensor
from project.lab import kernels
from project.lab.cards import WrongResult
from project.lab.explorers import learned_network
from project.lab.training.image_trainer import SPLITS
from project.lab.widgets import digit_pad
from project.run_mnist_multiclass import Network
from tests.project.classifier_pages import page_text, picture_markup, texts, until_done
from tests.project.pages import fill, ignore_saved_files, open_page, press
from tests.project.test_app_images import SMALL


def test_a_run_shows_results_from_the_start_to_the_feature_maps():
    app = open_page("m4_images", **SMALL)
    assert "Press **Start** to train" in app.info[0].value
    command = "python project/run_mnist_multiclass.py --dataset digits --epochs 2 --rate 0.1 --batch 48 --seed 0 --momentum 0.0"
    assert app.code[0].value == f"{command} --limit 48 --dtype float32"
    until_done(press(app, "images_start"), "images")
    assert not app.exception
    assert app.metric[0].value == "2 / 2"
    assert "on 48 training examples and " in page_text(app)
    assert "of 12 predictions are wrong" in page_text(app) or "All 12 predictions are correct" in page_text(app)
    assert "After epoch 2, the network predicts" in page_text(app)
    assert "conv2: 4 input and 8 output channels, kernel size 3×3" in texts(app.caption)
    shown = picture_markup(app)
    assert shown.count('title="conv1, input channel 0') == 4
    assert shown.count('title="conv2, input channel') == 32
    assert shown.count('title="channel') == 4 + 8
    assert len(app.get("download_button")) == 1
    assert app.button(key="images_resume").disabled

    run = app.session_state["images_run"]
    epochs, network = learned_network.image_network(run.checkpoint, Network, 8)
    assert epochs == 2
    app.session_state["images_pad_strokes"] = [[(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]]
    app.run()
    drawn = digit_pad.small([[(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]])
    probabilities = learned_network.predict(network, drawn).probabilities
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    prediction = f"After epoch 2, the network predicts {probabilities.argmax()} with probability {probabilities.max():.0%}."
    assert prediction in page_text(app)
    assert 'title="your drawing in 8 by 8 pixels"' in picture_markup(app)

    assert not fill(app, images_epochs=3).button(key="images_resume").disabled
    assert fill(app, images_seed=1).button(key="images_resume").disabled
    assert any("other settings" in text for text in texts(app.caption))

    def incompatible_network(side, pool):
        network = Network(side, pool)
        network.linear2 = network.conv1
        return network

    with pytest.raises(WrongResult, match="the parameters of your Network differ from those of the trained one; press Start"):
        learned_network.image_network(run.checkpoint, incompatible_network, 8)


def test_before_the_first_run_the_page_predicts_with_weights_that_come_with_it(monkeypatch):
    monkeypatch.setattr(kernels, "ready", lambda: True)
    app = open_page("m4_images")
    assert "Until you press **Start**: your own network" in page_text(app)
    strokes = [[(0.5, 0.15), (0.5, 0.85)]]
    app.session_state["images_pad_strokes"] = strokes
    app.run()
    drawn = digit_pad.small(strokes)
    path = ROOT / "project" / "lab" / "models" / "m4_digits.safetensors"
    probabilities = learned_network.predict(learned_network.image_network(path, Network, 8)[1], drawn).probabilities
    assert probabilities.argmax() == 1
    assert f"After epoch 30, the network predicts 1 with probability {probabilities[1]:.0%}." in page_text(app)


def test_the_weights_that_come_with_the_page_are_right_on_nearly_all_validation_images():
    _, network = learned_network.image_network(ROOT / "project" / "lab" / "models" / "m4_digits.safetensors", Network, 8)
    valid = SPLITS["digits"]()[1]
    found = network(tensor(valid.images, FastBackend)).to_numpy().argmax(1)
    assert (found == valid.labels).mean() > 0.98
