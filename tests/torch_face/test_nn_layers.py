"""Layers of minitorch.torch.nn against PyTorch's: the same names, values, gradients and representations."""

import re
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from minitorch.torch import nn

theirs = pytest.importorskip("torch", reason="compares with PyTorch")

Inputs = tuple[Any, ...]


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers as float32."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def indices(count: int, *shape: int) -> np.ndarray:
    """Integers from 0 to count - 1."""
    return np.random.default_rng([count, *shape]).integers(0, count, shape)


IMAGES, SEQUENCES, ROWS, VOLUMES = floats(2, 4, 6, 5), floats(3, 4, 7), floats(5, 4), floats(2, 4, 5, 6, 7)

WITHOUT_ARGUMENTS = ("ReLU", "GELU", "SiLU", "Sigmoid", "Tanh", "SELU", "Softsign", "Mish", "LogSigmoid", "PReLU", "Tanhshrink", "Identity")
LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], Inputs]] = [
    ("Linear", (4, 3), {}, (ROWS,)),
    ("Linear", (4, 3), {"bias": False}, (floats(2, 3, 4),)),
    ("Linear", (4, 3), {}, (floats(4),)),
    ("Bilinear", (4, 3, 2), {}, (ROWS, floats(5, 3))),
    ("Embedding", (7, 3), {"padding_idx": 2}, (indices(7, 2, 5),)),
    ("Flatten", (), {}, (IMAGES,)),
    ("Unflatten", (1, (2, 2)), {}, (ROWS,)),
    ("LocalResponseNorm", (3,), {"alpha": 0.5, "k": 2.0}, (IMAGES,)),
    ("LocalResponseNorm", (2,), {"beta": 0.5}, (SEQUENCES,)),
    ("ChannelShuffle", (2,), {}, (IMAGES,)),
    ("AlphaDropout", (0.0,), {}, (ROWS,)),
    *[
        (name, (), {}, (ROWS,))
        for name in ["ReLU", "GELU", "SiLU", "Sigmoid", "Tanh", "SELU", "Softsign", "Mish", "LogSigmoid", "PReLU", "Tanhshrink", "Identity"]
    ],
    ("LeakyReLU", (0.2,), {}, (ROWS,)),
    ("GELU", (), {"approximate": "tanh"}, (ROWS,)),
    ("Softmax", (1,), {}, (ROWS,)),
    ("LogSoftmax", (), {"dim": -1}, (ROWS,)),
    ("Softmin", (0,), {}, (ROWS,)),
    ("ELU", (0.5,), {}, (ROWS,)),
    ("CELU", (0.7,), {}, (ROWS,)),
    ("Softplus", (), {"beta": 2.0}, (ROWS,)),
    ("Hardtanh", (-0.5, 0.7), {}, (ROWS,)),
    ("ReLU6", (), {}, (ROWS * 5,)),
    ("Hardswish", (), {}, (ROWS * 3,)),
    ("Hardsigmoid", (), {}, (ROWS * 3,)),
    ("PReLU", (4,), {}, (IMAGES,)),
    ("Threshold", (0.1, 20.0), {}, (ROWS,)),
    ("Hardshrink", (0.4,), {}, (ROWS,)),
    ("Softshrink", (0.4,), {}, (ROWS,)),
    ("RReLU", (0.25, 0.25), {}, (ROWS,)),
    ("GLU", (), {"dim": 1}, (IMAGES,)),
    ("Dropout", (0.0,), {}, (ROWS,)),
    ("CosineSimilarity", (), {"dim": 1}, (ROWS, floats(5, 4, seed=1))),
    ("PairwiseDistance", (), {"p": 1.0}, (ROWS, floats(5, 4, seed=1))),
]


def convert(torch: Any, x: Any) -> Any:
    """Arrays as tensors of a library; those of floats require gradients."""
    if isinstance(x, tuple):
        return tuple(convert(torch, each) for each in x)
    made = torch.from_numpy(x.copy())
    return made.requires_grad_() if x.dtype.kind == "f" else made


