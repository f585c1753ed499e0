"""Stage 7 - New tensors with PyTorch's arguments and defaults, as tensors of the engine."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import NUMBER, as_dtype, bool_, convert_array, int64, is_float, to_array
from minitorch.core.errors import ArgumentError, ElementError, RangeError
from minitorch.core.recording import call, refuse
from minitorch.data.random_streams import random_stream
from minitorch.tensor import Tensor
from minitorch.torch.arguments import size_by_name
from minitorch.torch.factory import Generator as Generator
from minitorch.torch.factory import drawn, float_dtype, numbers_of, of_array, shape_of
from minitorch.torch.places import backend_of
from minitorch.torch.promotion import cast, get_default_dtype, kind_of, number_dtype, promote_types, require_floats, require_number


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A copy of numbers in nested lists, arrays or tensors.

    Without a dtype, it has the one to which those of the numbers promote: int64, bool and the default dtype for Python's numbers, their
    own for arrays, tensors and numbers of NumPy.

    Raises:
        ValueError: If the lists are ragged, or an integer dtype cannot represent a number.
        TypeError: If there is anything but numbers.
        RuntimeError: If there is neither a number nor a list, or an integer tensor should require gradients.
    """
    if not isinstance(data, (Tensor, np.ndarray, np.generic, Sequence, *NUMBER)):
        raise ElementError(f"tensor expected numbers, got {data!r}; pass nested lists of numbers, or an array")
    dtypes: set[np.dtype] = set()
    try:
        values = to_array(numbers_of(data, dtypes), "tensor")
    except TypeError as error:
        raise ElementError(str(error)) from None
    if dtype is None:
        highest = max(map(kind_of, dtypes), default=2)
        dtype = promote_types(*(each for each in dtypes if kind_of(each) == highest)) if dtypes else get_default_dtype()
    kind = as_dtype(dtype)
    if kind.kind in "iu" and is_float(values.dtype):
        values = np.trunc(values)
    copied = convert_array(values, kind, "tensor") if kind.kind != "b" else values != 0
    return of_array(copied, kind, device, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`tensor`, but an array or a tensor of this dtype is shared instead of copied."""
    if isinstance(data, Tensor) and (dtype is None or data.dtype == as_dtype(dtype)) and device is None:
        return data
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == as_dtype(dtype)) and device is None:
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor over the memory of an array.

    Raises:
        TypeError: If it is not an array of numbers.
    """
    from minitorch.core.creation import from_numpy as share

    if isinstance(ndarray, np.generic) or not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy expected an array, got {type(ndarray).__name__}; use tensor(...)")
    return share(ndarray, backend=backend_of(None))


def filled(shape: tuple[int, ...], value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor of one number. Raises TypeError if it is not a number, and ValueError if the dtype cannot represent it."""
    kind = number_dtype(value) if dtype is None else as_dtype(dtype)
    require_number("full", value, kind)
    return of_array(np.full(shape, value, kind), kind, device, requires_grad)


@size_by_name
def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros, in the default dtype."""
    return filled(shape_of(*size), 0, dtype or get_default_dtype(), device, requires_grad)


@size_by_name
def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones, in the default dtype."""
    return filled(shape_of(*size), 1, dtype or get_default_dtype(), device, requires_grad)


@size_by_name
def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory to be written; it holds zeros."""
    return zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)


def full(size: Sequence[int], fill_value: float | Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One number, in its dtype: int64, bool or the default dtype."""
    if isinstance(fill_value, Tensor):
        if fill_value.shape:
            raise ElementError(f"full expected a number or a tensor without dimensions, got shape {tuple(fill_value.shape)}")
        fill_value = fill_value.item()
    return filled(shape_of(size), fill_value, dtype, device, requires_grad)


def like(input: Tensor, dtype: Any, device: Any) -> dict[str, Any]:
    """The dtype and device of another tensor, unless given."""
    return {"dtype": dtype or input.dtype, "device": device or input.backend}


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape, dtype and on the device of another tensor."""
    return zeros(input.shape, **like(input, dtype, device), requires_grad=requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape, dtype and on the device of another tensor."""
    return ones(input.shape, **like(input, dtype, device), requires_grad=requires_grad)


def full_like(input: Tensor, fill_value: float | Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One number in the shape, dtype and on the device of another tensor."""
    return full(input.shape, fill_value, **like(input, dtype, device), requires_grad=requires_grad)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory to be written, in the shape of another tensor; it holds zeros."""
    return zeros_like(input, dtype=dtype, device=device, requires_grad=requires_grad)


@size_by_name
def new_zeros(input: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of a shape of their own, in the dtype and on the device of another tensor."""
    return zeros(*size, **like(input, dtype, device), requires_grad=requires_grad)


@size_by_name
def new_ones(input: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of a shape of their own, in the dtype and on the device of another tensor."""
    return ones(*size, **like(input, dtype, device), requires_grad=requires_grad)


@size_by_name
def new_empty(input: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory to be written, of a shape of its own, in the dtype and on the device of another tensor; it holds zeros."""
    return new_zeros(input, *size, dtype=dtype, device=device, requires_grad=requires_grad)


def new_full(
    input: Tensor, size: Sequence[int], fill_value: float | Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """One number in a shape of its own, in the dtype and on the device of another tensor."""
    return full(size, fill_value, **like(input, dtype, device), requires_grad=requires_grad)


def new_tensor(input: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A copy of numbers, see `tensor`, in the dtype and on the device of another tensor."""
    return tensor(data, **like(input, dtype, device), requires_grad=requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """start, start + step, … up to end, exclusive; int64 if all are integers.

    Raises:
        TypeError: If a limit is not a number.
        ValueError: If step is 0 or leads away from end, or a number is not finite.
    """
    low, high = (0, start) if end is None else (start, end)
    if not all(isinstance(each, (Tensor, *NUMBER)) for each in (low, high, step)):
        raise TypeError(f"arange expected numbers, got {low!r}, {high!r} and {step!r}")
    if step == 0:
        raise ArgumentError("arange expected a step other than 0")
    if not np.isfinite([float(low), float(high)]).all() or math.isnan(step):
        raise ArgumentError(f"arange expected finite numbers, got {low}, {high} and {step}")
    if (high - low) * step < 0:
        raise ArgumentError(f"arange expected a step from {low} towards {high}, got {step}; pass a step of the other sign")
    values = np.arange(low, high, step) if math.isfinite(step) else np.array([step])[:0]
    return of_array(values, dtype or (int64 if values.dtype.kind in "iu" else get_default_dtype()), device, requires_grad)


def linspace(start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Evenly spaced numbers from start to end, inclusive."""
    return of_array(np.linspace(start, end, steps), dtype or get_default_dtype(), device, requires_grad)


def logspace(
    start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Powers of base, their exponents evenly spaced from start to end, inclusive."""
    return of_array(np.logspace(start, end, steps, base=base), dtype or get_default_dtype(), device, requires_grad)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    return of_array(np.eye(n, m), dtype or get_default_dtype(), device, requires_grad)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The indices of the elements on and below a diagonal of a matrix: a row of row numbers and one of column numbers."""
    return _triangle(np.tril_indices, row, col, offset, dtype, device)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The indices of the elements on and above a diagonal of a matrix: a row of row numbers and one of column numbers."""
    return _triangle(np.triu_indices, row, col, offset, dtype, device)


def _triangle(indices: Callable[..., Any], row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
    """The indices of a triangle of a matrix."""
    row, col = shape_of(row, col)
    return of_array(np.stack(indices(row, offset, col)), dtype or int64, device, False)


# Random numbers; the streams differ from PyTorch's


@size_by_name
def rand(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers from 0 to 1, exclusive.

    Raises:
        TypeError: If dtype is not one of floating-point numbers.
    """
    return _drawn_floats("rand", "random", generator, size, dtype, device, requires_grad)


@size_by_name
def randn(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal random numbers; for the error see `rand`."""
    return _drawn_floats("randn", "standard_normal", generator, size, dtype, device, requires_grad)


def _drawn_floats(op: str, method: str, generator: Any, size: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """Floating-point numbers that a method of a generator draws."""
    kind = float_dtype(op, dtype)
    draw = functools.partial(getattr(random_stream(generator), method), dtype=kind if kind.itemsize > 2 else np.float32)
    return drawn(draw, shape_of(*size), kind, device, requires_grad)


def rand_like(input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`rand` in the shape, dtype and on the device of another tensor."""
    return rand(input.shape, **like(input, dtype, device), generator=generator, requires_grad=requires_grad)


def randn_like(input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`randn` in the shape, dtype and on the device of another tensor."""
    return randn(input.shape, **like(input, dtype, device), generator=generator, requires_grad=requires_grad)


def randint_like(
    input: Tensor,
    low: Any = 0,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`randint` in the shape, dtype and on the device of another tensor; `randint_like(x, high)` begins at 0."""
    options = like(input, dtype, device)
    return randint(low, high, tuple(input.shape), generator=generator, **options, requires_grad=requires_grad)


def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers from low, inclusive, to high, exclusive; `randint(high, size)` begins at 0.

    Raises:
        TypeError: If a limit is not an integer, or the size is not a sequence.
        ValueError: If there is no integer between the limits, or the dtype cannot represent one.
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    low, high = (x.item() if isinstance(x, Tensor) and x.numel() == 1 else x for x in (low, high))
    if not (isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer)) and isinstance(size, Sequence)):
        raise TypeError(
            f"randint expected integers and a sequence of sizes, got {low!r}, {high!r} and {size!r}; such as randint(0, 10, (3,))"
        )
    if low >= high:
        raise ArgumentError(f"randint expected low < high, got {low} and {high}; high itself is not drawn")
    kind = as_dtype(dtype or int64)
    for number in (low, high - 1):
        if kind is bool_ and number not in (0, 1):
            raise RangeError(f"randint expected a number from 0 to 1 for bool, got {number}")
        require_number("randint", number, kind)
    return drawn(functools.partial(random_stream(generator).integers, low, high), shape_of(size), kind, device, requires_grad)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The numbers 0 … n - 1 in random order."""
    (n,) = shape_of(n)
    return drawn(lambda _: random_stream(generator).permutation(n), (n,), dtype or int64, device, requires_grad)


def normal(
    mean: float | Tensor,
    std: float | Tensor = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers with these means and standard deviations, tensors or numbers, in the dtype of the first tensor.

    dtype, device and requires_grad are for a given size.

    Raises:
        TypeError: If there is neither a tensor nor a size, or the first tensor holds integers or bools.
        ValueError: If a standard deviation is negative.
    """
    mean, std = (x.detach() if isinstance(x, Tensor) else x for x in (mean, std))
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None and not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise TypeError("normal expected a tensor as mean or std, or a size; such as normal(0.0, 1.0, (3,))")
    call(refuse_negative, std._tensor.array() if isinstance(std, Tensor) else std)
    shape = shape_of(size) if size is not None else np.broadcast_shapes(*(x.shape for x in tensors))
    kind = require_floats("normal", tensors[0]).dtype if tensors else dtype
    out = randn(shape, generator=generator, dtype=kind, device=device) * std + mean
    return (cast(out, kind) if tensors else out).requires_grad_(requires_grad)


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that input holds, else 0, in its dtype.

    Raises:
        TypeError: If it holds integers or bools.
        ValueError: If a number is not from 0 to 1.
    """
    call(refuse_outside, require_floats("bernoulli", input)._tensor.array())
    return cast(rand(input.shape, generator=generator, dtype=input.dtype, device=input.backend) < input.detach(), input.dtype)


def refuse_negative(deviations: Any) -> None:
    """Refuse standard deviations below 0, and NaN. Raises ValueError if there is one."""
    if not np.all(deviations >= 0):
        raise ArgumentError(f"normal expected standard deviations from 0 on, got {np.min(deviations)}")


def refuse_outside(probabilities: np.ndarray) -> None:
    """Refuse probabilities below 0 or above 1, and NaN. Raises ValueError if there is one."""
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ArgumentError("bernoulli expected probabilities from 0 to 1, got others; limit them: x.clamp(0, 1), or x.sigmoid()")


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to the rows of input.

    Raises:
        TypeError: If the weights are integers or bools.
        ValueError: If the weights are negative or all 0, or too few to draw without replacement, or nothing is to be drawn.
    """
    refuse("multinomial")
    require_floats("multinomial", input)
    num_samples = int(num_samples)
    if num_samples < 1 or input.dims not in (1, 2):
        raise ArgumentError(
            f"multinomial expected one sample or more of one or two dimensions, got {num_samples} of shape {tuple(input.shape)}"
        )
    rows = np.atleast_2d(input._tensor.array().astype(np.float64))
    if rows.ndim > 2 or (rows < 0).any() or not np.isfinite(rows).all() or (rows.sum(1) <= 0).any():
        raise ArgumentError(
            f"multinomial expected finite weights from 0 on, some above 0, in one or two dimensions, got shape {input.shape}"
        )
    if not replacement and (rows.shape[1] < num_samples or ((rows > 0).sum(1) < num_samples).any()):
        raise ArgumentError(
            f"multinomial expected at least {num_samples} weights above 0 to draw without replacement; pass replacement=True"
        )
    source = random_stream(generator)
    drawn = np.array([source.choice(len(row), num_samples, replacement, row / row.sum()) for row in rows], np.int64)
    drawn = drawn.reshape(len(rows), num_samples)
    return of_array(drawn if input.dims == 2 else drawn[0], int64, input.backend, False)
