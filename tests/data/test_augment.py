"""Transforms: what comes out, number by number, that every image has a chance of its own, and the seed decides."""

import numpy as np
import pytest

from minitorch.data import ArrayDataset, Compose, DataLoader, Normalize, RandomCrop, RandomHorizontalFlip, Reshape, ToTensor
from tests.errors import raises


def applied(transform, images, seed=0):
    """The images after the transform; those given stay as they are."""
    images = np.asarray(images)
    before = images.copy()
    found = transform(images, np.random.default_rng(seed))
    assert np.array_equal(images, before)
    return found


COUNTED = np.arange(1, 1 + 200 * 2 * 4 * 5).reshape(200, 2, 4, 5) / 1
"""200 images of two channels, 4×5, with every number once."""


# Into the form that networks take


def test_bytes_become_numbers_from_0_to_1_with_the_channels_first():
    pictures = np.array([[[[0, 51, 255], [1, 2, 3]]]], np.uint8)  # (1, 1, 2, 3)
    found = applied(ToTensor(), pictures)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.shape == (1, 3, 1, 2)
    expected = np.array([[[[0, 1 / 255]], [[0.2, 2 / 255]], [[1, 3 / 255]]]])
    assert np.array_equal(found, expected.astype(np.float32))


def test_grey_pictures_get_one_channel_and_fractions_are_not_scaled():
    found = applied(ToTensor(), np.array([[[0, 255]], [[51, 102]]], np.uint8))
    assert found.shape == (2, 1, 1, 2)
    assert found.ravel().tolist() == np.array([0, 1, 0.2, 0.4], np.float32).tolist()
    for dtype in (np.float32, np.float64):
        found = applied(ToTensor(), np.full((1, 2, 2, 3), 200, dtype))
        assert (found.dtype, set(found.ravel())) == (dtype, {200})


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [((40,), (40,)), ((-1,), (40,)), ((2, 20), (2, 20)), (((2, -1),), (2, 20)), (([1, 5, 8],), (1, 5, 8)), ((2, 4, 5, 1), (2, 4, 5, 1))],
)
def test_examples_get_another_shape(arguments, shape):
    found = applied(Reshape(*arguments), COUNTED)
    assert found.shape == (200, *shape)
    assert np.array_equal(found.ravel(), COUNTED.ravel())


def test_single_numbers_are_examples_of_no_dimension():
    assert applied(Reshape(()), [[1], [2]]).tolist() == [1, 2]
    assert applied(Reshape(-1), np.zeros((0, 3))).shape == (0, 3)


# By chance


def test_every_image_is_mirrored_or_stays():
    found = applied(RandomHorizontalFlip(0.25), COUNTED)
    mirrored = [
        image.tolist() == [[row[::-1] for row in channel] for channel in before]
        for image, before in zip(found, COUNTED.tolist(), strict=True)
    ]
    same = [image.tolist() == before.tolist() for image, before in zip(found, COUNTED, strict=True)]
    assert [one or other for one, other in zip(mirrored, same, strict=True)] == [True] * 200
    assert 30 < sum(mirrored) < 70, "a quarter of 200"


@pytest.mark.parametrize(("p", "step"), [(0, 1), (1, -1), (0.0, 1), (1.0, -1)])
def test_images_can_be_mirrored_always_or_never(p, step):
    assert np.array_equal(applied(RandomHorizontalFlip(p), COUNTED), COUNTED[..., ::step])


def bordered(image, left, top, right, bottom, fill=0.0):
    """An image with a constant border, put together point by point."""
    C, H, W = image.shape
    out = np.full((C, top + H + bottom, left + W + right), fill)
    for channel, row, column in np.ndindex(image.shape):
        out[channel, top + row, left + column] = image[channel, row, column]
    return out


@pytest.mark.parametrize(
    ("size", "padding", "border", "fill"),
    [
        ((3, 2), None, (0, 0, 0, 0), 0),
        ((4, 5), None, (0, 0, 0, 0), 0),  # the image as it is
        (4, None, (0, 0, 0, 0), 0),
        ((4, 5), 1, (1, 1, 1, 1), -3),
        (5, (2, 1), (2, 1, 2, 1), 0),
        ((6, 6), (2, 1, 0, 3), (2, 1, 0, 3), 7),
    ],
)
def test_a_part_of_every_image_is_cut_out_at_a_place_of_its_own(size, padding, border, fill):
    h, w = size if isinstance(size, tuple) else (size, size)
    found = applied(RandomCrop(size, padding, fill=fill), COUNTED)
    assert found.shape == (200, 2, h, w)
    wholes = [bordered(image, *border, fill) for image in COUNTED]
    places = [(row, column) for row in range(wholes[0].shape[1] - h + 1) for column in range(wholes[0].shape[2] - w + 1)]
    seen = []
    for part, whole in zip(found, wholes, strict=True):
        fits = [(row, column) for row, column in places if np.array_equal(part, whole[:, row : row + h, column : column + w])]
        assert len(fits) == 1
        seen += fits
    assert min(seen.count(place) for place in places) > 50 / len(places), "each comes about 200 / places times"


