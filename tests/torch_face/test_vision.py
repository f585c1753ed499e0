"""torchvision's names in minitorch.torch.vision: data sets from files that the tests write, transforms against NumPy and Pillow."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch.data import cifar, images
from minitorch.data.image_geometry import resized_size
from minitorch.torch.tensor import as_torch
from minitorch.torch.utils.data import DataLoader
from minitorch.torch.vision import datasets, transforms
from minitorch.torch.vision.transforms import functional as F
from tests.errors import raises

PICTURE = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
GRAY = PICTURE[:, :, 0].copy()


def as_tensor(picture: np.ndarray) -> torch.Tensor:
    """A picture as a Tensor of bytes, channels first."""
    return torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1) if picture.ndim == 3 else picture))


def as_array(image: Any) -> np.ndarray:
    """An image of any kind as an array, channels last; of a batch, whose images must be equal, the first."""
    if images.is_batch(image):
        np.testing.assert_array_equal(image[0], image[1])
        return image[0].transpose(1, 2, 0)
    if isinstance(image, torch.Tensor):
        return image.numpy().transpose(1, 2, 0) if image.dim() == 3 else image.numpy()
    return np.asarray(image)


def kinds(picture: np.ndarray) -> list[Any]:
    """A picture as an array, a Tensor, a batch and, where Pillow is installed, an image of it."""
    found = [picture, as_tensor(picture), np.stack([np.atleast_3d(picture).transpose(2, 0, 1)] * 2)]
    try:
        from PIL import Image
    except ModuleNotFoundError:
        return found
    return [*found, Image.fromarray(picture)]


# Data sets


@pytest.fixture(autouse=True)
def empty_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's data directory has no files."""
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path / "home"))


IMAGES = np.random.default_rng(1).integers(0, 256, (6, 28, 28)).astype(np.uint8)
LABELS = np.array([3, 0, 9, 1, 1, 5], np.uint8)


def idx(array: np.ndarray) -> bytes:
    """An array in the format IDX."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def write_mnist(folder: Path, prefix: str, compressed: bool) -> None:
    """Write the files of a split."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS)):
        path, content = folder / f"{prefix}-{kind}-ubyte", idx(array)
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(content)) if compressed else path.write_bytes(content)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize(("name", "last"), [("MNIST", "9 - nine"), ("FashionMNIST", "Ankle boot")])
def test_digits_and_clothes_are_read(tmp_path: Path, name: str, last: str, compressed: bool) -> None:
    write_mnist(tmp_path / name / "raw", "t10k", compressed)
    dataset = getattr(datasets, name)(str(tmp_path), train=False, target_transform=lambda label: label + 100)
    assert len(dataset) == 6
    image, label = dataset[2]
    np.testing.assert_array_equal(image, IMAGES[2])
    assert (image.dtype, label) == (np.uint8, 109)
    assert (dataset.classes[-1], dataset.class_to_idx[last]) == (last, 9)
    np.testing.assert_array_equal(dataset.data.numpy(), IMAGES)
    assert (dataset.targets.tolist(), dataset.targets.dtype) == (LABELS.tolist(), torch.int64)
    assert [label for _, label in dataset] == [100 + label for label in LABELS.tolist()]
    expected = f"Dataset {name}\n    Number of datapoints: 6\n    Root location: {tmp_path}\n    Split: Test"
    assert repr(dataset) == expected
    image[:] = 0
    assert dataset[2][0].any()


def test_a_loader_makes_batches_of_transformed_images(tmp_path: Path) -> None:
    write_mnist(tmp_path / "MNIST" / "raw", "train", True)
    transform = transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda image: image * 4 - 2)])
    pictures, labels = next(iter(DataLoader(datasets.MNIST(tmp_path, transform=transform), batch_size=4)))
    assert (pictures.shape, pictures.dtype, labels.tolist()) == ((4, 1, 28, 28), torch.float32, LABELS[:4].tolist())
    np.testing.assert_allclose(pictures.numpy()[:, 0], IMAGES[:4] / 255 * 4 - 2, rtol=1e-5, atol=1e-6)


