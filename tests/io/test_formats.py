"""Files of arrays: what is written comes back, safetensors reads it, and no file that says of itself what cannot be is taken for one."""

import io
import json
import os
import pickle
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minitorch.io import formats as array_files
from minitorch.io.formats import FileFormatError, read_arrays, replace_file, write_arrays
from tests.errors import raises

safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed; pip install safetensors")

REAL = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]


def file_of(header, elements=b"", length=None):
    """The bytes of a file, written by hand."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + elements


def claim(begin=0, end=8, dtype="F32", shape=(2,)):
    """What a header says of one array."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.safetensors"


def refusal(path, content):
    """The message with which a content is refused, without the path in front."""
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as refused:
        read_arrays(path)
    assert str(refused.value).startswith(f"{path} expected a ")
    return str(refused.value).removeprefix(f"{path} expected a ")


# What comes back


@pytest.mark.parametrize("dtype", REAL)
def test_every_dtype_comes_back_and_is_what_safetensors_reads_and_writes(path, dtype):
    array = np.array([[0, 1, 2], [3, 120, 1]]).astype(dtype)
    write_arrays(path, {"x": array})
    for found in (read_arrays(path)[0]["x"], safetensors_numpy.load_file(path)["x"]):
        assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())
    safetensors_numpy.save_file({"y": array}, path)
    found = read_arrays(path)[0]["y"]
    assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())


def test_bfloat16_comes_back(path):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install ml_dtypes")
    write_arrays(path, {"x": np.array([1.5, -2.0, np.inf], ml_dtypes.bfloat16)})
    assert path.read_bytes()[-6:] == bytes([0xC0, 0x3F, 0x00, 0xC0, 0x80, 0x7F])  # the upper halves of the three float32
    found = read_arrays(path)[0]["x"]
    assert found.dtype == ml_dtypes.bfloat16
    assert found.astype(np.float32).tolist() == [1.5, -2.0, np.inf]


def test_the_bytes_of_a_file_are_these(path):
    write_arrays(path, {"small": np.array([7], np.uint8), "wide": np.array([1.0])}, {"a": "b"})
    small, wide = claim(8, 9, "U8", [1]), claim(0, 8, "F64", [1])
    header = {"__metadata__": {"a": "b"}, "small": small, "wide": wide}
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert length % 8 == 0
    assert list(json.loads(content[8 : 8 + length]).items()) == list(header.items())
    assert content[8 + length :] == bytes([0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 7])


def test_views_are_written_whole_and_in_the_order_of_their_indices(path):
    numbers = np.arange(12.0).reshape(3, 4)
    views = {"turned": numbers.T, "every second": numbers[:, ::2], "backwards": numbers[::-1], "one": numbers[1, 2], "none": numbers[3:]}
    views |= {"repeated": np.broadcast_to(numbers[:1], (2, 4)), "other end": numbers.astype(">f8")}
    write_arrays(path, {name: np.asarray(view) for name, view in views.items()})
    found, notes = read_arrays(path)
    assert {name: array.tolist() for name, array in found.items()} == {name: view.tolist() for name, view in views.items()}
    assert (list(found), notes) == (list(views), {})
    assert (found["none"].shape, found["one"].shape) == ((0, 4), ())


def test_what_is_read_can_be_written_into_and_is_no_part_of_another(path):
    write_arrays(path, {"a": np.zeros(3), "b": np.zeros(3)})
    found, _ = read_arrays(path)
    found["a"][:] = 1
    assert found["b"].tolist() == [0, 0, 0]


def test_notes_are_kept_and_are_no_array(path):
    write_arrays(path, {}, {"größe": "ä", "": ""})
    assert read_arrays(path) == ({}, {"größe": "ä", "": ""})