@pytest.mark.parametrize(
    ("mode", "row"),
    [
        ("constant", [0, 0, 1, 2, 3, 0, 0]),
        ("edge", [1, 1, 1, 2, 3, 3, 3]),
        ("reflect", [3, 2, 1, 2, 3, 2, 1]),
        ("symmetric", [2, 1, 1, 2, 3, 3, 2]),
    ],
)
def test_a_border_is_filled_in_one_of_four_ways(mode, row):
    image = np.array([[[[1.0, 2.0, 3.0]]]])
    assert applied(RandomCrop((1, 7), (2, 0), padding_mode=mode), image).tolist() == [[[row]]]


def test_an_image_that_is_too_small_gets_a_border_if_that_is_wished():
    image = np.ones((50, 1, 2, 2))
    found = applied(RandomCrop((4, 2), pad_if_needed=True, fill=9), image)
    assert found.shape == (50, 1, 4, 2)
    assert {tuple(part[0, :, 0]) for part in found} == {(9, 9, 1, 1), (9, 1, 1, 9), (1, 1, 9, 9)}
    with raises(ValueError, "RandomCrop expected images of at least 4×2, got 2×2; give a smaller size, or pad_if_needed=True"):
        applied(RandomCrop((4, 2)), image)
    with raises(ValueError, "RandomCrop expected images of at least 1×3, got 2×2; give a smaller size, or pad_if_needed=True"):
        applied(RandomCrop((1, 3)), image)


@pytest.mark.parametrize(("mode", "widest"), [("reflect", 1), ("symmetric", 2)])
def test_a_border_that_an_image_cannot_be_mirrored_into_is_refused(mode, widest):
    image = np.ones((1, 1, 2, 2))
    applied(RandomCrop(2, widest, padding_mode=mode), image)
    message = f"RandomCrop expected a border that an image of 2×2 can fill, got 0 and {widest + 1} points of {mode}; make it narrower"
    with raises(ValueError, message):
        applied(RandomCrop(2, (widest + 1, 0), padding_mode=mode), image)


