"""torch.save and torch.load: our own files, PyTorch's, and files that are damaged or hostile."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch import FileFormatError
from minitorch.torch.serialization import load, save

STATE = {"model": {"weight": [[1.0, 2.0], [3.0, 4.0]], "bias": [0.5]}, "epoch": 3, "name": "first", "rates": [0.1, 0.2], "none": None}


def state_of(lib):
    """The state with tensors of a library."""
    tensors = {name: lib.tensor(values) for name, values in STATE["model"].items()}
    return {**STATE, "model": tensors}


def check(state):
    """Fail unless it is STATE."""
    assert {name: value for name, value in state.items() if name != "model"} == {k: v for k, v in STATE.items() if k != "model"}
    assert {name: x.tolist() for name, x in state["model"].items()} == STATE["model"]
    assert all(isinstance(x, torch.Tensor) for x in state["model"].values())


@pytest.mark.parametrize("kind", ["path", "file"])
def test_a_state_is_read_as_it_was_saved(kind, tmp_path):
    place = tmp_path / "state.pt" if kind == "path" else io.BytesIO()
    save(state_of(torch), place)
    if kind == "file":
        place.seek(0)
    check(load(place))


def test_a_tensor_alone_is_read_as_it_was_saved(tmp_path):
    save(torch.tensor([1, 2]), tmp_path / "x.pt")
    assert load(tmp_path / "x.pt").tolist() == [1, 2]


def test_a_module_is_refused(tmp_path):
    with pytest.raises(TypeError, match="Linear"):
        save(torch.nn.Linear(2, 1), tmp_path / "model.pt")


def test_code_in_files_is_never_run(tmp_path):
    with pytest.raises(ValueError, match="load expected weights_only=True"):
        load(tmp_path / "model.pt", weights_only=False)


class Attack:
    """Its pickle makes a folder when it is read."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def zip_of(path, content, storage=b"\0" * 16):
    """A file in the form of PyTorch's torch.save."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/data/0", storage)
    return path


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    path = zip_of(tmp_path / "bad.pt", pickle.dumps({"weight": Attack(str(tmp_path / "made"))}))
    with pytest.raises(FileFormatError, match="mkdir, which could run code"):
        load(path)
    assert not (tmp_path / "made").exists()


def test_cut_and_changed_files_are_refused(tmp_path):
    content = bytearray(pickle.dumps({"a": [1.0, 2.0], "b": "text"}))
    random = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(content)
        for place in random.integers(0, len(damaged), 3):
            damaged[place] = random.integers(0, 256)
        path = zip_of(tmp_path / "damaged.pt", bytes(damaged[: random.integers(1, len(damaged) + 1)]))
        try:
            load(path)  # a change may leave a plain container
        except FileFormatError:
            continue


def test_a_file_of_pytorch_is_read(tmp_path):
    theirs = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs.save(state_of(theirs), tmp_path / "theirs.pt")
    check(load(tmp_path / "theirs.pt"))
    model = theirs.nn.Sequential(theirs.nn.Linear(3, 4), theirs.nn.BatchNorm1d(4))
    theirs.save(model.state_dict(), tmp_path / "model.pt")
    own = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    own.load_state_dict(load(tmp_path / "model.pt"))
    for name, x in model.state_dict().items():
        np.testing.assert_array_equal(own.state_dict()[name].numpy(), x.numpy())
    transposed = theirs.arange(6.0).view(2, 3).T
    theirs.save(transposed, tmp_path / "x.pt")
    assert load(tmp_path / "x.pt").tolist() == transposed.tolist()
