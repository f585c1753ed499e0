"""What excites a unit: its strongest images, the pixels that it reads, and the page."""

import numpy as np
import pytest

import minitorch
from project.lab.explorers import excitation
from project.lab.explorers.excitation import Peak
from project.run_mnist_multiclass import BACKEND, Network
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  the fixture works by being here

MAPS = np.zeros((3, 2, 2, 3))  # image, channel, row, column
MAPS[0, 1, 1, 2] = 0.5
MAPS[1, 1, 0, 1] = 2.0
MAPS[2, 1, 1, 0] = 0.5
MAPS[2, 0, 0, 0] = 9.0  # another channel


def test_the_strongest_images_come_first_with_the_place_of_their_largest_activation():
    assert excitation.strongest(MAPS, 1, 5) == [Peak(1, 0, 1, 2.0), Peak(0, 1, 2, 0.5), Peak(2, 1, 0, 0.5)]
    assert excitation.strongest(MAPS, 1, 1) == [Peak(1, 0, 1, 2.0)]


@pytest.fixture
def network():
    minitorch.manual_seed(2)
    network = Network(8, 2)
    network.eval()
    return network


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
    outside = np.where(inside, image, 9.0)
    assert np.array_equal(unit(outside), before)
    corners = [(row, column), (row + height - 1, column + width - 1)]
    for corner in corners:
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
