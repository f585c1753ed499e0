"""Operators between tensors of both classes and NumPy's numbers and arrays: the dtype of the result, or the refusal."""

import itertools
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.torch as ours

DTYPES = {"float32": [1.5, 2.0], "float64": [1.5, 2.0], "int64": [3, 2], "int32": [3, 2], "bool": [True, False]}
NUMBERS = (np.float64(2), np.float32(2), np.int64(2), np.int32(2), np.sqrt(4.0), np.bool_(True))
ARRAYS = (
    *(np.array(2.0), np.array(2), np.array([2.0, 3.0]), np.array([2, 3], np.float32), np.array([2, 3]), np.array([2, 3], np.int32)),
    *(np.array([True, False]), np.array([[1.0, 2.0], [3.0, 4.0]])),
)
ARITHMETIC = [getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")]
ORDER = [operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [getattr(operator, f"i{name}") for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")]


def outcome(lib: Any, fn: Callable[..., Any], dtype: str, value: Any, left: bool) -> Any:
    """The dtype and the numbers of fn(tensor, value), or fn(value, tensor); "refused"; and whether the tensor itself was overwritten."""
    x = lib.tensor(DTYPES[dtype], dtype=getattr(lib, dtype))
    try:
        out = fn(x, value) if left else fn(value, x)
    except (TypeError, RuntimeError, ValueError, ZeroDivisionError):
        return "refused"
    return str(out.dtype).removeprefix("torch."), np.nan_to_num(np.round(out.double().numpy(), 4), nan=-9.0).tolist(), out is x


CASES: list[tuple[Any, Any, bool]] = [
    *(
        (fn, value, left)
        for fn, value, left in itertools.product((*ARITHMETIC, *BITS, *ORDER, operator.eq, operator.ne), NUMBERS, (True, False))
    ),
    *((fn, value, True) for fn, value in itertools.product(IN_PLACE, (*NUMBERS, *ARRAYS))),
    *((fn, value, True) for fn, value in itertools.product((*ARITHMETIC, *BITS, operator.matmul, operator.eq), ARRAYS)),
    *((fn, value, False) for fn, value in itertools.product((operator.truediv, operator.eq), ARRAYS)),
    *((fn, value, left) for fn, value, left in itertools.product(ORDER, [array for array in ARRAYS if array.ndim], (True, False))),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fn", dict.fromkeys(fn for fn, _, _ in CASES), ids=str)
def test_the_result_is_pytorchs(fn: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for _, value, left in (case for case in CASES if case[0] is fn):
        for dtype in DTYPES:
            assert outcome(ours, fn, dtype, value, left) == outcome(torch, fn, dtype, value, left), (dtype, repr(value), left)


@pytest.mark.parametrize(("compute", "dtype", "expected"), [
    (lambda x: np.sqrt(4.0) * x, "float32", [2.0, 4.0]), (lambda x: x / np.int64(2), "float32", [0.5, 1.0]),
    (lambda x: np.float64(1) < x, "bool", [0.0, 1.0]), (lambda x: x == np.array([1.0, 3.0]), "bool", [1.0, 0.0]),
    (lambda x: np.array([1.0, 3.0]) == x, "bool", [1.0, 0.0]), (lambda x: x != np.array([1.0, 3.0]), "bool", [0.0, 1.0]),
    (lambda x: x + np.array([1.0, 3.0]), "float64", [2.0, 5.0]), (lambda x: x * np.array([1, 3]), "float64", [1.0, 6.0]),
    (lambda x: x @ np.array([1, 3], np.float32), "float32", 7.0), (lambda x: np.array([1.0, 3.0]) - x, "float64", [0.0, 1.0]),
    (lambda x: x.long() & np.array([1, 3]), "int64", [1.0, 2.0]), (lambda x: np.int64(3) ^ x.long(), "int64", [2.0, 1.0]),
])  # fmt: skip
def test_a_known_result_is_a_tensor(compute: Callable[[Any], Any], dtype: str, expected: Any) -> None:
    out = compute(ours.tensor([1.0, 2.0]))
    assert type(out) is ours.Tensor
    assert (str(out.dtype), out.tolist()) == (dtype, expected)


def test_an_array_is_not_written_into_the_tensor() -> None:
    x = ours.tensor([1.0, 2.0])
    alias = x
    x *= np.array([3.0, 4.0])
    assert (x.tolist(), x.dtype, alias.tolist()) == ([3.0, 8.0], ours.float64, [1.0, 2.0])
    alias //= np.float64(2)  # a number is
    assert alias.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("compute", "error", "message"), [
    (lambda x: x < np.ones(2), TypeError, "greater expected two Tensors, got an array of NumPy; convert it with torch.as_tensor(array)"),
    (lambda x: np.ones(2) >= x, TypeError, "greater_equal expected two Tensors, got an array of NumPy"),
    (lambda x: x.add(np.ones(2)), TypeError, "expected a Tensor or a number, got ndarray; convert it with torch.tensor(...)"),
    (lambda x: x.requires_grad_() * np.ones(2), RuntimeError, "multiply of a tensor that requires gradients and an array of NumPy"),
    (lambda x: (x > 0).__iadd__(2), RuntimeError, "add_: a tensor of bool cannot hold a result of int64; convert it first: x.long()"),
    (lambda x: (x > 0) - np.float64(2), TypeError, "sub expected numbers, got bools"),
])  # fmt: skip
def test_what_pytorch_refuses_is_refused(compute: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        compute(ours.tensor([1.0, 2.0]))


@pytest.mark.parametrize("number", NUMBERS[:5])
def test_a_number_beside_a_tensor_of_the_course_is_one_of_python(number: Any) -> None:
    for dtype, values in list(DTYPES.items())[:4]:
        x: Any = minitorch.tensor(values, dtype=dtype)
        own: Any = float(number) if isinstance(number, np.floating) else int(number)
        for fn in (operator.add, operator.sub, operator.mul, operator.lt, operator.eq):
            for out, wanted in ((fn(x, number), fn(x, own)), (fn(number, x), fn(own, x))):
                assert type(out) is minitorch.Tensor
                assert (out.dtype, out.to_numpy().tolist()) == (wanted.dtype, wanted.to_numpy().tolist())


def test_an_array_beside_a_tensor_of_the_course_is_refused() -> None:
    x = minitorch.tensor([1.0, 2.0])
    for compute in (lambda: x * np.ones(2), lambda: np.ones(2) * x, lambda: x == np.ones(2), lambda: np.array(1.0) < x):
        with pytest.raises(TypeError, match=re.escape("expected a Tensor or a number, got ndarray; convert it with tensor(...)")):
            compute()
