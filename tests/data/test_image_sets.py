"""CIFAR-10 and Fashion-MNIST: their formats byte by byte, where they are looked for, and every way in which a file can be wrong."""

import gzip
import hashlib
import io
import os
import pickle
import re
import tarfile

import numpy as np
import pytest

from minitorch.data import CIFAR10, DataLoader, FashionMNIST, ImageDataset, cifar, fashion
from minitorch.data.cifar import read_records

RECORD = 3073
TRAIN = [f"data_batch_{number}.bin" for number in (1, 2, 3, 4, 5)]
TEST = ["test_batch.bin"]


needs_real_files = pytest.mark.skipif(
    not os.environ.get("MINITORCH_DATA"), reason="needs the real files: name their folder in MINITORCH_DATA"
)


def refused(kind, message):
    """A context in which exactly this message is raised."""
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def nothing_usable(path, addresses=()):
    """What is said of a file that cannot be downloaded."""
    tried = "\n".join(f"  {address}" for address in addresses) or "  "
    return (
        f"{path} expected to be downloaded, got nothing usable:\n{tried}\n"
        "try again with a network connection, or fetch the file by other means and put it there"
    )


# The format of CIFAR-10


def test_a_record_is_a_label_and_then_red_green_and_blue_row_by_row():
    red, green, blue = bytes([200, 201]) + bytes(1022), bytes(1023) + b"\x07", bytes(32) + b"\x09" + bytes(991)
    images, labels = read_records(b"\x06" + red + green + blue + b"\x09" + bytes(3072), "file")
    assert images.shape == (2, 3, 32, 32)
    assert labels.tolist() == [6, 9]
    points = {(0, 0, 0, 0): 200, (0, 0, 0, 1): 201, (0, 1, 31, 31): 7, (0, 2, 1, 0): 9}
    assert {tuple(place): images[tuple(place)] for place in np.argwhere(images).tolist()} == points


@pytest.mark.parametrize("size", [1, RECORD - 1, RECORD + 1, 2 * RECORD - 1])
def test_a_file_that_is_cut_off_is_refused(size):
    message = f"file expected a multiple of 3073 bytes, got {size}; it is cut off or another file: copy it again"
    with refused(ValueError, message):
        read_records(bytes(size), "file")
    assert len(read_records(b"", "file")[1]) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_images_as_are_asked_for_must_be_there(count):
    message = f"file expected {count * RECORD} bytes, 3073 for each image, got 6146; it is cut off or another file: copy it again"
    with refused(ValueError, message):
        read_records(bytes(2 * RECORD), "file", count)
    assert len(read_records(bytes(2 * RECORD), "file", 2)[1]) == 2


# CIFAR-10 in the data directory


def batch(number, count=3):
    """The file of this number: labels and points that tell it and its images apart."""
    return b"".join(bytes([(number + image) % 10]) + bytes([10 * number + image]) * 3072 for image in range(count))


