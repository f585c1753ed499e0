"""Transforms of batches: what comes out, that every image has random numbers of its own, and that the seed decides."""

import numpy as np
import pytest

import minitorch.torch.vision as torchvision
from minitorch import data
from minitorch.data import ArrayDataset, Compose, DataLoader, Normalize, RandomCrop, RandomHorizontalFlip, Reshape, Shift, ToTensor
from minitorch.data.transforms import Lambda, RandomVerticalFlip
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


def test_a_batch_is_normalized_by_channel_or_as_a_whole():
    images = np.array([[[[1.0, 3.0]], [[10.0, 30.0]]]])  # (1, 2, 1, 2)
    assert applied(Normalize(1, 2), images).tolist() == [[[[0, 1]], [[4.5, 14.5]]]]
    assert applied(Normalize([1, 10], [2, 20]), images).tolist() == [[[[0, 1]], [[0, 1]]]]
    Normalize([1, 10], [2, 20], inplace=True)(images, None)
    assert images.tolist() == [[[[0, 1]], [[0, 1]]]]


# By chance


@pytest.mark.parametrize(("flip", "mirrored"), [(RandomHorizontalFlip, COUNTED[..., ::-1]), (RandomVerticalFlip, COUNTED[..., ::-1, :])])
def test_every_image_is_mirrored_or_stays(flip, mirrored):
    found = applied(flip(0.25), COUNTED)
    changed = [np.array_equal(image, other) for image, other in zip(found, mirrored, strict=True)]
    same = [np.array_equal(image, before) for image, before in zip(found, COUNTED, strict=True)]
    assert np.logical_xor(changed, same).all()
    assert 30 < sum(changed) < 70, "a quarter of 200"
    for p, expected in ((0, COUNTED), (1, mirrored), (0.0, COUNTED), (1.0, mirrored)):
        assert np.array_equal(applied(flip(p), COUNTED), expected)


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
        (Shift(1, fill=-5), None, (1, 1, 1, 1), -5),
        (Shift(0), None, (0, 0, 0, 0), 0),
    ],
)
def test_a_part_of_every_image_is_cut_out_at_a_place_of_its_own(size, padding, border, fill):
    h, w = size if isinstance(size, tuple) else (4, 5) if isinstance(size, Shift) else (size, size)
    found = applied(size if isinstance(size, Shift) else RandomCrop(size, padding, fill=fill), COUNTED)
    assert found.shape == (200, 2, h, w)
    wholes = [bordered(image, *border, fill) for image in COUNTED]
    places = [(row, column) for row in range(wholes[0].shape[1] - h + 1) for column in range(wholes[0].shape[2] - w + 1)]
    seen = []
    for part, whole in zip(found, wholes, strict=True):
        fits = [(row, column) for row, column in places if np.array_equal(part, whole[:, row : row + h, column : column + w])]
        assert len(fits) == 1
        seen += fits
    assert min(seen.count(place) for place in places) > 50 / len(places), "each comes about 200 / places times"


def test_an_image_that_is_too_small_gets_a_border_if_that_is_wished():
    image = np.ones((50, 1, 2, 2))
    found = applied(RandomCrop((4, 2), pad_if_needed=True, fill=9), image)
    assert found.shape == (50, 1, 4, 2)
    assert {tuple(part[0, :, 0]) for part in found} == {(9, 9, 1, 1), (9, 1, 1, 9), (1, 1, 9, 9)}
    for size in ((4, 2), (1, 3)):
        message = f"RandomCrop expected an image of at least {size[0]}×{size[1]}, got 2×2; pass padding or pad_if_needed=True"
        with raises(ValueError, message):
            applied(RandomCrop(size), image)


