"""Tensor types, such as FloatTensor: what they construct and recognize, `Tensor.type` and `Tensor.new`, in both libraries."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from tests.errors import raises

TYPES = ["Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool"]
DTYPES = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool"]


def described(x: Any) -> Any:
    """A value, or the type, shape and numbers of a tensor."""
    return (x.type(), tuple(x.shape), x.tolist()) if hasattr(x, "tolist") else x


ROWS: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("no argument", lambda torch: torch.FloatTensor(), ("torch.FloatTensor", (0,), [])),
    ("sizes", lambda torch: torch.LongTensor(2, 3).shape, (2, 3)),
    ("a size of NumPy", lambda torch: torch.FloatTensor(np.int64(3)).shape, (3,)),
    ("a Size", lambda torch: torch.ByteTensor(torch.zeros(2, 3).size()).shape, (2, 3)),
    ("a tuple is numbers", lambda torch: torch.FloatTensor((2, 3)), ("torch.FloatTensor", (2,), [2.0, 3.0])),
    ("lists", lambda torch: torch.IntTensor([[1, 2], [3, 4]]), ("torch.IntTensor", (2, 2), [[1, 2], [3, 4]])),
    ("fractions of integers", lambda torch: torch.LongTensor([1.5, -2.5]), ("torch.LongTensor", (2,), [1, -2])),
    ("an array", lambda torch: torch.FloatTensor(np.arange(2.0)), ("torch.FloatTensor", (2,), [0.0, 1.0])),
    ("a range", lambda torch: torch.DoubleTensor(range(2)), ("torch.DoubleTensor", (2,), [0.0, 1.0])),
    ("tensors in a list", lambda torch: torch.FloatTensor([torch.tensor(1), torch.tensor(2.5)]), ("torch.FloatTensor", (2,), [1.0, 2.5])),
    ("numbers that are true", lambda torch: torch.BoolTensor([2, 0]), ("torch.BoolTensor", (2,), [True, False])),
    ("a device", lambda torch: torch.FloatTensor([1], device="cpu"), ("torch.FloatTensor", (1,), [1.0])),
    ("a tensor", lambda torch: torch.LongTensor(torch.tensor(3)), ("torch.LongTensor", (), 3)),
    ("Tensor of integers", lambda torch: torch.Tensor(torch.tensor([3])), ("torch.LongTensor", (1,), [3])),
    ("its gradient", lambda torch: torch.FloatTensor(torch.ones(2, requires_grad=True)).requires_grad, True),
    ("instances", lambda torch: [isinstance(torch.ones(1), t) for t in (torch.FloatTensor, torch.ByteTensor, torch.Tensor)],
     [True, False, True]),
    ("instances on a GPU", lambda torch: isinstance(torch.zeros(1), torch.cuda.FloatTensor), False),
    ("no subclass", lambda torch: issubclass(torch.FloatTensor, torch.Tensor), False),
    ("names", lambda torch: [str(each).replace("minitorch.", "") for each in (torch.FloatTensor, torch.cuda.ByteTensor)],
     ["<class 'torch.FloatTensor'>", "<class 'torch.cuda.ByteTensor'>"]),
    ("type of a type", lambda torch: torch.zeros(1).type(torch.LongTensor), ("torch.LongTensor", (1,), [0])),
    ("type of a name", lambda torch: torch.ones(1).type("torch.ByteTensor"), ("torch.ByteTensor", (1,), [1])),
    ("type of a dtype", lambda torch: torch.ones(1).type(torch.int32), ("torch.IntTensor", (1,), [1])),
    ("type of Tensor", lambda torch: torch.tensor([1]).type(torch.Tensor), ("torch.FloatTensor", (1,), [1.0])),
    ("type of its own", lambda torch: (x := torch.ones(1)).type(torch.FloatTensor) is x, True),
    ("type and gradients", lambda torch: torch.ones(1, requires_grad=True).type(torch.DoubleTensor).requires_grad, True),
    ("byte and char", lambda torch: [torch.tensor([3.7]).byte().tolist(), torch.tensor([-3.7]).char().tolist()], [[3], [-3]]),
    ("new of sizes", lambda torch: torch.tensor([1]).new(2, 3).shape, (2, 3)),
    ("new of a Size", lambda torch: torch.ones(2, 3).new(torch.ones(2, 3).size()).shape, (2, 3)),
    ("new of numbers", lambda torch: torch.tensor([1]).new([1.5]), ("torch.LongTensor", (1,), [1])),
    ("resize_ to more", lambda torch: torch.ones(0).resize_(2, 3).zero_(), ("torch.FloatTensor", (2, 3), [[0.0] * 3] * 2)),
    ("resize_ to fewer", lambda torch: torch.tensor([[1, 2], [3, 4]]).resize_((3,)), ("torch.LongTensor", (3,), [1, 2, 3])),
    ("resize_ keeps", lambda torch: torch.tensor([1, 2]).resize_(2, 2)[0], ("torch.LongTensor", (2,), [1, 2])),
    ("resize_as_", lambda torch: torch.ones(1).new().resize_as_(torch.ones(1, 2)).fill_(3), ("torch.FloatTensor", (1, 2), [[3.0, 3.0]])),
    ("tensors within lists", lambda torch: torch.tensor([[torch.ones(1, 1)], [2.0]]), ("torch.FloatTensor", (2, 1), [[1.0], [2.0]])),
    ("dtypes in a list", lambda torch: torch.tensor([torch.tensor([1]), torch.tensor(True)]), ("torch.LongTensor", (2,), [1, 1])),
    ("only_inputs", lambda torch: torch.autograd.grad((x := torch.ones(2, requires_grad=True)).sum(), x, only_inputs=True)[0],
     ("torch.FloatTensor", (2,), [1.0, 1.0])),
    ("new of nothing", lambda torch: torch.ones(1).double().new(), ("torch.DoubleTensor", (0,), [])),
]  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_types_construct_and_recognize_what_pytorchs_do(call, expected):
    assert described(call(ours)) == expected


@pytest.mark.parametrize(("call", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_expected_values_are_pytorchs(call, expected):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    assert described(call(torch)) == expected


@pytest.mark.parametrize(("word", "dtype"), list(zip(TYPES, DTYPES, strict=True)))
def test_each_type_has_a_dtype(word, dtype):
    for module, name in ((ours, f"torch.{word}Tensor"), (ours.cuda, f"torch.cuda.{word}Tensor")):
        found = getattr(module, f"{word}Tensor")
        assert (found.dtype.name, f"{found.__module__}.{found.__name__}") == (dtype, f"minitorch.{name}")
    made = getattr(ours, f"{word}Tensor")([1])
    assert (made.dtype.name, made.tolist(), made.type()) == (dtype, [1], f"torch.{word}Tensor")
    assert isinstance(made, getattr(ours, f"{word}Tensor"))


ERRORS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda torch: torch.FloatTensor(torch.tensor([1])), TypeError,
     "FloatTensor expected a tensor of float32, got one of int64; convert it with x.to(dtype)"),
    (lambda torch: torch.ones(1).new(torch.tensor([1])), TypeError,
     "new expected a tensor of float32, got one of int64; convert it with x.to(dtype)"),
    (lambda torch: torch.FloatTensor(3.5), TypeError,
     "FloatTensor expected sizes, or one sequence of numbers, got float; use torch.tensor for a number"),
    (lambda torch: torch.LongTensor(True), TypeError,
     "LongTensor expected sizes, or one sequence of numbers, got bool; use torch.tensor for a number"),
    (lambda torch: torch.LongTensor([1], [2]), TypeError,
     "LongTensor expected sizes, or one sequence of numbers, got list, list; use torch.tensor for a number"),
    (lambda torch: torch.Tensor("a"), TypeError,
     "Tensor expected sizes, or one sequence of numbers, got str; use torch.tensor for a number"),
    (lambda torch: torch.ones(1).type("int64"), ValueError,
     "type expected the name of a tensor type, got 'int64'; such as 'torch.FloatTensor', or a dtype"),
    (lambda torch: torch.set_default_tensor_type(torch.LongTensor), TypeError,
     "set_default_tensor_type expected a type of floating-point numbers, got int64; pass torch.FloatTensor"),
    (lambda torch: torch.tensor([torch.ones(2), torch.ones(2)]), ValueError,
     "tensor expected tensors of one element within a list, got shape (2,); join them with torch.stack or torch.cat"),
    (lambda torch: torch.ones(2, requires_grad=True).resize_(3), RuntimeError,
     "resize_ expected a tensor without gradients that is no view; use x.detach().clone(), or x.reshape(...)"),
    (lambda torch: torch.ones(2)[:1].resize_(3), RuntimeError,
     "resize_ expected a tensor without gradients that is no view; use x.detach().clone(), or x.reshape(...)"),
    (lambda torch: torch.cuda.FloatTensor(2, device="cpu"), RuntimeError,
     "FloatTensor expected a device of type cuda, got cpu; use torch.zeros or torch.tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_other_arguments_are_refused(call, error, message):
    with raises(error, message):
        call(ours)


def test_a_type_sets_the_default_dtype():
    for kind in (ours.DoubleTensor, "torch.DoubleTensor"):
        try:
            ours.set_default_tensor_type(kind)
            assert ours.zeros(1).dtype == ours.Tensor([1]).dtype == ours.float64
        finally:
            ours.set_default_tensor_type(ours.FloatTensor)
        assert ours.get_default_dtype() == ours.float32
