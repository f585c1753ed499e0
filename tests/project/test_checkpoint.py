"""Checkpoint files: exact round trips, a whole file after an interruption at any moment, and errors that name the file."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from project.lab.training import checkpoint
from project.lab.training.checkpoint import Checkpoint, CheckpointError

REMEDY = "to begin anew, delete it and leave out --resume"
ROOT = Path(checkpoint.__file__).parents[2]
SAMPLE = Checkpoint(
    {"epoch": 3, "random": {"state": 2**127 + 1}, "losses": [0.1, 1e-300], "name": "Größe"},
    {"weights": np.array([[1.5, -0.0], [np.pi, 5e-324]]), "small": np.float32([0.1]), "none": np.empty((0, 2)), "one": np.array(7)},
)


@pytest.fixture
def path(tmp_path):
    """A file with SAMPLE in it."""
    checkpoint.save(tmp_path / "run.safetensors", SAMPLE)
    return tmp_path / "run.safetensors"


def refusal(path):
    """The error message for a file."""
    with pytest.raises(CheckpointError) as refused:
        checkpoint.load(path)
    return str(refused.value)


def test_numbers_arrays_and_dtypes_round_trip_exactly_in_one_file_that_safetensors_reads(path):
    found = checkpoint.load(path)
    assert found.about == SAMPLE.about
    assert found.arrays.keys() == SAMPLE.arrays.keys()
    for name, array in SAMPLE.arrays.items():
        assert (found.arrays[name].dtype, found.arrays[name].shape) == (array.dtype, array.shape)
        assert found.arrays[name].tobytes() == array.tobytes()
    assert [entry.name for entry in path.parent.iterdir()] == ["run.safetensors"]
    assert load_file(path)["weights"].tolist() == SAMPLE.arrays["weights"].tolist()


def test_strided_arrays_and_a_loss_of_nan_keep_their_values(tmp_path):
    numbers = np.arange(12.0).reshape(3, 4)
    views = {"turned": numbers.T, "every second": numbers[:, ::2], "backwards": numbers[::-1]}
    checkpoint.save(tmp_path / "c", Checkpoint({"loss": [float("nan"), float("inf")]}, views))
    found = checkpoint.load(tmp_path / "c")
    assert str(found.about["loss"]) == "[nan, inf]"
    assert {name: array.tolist() for name, array in found.arrays.items()} == {name: array.tolist() for name, array in views.items()}


def test_the_digest_depends_on_values_names_shapes_and_dtypes_but_not_on_the_order():
    a, b = np.zeros(4, np.int64), np.zeros(4)
    contents = [{"a": a, "b": b}, {"a": a, "c": b}, {"a": a, "b": b.reshape(2, 2)}, {"a": a, "b": a}, {"a": a, "b": b + 1}]
    digests = [checkpoint.digest("", arrays) for arrays in contents]
    assert len({*digests, checkpoint.digest("text", contents[0])}) == 6
    assert checkpoint.digest("", {"b": b, "a": a}) == digests[0]


def test_a_failed_save_keeps_the_previous_file(path, monkeypatch):
    def raise_disk_full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(path, Checkpoint({"epoch": 4}, {}))
    assert checkpoint.load(path).about == SAMPLE.about
    assert [entry.name for entry in path.parent.iterdir()] == ["run.safetensors"]


def test_the_new_file_is_synced_before_it_is_renamed(path, monkeypatch):
    seen = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append("on disk") or fsync(descriptor))
    monkeypatch.setattr(Path, "replace", lambda self, target: seen.append("renamed") or replace(self, target))
    checkpoint.save(path, SAMPLE)
    assert seen == ["on disk", "renamed", "on disk"]  # the file, and then the folder with its new name


@pytest.mark.parametrize(("name", "got"), [("none", "none"), ("", "a folder")])
def test_a_missing_checkpoint_is_named(tmp_path, name, got):
    remedy = "name a file that a program has written with --checkpoint"
    assert refusal(tmp_path / name) == f"expected a checkpoint at {tmp_path / name}, got {got}; {remedy}"


@pytest.mark.parametrize("length", [0, 1, 8, 100, 500, -1, None])
def test_a_truncated_checkpoint_and_another_type_of_file_are_refused_by_name(path, length):
    path.write_bytes(path.read_bytes()[:length] if length is not None else b"epoch 1: loss 0.3\n" * 20)
    assert re.fullmatch(rf"{re.escape(str(path))} is damaged, cut short or no checkpoint \(.*\); {REMEDY}", refusal(path))


def test_a_flipped_bit_anywhere_is_detected(path):
    content = path.read_bytes()
    start = len(content) - sum(array.nbytes for array in SAMPLE.arrays.values())
    for place in range(start, len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert refusal(path) == f"{path} is damaged: its contents do not match its checksum; {REMEDY}"
    path.write_bytes(content.replace(b"epoch", b"epoca"))
    assert refusal(path).startswith(f"{path} is damaged")


def test_a_file_of_another_program_or_format_is_refused_by_name(path):
    save_file({"weights": np.ones(3)}, path, {"format": "pt"})
    assert refusal(path) == f"{path} is a safetensors file of another program, not a checkpoint of a training run; name another file"
    save_file({}, path, {"format": "MiniTorch checkpoint 1", "about": json.dumps({}), "checksum": ""})
    remedy = "resume it with the version that wrote it"
    assert refusal(path) == f"{path} expected format 'MiniTorch checkpoint 3', got 'MiniTorch checkpoint 1'; {remedy}"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_an_unreadable_checkpoint_is_named(path):
    path.chmod(0)
    assert refusal(path) == f"could not read checkpoint {path} (Permission denied); check who may read it"