KINDS_OF_NUMPY = "bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float16, bfloat16, float32, float64"
DTYPES, TEXT = f"write_arrays expected arrays of {KINDS_OF_NUMPY}, got x of", "write_arrays expected text for every name and note, got"
TOO_LONG = "write_arrays expected names and notes of at most 40 bytes, got 80; shorten the notes"
RESERVED = 'write_arrays expected other names than "__metadata__", under which the notes stand; call the array otherwise'


@pytest.mark.parametrize(
    ("arrays", "notes", "error", "message"),
    [
        ({"x": np.array([1j])}, {}, TypeError, f"{DTYPES} complex128; convert it first"),
        ({"x": np.array([None])}, {}, TypeError, f"{DTYPES} object; convert it first"),
        ({3: np.zeros(1)}, {}, TypeError, f"{TEXT} [3] and {{}}; write numbers as JSON"),
        ({}, {"a": 1}, TypeError, f"{TEXT} [] and {{'a': 1}}; write numbers as JSON"),
        ({"__metadata__": np.zeros(1)}, {}, ValueError, RESERVED),
        ({"x": np.zeros(1)}, {"a": "b"}, ValueError, TOO_LONG),
    ],
)
def test_what_cannot_be_written_leaves_the_file_before(path, monkeypatch, arrays, notes, error, message):
    monkeypatch.setattr(array_files, "MAX_HEADER_BYTES", 40)
    path.write_bytes(b"before")
    with raises(error, message):
        write_arrays(path, arrays, notes)
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_is_missing_is_named(path):
    folder = path.parent / "none"
    with raises(FileNotFoundError, f"expected a file in a folder that is there, got {folder / 'x'}; make {folder} first"):
        write_arrays(folder / "x", {})


# A stop at any moment


def test_the_new_file_is_on_the_disk_before_it_takes_the_name(path, monkeypatch):
    seen = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append("on disk") or fsync(descriptor))
    monkeypatch.setattr(Path, "replace", lambda self, target: seen.append("renamed") or replace(self, target))
    replace_file(path, b"12", b"3")
    assert seen == ["on disk", "renamed", "on disk"]  # the file, and then the folder with its new name
    assert path.read_bytes() == b"123"


def test_a_full_disk_leaves_the_file_before_and_no_draft(path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    replace_file(path, b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]


# Files of another kind


PICKLE, ZIP = "a pickle, which may run any program and is never opened; ", "a zip archive, as torch.save writes it; "
OTHER = "another kind of file, or the beginning of one; name one that save has written"
CONVERT = (
    "a .pt or .pth file of PyTorch is converted by python -c \"import torch, safetensors.torch as s; s.save_file(torch.load('{path}', "
    "weights_only=True), '{stem}.safetensors')\""
)


def archive():
    """A zip archive such as torch.save writes."""
    with zipfile.ZipFile(content := io.BytesIO(), "w") as file:
        file.writestr("archive/data.pkl", b"")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "an empty one; fetch or save it again"), (archive(), ZIP + CONVERT),
        *[(pickle.dumps({"a": [1, 2, 3]}, protocol), PICKLE + CONVERT) for protocol in (2, 3, 4, 5)],
        (b"\x89HDF\r\n\x1a\n" + bytes(500), "an HDF5 file; read it with load_hdf5"), (b"\x00", OTHER), (bytes(8), OTHER),
        (b"epoch 1: loss 0.3\n" * 20, OTHER), (bytes(100), OTHER), ((5).to_bytes(8, "little"), OTHER), (pickle.dumps([1], 0), OTHER),
    ],
)  # fmt: skip
def test_files_of_other_kinds_are_named(path, content, kind):
    kind = kind.replace("{path}", str(path)).replace("{stem}", str(path.with_suffix("")))
    assert refusal(path, content) == f"safetensors file, got {kind}"


def test_a_pickle_is_not_run(path):
    class Trap:
        def __reduce__(self):
            return (Path(path.parent / "sprung").touch, ())

    refusal(path, pickle.dumps(Trap()))
    assert not (path.parent / "sprung").exists()