def test_files_of_the_data_directory_are_found(tmp_path: Path) -> None:
    write_mnist(tmp_path / "home" / "mnist", "train", True)
    assert len(datasets.MNIST(tmp_path / "elsewhere")) == 6


def test_missing_files_are_named(tmp_path: Path) -> None:
    for name, folder in (("MNIST", tmp_path / "MNIST" / "raw"), ("CIFAR10", tmp_path)):
        file = "train-images-idx3-ubyte.gz" if name == "MNIST" else "cifar-10-binary.tar.gz"
        with raises(RuntimeError, f"{folder / file} expected to exist, got no such file; pass download=True, or put it there"):
            getattr(datasets, name)(tmp_path)
        with raises(ValueError, f"{name} expected the folder of its files as root, got 'test'; pass train=False for the split"):
            getattr(datasets, name)("test")


def test_missing_files_are_downloaded_into_the_folder_of_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(path: Path, urls: list[str], known_hash: str) -> None:
        asked.append((path, urls[0].rsplit("/", 1)[1], known_hash[:7]))
        write_mnist(path.parent, "train", True)

    monkeypatch.setattr("minitorch.data.mnist.download", download)
    assert len(datasets.MNIST(tmp_path, download=True)) == 6
    name = "train-images-idx3-ubyte.gz"
    assert asked == [(tmp_path / "MNIST" / "raw" / name, name, "sha256:")]


def test_photographs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar, "RECORDS", 2)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    planes = np.random.default_rng(2).integers(0, 256, (10, 3, 32, 32)).astype(np.uint8)
    for number in range(5):
        records = b"".join(bytes([2 * number + k % 2]) + planes[2 * number + k].tobytes() for k in range(2))
        (folder / f"data_batch_{number + 1}.bin").write_bytes(records)
    dataset = datasets.CIFAR10(tmp_path)
    assert dataset.data.shape == (10, 32, 32, 3)
    assert dataset.targets == list(range(10))
    image, label = dataset[3]
    assert label == 3
    np.testing.assert_array_equal(image, planes[3].transpose(1, 2, 0))
    assert dataset.class_to_idx["truck"] == 9


def test_pickles_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-py").mkdir()
    with pytest.raises(ValueError, match="expected the binary version of CIFAR-10, got the one for Python"):
        datasets.CIFAR10(tmp_path, download=True)


# Conversion


def test_bytes_become_numbers_from_0_to_1() -> None:
    pictures = [picture for each in (PICTURE, GRAY) for picture in kinds(each)]
    for image in (picture for picture in pictures if not isinstance(picture, torch.Tensor) and not images.is_batch(picture)):
        tensor = transforms.ToTensor()(image)
        assert tensor.dtype == torch.float32
        array = np.atleast_3d(np.asarray(image)).transpose(2, 0, 1)
        np.testing.assert_allclose(tensor.numpy(), array / 255, rtol=1e-6)
        np.testing.assert_array_equal(transforms.PILToTensor()(image).numpy(), array)
    kept = F.to_tensor(np.array([[0.5, 300.0]]))
    assert (kept.tolist(), kept.dtype) == ([[[0.5, 300.0]]], torch.float64)
    with raises(TypeError, "to_tensor expected an array or an image of Pillow, got a Tensor; leave it out"):
        F.to_tensor(torch.ones(1, 2, 2))
    with raises(TypeError, "pil_to_tensor expected a Tensor, an array or an image of Pillow, got list"):
        F.to_tensor([[1]])
    with raises(ValueError, "pil_to_tensor expected an array of shape (H, W) or (H, W, C), got (1, 2, 3, 4); convert single images"):
        F.to_tensor(np.zeros((1, 2, 3, 4)))
    with raises(ValueError, "pil_to_tensor expected an array of shape (H, W), (H, W, C) or (B, C, H, W), got (3,)"):
        F.to_tensor(np.zeros(3))


