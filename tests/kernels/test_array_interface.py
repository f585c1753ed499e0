"""Arrays below tensors, on the CPU; those of the GPU are tested in tests/cuda."""

import numpy as np
import pytest

from minitorch import bool_, float32, float64, int32
from minitorch.kernels.cuda.array_interface import ArrayContext, context
from tests.errors import raises


def test_an_array_is_made_filled_and_read_back():
    ctx = context("cpu")
    array = ctx.empty((500, 200), float32)
    assert (array.shape, array.dtype) == ((500, 200), float32)
    assert ctx.fill(array, 1) is array
    found = ctx.to_numpy(array)
    assert found.sum() == 100_000
    found[0, 0] = 5
    assert array[0, 0] == 1


@pytest.mark.parametrize(("dtype", "value"), [(None, 0.1), (int32, -3), (bool_, True), (float32, np.inf)])
def test_arrays_have_the_dtype_that_is_asked_for(dtype, value):
    ctx = context()
    array = ctx.fill(ctx.empty(3, dtype), value)
    assert (array.dtype, array.tolist()) == (dtype or float64, [value] * 3)


def test_arrays_are_made_of_given_numbers():
    ctx = context("cpu:0")
    numbers = np.arange(6, dtype=np.int32).reshape(2, 3)
    array = ctx.array(numbers)
    numbers[0, 0] = 9
    assert (array.dtype, array.tolist()) == (int32, [[0, 1, 2], [3, 4, 5]])
    assert ctx.array([1, 2]).dtype == float64
    assert ctx.fill(ctx.array(np.zeros((2, 3)).T), 1).tolist() == [[1, 1]] * 3
    assert ctx.array([1, 2], float32).dtype == float32


def test_arrays_of_no_elements_and_of_no_dimensions_are_filled():
    ctx = context()
    assert ctx.to_numpy(ctx.fill(ctx.empty((0, 3)), 1)).shape == (0, 3)
    assert ctx.to_numpy(ctx.fill(ctx.empty(()), 2)).tolist() == 2.0


def test_what_does_not_fit_is_refused():
    ctx = context()
    with raises(ValueError, "fill expected whole numbers from -2147483648 to 2147483647 for int32, got 1.5"):
        ctx.fill(ctx.empty(2, int32), 1.5)
    for value in ([1, 2], np.ones(3), "x", None, 1j):
        with raises(TypeError, f"fill expected one number, got {value!r}; of several make an array with array"):
            ctx.fill(ctx.empty(2), value)
    with raises(ValueError, "fill expected an array whose elements lie one after the other, got a view with gaps; fill all of its array"):
        ctx.fill(ctx.empty((2, 3))[:, :2], 1)
    made = r' of context\("cpu"\) expected an array that it has made, got list; make it with empty or array$'
    for op in (lambda x: ctx.fill(x, 1), ctx.to_numpy):
        with pytest.raises(TypeError, match=made):
            op([1.0])
    with raises(ValueError, "empty expected sizes of at least 0, got (-1,)"):
        ctx.empty(-1)


def test_devices_that_are_not_there_are_refused():
    for device in ("gpu", "simple", "", None, 0):
        with raises(ValueError, f"context expected the device cpu or cuda, got {device!r}"):
            context(device)
    with pytest.raises(ValueError, match=r"^expected the device cpu or cpu:0, got cpu:1; "):
        context("cpu:1")
    with raises(RuntimeError, "an ArrayContext makes no arrays of its own; call context(...)"):
        ArrayContext().empty(2)