# Headers that claim what cannot be


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (3, "3 bytes in a file of 10"), (10**8, f"{10**8} bytes in a file of 10"), (10**8 + 1, f"{10**8 + 1} bytes"),
        (2**64 - 1, f"{2**64 - 1} bytes"),
    ],
)  # fmt: skip
def test_a_header_that_claims_to_be_longer_than_the_file_is_refused_before_it_is_read(path, length, shown):
    limit = "safetensors file with a header of at most 100000000 bytes, got a header of"
    assert refusal(path, file_of({}, length=length)) == f"{limit} {shown}; fetch or save it again"


def test_a_header_over_the_limit_is_refused_even_if_it_is_there(path, monkeypatch):
    monkeypatch.setattr(array_files, "MAX_HEADER_BYTES", 10)
    path.write_bytes(file_of(b"{}" + b" " * 8))
    assert read_arrays(path) == ({}, {})
    message = "safetensors file with a header of at most 10 bytes, got a header of 11 bytes; fetch or save it again"
    assert refusal(path, file_of(b"{}" + b" " * 9)) == message


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (b"{", "(Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
        (b'{"a": \xff}', "('utf-8' codec can't decode byte 0xff in position 6: invalid start byte)"),
        (b'{"a": 1, "a": 2}', "('a' stands there twice)"),
        (b'{"x": ' + b"[" * 200_000, ""),
    ],
)
def test_a_header_that_is_no_json_is_refused(path, header, why):
    message = refusal(path, file_of(header))
    assert message.startswith("whole safetensors file, got a header that is no JSON (")
    assert message.endswith("; fetch or save it again")
    assert why in message


FLOATS = claim(0, 8)
ONES, WITHOUT = [1] * 32 + [2], "a without exactly dtype, shape and data_offsets"
KINDS = "BOOL, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64"


@pytest.mark.parametrize(
    ("header", "elements", "wrong"),
    [
        ({"a": claim(0, 9, "U8", (9,))}, 8, "a at 0 to 9, of 8 bytes that are there"),
        ({"a": claim(0, 8, shape=(1,))}, 8, "a of shape (1,) and float32 in 8 bytes"),
        ({"a": claim(0, 12)}, 8, "a at 0 to 12, of 8 bytes that are there"),
        ({"a": claim(0, 8, shape=(3,))}, 8, "a of shape (3,) and float32 in 8 bytes"),
        ({"a": claim(0, 8, shape=(2**62, 4))}, 8, f"a of shape ({2**62}, 4) and float32 in 8 bytes"),
        ({"a": claim(0, 0, shape=(0, 2**62))}, 0, f"a of shape (0, {2**62}) and float32 in 0 bytes"),
        ({"a": claim(0, 4), "b": claim(4, 8)}, 8, "a of shape (2,) and float32 in 4 bytes; b of shape (2,) and float32 in 4 bytes"),
        ({"a": FLOATS, "b": FLOATS}, 8, "b at 0 to 8, with bytes of another array in it, where 8 was due"),
        ({"a": FLOATS, "b": claim(4, 12)}, 12, "b at 4 to 12, with bytes of another array in it, where 8 was due"),
        ({"a": FLOATS, "b": claim(12, 20)}, 20, "b at 12 to 20, with a hole before it, where 8 was due"),
        ({"a": claim(4, 12)}, 12, "a at 4 to 12, with a hole before it, where 0 was due"),
        ({"a": FLOATS}, 9, "9 bytes of elements, of which 8 belong to arrays"), ({}, 1, "1 bytes of elements, of which 0 belong to arrays"),
        ({"a": claim(8, 0)}, 8, "a at [8, 0]"), ({"a": claim(-8, 0)}, 8, "a at [-8, 0]"), ({"a": claim(0, 8.0)}, 8, "a at [0, 8.0]"),
        ({"a": claim(False, 8)}, 8, "a at [False, 8]"), ({"a": {**FLOATS, "data_offsets": [0, 8, 8]}}, 8, "a at [0, 8, 8]"),
        ({"a": {**FLOATS, "data_offsets": 8}}, 8, "a at 8"), ({"a": claim(shape=(-2, -1))}, 8, "a of shape [-2, -1]"),
        ({"a": claim(shape=("2",))}, 8, "a of shape ['2']"), ({"a": claim(shape=ONES)}, 8, f"a of shape {ONES!s:.80}"),
        ({"a": claim(dtype="F8_E4M3")}, 8, f"a of dtype 'F8_E4M3', which is none of {KINDS}"),
        ({"a": claim(dtype=["F32"])}, 8, f"a of dtype ['F32'], which is none of {KINDS}"),
        ({"a": {"dtype": "F32", "shape": [2]}}, 8, WITHOUT), ({"a": {**FLOATS, "more": 1}}, 8, WITHOUT), ({"a": [1]}, 8, WITHOUT),
    ],
)  # fmt: skip
def test_a_header_that_does_not_fit_its_elements_is_refused(path, header, elements, wrong):
    message = f"whole safetensors file, got a header that does not fit its elements ({wrong}); fetch or save it again"
    assert refusal(path, file_of(header, bytes(elements))) == message