def flat(x: Any) -> list[Any]:
    """The tensors in nested tuples."""
    return [each for part in x for each in flat(part)] if isinstance(x, tuple) else [] if x is None else [x]


def check_close(got: Any, expected: Any, what: str) -> None:
    """Compare a tensor with PyTorch's: shape, dtype, numbers."""
    mine, other = got.detach().numpy(), expected.detach().numpy()
    assert mine.shape == other.shape, what
    assert mine.dtype == other.dtype, what
    np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5, err_msg=what)


def without_bias(text: str) -> str:
    """The representation of a layer without what only newer versions of PyTorch show of norms."""
    return re.sub(r", bias=\w+(?=\)|, track)", "", text) if "Norm" in text else text


@pytest.mark.parametrize(("name", "args", "kwargs", "inputs"), LAYERS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_layer_computes_what_pytorch_s_does(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Inputs) -> None:
    theirs.manual_seed(0)
    other, layer = getattr(theirs.nn, name)(*args, **kwargs), getattr(nn, name)(*args, **kwargs)
    assert without_bias(repr(layer)) == without_bias(repr(other))
    assert list(layer.state_dict()) == list(other.state_dict())
    assert [key for key, _ in layer.named_parameters()] == [key for key, _ in other.named_parameters()]
    assert [key for key, _ in layer.named_modules()] == [key for key, _ in other.named_modules()]
    for key, value in other.state_dict().items():
        assert layer.state_dict()[key].shape == tuple(value.shape), key
    assert repr(layer.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    for training in (True, False):
        layer.train(training)
        other.train(training)
        mine, reference = convert(ours, inputs), convert(theirs, inputs)
        outputs, expected = flat(layer(*mine)), flat(other(*reference))
        assert len(outputs) == len(expected)
        for number, (a, b) in enumerate(zip(outputs, expected, strict=True)):
            check_close(a, b, f"output {number} of {name}")
        weights = [floats(*b.shape, seed=7) for b in expected]
        sum((a * ours.from_numpy(w)).sum() for a, w in zip(outputs, weights, strict=True)).backward()
        sum((b * theirs.from_numpy(w)).sum() for b, w in zip(expected, weights, strict=True)).backward()
        for a, b in zip(flat(mine), flat(reference), strict=True):
            if b.grad is not None:
                check_close(a.grad, b.grad, f"gradient of an input of {name}")
        for (key, a), (_, b) in zip(layer.named_parameters(), other.named_parameters(), strict=True):
            if b.grad is not None:
                check_close(a.grad, b.grad, f"gradient of {key} of {name}")
    for key, value in other.state_dict().items():
        check_close(layer.state_dict()[key], value, key)


INITIAL = [
    ("Linear", (40, 50)), ("Conv2d", (8, 16, 3)), ("Conv1d", (8, 16, 3)), ("ConvTranspose2d", (8, 16, 3)), ("Embedding", (50, 40)),
    ("Bilinear", (10, 11, 12)), ("BatchNorm2d", (8,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), INITIAL, ids=[name for name, _ in INITIAL])
def test_parameters_have_pytorch_s_initial_distribution(name: str, args: tuple[int, ...]) -> None:
    theirs.manual_seed(0)
    ours.manual_seed(0)
    other, layer = getattr(theirs.nn, name)(*args), getattr(nn, name)(*args)
    for (key, a), (_, b) in zip(layer.named_parameters(), other.named_parameters(), strict=True):
        mine, reference = a.detach().numpy(), b.detach().numpy()
        size = np.abs(reference).max()
        if a.numel() < 1000 or size in (0, 1):
            assert np.abs(mine).max() == pytest.approx(size, rel=0.35), key
        else:
            assert np.abs(mine).max() == pytest.approx(size, rel=0.3), key
            assert mine.std() == pytest.approx(reference.std(), rel=0.1), key
            assert abs(mine.mean()) < 0.1 * mine.std(), key
