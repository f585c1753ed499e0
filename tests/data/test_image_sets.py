"""CIFAR-10: its format byte by byte, where it is looked for, and every way in which a file can be wrong."""

import gzip
import hashlib
import io
import os
import pickle
import re
import tarfile

import numpy as np
import pytest

from minitorch.data import DataLoader, ImageDataset, cifar, fashion, load_cifar10
from minitorch.data.cifar import read_records
from tests.errors import raises
from tests.nn.checks import refuses

RECORD = 3073
TRAIN = [f"data_batch_{number}.bin" for number in (1, 2, 3, 4, 5)]
TEST = ["test_batch.bin"]


needs_real_files = pytest.mark.skipif(
    not os.environ.get("MINITORCH_DATA"), reason="needs the real files: name their folder in MINITORCH_DATA"
)


def nothing_usable(path, address):
    """What is said of a file that cannot be downloaded."""
    remedy = "try again with a network connection, or fetch the file by other means and put it there"
    return f"{path} expected to be downloaded, got nothing usable:\n  {address}\n{remedy}"


# The format of CIFAR-10


def test_a_record_is_a_label_and_then_red_green_and_blue_row_by_row():
    red, green, blue = bytes([200, 201]) + bytes(1022), bytes(1023) + b"\x07", bytes(32) + b"\x09" + bytes(991)
    images, labels = read_records(b"\x06" + red + green + blue + b"\x09" + bytes(3072), "file")
    assert images.shape == (2, 3, 32, 32)
    assert labels.tolist() == [6, 9]
    points = {(0, 0, 0, 0): 200, (0, 0, 0, 1): 201, (0, 1, 31, 31): 7, (0, 2, 1, 0): 9}
    assert {tuple(place): images[tuple(place)] for place in np.argwhere(images).tolist()} == points


CUT_OFF = "got {}; it is cut off or another file: copy it again"


@pytest.mark.parametrize(
    ("size", "count", "message"),
    [
        *[(size, None, "file expected a multiple of 3073 bytes, ") for size in (1, RECORD - 1, RECORD + 1, 2 * RECORD - 1)],
        *[(2 * RECORD, count, f"file expected {count * RECORD} bytes, 3073 for each image, ") for count in (1, 3)],
    ],
)
def test_a_file_of_another_length_is_refused(size, count, message):
    with raises(ValueError, message + CUT_OFF.format(size)):
        read_records(bytes(size), "file", count)
    assert len(read_records(b"", "file")[1]) == 0
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
    train, test = load_cifar10(), load_cifar10("test")
    assert isinstance(train, ImageDataset)
    assert (train.images.shape, train.images.dtype) == ((15, 3, 32, 32), np.float32)
    assert (train.labels.tolist(), train.labels.dtype) == ([1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6, 5, 6, 7], np.int64)
    levels = [10 * number + image for number in range(1, 6) for image in range(3)]
    assert np.array_equal(train.images[:, 2, 31, 31], (np.array(levels) / 255).astype(np.float32))
    assert np.array_equal(train.images.min((1, 2, 3)), train.images.max((1, 2, 3)))
    assert (test.labels.tolist(), test.images[0, 0, 0, 0]) == ([6, 7, 8], np.float32(60 / 255))
    assert repr(test) == "ImageDataset(3 images of 3×32×32, 10 classes)"
    assert test.classes == ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    assert sorted(folder.rglob("*")) == before, "nothing is unpacked into the folder"
    assert [x.shape for x, _ in DataLoader(test, 2)] == [(2, 3, 32, 32), (1, 3, 32, 32)]


def test_the_test_set_needs_only_its_own_file_beside_the_version_for_python(folder):
    as_a_folder(folder)
    (folder / "test_batch.bin").write_bytes(FILES["test_batch.bin"])
    assert len(load_cifar10("test")) == 3


def test_where_a_file_is_missing_the_whole_archive_is_taken(folder):
    unpacked(folder)
    (folder / "data_batch_4.bin").unlink()
    address = "http://127.0.0.1:9/cifar-10-binary.tar.gz"
    with raises(OSError, nothing_usable(folder / "cifar-10-binary.tar.gz", f"{address}: no connection, or the connection was lost")):
        load_cifar10()
    in_the_archive(folder)
    assert len(load_cifar10()) == 15