def test_images_of_pillow_are_made_and_read() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    for picture, mode in ((PICTURE, "RGB"), (GRAY, "L")):
        for image in (picture, as_tensor(picture), F.to_tensor(picture)):
            made = transforms.ToPILImage()(image)
            assert made.mode == mode
            np.testing.assert_array_equal(np.asarray(made), picture)
    bilevel = F.to_pil_image(np.array([[0, 255]], np.uint8)).convert("1")
    assert F.to_tensor(bilevel).tolist() == [[[0.0, 1.0]]]
    with raises(ValueError, "to_pil_image expected 1 to 4 channels and a mode for them, got shape (7, 5) and mode 'RGB'"):
        F.to_pil_image(GRAY, "RGB")
    with raises(TypeError, "to_pil_image expected an image of uint8, got float64; scale it to bytes"):
        F.to_pil_image(np.zeros((2, 2)))


def test_dtypes_are_converted_with_their_ranges() -> None:
    convert = transforms.ConvertImageDtype(torch.float32)
    assert convert(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx([0, 0.2, 1])
    assert F.convert_image_dtype(torch.tensor([0.0, 0.5, 1.0]), torch.uint8).tolist() == [0, 127, 255]
    assert F.convert_image_dtype(torch.tensor([0, 255], dtype=torch.uint8), torch.int16).tolist() == [0, 255 * 128]
    assert F.convert_image_dtype(torch.tensor([0, 32767], dtype=torch.int16), torch.uint8).tolist() == [0, 255]
    with raises(RuntimeError, "convert_image_dtype cannot represent int32 in float32; choose a smaller integer dtype"):
        F.convert_image_dtype(torch.ones(1), torch.int32)


@pytest.mark.usefixtures("fast_backend")
def test_channels_are_normalized() -> None:
    x = torch.tensor(np.arange(12.0).reshape(1, 3, 2, 2))
    expected = (x.numpy() - np.array([0, 1, 2]).reshape(3, 1, 1)) / np.array([1, 2, 4]).reshape(3, 1, 1)
    np.testing.assert_allclose(transforms.Normalize([0, 1, 2], [1, 2, 4])(x).numpy(), expected)
    same = F.normalize(x, [0, 1, 2], [1, 2, 4], inplace=True)
    assert same is x
    np.testing.assert_allclose(x.numpy(), expected)
    for args, message in (
        ((PICTURE, [0], [1]), "normalize expected a Tensor of floats, got ndarray; apply ToTensor first"),
        ((as_tensor(PICTURE), [0], [1]), "normalize expected a Tensor of floats, got uint8; apply ToTensor first"),
    ):
        with raises(TypeError, message):
            F.normalize(*args)
    with raises(ValueError, "normalize expected standard deviations other than 0, got [1, 0, 1]"):
        F.normalize(x, [0], [1, 0, 1])
    with raises(ValueError, "normalize expected mean and std of 1 or 3 numbers, one for each channel, got [0, 1] and [1]"):
        F.normalize(x, [0, 1], [1])


@pytest.mark.parametrize("backend", [minitorch.SimpleBackend, minitorch.FastBackend], ids=["simple", "fast"])
def test_a_tensor_is_normalized_on_its_backend(backend: minitorch.TensorBackend) -> None:
    x = as_torch(minitorch.tensor([[[1.0, 2.0]]], backend=backend))
    assert F.normalize(x, [1.0], [2.0]).tolist() == [[[0.0, 0.5]]]
    assert F.normalize(x, [1.0], [2.0], inplace=True).backend is backend


# Geometry


@pytest.mark.parametrize("picture", [PICTURE, GRAY], ids=["color", "gray"])
def test_every_kind_of_image_is_flipped_padded_and_cropped(picture: np.ndarray) -> None:
    color = [(0, 0)] * (picture.ndim - 2)
    for image in kinds(picture):
        calls = [
            (F.hflip(image), picture[:, ::-1]),
            (F.vflip(image), picture[::-1]),
            (F.crop(image, 1, 2, 3, 2), picture[1:4, 2:4]),
            (F.crop(image, -1, 3, 3, 4), np.pad(picture, [(1, 0), (0, 2), *color])[:3, 3:]),
            (transforms.CenterCrop(3)(image), picture[2:5, 1:4]),
            (transforms.CenterCrop((2, 8))(image), np.pad(picture, [(0, 0), (1, 2), *color])[2:4]),
            (transforms.Pad(2, fill=7)(image), np.pad(picture, [(2, 2), (2, 2), *color], constant_values=7)),
            (F.pad(image, (1, 2)), np.pad(picture, [(2, 2), (1, 1), *color])),
            *[
                (F.pad(image, (1, 2, 3, 4), padding_mode=mode), np.pad(picture, [(2, 4), (1, 3), *color], mode=mode))
                for mode in ("edge", "reflect", "symmetric")
            ],
        ]
        for number, (found, expected) in enumerate(calls):
            assert type(found).__module__.split(".")[0] == type(image).__module__.split(".")[0]
            np.testing.assert_array_equal(as_array(found).reshape(expected.shape), expected, err_msg=str(number))
        height, width = picture.shape[:2]
        assert F.get_dimensions(image) == [3 if picture.ndim == 3 else 1, height, width]
        assert F.get_image_size(image) == [width, height]


def test_what_cannot_be_padded_is_refused() -> None:
    with raises(ValueError, "pad expected padding_mode constant, edge, reflect, symmetric, got 'wrap'"):
        transforms.Pad(1, padding_mode="wrap")
    for given in ((1, 2, 3), -1):
        with raises(ValueError, f"padding expected integers of at least 0, 1 or 2 or 4 of them, got {given!r}; try padding=4"):
            transforms.Pad(given)
    for given in (0, (1, 2, 3)):
        with raises(ValueError, f"size expected integers of at least 1, 1 or 2 of them, got {given!r}; try size=4"):
            transforms.CenterCrop(given)
    with raises(TypeError, "size expected integers, got 2.0; try size=4"):
        transforms.RandomCrop(2.0)
    with raises(TypeError, "padding expected integers, got 'ab'; try padding=4"):
        transforms.RandomCrop(2, "ab")
    with raises(NotImplementedError, "pad supports the same fill for all channels only, got (1, 2, 3); pass one number"):
        F.pad(PICTURE, 1, (1, 2, 3))


def test_gradients_flow_through_a_crop_of_a_tensor() -> None:
    x = torch.zeros(1, 3, 3, requires_grad=True)
    F.pad(F.hflip(F.crop(x, 1, 1, 2, 2)), 1, padding_mode="edge").sum().backward()
    assert x.grad.tolist() == [[[0, 0, 0], [0, 4, 4], [0, 4, 4]]]


def test_the_smaller_side_gets_a_size() -> None:
    assert resized_size(40, 30, 15) == (20, 15)
    assert resized_size(30, 41, [15]) == (15, 20)
    assert resized_size(30, 40, (7, 9)) == (7, 9)
    assert resized_size(30, 60, 20, max_size=30) == (15, 30)
    with raises(ValueError, "resize expected max_size above size, 20, got 20"):
        resized_size(30, 60, 20, 20)
    with raises(ValueError, "resize expected size as one number with max_size, got (3, 4)"):
        resized_size(30, 60, (3, 4), 20)


def test_a_smaller_image_is_averaged() -> None:
    assert F.resize(np.array([[0, 255], [254, 1]], np.uint8), (1, 1)).tolist() == [[128]]
    line = torch.tensor([[[0.0, 4.0, 8.0, 12.0]]])  # a filter of twice the width: weights 3, 3, 1 and 1, 3, 3, 1 by hand
    assert F.resize(line, (1, 2)).tolist() == [[[pytest.approx(20 / 7), pytest.approx(64 / 7)]]]
    assert F.resize(line, (1, 2), antialias=False).tolist() == [[[2.0, 10.0]]]
    nearest = F.resize(line, (1, 2), transforms.InterpolationMode.NEAREST)
    assert nearest.tolist() == [[[0.0, 8.0]]]
    assert transforms.Resize((7, 5))(PICTURE) is PICTURE


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (9, 11)])
def test_arrays_and_tensors_are_resized_as_by_pillow(mode: str, size: tuple[int, int]) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    resize = transforms.Resize(size, transforms.InterpolationMode(mode))
    array, tensor, batch, image = map(resize, kinds(PICTURE // 2 + 64))  # Pillow also limits what it computes in between to bytes
    np.testing.assert_array_equal(as_array(tensor), array)
    np.testing.assert_array_equal(as_array(batch), array)
    assert array.dtype == np.uint8
    assert array.shape == np.asarray(image).shape == (*size, 3)
    assert np.abs(array.astype(int) - np.asarray(image).astype(int)).max() <= 1


# Random transforms


def test_a_random_crop_has_every_position_and_repeats_with_the_seed() -> None:
    picture = np.arange(20, dtype=np.uint8).reshape(4, 5)
    crop, found = transforms.RandomCrop((3, 4)), []
    for _ in range(2):
        torch.manual_seed(3)
        found.append([crop(picture) for _ in range(60)])
    np.testing.assert_array_equal(*found)
    assert {int(part[0, 0]) for part in found[0]} == {0, 1, 5, 6}
    np.testing.assert_array_equal(found[0][0], picture[found[0][0][0, 0] // 5 :, found[0][0][0, 0] % 5 :][:3, :4])
    assert transforms.RandomCrop(4, padding=1)(picture).shape == (4, 4)
    assert transforms.RandomCrop(8, pad_if_needed=True)(picture).shape == (8, 8)
    with raises(ValueError, "RandomCrop expected an image of at least 5×5, got 4×5; pass padding or pad_if_needed=True"):
        transforms.RandomCrop(5)(picture)


def test_a_random_flip_happens_with_its_probability() -> None:
    torch.manual_seed(0)
    for flip, expected in ((transforms.RandomHorizontalFlip, PICTURE[:, ::-1]), (transforms.RandomVerticalFlip, PICTURE[::-1])):
        np.testing.assert_array_equal(flip(1.0)(PICTURE), expected)
        np.testing.assert_array_equal(flip(p=0.0)(PICTURE), PICTURE)
        count = sum(np.array_equal(flip(0.25)(PICTURE), expected) for _ in range(200))
        assert 30 < count < 70


def test_transforms_are_composed_and_shown() -> None:
    both = transforms.Compose([transforms.CenterCrop(2), transforms.ToTensor(), transforms.Lambda(lambda x: x + 1)])
    assert both(np.zeros((4, 4), np.uint8)).tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
    assert repr(both) == "Compose(\n    CenterCrop(size=(2, 2))\n    ToTensor()\n    Lambda()\n)"
    assert repr(transforms.Normalize((0.5,), (0.25,))) == "Normalize(mean=(0.5,), std=(0.25,))"
    assert repr(transforms.RandomCrop(3, padding=1)) == "RandomCrop(size=(3, 3), padding=1)"
    assert repr(transforms.RandomHorizontalFlip()) == "RandomHorizontalFlip(p=0.5)"
    assert repr(transforms.Resize(3)) == "Resize(size=3, interpolation=bilinear, max_size=None, antialias=True)"
    assert repr(transforms.Pad(1)) == "Pad(padding=1, fill=0, padding_mode=constant)"
    with raises(TypeError, "Lambda expected a function, got int"):
        transforms.Lambda(3)
