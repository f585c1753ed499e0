"""Whole models, optimizers, arrays and other objects in files of torch.save: written by name, and read only from files that are trusted."""

import copy
import functools
import inspect
import io
import pickle
import re
import threading
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import nn, optim
from minitorch.torch.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from minitorch.torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """A model with a function, a loss and something else among its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 3), nn.BatchNorm1d(3)])
        self.act, self.loss, self.other = nn.functional.relu, nn.MSELoss(), None

    def forward(self, x: Any) -> Any:
        """The layers and the activation."""
        for layer in self.layers:
            x = self.act(layer(x))
        return x


class Pair(NamedTuple):
    """A named tuple."""

    mean: float
    count: int


KINDS = [Net, nn.ModuleList, nn.Linear, nn.BatchNorm1d, nn.MSELoss, nn.functional.relu]


def written(obj: Any) -> io.BytesIO:
    """The file of an object."""
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return file


def trained() -> tuple[Any, Any]:
    """A model and its optimizer after a step."""
    model = Net()
    optimizer = optim.Adam(model.parameters())
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


COPIES = {
    "save": lambda obj: torch.load(written(obj), weights_only=False),
    "pickle": lambda obj: pickle.loads(pickle.dumps(obj)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("method", COPIES)
def test_a_model_its_optimizer_and_schedule_are_copied_together(method: str) -> None:
    model, optimizer = trained()
    schedule = optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, cycle_momentum=False)
    found = COPIES[method]({"model": model, "optimizer": optimizer, "schedule": schedule, "epoch": 3})
    x = torch.randn(4, 2)
    assert found["model"].eval()(x).tolist() == model.eval()(x).tolist()
    assert found["optimizer"].param_groups[0]["params"][0] is found["model"].layers[0].weight
    assert found["schedule"].optimizer is found["optimizer"]
    for net, opt in ((model, optimizer), (found["model"], found["optimizer"])):
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()
    assert found["model"].layers[0].weight.tolist() == model.layers[0].weight.tolist()


@pytest.mark.parametrize("method", COPIES)
@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.swa_utils.AveragedModel(Net(), avg_fn=optim.swa_utils.get_ema_avg_fn(0.9)),
        lambda: DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2),
        lambda: torch.amp.GradScaler(),
        lambda: torch.Generator().manual_seed(3),
        lambda: nn.Parameter(torch.ones(2)),
        lambda: torch.ones(3, dtype=torch.bfloat16),
    ],
)
def test_other_objects_with_tensors_are_copied(method: str, make: Any) -> None:
    made = make()
    assert type(COPIES[method](made)) is type(made)


@pytest.mark.parametrize("module", [torch, torch.linalg, nn, nn.functional, nn.init, optim, optim.lr_scheduler])
def test_pickle_finds_every_function_and_class_by_its_name(module: Any) -> None:
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    for name, thing in found.items():
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert pickle.loads(pickle.dumps(thing)) is thing, name


def test_a_model_is_read_only_if_the_file_is_trusted_or_its_classes_are_allowed() -> None:
    file = written(trained()[0])
    name = f"{__name__}.Net"
    with pytest.raises(pickle.UnpicklingError) as error:
        torch.load(file)
    assert str(error.value) == (
        f"torch.load refuses {name}: with weights_only=True, the default, only tensors, numbers, text and collections of these are read, "
        "because a pickle may run any program. If you trust the file, pass weights_only=False, or allow this name: "
        f"torch.serialization.add_safe_globals([{name}])"
    )
    with pytest.raises(pickle.UnpicklingError, match=r"refuses minitorch\.nn\.containers\.ModuleList"), safe_globals([Net]):
        torch.load(file, weights_only=True)
    with safe_globals([Plain]):
        with safe_globals(KINDS):
            assert isinstance(torch.load(file), Net)
            assert get_safe_globals() == [Plain, *KINDS]
        assert get_safe_globals() == [Plain]
    assert get_safe_globals() == []


def test_a_class_can_be_allowed_under_another_name() -> None:
    class Moved:
        pass

    add_safe_globals([(Moved, f"{__name__}.Plain")])
    try:
        assert type(torch.load(written(Plain()))) is Moved
    finally:
        clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match=r"refuses .*\.Plain"):
        torch.load(written(Plain()))


class Plain:
    """A class with nothing in it."""


@pytest.mark.parametrize("given", [3, "Net", (Plain, "a", "b"), (Plain, 3)])
def test_only_classes_and_functions_can_be_allowed(given: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"classes and functions, or pairs of one and its name, got {given!r}")):
        add_safe_globals([given])


def test_the_refused_names_of_a_file_are_listed() -> None:
    names = torch.serialization.get_unsafe_globals_in_checkpoint(written({"a": Plain(), "b": torch.ones(2), "c": np.ones(2)}))
    assert names == ["numpy._core.multiarray._reconstruct", "numpy.dtype", "numpy.ndarray", f"{__name__}.Plain"]
    assert torch.serialization.get_unsafe_globals_in_checkpoint(written({"b": torch.ones(2), "c": torch.float32})) == []


# What cannot be written


def local() -> Any:
    """An object of a local class."""

    class Local:
        pass

    return Local()


IMPORT = "which cannot be imported by this name; define it at the top level of a module"
OWNER = "leave it out, for example in a method __getstate__ of its owner"


@pytest.mark.parametrize(
    ("make", "kind", "reason"),
    [
        (lambda: lambda x: x, pickle.PicklingError, f"the function <lambda>.<locals>.<lambda>, {IMPORT}"),
        (local, pickle.PicklingError, f"the class local.<locals>.Local, {IMPORT}"),
        (lambda: (i for i in ()), TypeError, f"an object of the class generator (cannot pickle 'generator' object); {OWNER}"),
        (threading.Lock, TypeError, f"an object of the class lock (cannot pickle '_thread.lock' object); {OWNER}"),
    ],
)
def test_what_cannot_be_written_is_named_before_the_file_is_touched(tmp_path: Path, make: Any, kind: Any, reason: str) -> None:
    model = Net()
    model.layers[1].other = make()
    torch.save({"epoch": 1}, tmp_path / "a.pt")
    with pytest.raises(kind) as error:
        torch.save({"models": [model]}, tmp_path / "a.pt")
    assert str(error.value) == f"torch.save cannot write obj['models'][0].layers[1].other, {reason}"
    assert torch.load(tmp_path / "a.pt") == {"epoch": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]
    with pytest.raises(kind, match=re.escape("torch.save cannot write obj, ")):
        torch.save(functools.partial(max, make()), tmp_path / "b.pt")
    assert not (tmp_path / "b.pt").exists()


def test_a_computed_tensor_in_a_model_is_written_as_a_leaf() -> None:
    model = Net()
    model.other = model.layers[0].weight * 2
    found = torch.load(written(model), weights_only=False).other
    assert found.is_leaf
    assert found.requires_grad
    assert found.tolist() == model.other.tolist()


def test_a_class_that_is_gone_is_named() -> None:
    file = written(Plain())
    name = f"{__name__}.Plain"
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(name)
        with pytest.raises(AttributeError, match=re.escape(f"torch.load found no {name} (")):
            torch.load(file, weights_only=False)


# Arrays, and PyTorch

ARRAYS = [
    np.arange(6.0).reshape(2, 3), np.ones((3, 2)).T, np.array(1.0), np.array(["a", "bc"]), np.array([1, None], dtype=object),
    np.arange(3, dtype=">i4"),
    np.zeros(2, [("a", "f4"), ("b", "i8")]), np.float64(2.5), np.float32(1.5), np.int64(3), np.bool_(True), np.datetime64("2020-01-01"),
]  # fmt: skip
PLAIN = [
    {"array": np.ones(2, np.float32), "dtype": torch.float32, "same": np.ones(2, np.float32)}, Pair(1.0, 2), b"bytes",
    bytearray(b"more"), 1 + 2j,
    frozenset((1, 2)), Path("a"), slice(1, 2), range(3), {3, 4}, np.dtype("f4"),
]  # fmt: skip


def check_equal(a: Any, b: Any) -> None:
    """Compare two objects, arrays element by element."""
    if isinstance(a, (np.ndarray, np.generic)):
        assert type(a) is type(b)
        assert a.dtype == b.dtype.newbyteorder(a.dtype.byteorder)
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            check_equal(a[key], b[key])
    else:
        assert type(a) is type(b)
        assert a == b


@pytest.mark.parametrize("obj", [*ARRAYS, *PLAIN], ids=repr)
def test_arrays_and_plain_objects_are_read_again(obj: Any) -> None:
    check_equal(obj, torch.load(written(obj), weights_only=False))


def test_arrays_are_refused_by_default_as_in_pytorch_and_can_be_allowed() -> None:
    array, scalar = written(np.ones(3)), written(np.float64(2.0))
    for file, name in ((array, "_reconstruct"), (scalar, "scalar")):
        with pytest.raises(pickle.UnpicklingError, match=rf"torch\.load refuses numpy\._core\.multiarray\.{name}: "):
            torch.load(file)
    allowed = [np._core.multiarray._reconstruct, np._core.multiarray.scalar, np.ndarray, np.dtype]  # type: ignore[attr-defined]
    with safe_globals(allowed):
        assert torch.load(array).tolist() == [1.0] * 3
        assert torch.load(scalar) == 2.0


def test_files_of_numpy_1_are_read() -> None:
    with zipfile.ZipFile(written(np.ones(2))) as old:
        data = old.read("archive/data.pkl").replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        new.writestr("archive/data.pkl", data)
    assert torch.load(file, weights_only=False).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("obj", [*ARRAYS, *PLAIN[1:-1]], ids=repr)
def test_pytorch_writes_reads_and_refuses_the_same(obj: Any) -> None:
    theirs = pytest.importorskip("torch", reason="compares with PyTorch")
    check_equal(obj, theirs.load(written(obj), weights_only=False))
    file, outcomes = io.BytesIO(), []
    theirs.save(obj, file)
    for library in (theirs, torch):
        file.seek(0)
        check_equal(obj, library.load(file, weights_only=False))
        file.seek(0)
        try:
            outcomes.append(type(library.load(file)))
        except pickle.UnpicklingError:
            outcomes.append(None)
    assert outcomes[0] is outcomes[1]


def test_models_of_pytorch_are_refused_either_way() -> None:
    theirs = pytest.importorskip("torch", reason="compares with PyTorch")
    file = io.BytesIO()
    theirs.save(theirs.nn.Linear(2, 3), file)
    for weights_only in (True, False):
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError) as error:
            torch.load(file, weights_only=weights_only)
        assert str(error.value) == (
            "torch.load cannot read torch.nn.modules.linear.Linear: PyTorch wrote an object that only PyTorch can read; load it there and "
            "save a state_dict()"
        )
