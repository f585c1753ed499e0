"""Transforms: what comes out, number by number, that every image has a chance of its own, and the seed decides."""

import re

import numpy as np
import pytest

from minitorch.data import ArrayDataset, Compose, DataLoader, Normalize, RandomCrop, RandomHorizontalFlip, Reshape, ToTensor


def refused(kind, message):
    """A context in which exactly this message is raised."""
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


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


def test_grey_pictures_get_one_channel():
    found = applied(ToTensor(), np.array([[[0, 255]], [[51, 102]]], np.uint8))
    assert found.shape == (2, 1, 1, 2)
    assert found.ravel().tolist() == np.array([0, 1, 0.2, 0.4], np.float32).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fractions_are_not_scaled(dtype):
    found = applied(ToTensor(), np.full((1, 2, 2, 3), 200, dtype))
    assert found.dtype == dtype
    assert set(found.ravel()) == {200}


@pytest.mark.parametrize("shape", [(3, 3, 32, 32), (2, 2), (1, 2, 2, 0), (1, 2, 2, 5), (1, 1, 1, 1, 1)])
def test_pictures_of_another_shape_are_refused(shape):
    message = (
        f"ToTensor expected pictures of shape (B, H, W) or (B, H, W, C) with 1 to 4 channels, got {shape}; "
        "leave it out where the channels come first"
    )
    with refused(ValueError, message):
        applied(ToTensor(), np.zeros(shape, np.uint8))


@pytest.mark.parametrize("value", [-1, 256])
def test_numbers_that_are_no_bytes_are_refused(value):
    with refused(ValueError, f"ToTensor expected bytes from 0 to 255, got {value}; scale the numbers to 0 … 1 and give it fractions"):
        applied(ToTensor(), [[[0, 255, value]]])
    with refused(TypeError, "ToTensor expected numbers, got bool; convert them: images.astype(np.float32)"):
        applied(ToTensor(), [[[True]]])


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


@pytest.mark.parametrize("shape", [(39,), (200, 40), (3, -1), (0, -1), (0,)])
def test_a_shape_that_does_not_fit_is_refused(shape):
    message = (
        f"Reshape expected examples that fit into {shape}, got (2, 4, 5) with 40 numbers; "
        "the sizes are of one example, without the number of them"
    )
    with refused(ValueError, message):
        applied(Reshape(shape), COUNTED)


def test_sizes_that_are_none_are_refused():
    for shape in ((-1, -1), (-2,)):
        with refused(ValueError, f"Reshape expected sizes >= 0 and at most one -1, got {shape}; as in Reshape(-1)"):
            Reshape(shape)
    with refused(TypeError, "Reshape expected whole numbers as sizes, got (2.0, 20); as in Reshape(1, 28, 28)"):
        Reshape(2.0, 20)


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


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_a_probability_that_is_none_is_refused(p):
    with refused(ValueError, f"RandomHorizontalFlip expected a probability p from 0 to 1, got {p}; try 0.5"):
        RandomHorizontalFlip(p)


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


def test_an_image_of_the_size_asked_for_stays():
    assert np.array_equal(applied(RandomCrop((4, 5)), COUNTED), COUNTED)


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
    with refused(ValueError, "RandomCrop expected images of at least 4×2, got 2×2; give a smaller size, or pad_if_needed=True"):
        applied(RandomCrop((4, 2)), image)
    with refused(ValueError, "RandomCrop expected images of at least 1×3, got 2×2; give a smaller size, or pad_if_needed=True"):
        applied(RandomCrop((1, 3)), image)


@pytest.mark.parametrize(("mode", "widest"), [("reflect", 1), ("symmetric", 2)])
def test_a_border_that_an_image_cannot_be_mirrored_into_is_refused(mode, widest):
    image = np.ones((1, 1, 2, 2))
    applied(RandomCrop(2, widest, padding_mode=mode), image)
    message = f"RandomCrop expected a border that an image of 2×2 can fill, got 0 and {widest + 1} points of {mode}; make it narrower"
    with refused(ValueError, message):
        applied(RandomCrop(2, (widest + 1, 0), padding_mode=mode), image)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"size": 0}, ValueError, "RandomCrop expected size to be a whole number >= 1, or 2 of them, got 0; try size=4"),
        ({"size": (1, 2, 3)}, ValueError, "RandomCrop expected size to be a whole number >= 1, or 2 of them, got (1, 2, 3); try size=4"),
        ({"size": 2.0}, TypeError, "RandomCrop expected whole numbers as size, got 2.0; try size=4"),
        (
            {"size": 2, "padding": -1},
            ValueError,
            "RandomCrop expected padding to be a whole number >= 0, or 2 or 4 of them, got -1; try padding=4",
        ),
        ({"size": 2, "padding": "ab"}, TypeError, "RandomCrop expected whole numbers as padding, got 'ab'; try padding=4"),
        (
            {"size": 2, "padding_mode": "wrap"},
            ValueError,
            "RandomCrop expected padding_mode to be one of constant, edge, reflect, symmetric, got 'wrap'; try constant",
        ),
    ],
)
def test_a_crop_that_is_none_is_refused(arguments, kind, message):
    with refused(kind, message):
        RandomCrop(**arguments)


@pytest.mark.parametrize("transform", [RandomCrop(1), RandomHorizontalFlip()])
def test_what_are_no_images_are_refused(transform):
    message = f"{type(transform).__name__} expected images of shape (B, C, H, W), got (2, 3); put it before Reshape"
    with refused(ValueError, message):
        applied(transform, np.zeros((2, 3)))


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
        loader = DataLoader(data, 16, transform=Compose(steps), dtype="float32", **options)
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


@pytest.mark.parametrize("shape", [(2, 1, 4, 4), (2, 2, 4, 4), (3, 4, 4), (2, 3), (2, 4, 4, 3)])
def test_images_of_other_channels_are_not_normalized(shape):
    for transform in (Normalize([1, 2, 3], 1), Normalize(0, [1, 2, 3])):
        with refused(ValueError, f"Normalize expected images of shape (B, 3, H, W), got {shape}; pass a mean for each channel"):
            applied(transform, np.zeros(shape))


@pytest.mark.parametrize(("mean", "std"), [([1, 2, 3], [1, 2]), ([], 1)])
def test_as_many_means_as_deviations_are_asked_for(mean, std):
    message = f"Normalize expected mean and std of equal length, got {len(mean)} and {np.size(std)}; pass one number per channel"
    with refused(ValueError, message):
        Normalize(mean, std)
