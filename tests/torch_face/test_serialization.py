"""torch.save and torch.load of minitorch.torch: tensors and collections of them are read again, here and by PyTorch; nothing else is."""

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch.torch import nn, optim
from minitorch.torch.serialization import load, save


def checkpoint() -> dict[str, Any]:
    """A model's state, an optimizer's, and other things."""
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = optim.Adam(model.parameters())
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    base = torch.arange(6).reshape(2, 3)
    others = {"epoch": 3, "name": "net", "pair": (1.5, None, [True]), "counter": Counter("aab"), "empty": torch.zeros(0, 2)}
    views = {"view": base[:, 1:], "t": base.T, "half": torch.ones(2).half(), "flag": torch.tensor([True]), "scalar": torch.tensor(2.5)}
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        **others,
        **views,
        "dtype": torch.float32,
        "size": torch.ones(2, 3).shape,
    }


def check_same(a: Any, b: Any) -> None:
    """Compare two nested objects."""
    if hasattr(a, "numpy"):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert str(a.dtype).removeprefix("torch.") == str(b.dtype).removeprefix("torch.")
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            check_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            check_same(x, y)
    elif not isinstance(a, np.dtype):
        assert a == b


def test_a_checkpoint_is_read_again(tmp_path: Path) -> None:
    state, file = checkpoint(), io.BytesIO()
    save(state, file)
    file.seek(0)
    found = load(file)
    check_same(state, found)
    assert type(found["model"]) is OrderedDict
    assert type(found["counter"]) is Counter
    save(state, tmp_path / "a.pt")
    check_same(state, load(tmp_path / "a.pt", map_location="cpu", weights_only=True))
    check_same(state, load(str(tmp_path / "a.pt")))


def test_tensors_that_share_memory_share_it_again() -> None:
    x, file = torch.zeros(4), io.BytesIO()
    save([x, x[:2], nn.Parameter(x)], file)
    a, b, c = load(file)
    a[0] = 7.0
    assert b[0].item() == c[0].item() == 7.0
    assert isinstance(c, nn.Parameter)


class Evil:
    """An object whose pickle calls a function."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("never",)


def test_a_file_that_names_other_functions_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Evil(), 2))
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.load refuses builtins\.print: with weights_only=True, the default, only"):
        load(file)


def test_a_tensor_beyond_its_storage_is_refused() -> None:
    x, file = torch.arange(4), io.BytesIO()
    x._tensor.shape, x._tensor.strides = (9,), (1,)
    save([x], file)
    with pytest.raises(pickle.UnpicklingError, match=r"a tensor of shape \(9,\) that reaches beyond its storage of 4 elements"):
        load(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "old.pt").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.load expected PyTorch's zip format or a safetensors file, got another"):
        load(tmp_path / "old.pt")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "x")
    with pytest.raises(pickle.UnpicklingError, match=r"expected an archive with data\.pkl, got readme"):
        load(tmp_path / "other.zip")


def test_safetensors_files_are_read(tmp_path: Path) -> None:
    minitorch.save({"w": minitorch.tensor([1.0, 2.0])}, tmp_path / "a.safetensors")
    assert load(tmp_path / "a.safetensors")["w"].tolist() == [1.0, 2.0]


@pytest.mark.filterwarnings("ignore")
def test_pytorch_reads_and_writes_the_same_files(tmp_path: Path) -> None:
    theirs = pytest.importorskip("torch", reason="compares with PyTorch")
    state = checkpoint()
    save(state, tmp_path / "ours.pt")
    check_same(state, theirs.load(tmp_path / "ours.pt", weights_only=True))
    model = theirs.nn.Sequential(theirs.nn.Conv2d(2, 3, 3), theirs.nn.BatchNorm2d(3))
    optimizer = theirs.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(theirs.randn(2, 2, 5, 5)).sum().backward()
    optimizer.step()
    given = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "bf16": theirs.ones(2).bfloat16(), "parameter": model[0].bias,
    }  # fmt: skip
    theirs.save(given, tmp_path / "theirs.pt")
    found = load(tmp_path / "theirs.pt")
    assert found.pop("bf16").float().tolist() == [1.0, 1.0]
    given.pop("bf16")
    check_same(given, found)
    mine = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3))
    mine.load_state_dict(found["model"])
    np.testing.assert_array_equal(mine[0].weight.detach().numpy(), model[0].weight.detach().numpy())