FILES = {name: batch(number) for number, name in enumerate([*TRAIN, *TEST], 1)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of CIFAR-10 in a data directory of its own, for files of three images; nothing can be downloaded."""
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setattr(cifar, "RECORDS", 3)
    monkeypatch.setattr(cifar, "ADDRESS", "http://127.0.0.1:9/cifar-10-binary.tar.gz")
    (tmp_path / "cifar10").mkdir()
    return tmp_path / "cifar10"


def packed(files, folder="cifar-10-batches-bin"):
    """An archive of files as the published one is."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        directory = tarfile.TarInfo(folder)
        directory.type = tarfile.DIRTYPE
        archive.addfile(directory)
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(made.getvalue(), mtime=0)


def unpacked(folder):
    """Files in the folder itself."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)


def in_their_folder(folder):
    """Files in the folder that the archive has."""
    (folder / "cifar-10-batches-bin").mkdir()
    unpacked(folder / "cifar-10-batches-bin")


def in_the_archive(folder):
    """Files in the archive, in the order in which the published one has them, with those that nobody needs."""
    order = ["data_batch_1.bin", "batches.meta.txt", *TRAIN[1:], "readme.html", *TEST]
    (folder / "cifar-10-binary.tar.gz").write_bytes(packed({name: FILES.get(name, b"text") for name in order}))


@pytest.mark.parametrize("place", [unpacked, in_their_folder, in_the_archive])
def test_the_files_are_found_wherever_they_may_lie(folder, place):
    place(folder)
    before = sorted(folder.rglob("*"))
    train, test = CIFAR10(), CIFAR10("test")
    assert isinstance(train, ImageDataset)
    assert (train.images.shape, train.images.dtype) == ((15, 3, 32, 32), np.float32)
    assert (train.labels.tolist(), train.labels.dtype) == ([1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6, 5, 6, 7], np.int64)
    levels = [10 * number + image for number in range(1, 6) for image in range(3)]
    assert np.array_equal(train.images[:, 2, 31, 31], (np.array(levels) / 255).astype(np.float32))
    assert np.array_equal(train.images.min((1, 2, 3)), train.images.max((1, 2, 3)))
    assert (test.labels.tolist(), test.images[0, 0, 0, 0]) == ([6, 7, 8], np.float32(60 / 255))
    assert repr(test) == "CIFAR10(3 images of 3×32×32, 10 classes)"
    assert test.classes == ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    assert sorted(folder.rglob("*")) == before, "nothing is unpacked into the folder"
    assert [x.shape for x, _ in DataLoader(test, 2)] == [(2, 3, 32, 32), (1, 3, 32, 32)]


def test_the_test_set_needs_only_its_own_file(folder):
    (folder / "test_batch.bin").write_bytes(FILES["test_batch.bin"])
    assert len(CIFAR10("test")) == 3


def test_where_a_file_is_missing_the_whole_archive_is_taken(folder):
    unpacked(folder)
    (folder / "data_batch_4.bin").unlink()
    address = "http://127.0.0.1:9/cifar-10-binary.tar.gz"
    with refused(OSError, nothing_usable(folder / "cifar-10-binary.tar.gz", [f"{address}: no connection, or the connection was lost"])):
        CIFAR10()
    in_the_archive(folder)
    assert len(CIFAR10()) == 15


def test_a_split_of_another_name_is_refused():
    with refused(ValueError, 'CIFAR10 expected split="train" or "test", got \'valid\''):
        CIFAR10("valid")


@pytest.mark.parametrize(
    "content", [FILES["data_batch_3.bin"][:-1], FILES["data_batch_3.bin"][:RECORD], FILES["data_batch_3.bin"] * 2, b""]
)
@pytest.mark.parametrize("place", [unpacked, in_the_archive])
def test_a_file_of_another_length_is_refused_by_name(folder, place, content, monkeypatch):
    monkeypatch.setitem(FILES, "data_batch_3.bin", content)
    place(folder)
    path = folder / "data_batch_3.bin" if place is unpacked else f"data_batch_3.bin in {folder / 'cifar-10-binary.tar.gz'}"
    message = f"{path} expected 9219 bytes, 3073 for each image, got {len(content)}; it is cut off or another file: copy it again"
    with refused(ValueError, message):
        CIFAR10()


def test_a_label_of_no_class_is_refused(folder):
    content = bytearray(FILES["test_batch.bin"])
    content[RECORD] = 10
    (folder / "test_batch.bin").write_bytes(content)
    message = f"{folder / 'test_batch.bin'} expected labels from 0 to 9, got 10 for image 1; it is damaged or another file: copy it again"
    with refused(ValueError, message):
        CIFAR10("test")


ARCHIVE = packed(FILES)


@pytest.mark.parametrize(
    "content",
    [
        ARCHIVE[:-1],
        ARCHIVE[: len(ARCHIVE) // 2],
        ARCHIVE[:-8] + bytes([ARCHIVE[-8] ^ 1]) + ARCHIVE[-7:],  # the checksum
        ARCHIVE[:30] + b"\xff" * 20 + ARCHIVE[50:],
        gzip.compress(gzip.decompress(ARCHIVE)[: 3 * 512 + 5000], mtime=0),  # cut off before it was compressed
        gzip.compress(b"something else" * 100, mtime=0),
        b"<html>",
        b"",
    ],
)
def test_a_damaged_archive_is_refused_by_name(folder, content):
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(content)
    message = f"{path} expected a whole archive, got a damaged one; delete it to download it again, or copy it again"
    with refused(ValueError, message):
        CIFAR10()


def test_an_archive_without_one_of_the_files_is_refused(folder):
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(packed({name: content for name, content in FILES.items() if name != "data_batch_5.bin"}))
    message = (
        f"{path} expected the archive of CIFAR-10, got one without cifar-10-batches-bin/data_batch_5.bin; delete it to download it again"
    )
    with refused(ValueError, message):
        CIFAR10()
    assert len(CIFAR10("test")) == 3


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused(folder, monkeypatch):
    in_the_archive(folder)
    whole = len(gzip.decompress((folder / "cifar-10-binary.tar.gz").read_bytes()))
    monkeypatch.setattr(cifar, "MAX_ARCHIVE_BYTES", whole)
    CIFAR10("test")
    monkeypatch.setattr(cifar, "MAX_ARCHIVE_BYTES", whole - 1)
    path = folder / "cifar-10-binary.tar.gz"
    message = f"{path} expected at most {whole - 1} bytes unpacked, got more; it is another archive: put the right one there"
    with refused(ValueError, message):
        CIFAR10("test")


def test_a_link_in_an_archive_leads_nowhere(folder, tmp_path):
    (tmp_path / "secret").write_bytes(FILES["test_batch.bin"])
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        link = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "../../secret"
        archive.addfile(link)
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(gzip.compress(made.getvalue()))
    message = (
        f"{path} expected the archive of CIFAR-10, got one without cifar-10-batches-bin/test_batch.bin; delete it to download it again"
    )
    with refused(ValueError, message):
        CIFAR10("test")


class Harm:
    """What a pickle can do to its reader."""

    def __reduce__(self):
        return os.mkdir, ("harm",)


def as_a_folder(folder):
    (folder / "cifar-10-batches-py").mkdir()
    return folder / "cifar-10-batches-py"


def as_an_archive(folder):
    (folder / "cifar-10-python.tar.gz").write_bytes(packed({"test_batch": pickle.dumps(Harm())}, "cifar-10-batches-py"))
    return folder / "cifar-10-python.tar.gz"


def as_an_archive_of_the_other_name(folder):
    return as_an_archive(folder).rename(folder / "cifar-10-binary.tar.gz")


def as_a_file_of_the_other_name(folder):
    (folder / "test_batch.bin").write_bytes(pickle.dumps(Harm()))
    return folder / "test_batch.bin"


@pytest.mark.parametrize("place", [as_a_folder, as_an_archive, as_an_archive_of_the_other_name, as_a_file_of_the_other_name])
def test_the_version_for_python_is_refused_and_not_run(folder, place, monkeypatch):
    monkeypatch.chdir(folder)
    path = place(folder)
    message = (
        f"{path} expected the binary version of CIFAR-10, got the one for Python, whose files are pickles: to read one is to run what its "
        "author put in; put http://127.0.0.1:9/cifar-10-binary.tar.gz into the folder cifar10 of the data directory, "
        "or delete the other to have it downloaded"
    )
    with refused(ValueError, message):
        CIFAR10("test")
    assert not (folder / "harm").exists()


def test_the_version_for_python_beside_the_other_does_no_harm(folder):
    as_a_folder(folder)
    unpacked(folder)
    assert len(CIFAR10()) == 15


def test_what_is_missing_is_downloaded_and_checked(folder, monkeypatch):
    fetched = []

    def download(path, urls, known_hash):
        fetched.append((path, urls, known_hash))
        in_the_archive(folder)

    monkeypatch.setattr(cifar, "download", download)
    assert (len(CIFAR10("test")), len(CIFAR10())) == (3, 15)
    assert fetched == [(folder / "cifar-10-binary.tar.gz", [cifar.ADDRESS], cifar.HASH)], "what is there is not fetched again"


@needs_real_files
def test_the_real_photographs_are_read():
    path = cifar.data_home() / "cifar10" / "cifar-10-binary.tar.gz"
    if not path.is_file():
        pytest.skip("there is no cifar10/cifar-10-binary.tar.gz in MINITORCH_DATA")
    assert f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" == cifar.HASH
    data = CIFAR10("test")
    assert np.bincount(data.labels).tolist() == [1000] * 10
    assert data.labels[:5].tolist() == [3, 8, 8, 0, 6]


# Fashion-MNIST

NAMES = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256
LABELS = np.array([9, 2, 1])


def idx(array):
    """The IDX file of an array of bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return b"\0\0\x08" + bytes([array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def clothes(tmp_path, monkeypatch):
    """The folder of Fashion-MNIST in a data directory of its own; nothing can be downloaded."""
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setattr(fashion, "MIRRORS", ())
    (tmp_path / "fashion-mnist").mkdir()
    return tmp_path / "fashion-mnist"


def write(folder, images=IMAGES, labels=LABELS, names=NAMES):
    """Both files of a part."""
    for name, array in zip(names, (images, labels), strict=True):
        (folder / name).write_bytes(idx(array))


def test_clothes_are_read_as_digits_are(clothes):
    write(clothes)
    data = FashionMNIST("test")
    assert isinstance(data, ImageDataset)
    assert (data.images.shape, data.images.dtype) == ((3, 1, 28, 28), np.float32)
    assert np.array_equal(data.images[:, 0], (IMAGES / 255).astype(np.float32))
    assert (data.labels.tolist(), data.labels.dtype) == ([9, 2, 1], np.int64)
    assert [data.classes[label] for label in data.labels] == ["Ankle boot", "Pullover", "Trouser"]
    assert repr(data) == "FashionMNIST(3 images of 1×28×28, 10 classes)"


@pytest.mark.parametrize("compressed", NAMES)
def test_either_file_of_clothes_may_be_compressed(clothes, compressed):
    write(clothes)
    (clothes / f"{compressed}.gz").write_bytes(gzip.compress((clothes / compressed).read_bytes()))
    (clothes / compressed).unlink()
    assert len(FashionMNIST("test")) == 3


def test_the_training_set_has_files_of_its_own(clothes):
    write(clothes, names=[name.replace("t10k", "train") for name in NAMES])
    assert len(FashionMNIST()) == 3
    with refused(OSError, nothing_usable(clothes / "t10k-images-idx3-ubyte.gz")):
        FashionMNIST("test")


def test_files_of_clothes_that_do_not_fit_are_refused(clothes):
    with refused(ValueError, 'FashionMNIST expected split="train" or "test", got \'valid\''):
        FashionMNIST("valid")
    images, labels = (clothes / name for name in NAMES)
    write(clothes, images=np.zeros((3, 27, 28)))
    with refused(ValueError, f"{images} expected images of 28×28, got 27×28; put the files of Fashion-MNIST there"):
        FashionMNIST("test")
    write(clothes, labels=np.zeros(2))
    message = (
        f"{labels} expected 3 labels, one for each image of {NAMES[0]}, got 2; the files belong to different data sets: copy both again"
    )
    with refused(ValueError, message):
        FashionMNIST("test")
    write(clothes, labels=np.array([9, 10, 0]))
    with refused(ValueError, f"{labels} expected labels from 0 to 9, got 10 at 1; put the files of Fashion-MNIST there"):
        FashionMNIST("test")
    labels.write_bytes(idx(LABELS)[:-1])
    message = (
        f"{labels} expected 11 bytes for the sizes (3,) in its header, got 10; "
        "the file is truncated or damaged: delete it to download it again, or copy it again"
    )
    with refused(ValueError, message):
        FashionMNIST("test")


def test_the_digits_of_mnist_are_not_taken_for_clothes(clothes):
    digits = np.repeat(np.arange(10), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009])  # as often as in the test set
    write(clothes, np.zeros((10_000, 28, 28)), digits)
    message = (
        f"{clothes / NAMES[1]} expected 1000 labels of each class, got 980 of class 0, as another set has it, such as MNIST; "
        "put the files of Fashion-MNIST there"
    )
    with refused(ValueError, message):
        FashionMNIST("test")
    write(clothes, np.zeros((10_000, 28, 28)), np.arange(10_000) % 10)
    assert len(FashionMNIST("test")) == 10_000


def test_clothes_that_are_missing_are_downloaded_and_checked(clothes, monkeypatch):
    fetched = []
    monkeypatch.setattr(fashion, "MIRRORS", ("https://a", "https://b"))

    def download(path, urls, known_hash):
        fetched.append((path, urls, known_hash))
        path.write_bytes(idx(IMAGES if "images" in path.name else LABELS))

    monkeypatch.setattr(fashion, "download", download)
    assert len(FashionMNIST("test")) == 3
    names = [f"{name}.gz" for name in NAMES]
    assert fetched == [(clothes / name, [f"https://a/{name}", f"https://b/{name}"], fashion.HASHES[name]) for name in names]


@pytest.mark.parametrize(("hashes", "count"), [(fashion.HASHES.values(), 4), ([cifar.HASH], 1)], ids=["clothes", "photographs"])
def test_a_checksum_is_one_and_belongs_to_one_file(hashes, count):
    assert len(set(hashes)) == count
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", known) for known in hashes)


@needs_real_files
def test_the_real_clothes_are_read():
    folder = fashion.data_home() / "fashion-mnist"
    if not (folder / f"{NAMES[0]}.gz").is_file():
        pytest.skip("there is no fashion-mnist/t10k-images-idx3-ubyte.gz in MINITORCH_DATA")
    for name in NAMES:
        content = (folder / f"{name}.gz").read_bytes()
        assert fashion.HASHES[f"{name}.gz"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert FashionMNIST("test").labels[:10].tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
