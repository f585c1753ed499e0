"""Files of tensors: states come back as they were, PyTorch's are taken over, and what is no such file is refused by name."""

import json
import math
import re
import sys

import numpy as np
import pytest

from minitorch import Adam, FastBackend, Parameter, SimpleBackend, manual_seed, nn, tensor
from minitorch.core.dtypes import bool_, float32, float64, int32, int64
from minitorch.io.files import load, load_hdf5, load_torch_state_dict, save, save_hdf5
from minitorch.io.formats import FileFormatError, read_arrays, write_arrays
from minitorch.nn import Linear, ReLU, Sequential
from tests.errors import raises

ALL = [float64, float32, int64, int32, bool_]
NARROW = ["float16", "bfloat16", "int8", "int16", "uint8"]


def values(state):
    """What is in a state, with a tensor as its dtype and numbers."""
    if isinstance(state, dict):
        return {key: values(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(map(values, state))
    return (state.dtype, state.shape, state.tolist()) if hasattr(state, "_tensor") else state


def views():
    """Tensors in all layouts."""
    x, leaf = tensor(np.arange(12.0).reshape(3, 4)), tensor([1.0, 2.0], requires_grad=True)
    found = {"x": x, "turned": x.t(), "part": x[1:, ::2], "repeated": x[:1].expand(2, 4), "a number": tensor(2.5), "none": x[3:]}
    return found | {"leaf": leaf, "computed": leaf * 2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.safetensors"


# safetensors


def test_every_dtype_and_every_view_comes_back(path):
    state = views() | {dtype.name: tensor([[0, 1, 1]], dtype=dtype) for dtype in ALL}
    save(state, path)
    found = load(path)
    assert list(found) == list(state)
    assert values(found) == values(state)
    assert [each.requires_grad for each in found.values()] == [False] * len(state)
    assert {each.backend for each in found.values()} == {SimpleBackend}
    found["x"][0, 0] = 9.0
    assert found["repeated"][0, 0] == 0.0


def of_dtype(dtype):
    """A state with a transposed tensor of a dtype."""
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install ml_dtypes")
    numbers = {"f": [[0, 1.5, 127]], "b": [[0, 1.5, 127] if dtype == "bfloat16" else [False, True, True]]}
    return {"x": tensor(numbers.get(dtype[0], [[0, 1, 127]]), dtype=dtype).t(), "y": tensor([2.0])}


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_numbers_come_back(path, dtype):
    state = of_dtype(dtype)
    save(state, path)
    assert values(load(path)) == values(state)


@pytest.mark.parametrize("dtype", [*NARROW, "float64", "float32", "int64", "int32", "bool"])
def test_pytorch_reads_every_dtype(path, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    safetensors_torch = pytest.importorskip("safetensors.torch", reason="safetensors is not installed; pip install safetensors")
    state = of_dtype(dtype)
    save(state, path)
    theirs = safetensors_torch.load_file(path)["x"]
    assert (theirs.dtype, theirs.tolist()) == (getattr(torch, dtype), state["x"].tolist())


def test_the_package_safetensors_reads_a_state(path):
    safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed; pip install safetensors")
    save(views(), path)
    found = safetensors_numpy.load_file(path)
    assert {name: array.tolist() for name, array in found.items()} == {name: each.tolist() for name, each in views().items()}


def test_a_training_goes_on_from_a_file_as_if_nothing_had_happened(path):
    def started():
        manual_seed(0)
        network = Sequential(Linear(2, 3), ReLU(), Linear(3, 1)).to(SimpleBackend, float64)
        return network, Adam(network.parameters(), lr=0.01)

    def step(network, optimizer):
        optimizer.zero_grad()
        loss = (network(tensor([[1.0, 2.0], [3.0, -1.0]])) - 1.0).mean()
        (loss * loss).backward()
        optimizer.step()
        return loss.item()

    first, other = started(), started()
    step(*first)
    save({"network": first[0].state_dict(), "optimizer": first[1].state_dict()}, path)
    for part, state in zip(other, load(path).values(), strict=True):
        part.load_state_dict(state)
    assert [step(*other) for _ in range(3)] == [step(*first) for _ in range(3)]


def test_a_state_of_many_things_comes_back_with_its_kinds_of_numbers_keys_and_sequences(path):
    weight = tensor([1.0, 2.0])
    state = {
        "model": {"weight": weight, "empty": {}}, "epoch": 3, "best": math.inf, "name": "größe", "done": False, "nothing": None,
        "optimizer": {"state": {0: {"step": 3, "mean": weight * 2}, 1: {}}, "betas": (0.9, 0.999), "groups": [{"params": [0, 1]}]},
        "rate": np.float32(0.5), "count": np.int64(2**60),
    }  # fmt: skip
    save(state, path)
    found = load(path)
    assert values(found) == values(state) | {"rate": 0.5, "count": 2**60}
    assert type(found["count"]) is int
    assert sorted(read_arrays(path)[0]) == ["model.weight", "optimizer.state.0.mean"]


def test_a_state_of_tensors_alone_needs_no_note_and_other_keys_do(path):
    save({"a.b": tensor([1.0])}, path)
    assert read_arrays(path)[1] == {}
    save({0: tensor([1.0])}, path)
    assert values(load(path)) == {0: (float64, (1,), [1.0])}
    save({}, path)
    assert load(path) == {}


def test_parameters_and_arrays_are_saved_like_tensors(path):
    save({"p": Parameter(tensor([1.0])), "a": np.float32([2.0])}, path)
    assert values(load(path)) == {"p": (float64, (1,), [1.0]), "a": (float32, (1,), [2.0])}


def test_tensors_of_pytorchs_are_saved_like_tensors(path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    save({"t": torch.ones(2, 2, requires_grad=True).t()}, path)
    assert values(load(path)) == {"t": (float32, (2, 2), [[1.0, 1.0], [1.0, 1.0]])}


def test_tensors_are_loaded_onto_the_backend_that_is_asked_for(path):
    save({"x": tensor([1.0])}, path)
    assert load(path, FastBackend)["x"].backend is FastBackend


STATE, KEY = "save expected a dictionary of tensors by name, got", "save expected names or whole numbers as keys, got"


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        (Linear(1, 1), TypeError, f"{STATE} Linear; pass its state_dict()"),
        (tensor([1.0]), TypeError, f'{STATE} Tensor; give the tensor a name: {{"x": x}}'),
        ({"a": [1, print]}, TypeError,
         "save expected tensors, numbers, text, and lists and dictionaries of these, "
         "got builtin_function_or_method at 'a.1'; leave it out"),
        ({(1, 2): 3}, TypeError, f"{KEY} (1, 2) at 'the top'; change it"),
        ({"a": {"b": tensor([1.0])}, "a.b": tensor([2.0])}, ValueError,
         "save expected names that differ, got 'a.b' twice, as a dot within a name may do; change one of them"),
    ],
)  # fmt: skip
def test_what_is_no_state_is_refused_when_it_is_saved(path, state, error, message):
    with raises(error, message):
        save(state, path)
    assert not path.exists()


X = '{"array": "x"}'
NOTES = [
    "{", "3", '{"list": []}', '{"array": "none"}', '{"dict": [["a", {"array": "none"}]]}', '{"dict": 3}', "[" * 9999,
    '{"dict": []}', f'{{"dict": [["a", {X}], ["b", {X}]]}}', f'{{"dict": [["a", {X}], ["a", 1]]}}', f'{{"dict": [[1.5, {X}]]}}',
    f'{{"dict": [["a", [{X}]]]}}', f'{{"dict": [["a", {X}], ["b", {{"list": "no"}}]]}}',
]  # fmt: skip


@pytest.mark.parametrize("note", NOTES)
def test_a_note_that_does_not_fit_is_refused(path, note):
    write_arrays(path, {"x": np.zeros(1)}, {"minitorch": note})
    with raises(FileFormatError, f"{path} expected a note that says where each tensor belongs, got {note:.80}; save it again"):
        load(path)


def test_a_dtype_that_no_tensor_has_is_refused_by_name(path):
    write_arrays(path, {"x": np.zeros(1, np.uint64)})
    with pytest.raises(FileFormatError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path} expected dtypes that a tensor can have, got x of uint64 (")


# PyTorch's files


def net_of(nn):
    """A network with the same names in both libraries."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.head = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))

        def forward(self, x):
            return self.head(self.conv(x).relu())

    return Net()


def test_a_model_of_pytorchs_gives_the_same_outputs_here(path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    safetensors_torch = pytest.importorskip("safetensors.torch", reason="safetensors is not installed; pip install safetensors")
    theirs, ours = net_of(torch.nn), net_of(nn).to(float32)
    safetensors_torch.save_file(theirs.state_dict(), path)
    assert load_torch_state_dict(ours, path) == ([], [])
    images = np.random.default_rng(0).standard_normal((5, 1, 4, 4), np.float32)
    expected = theirs(torch.from_numpy(images)).detach().numpy()
    np.testing.assert_allclose(ours(tensor(images)).to_numpy(), expected, rtol=1e-5, atol=1e-6)
    save(ours.state_dict(), path)  # and back
    other = net_of(torch.nn)
    other.load_state_dict(safetensors_torch.load_file(path))
    assert all(torch.equal(a, b) for a, b in zip(other.parameters(), theirs.parameters(), strict=True))


def test_pytorchs_own_files_are_refused_with_the_line_that_converts_them(path, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    pytest.importorskip("safetensors.torch", reason="safetensors is not installed; pip install safetensors")
    theirs, ours, weights = net_of(torch.nn), net_of(nn), path.with_name("net.pth")
    torch.save(theirs.state_dict(), weights, _use_new_zipfile_serialization=False)
    with pytest.raises(FileFormatError, match="got a pickle, which may run any program and is never opened; "):
        load_torch_state_dict(ours, weights)
    torch.save(theirs.state_dict(), weights)
    with pytest.raises(FileFormatError, match=r"got a zip archive, as torch\.save writes it") as refused:
        load_torch_state_dict(ours, weights)
    (code,) = re.findall(r'python -c "(.*)"$', str(refused.value))
    exec(code)
    assert load_torch_state_dict(ours, weights.with_suffix(".safetensors")) == ([], [])
    assert ours.conv.bias.value.tolist() == theirs.conv.bias.tolist()


def test_bfloat16_weights_become_the_modules_dtype(path):
    bias, weight = ({"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}, {"dtype": "F32", "shape": [1, 1], "data_offsets": [2, 6]})
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install ml_dtypes")
    text = json.dumps({"bias": bias, "weight": weight}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes([0xC0, 0x3F]) + np.float32([2.0]).tobytes())
    layer = Linear(1, 1, dtype=float32)
    load_torch_state_dict(layer, path)
    assert values(layer.state_dict()) == {"weight": (float32, (1, 1), [[2.0]]), "bias": (float32, (1,), [1.5])}


def test_every_name_and_shape_that_differs_is_listed_at_once(path):
    write_arrays(path, {"weight": np.zeros((2, 2), np.float32), "more": np.zeros(1)})
    message = (
        "Linear.load_state_dict expected matching names and shapes, got:\n"
        '\tunexpected "more"\n\tmissing "bias"\n\tweight: expected shape (1, 2), got (2, 2)'
    )
    with raises(RuntimeError, message):
        load_torch_state_dict(Linear(2, 1), path)
    write_arrays(path, {"weight": np.ones((1, 2), np.float32), "more": np.zeros(1)})
    layer = Linear(2, 1)
    assert load_torch_state_dict(layer, path, strict=False) == (["bias"], ["more"])
    assert layer.weight.value.tolist() == [[1.0, 1.0]]
    with raises(TypeError, "load_torch_state_dict expected a module with load_state_dict, got dict; derive from nn.Module"):
        load_torch_state_dict({}, path)


# HDF5


HDF5 = "save_hdf5 expected tensors by name, got"


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py", reason="h5py is not installed; pip install -r requirements.extra.txt")


def test_hdf5_keeps_every_dtype_and_view_under_names_that_h5py_reads(path, h5py):
    state = views() | {f"group/{dtype.name}": tensor([[0, 1, 1]], dtype=dtype) for dtype in ALL}
    save_hdf5(state, path)
    assert values(load_hdf5(path)) == values(state)
    with h5py.File(path) as file:
        assert file["turned"][()].tolist() == state["turned"].tolist()
        assert sorted(file["group"]) == sorted(dtype.name for dtype in ALL)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert load_hdf5(path, FastBackend)["x"].backend is FastBackend


def test_hdf5_files_of_others_are_read(path, h5py):
    with h5py.File(path, "w") as file:
        file["big endian"] = np.array([1.5, 2.0], ">f4")
        file.create_dataset("packed", data=np.zeros((300, 300)), compression="gzip")
        file.create_dataset("in pieces", data=np.arange(6).reshape(2, 3), chunks=(1, 3))
        file["a/b"] = True
    found = load_hdf5(path)
    assert values({name: found[name] for name in ("big endian", "in pieces", "a/b")}) == {
        "big endian": (float32, (2,), [1.5, 2.0]),
        "in pieces": (int64, (2, 3), [[0, 1, 2], [3, 4, 5]]),
        "a/b": (bool_, (), True),
    }
    assert found["packed"].shape == (300, 300)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Linear(1, 1), "save_hdf5 expected a dictionary of tensors by name, got Linear; pass its state_dict()"),
        ({"x": tensor([2.0]), "epoch": 3}, f"{HDF5} int at 'epoch'; convert it, or write the state with save"),
        ({"z": np.array([None])}, f"{HDF5} object at 'z'; convert it, or write the state with save"),
        ({"z": np.array([1j])}, f"{HDF5} complex128 at 'z'; convert it, or write the state with save"),
        ("bfloat16", f"{HDF5} bfloat16 at 'h'; convert it, or write the state with save"),
    ],
)
def test_hdf5_refuses_what_it_cannot_write_and_leaves_the_file_before(path, h5py, state, message):
    save_hdf5({"x": tensor([1.0])}, path)
    with raises(TypeError, message):
        save_hdf5({"h": of_dtype(state)["x"]} if state == "bfloat16" else state, path)
    assert load_hdf5(path)["x"].tolist() == [1.0]


def test_hdf5_refuses_elements_that_are_not_in_the_file(path, h5py):
    (path.parent / "secret").write_bytes(bytes(8))
    with h5py.File(path.parent / "other.h5", "w") as file:
        file["x"] = np.zeros(2)
    layout = h5py.VirtualLayout((2,), float)
    layout[:] = h5py.VirtualSource(path.parent / "other.h5", "x", (2,))
    with h5py.File(path, "w") as file:
        file.create_dataset("claimed", (10**9,), float, chunks=(1000,))
        file.create_dataset("packed", (10**12,), float, chunks=(10**6,), compression="gzip")
        file.create_dataset("begun", (10_000,), float, chunks=(10,))[:10] = 1
        file.create_dataset("outside", (1,), float, external=[(str(path.parent / "secret"), 0, 8)])
        file.create_virtual_dataset("virtual", layout)
        file["text"] = "abc"
        file["nothing"] = h5py.Empty("f4")
        file["followed"] = h5py.ExternalLink(str(path.parent / "other.h5"), "x")
    elsewhere = "whose elements lie in other files"
    why = (
        "begun of 80000 bytes, of which 80 are there; claimed of 8000000000 bytes, of which 0 are there; followed, a link; "
        f"nothing of nothing; outside, {elsewhere}; "
        f"packed of 8000000000000 bytes, of which 0 are there; text of object; virtual, {elsewhere}"
    )
    with raises(FileFormatError, f"{path} expected an HDF5 file of arrays of numbers, got one with {why}; write these otherwise"):
        load_hdf5(path)


def test_hdf5_refuses_a_second_name_for_what_has_been_read(path, h5py):
    with h5py.File(path, "w") as file:
        file["a/x"] = [1.0]
        file["b"] = file["a"]
        file["a/back"] = file["/"]
        file["a/y"] = file["a/x"]
        file["soft"] = h5py.SoftLink("/a/x")
    why = "a/back, which is / again; a/y, which is a/x again; b, which is a again; soft, a link"
    with raises(FileFormatError, f"{path} expected an HDF5 file of arrays of numbers, got one with {why}; write these otherwise"):
        load_hdf5(path)


@pytest.mark.parametrize("names", [["a", "a/b"], ["a/b", "a"], [""], ["/"], ["/a"], ["a/"], ["a//b"], ["."], ["a/./b"], ["a\0b"]])
def test_hdf5_refuses_names_that_are_no_paths_beside_each_other(path, h5py, names):
    with pytest.raises(ValueError, match=r"^save_hdf5 expected paths as names, none of them through another, got '.*'; change it$"):
        save_hdf5(dict.fromkeys(names, tensor([1.0])), path)
    assert not path.exists()


def test_hdf5_refuses_files_that_are_cut_short_or_of_another_kind(path, h5py):
    save_hdf5(views(), path)
    content = path.read_bytes()
    for cut in (b"", content[:7], content[:100], content[: len(content) // 2], content[:-1], b"epoch 1: loss 0.3\n" * 99):
        path.write_bytes(cut)
        with pytest.raises(FileFormatError) as refused:
            load_hdf5(path)
        assert str(refused.value).startswith(f"{path} expected a whole HDF5 file, got another kind, or a part of one (")
    with pytest.raises(FileNotFoundError):
        load_hdf5(path.with_name("none"))


def test_without_h5py_the_way_to_install_it_is_told(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    message = "HDF5 files need the package h5py, which is not there; pip install h5py, or use save and load"
    with raises(ModuleNotFoundError, message):
        save_hdf5({}, path)
    with raises(ModuleNotFoundError, message):
        load_hdf5(path)