def test_of_many_wrong_arrays_ten_are_told(path):
    header = {f"a{i}": claim(0, 99) for i in range(12)}
    listed = "; ".join(f"a{i} at 0 to 99, of 0 bytes that are there" for i in range(10))
    assert f"({listed}; … and 2 more)" in refusal(path, file_of(header))


@pytest.mark.parametrize("notes", [3, [], {"a": 1}, {"a": {}}])
def test_notes_that_are_no_text_are_refused(path, notes):
    message = "whole safetensors file, got notes (__metadata__) that are not text by name; fetch or save it again"
    assert refusal(path, file_of({"__metadata__": notes})) == message


def test_truth_values_that_are_neither_0_nor_1_are_refused(path):
    header = {"a": claim(0, 3, "BOOL", (3,))}
    path.write_bytes(file_of(header, bytes([0, 1, 1])))
    assert read_arrays(path)[0]["a"].tolist() == [False, True, True]
    message = "whole safetensors file, got a of BOOL with bytes other than 0 and 1; fetch or save it again"
    assert refusal(path, file_of(header, bytes([0, 1, 2]))) == message


def test_bfloat16_without_the_package_names_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    reason = "(a of BF16, which needs the package ml_dtypes (pip install ml_dtypes));"
    assert reason in refusal(path, file_of({"a": claim(0, 4, "BF16")}, bytes(4)))


def test_every_truncation_is_refused(path):
    write_arrays(path, {"a": np.arange(3.0), "b": np.array([True])}, {"n": "x"})
    content = path.read_bytes()
    for length in range(len(content)):
        refusal(path, content[:length])


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 255))
@example(0, 0)
def test_a_changed_byte_gives_arrays_or_a_refusal_and_nothing_else(tmp_path_factory, place, byte):
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    write_arrays(path, {"a": np.arange(3.0), "b": np.array([True, False])}, {"n": "x"})
    content = bytearray(path.read_bytes())
    content[place % len(content)] = byte
    path.write_bytes(content)
    try:
        arrays, _ = read_arrays(path)
    except FileFormatError:
        return
    assert sum(array.nbytes for array in arrays.values()) == 26


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(path):
    link = path.with_name("latest")
    link.symlink_to(path.name)
    replace_file(path, b"before")
    replace_file(link, b"after")
    assert (link.is_symlink(), path.read_bytes()) == (True, b"after")


def test_who_may_read_the_file_before_may_read_the_new_one_and_nobody_else(path):
    replace_file(path, b"before")
    path.chmod(0o600)
    replace_file(path, b"after")
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_threads_may_write_the_same_file(path):
    contents = [bytes([n]) * (n * 500_000) for n in (1, 2)]
    failed = []

    def write(content):
        try:
            for _ in range(5):
                replace_file(path, content)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failed, path.read_bytes() in contents) == ([], True)
