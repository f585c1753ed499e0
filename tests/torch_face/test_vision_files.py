"""torchvision.io, save_image and FakeData: image files beside Pillow's reading and writing of them."""

import io
import struct
import zlib

import numpy as np
import pytest

import minitorch.torch as torch
import minitorch.torch.vision as torchvision
from minitorch.io.png import decode_png, encode_png
from minitorch.torch.vision.io import ImageReadMode, read_image, write_png
from tests.errors import raises

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

RAMP = np.add.outer(np.arange(7), 3 * np.arange(9)).astype(np.uint8) * 5
PHOTO = np.dstack([RAMP, RAMP[::-1], np.random.default_rng(0).integers(0, 256, RAMP.shape).astype(np.uint8)])
PICTURES = {
    "L": RAMP,
    "LA": np.dstack([RAMP, RAMP[::-1]]),
    "RGB": PHOTO,
    "RGBA": np.dstack([PHOTO, RAMP]),
}


def file_of(image, **options):
    """The bytes of a PNG file that Pillow writes."""
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


@pytest.mark.parametrize("mode", PICTURES)
def test_files_are_those_that_pillow_reads_and_writes(mode):
    pixels = PICTURES[mode].reshape(7, 9, -1)
    with Image.open(io.BytesIO(encode_png(pixels))) as read:
        assert (read.mode, read.format) == (mode, "PNG")
        np.testing.assert_array_equal(np.asarray(read).reshape(pixels.shape), pixels)
    np.testing.assert_array_equal(decode_png(file_of(Image.fromarray(PICTURES[mode]))), pixels)
    np.testing.assert_array_equal(decode_png(encode_png(pixels[:1, :1])), pixels[:1, :1])


@pytest.mark.parametrize("colors", [2, 4, 16, 200])
def test_numbers_of_colors_in_a_table_become_colors(colors):
    image = Image.fromarray(PHOTO).quantize(colors)
    np.testing.assert_array_equal(decode_png(file_of(image)), np.asarray(image.convert("RGB")))
    np.testing.assert_array_equal(decode_png(file_of(image, transparency=1)), np.asarray(with_opacity(image)))


def with_opacity(image):
    with Image.open(io.BytesIO(file_of(image, transparency=1))) as read:
        return read.convert("RGBA")


def test_black_and_white_becomes_bytes():
    image = Image.fromarray(RAMP > 60)
    np.testing.assert_array_equal(decode_png(file_of(image))[:, :, 0], np.where(RAMP > 60, 255, 0))


def filtered(kind, rows, channels=3, head=None, end=b""):
    """A file of random bytes whose rows all have a filter."""
    body = np.hstack([np.full((len(rows), 1), kind, np.uint8), rows]).tobytes()
    head = head or struct.pack(">IIBBBBB", rows.shape[1] // channels, len(rows), 8, 2 if channels == 3 else 0, 0, 0, 0)

    def part(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    data = zlib.compress(body) + end
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", data[:9]) + part(b"IDAT", data[9:]) + part(b"IEND", b"")


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("channels", [1, 3])
def test_every_filter_is_undone(kind, channels):
    content = filtered(kind, np.random.default_rng(kind).integers(0, 256, (5, 12)).astype(np.uint8), channels)
    with Image.open(io.BytesIO(content)) as read:
        np.testing.assert_array_equal(decode_png(content), np.asarray(read).reshape(5, -1, channels))


GOOD = encode_png(PHOTO)
HEAD = struct.pack(">IIBBBBB", 4, 5, 16, 2, 0, 0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"GIF89a..", "a PNG file expected to begin with b'\\x89PNG\\r\\n\\x1a\\n', got b'GIF89a..'; it has another format"),
        (GOOD[:-20], "a PNG file expected a whole part at byte 33, got b'IDAT' of 203 bytes; it is damaged"),
        (GOOD[:60] + b"?" + GOOD[61:], "a PNG file expected a whole part at byte 33, got b'IDAT' of 207 bytes; it is damaged"),
        (GOOD[:8], "a PNG file expected a whole part at byte 8, got b'\\x00\\x00\\x00\\x00' of 0 bytes; it is damaged"),
        (filtered(5, PHOTO.reshape(7, -1)), "a PNG file expected filters from 0 to 4, got 5; it is damaged"),
        (filtered(0, PHOTO.reshape(7, -1)[:6], head=struct.pack(">IIBBBBB", 9, 7, 8, 2, 0, 0, 0)),
         "a PNG file expected 7 rows of 27 bytes; it is damaged"),
        (filtered(0, PHOTO.reshape(7, -1), head=HEAD),
         "a PNG file expected at most 8 bits a number, not interlaced, got 4×5 pixels of 16 bits, color type 2; "
         "save it again with another program"),
    ],
)  # fmt: skip
def test_other_files_are_refused(content, message):
    with raises(ValueError, message):
        decode_png(content)


