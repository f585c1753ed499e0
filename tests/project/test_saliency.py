"""Saliency: the gradient with respect to the pixels against finite differences, its pictures, and the page."""

import numpy as np
import pytest

import minitorch
from project.lab.cards import WrongResult
from project.lab.charts import thumbnails
from project.lab.explorers import saliency
from project.run_mnist_multiclass import BACKEND, Network
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  the fixture works by being here

IMAGE = np.random.default_rng(0).random((8, 8))
PIXELS = [(0, 0), (3, 4), (7, 6)]


@pytest.fixture
def network():
    minitorch.manual_seed(2)
    network = Network(8, 2)
    network.eval()
    return network


def log_probability(network, image, digit):
    with minitorch.no_grad():
        return network(minitorch.tensor(image[None, None], backend=BACKEND)).to_numpy()[0, digit]


@pytest.mark.parametrize("digit", [0, 7])
def test_the_gradient_is_that_of_finite_differences(network, digit):
    found = saliency.gradient(network, IMAGE, digit)
    assert found.shape == (8, 8)
    assert np.array_equal(saliency.gradient(network, IMAGE, digit), found)  # without the first gradient
    for pixel in PIXELS:
        step = np.zeros((8, 8))
        step[pixel] = 1e-6
        slope = (log_probability(network, IMAGE + step, digit) - log_probability(network, IMAGE - step, digit)) / 2e-6
        assert found[pixel] == pytest.approx(slope, rel=1e-4, abs=1e-8)
        assert abs(found[pixel]) > 1e-6  # the comparison is not of zeros


class Fixed(minitorch.Module):
    """A network that returns a given function of its argument."""

    def __init__(self, function):
        super().__init__()
        self.weight = minitorch.Parameter(minitorch.zeros((1,)))
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: 1.0, "got another type"),
        (lambda x: x.sum(), r"got shape \(.*\)"),
        (lambda x: x.view(64), r"got shape \(64,\)"),
        (lambda x: minitorch.zeros((2, 10)), r"got shape \(2, 10\)"),
        (lambda x: minitorch.zeros((1, 10)).requires_grad_(True) * 2, "backward expected to give the image a gradient, got none"),
    ],
)
def test_a_wrong_network_is_reported(function, message):
    with pytest.raises(WrongResult, match=message):
        saliency.gradient(Fixed(function), IMAGE, 3)


SLOPES = np.array([[0.0, 2.0], [-4.0, 1.0]])
DRAWN = np.array([[0.0, 1.0], [0.0, 0.0]])


def test_the_pictures_show_the_sign_of_the_gradient_and_the_ink():
    alone, over = saliency.pictures(DRAWN, SLOPES, 5)
    assert alone.pixels[0, 0].tolist() == [255, 255, 255]
    assert np.array_equal(alone.pixels[1, 0], thumbnails.NEGATIVE)  # the largest slope has the full color
    assert alone.pixels[0, 1, 0] < alone.pixels[0, 1, 2]  # blue
    assert alone.says == "gradient of the log probability of 5, from -4 to 2"
    assert (over.pixels[0, 1] < alone.pixels[0, 1]).all()  # ink
    assert np.array_equal(over.pixels[1], alone.pixels[1])  # paper


def test_the_pixels_with_the_largest_effects_are_named():
    assert saliency.in_words(DRAWN, SLOPES, 5) == (
        "Log probability of 5: more ink at row 0, column 1 (now ink) raises it most, at a rate of 2; more ink at row 1, column 0 (now "
        "paper) lowers it most, at a rate of 4."
    )
    assert saliency.in_words(DRAWN, np.abs(SLOPES), 5) == (
        "Log probability of 5: more ink at row 1, column 0 (now paper) raises it most, at a rate of 4."
    )
    assert saliency.in_words(DRAWN, 0 * SLOPES, 5).startswith("The gradient is 0")
