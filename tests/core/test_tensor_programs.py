"""Random programs of views, slices, broadcasts, elementwise operations and reductions, run on tensors and on NumPy side by side.

A program is a list of steps. Each step makes a new value from earlier ones; the first values are the inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis.extra.numpy as npst
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import composite

from minitorch import Tensor, cat, stack, tensor, zeros
from tests.core.test_ops import assert_same
from tests.op_table import in_layout, layout_of, tensor_in

LARGEST = 60
"""More elements than this no value of a program has."""


@dataclass(frozen=True)
class Step:
    """One line of a program.

    Attributes:
        text: How it reads, for the report of a failure.
        operands: The numbers of the earlier values that it takes.
        ours: What it does with tensors.
        theirs: What it does with arrays.
    """

    text: str
    operands: tuple[int, ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]

    def __repr__(self):
        return f"{self.text} of {self.operands}"


def run(steps, inputs, side):
    """All values of a program, of tensors (side "ours") or of arrays ("theirs")."""
    values = list(inputs)
    for step in steps:
        values.append(getattr(step, side)(*[values[i] for i in step.operands]))
    return values


# What a step may be. Each function draws one for an array, or returns None where there is none.


def index_step(draw, a):
    index = draw(npst.basic_indices(a.shape, allow_newaxis=True, max_dims=4))
    parts = index if isinstance(index, tuple) else (index,)
    if all(isinstance(part, int) for part in parts):  # else it would be a number, which no gradient flows through
        index = (*parts, ...)
    return f"x[{index}]", lambda x: x[index]


def rows_step(draw, a):
    if not a.ndim or not a.shape[0]:
        return None
    rows = draw(st.lists(st.integers(-a.shape[0], a.shape[0] - 1), max_size=4))
    return f"x[{rows}]", lambda x: x[rows]


def pairs_step(draw, a):
    if a.ndim < 2 or not a.size:
        return None
    count = draw(st.integers(1, 3))
    lists = tuple(draw(st.lists(st.integers(0, length - 1), min_size=count, max_size=count)) for length in a.shape[:2])
    return f"x[{lists}]", lambda x: x[lists]


def mask_step(draw, a):
    if not a.ndim:
        return None
    mask = draw(npst.arrays(bool, a.shape[: draw(st.integers(1, a.ndim))]))
    return f"x[{mask.tolist()}]", lambda x: x[mask]


def permute_step(draw, a):
    order = draw(st.permutations(range(a.ndim)))
    return f"x.permute({order})", lambda x: x.permute(*order) if isinstance(x, Tensor) else x.transpose(order)


def reshape_step(draw, a):
    if not a.size:
        return None
    first = draw(st.sampled_from([n for n in range(1, a.size + 1) if a.size % n == 0]))
    shape = draw(st.sampled_from([(-1,), (first, -1), (1, -1, first), (first, a.size // first)]))
    return f"x.reshape{shape}", lambda x: x.reshape(*shape)


def unsqueeze_step(draw, a):
    dim = draw(st.integers(-a.ndim - 1, a.ndim))
    return f"x.unsqueeze({dim})", lambda x: x.unsqueeze(dim) if isinstance(x, Tensor) else np.expand_dims(x, dim)


def expand_step(draw, a):
    shape = tuple(draw(st.integers(0, 3)) if length == 1 else length for length in a.shape)
    shape = (*draw(st.sampled_from([(), (1,), (2,)])), *shape)
    return f"x.expand{shape}", lambda x: x.expand(*shape) if isinstance(x, Tensor) else np.broadcast_to(x, shape)


def split_step(draw, a):
    if not a.ndim or not a.shape[-1]:
        return None
    size = draw(st.integers(1, a.shape[-1]))
    place = draw(st.integers(0, (a.shape[-1] - 1) // size))
    return (
        f"x.split({size}, -1)[{place}]",
        lambda x: x.split(size, -1)[place] if isinstance(x, Tensor) else x[..., place * size : (place + 1) * size],
    )


def copy_step(draw, a):
    name = draw(st.sampled_from(["clone", "contiguous"]))
    return f"x.{name}()", lambda x: getattr(x, name)() if isinstance(x, Tensor) else x.copy()


def join_step(draw, a):
    if not a.ndim:
        return None
    dim = draw(st.integers(-a.ndim, a.ndim - 1))
    both = draw(st.sampled_from(["cat", "stack"]))
    ours, theirs = (cat, np.concatenate) if both == "cat" else (stack, np.stack)
    return f"{both}([x, x], {dim})", lambda x: ours([x, x], dim) if isinstance(x, Tensor) else theirs([x, x], dim)


def cumsum_step(draw, a):
    if not a.ndim:
        return None
    dim = draw(st.integers(-a.ndim, a.ndim - 1))
    return f"x.cumsum({dim})", lambda x: x.cumsum(dim)


def fold_step(draw, a):
    """A reduction, over one dimension, several or all."""
    if not a.size:
        return None
    name = draw(st.sampled_from(["sum", "mean"]))
    keepdim = draw(st.booleans())
    dim = draw(st.lists(st.sampled_from(range(a.ndim)), min_size=1, unique=True).map(tuple)) if a.ndim and draw(st.booleans()) else None

    def theirs(x):
        folded = getattr(np, name)(x, axis=dim, keepdims=keepdim)
        return folded.reshape(1) if dim is None and keepdim else np.asarray(folded)

    return f"x.{name}({dim}, {keepdim})", lambda x: getattr(x, name)(dim, keepdim) if isinstance(x, Tensor) else theirs(x)


def squeeze_step(draw, a):
    return "x.squeeze()", lambda x: x.squeeze()


MOVES = [index_step, rows_step, pairs_step, mask_step, permute_step, reshape_step, unsqueeze_step, squeeze_step, expand_step, split_step]
MOVES += [copy_step, join_step, cumsum_step]

# Smooth and tame, so that differences of NumPy's values give the derivatives.
SMOOTH = {
    "x.tanh()": (Tensor.tanh, np.tanh),
    "x.sin()": (Tensor.sin, np.sin),
    "x.sigmoid()": (Tensor.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "(x * x + 1).sqrt()": (lambda x: (x * x + 1).sqrt(), lambda x: np.sqrt(x * x + 1)),
    "1 - x / 2": (lambda x: 1 - x / 2,) * 2,
    "(2 + x.sin()) ** -1.5": (lambda x: (2 + x.sin()) ** -1.5, lambda x: (2 + np.sin(x)) ** -1.5),
}
SMOOTH_PAIRS = {
    "(x * y).tanh()": (lambda x, y: (x * y).tanh(), lambda x, y: np.tanh(x * y)),
    "(x + y) / 2": (lambda x, y: (x + y) / 2,) * 2,
    "(x - y).sin()": (lambda x, y: (x - y).sin(), lambda x, y: np.sin(x - y)),
    "x / (2 + y.cos())": (lambda x, y: x / (2 + y.cos()), lambda x, y: x / (2 + np.cos(y))),
}


def broadcastable(a, b):
    """Whether two arrays broadcast, to something that is not too large."""
    try:
        return np.prod(np.broadcast_shapes(a.shape, b.shape)) <= LARGEST
    except ValueError:
        return False


@composite
def programs(draw):
    """The inputs of a program, each with its layout, and its steps."""
    layouts = st.sampled_from(["contiguous", "offset", "permuted", "sliced"])
    numbers = st.integers(-30, 30).map(lambda n: n / 16)
    shapes = npst.array_shapes(min_dims=1, max_dims=3, max_side=3)
    inputs = [(draw(npst.arrays(float, draw(shapes), elements=numbers)), draw(layouts)) for _ in range(2)]
    values, steps = [array for array, _ in inputs], []
    for _ in range(draw(st.integers(3, 8))):
        number = draw(st.integers(0, len(values) - 1))
        kind = draw(st.sampled_from(["move", "move", "move", "one", "pair", "fold"]))
        if kind == "pair":
            partners = [i for i, other in enumerate(values) if broadcastable(values[number], other)]
            text = draw(st.sampled_from(sorted(SMOOTH_PAIRS)))
            step = Step(text, (number, draw(st.sampled_from(partners))), *SMOOTH_PAIRS[text])
        elif kind == "one":
            text = draw(st.sampled_from(sorted(SMOOTH)))
            step = Step(text, (number,), *SMOOTH[text])
        else:
            made = fold_step(draw, values[number]) if kind == "fold" else draw(st.sampled_from(MOVES))(draw, values[number])
            if made is None:
                continue
            step = Step(made[0], (number,), made[1], made[1])
        value = np.asarray(step.theirs(*[values[i] for i in step.operands]))
        if value.size <= LARGEST and value.ndim <= 5:
            values.append(value)
            steps.append(step)
    return inputs, steps


@settings(max_examples=40)
@given(programs())
def test_the_values_of_a_program_are_numpys_and_its_gradients_its_differences(program):
    inputs, steps = program
    arrays = [array for array, _ in inputs]
    leaves = [tensor_in(array, layout)[0].requires_grad_() for array, layout in inputs]
    values, expected = run(steps, leaves, "ours"), run(steps, arrays, "theirs")
    for step, x, array in zip([None, None, *steps], values, expected, strict=True):
        assert_same(x, np.asarray(array), 1e-10, str(step))
    total = sum((value.sin().sum() for value in values), zeros((1,)))  # every value counts, not only the last
    total.backward()

    def sum_of_sines(*moved):
        return sum(np.sin(value).sum() for value in run(steps, moved, "theirs"))

    for i, (leaf, array) in enumerate(zip(leaves, arrays, strict=True)):
        gradient = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            shift = np.zeros(array.shape)
            shift[index] = 1e-5
            ends = [sum_of_sines(*arrays[:i], array + sign * shift, *arrays[i + 1 :]) for sign in (1, -1)]
            gradient[index] = (ends[0] - ends[1]) / 2e-5
        scale = max(1.0, float(np.abs(gradient).max(initial=0)))
        assert_same(leaf.grad, gradient, 1e-6 * scale, f"input {i}")


# Writing


def view_step(draw, a):
    """What makes a view on both sides, or in NumPy alone, where a negative step is a view too."""
    if a.flags.c_contiguous and draw(st.booleans()):
        return lambda x: x.view(x.size) if isinstance(x, Tensor) else x.reshape(-1)
    return draw(st.sampled_from([index_step, permute_step, unsqueeze_step]))(draw, a)[1]


@settings(max_examples=60)
@given(st.data())
def test_what_is_written_into_one_view_is_seen_by_all(data):
    draw = data.draw
    array = draw(npst.arrays(np.int64, npst.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(0, 9)))
    base, view = in_layout(array, draw(st.sampled_from(["contiguous", "offset", "permuted", "sliced"])))
    shape, strides, offset = layout_of(base, view)
    whole = Tensor.make(base.copy(), (base.size,))
    pool = [(whole, base), (Tensor(whole._tensor.as_view(shape, strides, offset)), view)]
    for number in range(draw(st.integers(2, 8))):
        x, a = pool[draw(st.integers(0, len(pool) - 1))]
        if draw(st.booleans()):
            move = view_step(draw, a)
            theirs = move(a)
            if theirs.size and min(theirs.strides, default=0) >= 0 and 0 not in a.strides:  # a new axis turned round has stride 0 there
                pool.append((move(x), theirs))
            continue
        target = draw(npst.basic_indices(a.shape, allow_newaxis=False))
        if draw(st.booleans()) and a.ndim and a.shape[0]:
            target = draw(st.lists(st.integers(0, a.shape[0] - 1), min_size=1, max_size=3, unique=True))
        values = 100 * (number + 1) + np.arange(np.asarray(a[target]).size).reshape(np.shape(a[target]))
        x[target] = tensor(values)
        a[target] = values
        for other, expected in pool:
            assert other.tolist() == expected.tolist()
    assert all(np.shares_memory(x.numpy(), whole.numpy()) for x, _ in pool if x.size)


# Graphs of a shape that breaks naive engines


@pytest.mark.parametrize(
    "double",
    [lambda y: y + y, lambda y: y.t() + y.permute(1, 0), lambda y: y.view(1, 2) + y.reshape(1, 2)],
    ids=["the same tensor twice", "two transposes", "two views"],
)
def test_sixty_doublings_take_no_time(double):
    x = tensor([[3.0, -1.0]], requires_grad=True)
    y = x
    for _ in range(60):
        y = double(y)
    y.sum().backward()
    assert y.view(2).tolist() == [3.0 * 2**60, -(2.0**60)]
    assert x.grad.tolist() == [[2.0**60, 2.0**60]]


def test_a_chain_longer_than_the_call_stack_has_a_gradient_and_can_be_thrown_away_unused():
    x = tensor([1.0, -2.0], requires_grad=True)
    y = unused = x
    for step in range(5000):
        y, unused = y + 1.0 if step % 2 else y * 1.0, -unused
    y.sum().backward()
    assert (y.tolist(), unused.tolist()) == ([2501.0, 2498.0], [1.0, -2.0])
    assert x.grad.tolist() == [1.0, 1.0]
    del y, unused  # must not recurse