@pytest.mark.parametrize(
    "content", [FILES["data_batch_3.bin"][:-1], FILES["data_batch_3.bin"][:RECORD], FILES["data_batch_3.bin"] * 2, b""]
)
@pytest.mark.parametrize("place", [unpacked, in_the_archive])
def test_a_file_of_another_length_is_refused_by_name(folder, place, content, monkeypatch):
    monkeypatch.setitem(FILES, "data_batch_3.bin", content)
    place(folder)
    path = folder / "data_batch_3.bin" if place is unpacked else f"data_batch_3.bin in {folder / 'cifar-10-binary.tar.gz'}"
    with raises(ValueError, f"{path} expected 9219 bytes, 3073 for each image, {CUT_OFF.format(len(content))}"):
        load_cifar10()


def test_another_split_and_a_label_of_no_class_are_refused(folder):
    refuses(ValueError, 'split expected "train" or "test", got \'valid\'', load_cifar10, "valid")
    content = bytearray(FILES["test_batch.bin"])
    content[RECORD] = 10
    (folder / "test_batch.bin").write_bytes(content)
    message = f"{folder / 'test_batch.bin'} expected labels from 0 to 9, got 10 for image 1; it is damaged or another file: copy it again"
    refuses(ValueError, message, load_cifar10, "test")


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
    with raises(ValueError, f"{path} expected a whole archive, got a damaged one; delete it to download it again, or copy it again"):
        load_cifar10()


LACKING = "{} expected the archive of CIFAR-10, got one without cifar-10-batches-bin/{}; delete it to download it again"


def test_an_archive_without_one_of_the_files_is_refused(folder):
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(packed({name: content for name, content in FILES.items() if name != "data_batch_5.bin"}))
    with raises(ValueError, LACKING.format(path, "data_batch_5.bin")):
        load_cifar10()
    assert len(load_cifar10("test")) == 3


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused(folder, monkeypatch):
    in_the_archive(folder)
    whole = len(gzip.decompress((folder / "cifar-10-binary.tar.gz").read_bytes()))
    monkeypatch.setattr(cifar, "MAX_ARCHIVE_BYTES", whole)
    load_cifar10("test")
    monkeypatch.setattr(cifar, "MAX_ARCHIVE_BYTES", whole - 1)
    path = folder / "cifar-10-binary.tar.gz"
    with raises(
        ValueError, f"{path} expected at most {whole - 1} bytes unpacked, got more; it is another archive: put the right one there"
    ):
        load_cifar10("test")


def test_a_link_in_an_archive_leads_nowhere(folder, tmp_path):
    (tmp_path / "secret").write_bytes(FILES["test_batch.bin"])
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        link = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "../../secret"
        archive.addfile(link)
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(gzip.compress(made.getvalue()))
    with raises(ValueError, LACKING.format(path, "test_batch.bin")):
        load_cifar10("test")


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
    with raises(ValueError, message):
        load_cifar10("test")
    assert not (folder / "harm").exists()


def test_what_is_missing_is_downloaded_and_checked(folder, monkeypatch):
    fetched = []

    def download(path, urls, known_hash):
        fetched.append((path, urls, known_hash))
        in_the_archive(folder)

    monkeypatch.setattr(cifar, "download", download)
    assert (len(load_cifar10("test")), len(load_cifar10())) == (3, 15)
    assert fetched == [(folder / "cifar-10-binary.tar.gz", [cifar.ADDRESS], cifar.HASH)], "what is there is not fetched again"


@needs_real_files
def test_the_real_photographs_are_read():
    path = cifar.data_home() / "cifar10" / "cifar-10-binary.tar.gz"
    if not path.is_file():
        pytest.skip("there is no cifar10/cifar-10-binary.tar.gz in MINITORCH_DATA")
    assert f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" == cifar.HASH
    data = load_cifar10("test")
    assert np.bincount(data.labels).tolist() == [1000] * 10
    assert data.labels[:5].tolist() == [3, 8, 8, 0, 6]


@pytest.mark.parametrize(("hashes", "count"), [(fashion.HASHES.values(), 4), ([cifar.HASH], 1)], ids=["clothes", "photographs"])
def test_a_checksum_is_one_and_belongs_to_one_file(hashes, count):
    assert len(set(hashes)) == count
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", known) for known in hashes)
