"""Stage 6 - New tensors with PyTorch's arguments and defaults, as tensors of the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, bool_, cast_array, convert_array, int64, is_float, to_array
from minitorch.core.recording import call, constant, refuse
from minitorch.data.random_streams import random_stream
from minitorch.tensor import Tensor, make_tensor
from minitorch.tensor_data import TensorData
from minitorch.torch.places import backend_of
from minitorch.torch.promotion import get_default_dtype, number_dtype
from minitorch.torch.shapes import sizes


class Generator:
    """A stream of random numbers; `generator=` of the functions that draw some.

    Args:
        device: The device, "cpu".
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.numpy = np.random.default_rng()

    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream that belongs to a seed."""
        self.numpy = np.random.default_rng(seed)
        return self


def drawn(draw: Callable[..., Any], shape: tuple[int, ...], dtype: Any, device: Any, requires_grad: bool = False) -> Tensor:
    """A tensor of random numbers; a recorded program draws new ones at every replay.

    Args:
        draw: Returns numbers of a shape: draw(shape).
        shape: The shape.
        dtype: The dtype.
        device: The device.
        requires_grad: Whether it is a leaf that keeps its gradient.
    """
    kind = as_dtype(dtype)
    values = np.empty(shape, kind)
    call(draw_into, values.reshape(-1), draw, shape)
    return make_tensor(TensorData(values.reshape(-1), shape), backend_of(device), requires_grad)


def draw_into(numbers: np.ndarray, draw: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """Overwrite an array with random numbers."""
    numbers[...] = cast_array(np.asarray(draw(shape)), numbers.dtype).reshape(-1)


def of_array(values: np.ndarray, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor of these values, not copied if they have the dtype."""
    kind = values.dtype if dtype is None else as_dtype(dtype)
    own = values if values.dtype == kind else cast_array(values, kind)
    own = constant(np.ascontiguousarray(own).reshape(values.shape))
    return make_tensor(TensorData(own.reshape(-1), own.shape), backend_of(device), requires_grad)


def numbers_of(data: Any) -> Any:
    """Nested lists with tensors of one element as numbers; arrays and numbers as they are."""
    if isinstance(data, Tensor):
        refuse("a new tensor of a tensor's numbers, as by torch.tensor(x),")
        return data._tensor.array()
    if isinstance(data, (list, tuple)):
        return [numbers_of(each) for each in data]
    return data


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A copy of numbers in nested lists, arrays or tensors. Without a dtype: int64, bool or the default dtype; that of an array.

    Raises:
        ValueError: If the lists are ragged, or an integer dtype cannot represent a number.
        TypeError: If there is anything but numbers.
    """
    values = to_array(numbers_of(data), "tensor")
    if dtype is None and not isinstance(data, (np.ndarray, np.generic, Tensor)):
        dtype = bool_ if values.dtype.kind == "b" else int64 if values.dtype.kind in "iu" and values.size else get_default_dtype()
    kind = values.dtype if dtype is None else as_dtype(dtype)
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
    """A tensor of one number."""
    kind = number_dtype(value) if dtype is None else as_dtype(dtype)
    return of_array(np.full(shape, value, kind), kind, device, requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros, in the default dtype."""
    return filled(sizes(size), 0, dtype or get_default_dtype(), device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones, in the default dtype."""
    return filled(sizes(size), 1, dtype or get_default_dtype(), device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory to be written; it holds zeros."""
    return zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)