@pytest.mark.parametrize("transform", [RandomCrop(3), RandomHorizontalFlip(), Shift(2)])
def test_the_generator_decides_what_is_drawn(transform):
    assert np.array_equal(applied(transform, COUNTED, 1), applied(transform, COUNTED, 1))
    assert not np.array_equal(applied(transform, COUNTED, 1), applied(transform, COUNTED, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transform", [RandomCrop(3, 1), RandomHorizontalFlip(), Reshape(-1), Shift(1), Normalize(0.5, 0.25)])
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


def test_transforms_of_one_image_take_a_batch_as_well():
    steps = Compose([Lambda(lambda images: images * 2), Normalize(1, 2), Normalize(10, 1)])
    assert steps(np.full((1, 1, 1, 1), 5.0), np.random.default_rng(0)).item() == -5.5
    assert Compose([])(3, None) == Compose([])(3) == 3
    assert Reshape(2, -1)(np.arange(6)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert Shift(1, fill=7)(np.array([[1.0]])).item() in (1, 7)


def test_the_transforms_of_both_packages_are_the_same():
    for name in torchvision.transforms.__all__:
        assert name == "functional" or getattr(torchvision.transforms, name) is getattr(data.transforms, name)
    for name in torchvision.transforms.functional.__all__:
        module = data.images if hasattr(data.images, name) else data.image_geometry
        assert getattr(torchvision.transforms.functional, name) is getattr(module, name)
    for name in torchvision.datasets.__all__:
        assert getattr(torchvision.datasets, name) is getattr(data, name)
    assert torchvision.utils.make_grid is data.images.make_grid


# What is refused

PICTURES = (
    "ToTensor expected pictures of shape (B, H, W) or (B, H, W, C) with 1 to 4 channels, got {}; leave it out where the channels come first"
)
FITTING = (
    "Reshape expected examples that fit into {}, got (2, 4, 5) with 40 numbers; the sizes are of one example, without the number of them"
)
CHANNELS = "normalize expected mean and std of 1 or {} numbers, one for each channel, got {} and {}"


@pytest.mark.parametrize(
    ("transform", "images", "error", "message"),
    [
        *[
            (ToTensor(), np.zeros(shape, np.uint8), ValueError, PICTURES.format(shape))
            for shape in [(3, 3, 32, 32), (2, 2), (1, 2, 2, 0), (1, 2, 2, 5), (1, 1, 1, 1, 1)]
        ],
        *[(Reshape(shape), COUNTED, ValueError, FITTING.format(shape)) for shape in [(39,), (200, 40), (3, -1), (0, -1), (0,)]],
        (Normalize([1, 2, 3], 1), np.zeros((2, 2, 4, 4)), ValueError, CHANNELS.format(2, [1, 2, 3], 1)),
        (Normalize(0, [1, 2]), np.zeros((2, 3, 4, 4)), ValueError, CHANNELS.format(3, 0, [1, 2])),
        (Normalize(0, [1, 0]), np.zeros((2, 2, 4, 4)), ValueError, "normalize expected standard deviations other than 0, got [1, 0]"),
        (Normalize(0, 1), np.zeros((2, 3)), TypeError, "normalize expected a Tensor of floats, got ndarray; apply ToTensor first"),
        (Normalize(0, 1), np.zeros((1, 1, 1, 1), int), TypeError, "normalize expected a Tensor of floats, got int64; apply ToTensor first"),
    ],
)
def test_images_that_do_not_fit_are_refused(transform, images, error, message):
    with raises(error, message):
        applied(transform, images)


MODES = "pad expected padding_mode constant, edge, reflect, symmetric, got 'wrap'"
SIZES = "Reshape expected sizes >= 0 and at most one -1, got {}; as in Reshape(-1)"
CHANCE = "RandomVerticalFlip expected a probability p from 0 to 1, got {}; try 0.5"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomCrop(2, -1), ValueError, "padding expected integers of at least 0, 1 or 2 or 4 of them, got -1; try padding=4"),
        (lambda: RandomCrop(2, padding_mode="wrap"), ValueError, MODES),
        (lambda: Shift(-1), ValueError, "pixels expected integers of at least 0, 1 of them, got -1; try pixels=4"),
        (lambda: Shift(0.5), TypeError, "pixels expected integers, got 0.5; try pixels=4"),
        (lambda: Reshape((-1, -1)), ValueError, SIZES.format((-1, -1))),
        (lambda: Reshape((-2,)), ValueError, SIZES.format((-2,))),
        (lambda: Reshape(2.0, 20), TypeError, "Reshape expected whole numbers as sizes, got (2.0, 20); as in Reshape(1, 28, 28)"),
        *[(lambda p=p: RandomVerticalFlip(p), ValueError, CHANCE.format(p)) for p in (-0.1, 1.1, float("nan"))],
    ],
)
def test_settings_out_of_range_are_refused(make, error, message):
    with raises(error, message):
        make()