def test_other_pixels_are_refused():
    for pixels in (np.zeros((2, 2), np.uint8), np.zeros((2, 2, 5), np.uint8), np.zeros((0, 2, 3), np.uint8), np.zeros((2, 2, 3))):
        found = f"{pixels.dtype.name} and {pixels.shape}"
        with raises(ValueError, f"a PNG file expected pixels of uint8 and shape (H, W, 1 to 4), got {found}; convert them"):
            encode_png(pixels)


@pytest.mark.parametrize("mode", list(ImageReadMode)[1:])
@pytest.mark.parametrize("name", PICTURES)
def test_the_mode_says_which_channels_are_read(mode, name, tmp_path):
    Image.fromarray(PICTURES[name]).save(tmp_path / "a.png")
    found = read_image(tmp_path / "a.png", mode)
    expected = np.asarray(Image.fromarray(PICTURES[name]).convert(("L", "LA", "RGB", "RGBA")[mode.value - 1])).reshape(7, 9, -1)
    assert (found.dtype, tuple(found.shape)) == (torch.uint8, (mode.value, 7, 9))
    np.testing.assert_array_equal(found.numpy(), np.moveaxis(expected, -1, 0))
    np.testing.assert_array_equal(read_image(str(tmp_path / "a.png"), mode.name.lower()).numpy(), found.numpy())


def test_images_are_written_and_read_again(tmp_path):
    image = torch.from_numpy(np.ascontiguousarray(np.moveaxis(PHOTO, -1, 0)))
    write_png(image, tmp_path / "a.png")
    assert read_image(tmp_path / "a.png").tolist() == image.tolist()
    Image.fromarray(PHOTO).save(tmp_path / "a.bmp")  # another format, by Pillow
    assert torchvision.io.decode_image(torchvision.io.read_file(tmp_path / "a.bmp")).tolist() == image.tolist()
    with raises(ValueError, "encode_png expected uint8 and shape (1 or 3, H, W), got float32 and (2, 2); try save_image"):
        write_png(torch.ones(2, 2), tmp_path / "b.png")
    with raises(ValueError, "encode_png expected a compression_level from 0 to 9, got 10; leave it out"):
        write_png(image, tmp_path / "b.png", 10)
    with raises(ValueError, "write_file expected uint8 and one dimension, got float32 and shape (2, 2); encode an image first"):
        torchvision.io.write_file(tmp_path / "b.png", torch.ones(2, 2))
    with raises(ValueError, "mode expected one of UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGB_ALPHA, got 'CMYK'"):
        read_image(tmp_path / "a.png", "CMYK")
    assert [path.name for path in tmp_path.iterdir() if path.name[0] in ".b"] == []


def test_a_grid_is_saved_as_one_image(tmp_path):
    images = torch.tensor(np.stack([np.full((1, 2, 2), value) for value in (0.0, 0.5, 2.0)]))
    torchvision.utils.save_image(images, tmp_path / "a.png", nrow=2, padding=1)
    found = read_image(tmp_path / "a.png")
    assert tuple(found.shape) == (3, 7, 7)
    assert [int(found[0, 1, 1]), int(found[0, 1, 4]), int(found[0, 4, 1]), int(found[0, 0, 0])] == [0, 128, 255, 0]
    file = io.BytesIO()
    torchvision.utils.save_image([images[1], images[2]], file, "png", normalize=True)
    assert decode_png(file.getvalue())[2:4, 2:4, 0].tolist() == [[0, 0], [0, 0]]
    torchvision.utils.save_image(images, tmp_path / "a.bmp")
    with Image.open(tmp_path / "a.bmp") as read:
        assert read.size == (14, 6)
    with raises(ValueError, f"save_image expected a format, got the file {tmp_path / 'a'} without an ending; pass format='png'"):
        torchvision.utils.save_image(images, tmp_path / "a")


def test_fake_data_give_the_same_image_for_the_same_index():
    images = torchvision.datasets.FakeData(3, (3, 4, 5), num_classes=2, transform=torchvision.transforms.ToTensor())
    again = torchvision.datasets.FakeData(3, (3, 4, 5), 2, torchvision.transforms.ToTensor(), lambda target: 10 + target, random_offset=1)
    assert (len(images), tuple(images[0][0].shape), images[0][0].dtype) == (3, (3, 4, 5), torch.float32)
    assert images[1][0].tolist() == again[0][0].tolist() != images[0][0].tolist()
    assert [images[i][1] for i in (1, 2)] == [again[i][1] - 10 for i in (0, 1)]
    assert {torchvision.datasets.FakeData(50, (1, 2, 2), 3)[i][1] for i in range(50)} == {0, 1, 2}
    assert sum(1 for _ in images) == 3
    batch, targets = next(iter(torch.utils.data.DataLoader(images, batch_size=3)))
    assert (tuple(batch.shape), targets.dtype) == ((3, 3, 4, 5), torch.int64)
    with raises(IndexError, "FakeData expected an index from 0 to 2, got 3; pass a larger size"):
        images[3]
    with raises(ValueError, "FakeData expected an image_size of 1 or 3 channels, height and width, got (2, 4, 4); try (3, 32, 32)"):
        torchvision.datasets.FakeData(1, (2, 4, 4))