def full(size: Sequence[int], fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One number, in its dtype: int64, bool or the default dtype."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return filled(sizes((size,)), value, dtype, device, requires_grad)


def like(input: Tensor, dtype: Any, device: Any) -> dict[str, Any]:
    """The dtype and device of another tensor, unless given."""
    return {"dtype": dtype or input.dtype, "device": device or input.backend}


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape, dtype and on the device of another tensor."""
    return zeros(input.shape, **like(input, dtype, device), requires_grad=requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape, dtype and on the device of another tensor."""
    return ones(input.shape, **like(input, dtype, device), requires_grad=requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One number in the shape, dtype and on the device of another tensor."""
    return full(input.shape, fill_value, **like(input, dtype, device), requires_grad=requires_grad)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory to be written, in the shape of another tensor; it holds zeros."""
    return zeros_like(input, dtype=dtype, device=device, requires_grad=requires_grad)


def new_zeros(input: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of a shape of their own, in the dtype and on the device of another tensor."""
    return zeros(*size, **like(input, dtype, device), requires_grad=requires_grad)


def new_ones(input: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of a shape of their own, in the dtype and on the device of another tensor."""
    return ones(*size, **like(input, dtype, device), requires_grad=requires_grad)


def new_empty(input: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Memory to be written, of a shape of its own, in the dtype and on the device of another tensor; it holds zeros."""
    return new_zeros(input, *size, dtype=dtype, device=device, requires_grad=requires_grad)


def new_full(
    input: Tensor, size: Sequence[int], fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """One number in a shape of its own, in the dtype and on the device of another tensor."""
    return full(size, fill_value, **like(input, dtype, device), requires_grad=requires_grad)


def new_tensor(input: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A copy of numbers, see `tensor`, in the dtype and on the device of another tensor."""
    return tensor(data, **like(input, dtype, device), requires_grad=requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """start, start + step, … up to end, exclusive; int64 if all are integers.

    Raises:
        ValueError: If step is 0.
    """
    low, high = (0, start) if end is None else (start, end)
    if step == 0:
        raise ValueError("arange expected a step other than 0")
    values = np.arange(low, high, step)
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
    return of_array(np.stack(np.tril_indices(row, offset, col)), dtype or int64, device, False)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The indices of the elements on and above a diagonal of a matrix: a row of row numbers and one of column numbers."""
    return of_array(np.stack(np.triu_indices(row, offset, col)), dtype or int64, device, False)


# Random numbers; the streams differ from PyTorch's


def rand(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers from 0 to 1, exclusive."""
    kind = as_dtype(dtype or get_default_dtype())
    draw = functools.partial(random_stream(generator).random, dtype=kind if kind.itemsize > 2 else np.float32)
    return drawn(draw, sizes(size), kind, device, requires_grad)


def randn(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal random numbers."""
    kind = as_dtype(dtype or get_default_dtype())
    draw = functools.partial(random_stream(generator).standard_normal, dtype=kind if kind.itemsize > 2 else np.float32)
    return drawn(draw, sizes(size), kind, device, requires_grad)


def rand_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`rand` in the shape, dtype and on the device of another tensor."""
    return rand(input.shape, **like(input, dtype, device), requires_grad=requires_grad)


def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`randn` in the shape, dtype and on the device of another tensor."""
    return randn(input.shape, **like(input, dtype, device), requires_grad=requires_grad)


def randint(low: int, high: Any, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """Random integers from low, inclusive, to high, exclusive; `randint(high, size)` begins at 0."""
    if size is None:
        low, high, size = 0, low, high
    return drawn(functools.partial(random_stream(generator).integers, low, high), sizes((size,)), dtype or int64, device)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """The numbers 0 … n - 1 in random order."""
    return drawn(lambda _: random_stream(generator).permutation(n), (n,), dtype or int64, device)


def normal(mean: Any, std: Any, size: Any = None, *, generator: Any = None) -> Tensor:
    """Normal random numbers with these means and standard deviations, tensors or numbers."""
    shape = sizes((size,)) if size is not None else np.broadcast_shapes(*(x.shape for x in (mean, std) if isinstance(x, Tensor)))
    return randn(shape, generator=generator) * std + mean


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that input holds, else 0, in its dtype."""
    kind = input.dtype if is_float(input.dtype) else None
    return (rand(input.shape, generator=generator, dtype=kind, device=input.backend) < input.detach()).to(input.dtype)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to the rows of input.

    Raises:
        ValueError: If the weights are negative or all 0, or too few to draw without replacement.
    """
    refuse("multinomial")
    rows = np.atleast_2d(input._tensor.array().astype(np.float64))
    if rows.ndim > 2 or (rows < 0).any() or not np.isfinite(rows).all() or (rows.sum(1) <= 0).any():
        raise ValueError(f"multinomial expected finite weights from 0 on, some above 0, in one or two dimensions, got shape {input.shape}")
    if not replacement and ((rows > 0).sum(1) < num_samples).any():
        raise ValueError(f"multinomial expected at least {num_samples} weights above 0 to draw without replacement; pass replacement=True")
    source = random_stream(generator)
    drawn = np.stack([source.choice(len(row), num_samples, replacement, row / row.sum()) for row in rows])
    return of_array(drawn if input.dims == 2 else drawn[0], int64, input.backend, False)
