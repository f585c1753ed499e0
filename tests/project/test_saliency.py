"""What a network sees: the gradient with respect to the pixels, the images that excite a unit most, and the pixels that it reads."""

import numpy as np
import pytest

import minitorch
from project.lab.cards import WrongResult
from project.lab.explorers import excitation, saliency
from project.lab.explorers.excitation import Peak
from project.run_mnist_multiclass import BACKEND, Network

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
    assert alone.pixels[1, 0].tolist() == [217, 112, 30]  # the largest slope has the full color
    assert alone.pixels[0, 1, 0] < alone.pixels[0, 1, 2]  # blue
    assert alone.says == "gradient of the log probability of 5, from -4 to 2"
    assert (over.pixels[0, 1] < alone.pixels[0, 1]).all()  # ink
    assert np.array_equal(over.pixels[1], alone.pixels[1])  # paper


def test_the_pixels_with_the_largest_effects_are_named():
    assert saliency.in_words(DRAWN, SLOPES, 5) == (
        "Log probability of 5: more ink at row 0, column 1 (now ink) raises it most, at a rate of 2; more ink at row 1, column 0 (now "
        "paper) lowers it most, at a rate of 4."
    )
    one = "Log probability of 5: more ink at row 1, column 0 (now paper) raises it most, at a rate of 4."
    assert saliency.in_words(DRAWN, np.abs(SLOPES), 5) == one
    assert saliency.in_words(DRAWN, 0 * SLOPES, 5).startswith("The gradient is 0")


MAPS = np.zeros((3, 2, 2, 3))  # image, channel, row, column
MAPS[0, 1, 1, 2] = 0.5
MAPS[1, 1, 0, 1] = 2.0
MAPS[2, 1, 1, 0] = 0.5
MAPS[2, 0, 0, 0] = 9.0  # another channel


def test_the_strongest_images_come_first_with_the_place_of_their_largest_activation():
    assert excitation.strongest(MAPS, 1, 5) == [Peak(1, 0, 1, 2.0), Peak(0, 1, 2, 0.5), Peak(2, 1, 0, 0.5)]
    assert excitation.strongest(MAPS, 1, 1) == [Peak(1, 0, 1, 2.0)]


def test_the_feature_maps_of_many_images_are_those_of_each(network):
    images = np.random.default_rng(0).random((3, 8, 8))
    together = excitation.responses(network, images)
    assert set(together) == {"mid", "out"}
    assert excitation.responses(minitorch.nn.Sequential(network), images) == {}  # a network without feature maps of its own
    for i in range(3):
        with minitorch.no_grad():
            network(minitorch.tensor(images[i : i + 1, None], backend=BACKEND))
        assert together["mid"][i] == pytest.approx(network.mid.to_numpy()[0])
        assert together["out"][i] == pytest.approx(network.out.to_numpy()[0])


@pytest.mark.parametrize("layer", ["mid", "out"])
def test_a_unit_reads_its_receptive_field_and_no_other_pixel(network, layer):
    """A pixel outside of it may change by any amount; a change of each pixel within changes some channel of the unit."""
    height, width = excitation.receptive_field(network, layer)
    image = np.random.default_rng(1).random((8, 8))
    row, column = 1, 2

    def unit(picture):
        return excitation.responses(network, picture[None])[layer][0, :, row, column]

    before = unit(image)
    inside = np.zeros((8, 8), bool)
    inside[row : row + height, column : column + width] = True
    assert np.array_equal(unit(np.where(inside, image, 9.0)), before)
    for corner in [(row, column), (row + height - 1, column + width - 1)]:
        changed = image.copy()
        changed[corner] += 50.0
        assert not np.array_equal(unit(changed), before)


def test_the_pixels_that_the_unit_reads_are_tinted_and_described():
    shown = excitation.picture(np.zeros((4, 4)), 7, Peak(0, 2, 3, 1.25), (3, 3))
    tinted = (shown.pixels != 255).any(2)
    assert np.argwhere(tinted).tolist() == [[2, 3], [3, 3]]  # the rest lies past the edge
    assert shown.caption == "7: 1.25"
    assert shown.says == "a 7; the unit reads rows 2 to 3, columns 3 to 3"


def test_the_digits_that_excite_a_channel_are_counted():
    peaks = excitation.strongest(MAPS, 1, 3)
    assert excitation.in_words(peaks, np.array([4, 7, 4])) == "Digits among the 3 images that excite it most: 2 × 4, 1 × 7."
    assert excitation.in_words([Peak(0, 0, 0, 0.0)], np.array([4])).startswith("This channel is never positive")