@pytest.mark.parametrize("transform", [RandomCrop(3), RandomHorizontalFlip()])
def test_the_generator_decides_what_is_drawn(transform):
    assert np.array_equal(applied(transform, COUNTED, 1), applied(transform, COUNTED, 1))
    assert not np.array_equal(applied(transform, COUNTED, 1), applied(transform, COUNTED, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transform", [RandomCrop(3, 1), RandomHorizontalFlip(), Reshape(-1)])
def test_the_dtype_stays(transform, dtype):
    assert applied(transform, COUNTED.astype(dtype)).dtype == dtype


# Together


def test_a_loader_does_all_of_them_and_alike_in_every_run():
    pictures = (np.arange(40 * 6 * 6 * 3).reshape(40, 6, 6, 3) % 256).astype(np.uint8)
    data = ArrayDataset(pictures, np.arange(40))
    steps = [ToTensor(), RandomCrop(6, 1), RandomHorizontalFlip(), Normalize([0.5] * 3, [0.25] * 3), Reshape(-1)]

    def epochs(**options):
        loader = DataLoader(data, 16, transform=Compose(steps), dtype="float32", seed=0, **options)
        return [[(x.to_numpy().tolist(), y.to_numpy().tolist()) for x, y in loader] for _ in range(2)]

    first, second = epochs()
    assert first != second, "every epoch has chances of its own"
    assert epochs() == epochs(prefetch=3) == [first, second]
    assert np.shape(first[0][0]) == (16, 108)
    assert [y for _, y in first] == [y for _, y in second] == [list(range(16)), list(range(16, 32)), list(range(32, 40))]


def test_transforms_may_stand_in_a_list():
    steps = [Normalize(1, 2), Normalize(10, 1)]
    for both in (Compose(*steps), Compose(steps), Compose(tuple(steps))):
        assert both(np.full((1, 1, 1, 1), 5.0), np.random.default_rng(0)).item() == -8
    assert Compose([])(3, None) == Compose()(3, None) == 3


def test_one_mean_is_for_examples_of_any_shape():
    for mean in (1, [1]):
        assert applied(Normalize(mean, 2), [[1.0, 3.0]]).tolist() == [[0, 1]]


# What is refused

PICTURES = (
    "ToTensor expected pictures of shape (B, H, W) or (B, H, W, C) with 1 to 4 channels, got {}; leave it out where the channels come first"
)
BYTES = "ToTensor expected bytes from 0 to 255, got {}; scale the numbers to 0 … 1 and give it fractions"
FITTING = (
    "Reshape expected examples that fit into {}, got (2, 4, 5) with 40 numbers; the sizes are of one example, without the number of them"
)
CHANNELS = "Normalize expected images of shape (B, 3, H, W), got {}; pass a mean for each channel"


@pytest.mark.parametrize(
    ("transform", "images", "error", "message"),
    [
        *[
            (ToTensor(), np.zeros(shape, np.uint8), ValueError, PICTURES.format(shape))
            for shape in [(3, 3, 32, 32), (2, 2), (1, 2, 2, 0), (1, 2, 2, 5), (1, 1, 1, 1, 1)]
        ],
        *[(ToTensor(), [[[0, 255, value]]], ValueError, BYTES.format(value)) for value in (-1, 256)],
        (ToTensor(), [[[True]]], TypeError, "ToTensor expected numbers, got bool; convert them: images.astype(np.float32)"),
        *[(Reshape(shape), COUNTED, ValueError, FITTING.format(shape)) for shape in [(39,), (200, 40), (3, -1), (0, -1), (0,)]],
        *[
            (made, np.zeros((2, 3)), ValueError, f"{name} expected images of shape (B, C, H, W), got (2, 3); put it before Reshape")
            for name, made in (("RandomCrop", RandomCrop(1)), ("RandomHorizontalFlip", RandomHorizontalFlip()))
        ],
        *[
            (made, np.zeros(shape), ValueError, CHANNELS.format(shape))
            for shape in [(2, 1, 4, 4), (2, 2, 4, 4), (3, 4, 4), (2, 3), (2, 4, 4, 3)]
            for made in (Normalize([1, 2, 3], 1), Normalize(0, [1, 2, 3]))
        ],
    ],
)
def test_images_that_do_not_fit_are_refused(transform, images, error, message):
    with raises(error, message):
        applied(transform, images)


CROP_SIZE = "RandomCrop expected size to be a whole number >= 1, or 2 of them, got {}; try size=4"
CROP_PADDING = "RandomCrop expected padding to be a whole number >= 0, or 2 or 4 of them, got -1; try padding=4"
CROP_MODE = "RandomCrop expected padding_mode to be one of constant, edge, reflect, symmetric, got 'wrap'; try constant"
SIZES = "Reshape expected sizes >= 0 and at most one -1, got {}; as in Reshape(-1)"
CHANCE = "RandomHorizontalFlip expected a probability p from 0 to 1, got {}; try 0.5"
EQUAL = "Normalize expected mean and std of equal length, got {}; pass one number per channel"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomCrop(0), ValueError, CROP_SIZE.format(0)),
        (lambda: RandomCrop((1, 2, 3)), ValueError, CROP_SIZE.format((1, 2, 3))),
        (lambda: RandomCrop(2.0), TypeError, "RandomCrop expected whole numbers as size, got 2.0; try size=4"),
        (lambda: RandomCrop(2, -1), ValueError, CROP_PADDING),
        (lambda: RandomCrop(2, "ab"), TypeError, "RandomCrop expected whole numbers as padding, got 'ab'; try padding=4"),
        (lambda: RandomCrop(2, padding_mode="wrap"), ValueError, CROP_MODE),
        (lambda: Reshape((-1, -1)), ValueError, SIZES.format((-1, -1))),
        (lambda: Reshape((-2,)), ValueError, SIZES.format((-2,))),
        (lambda: Reshape(2.0, 20), TypeError, "Reshape expected whole numbers as sizes, got (2.0, 20); as in Reshape(1, 28, 28)"),
        *[(lambda p=p: RandomHorizontalFlip(p), ValueError, CHANCE.format(p)) for p in (-0.1, 1.1, float("nan"))],
        (lambda: Normalize([1, 2, 3], [1, 2]), ValueError, EQUAL.format("3 and 2")),
        (lambda: Normalize([], 1), ValueError, EQUAL.format("0 and 1")),
    ],
)
def test_settings_out_of_range_are_refused(make, error, message):
    with raises(error, message):
        make()
