"""Indexing by mixes of integers, slices, None, ..., masks, lists, arrays and tensors against PyTorch: reading, assignment, gradients."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.torch as ours

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

FEW = settings(max_examples=40, deadline=None)
LAYOUTS = ("contiguous", "transposed", "stepped", "expanded")
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def parts(draw, shape):
    """An index for a shape: pairs of a kind and plain values. Integers may be out of range, and lists may not broadcast."""
    shared = draw(st.sampled_from([(2,), (3,), (2, 3), (1,), (0,)]))
    found, dim = [], 0
    while dim < len(shape) and draw(st.integers(0, 6)):
        length = shape[dim]
        kind = draw(st.sampled_from(["slice", "integer", "tensor", "tensor", "list", "array", "mask", "scalar", "int32"]))
        if kind == "slice":
            ends = st.none() | st.integers(-length - 1, length + 1)
            found.append((kind, (draw(ends), draw(ends), draw(st.none() | st.integers(1, 3)))))
        elif kind in ("integer", "scalar"):
            found.append((kind, draw(st.integers(-max(length, 1), max(length - 1, 0)))))
        elif kind == "mask":
            width = draw(st.integers(1, len(shape) - dim))
            size = math.prod(shape[dim : dim + width])
            truths = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(shape[dim : dim + width])
            found.append((kind, truths))
            dim += width - 1
        else:
            own = draw(st.sampled_from([shared, shared[-1:], (1,)]))
            size = math.prod(own)
            numbers = draw(st.lists(st.integers(-max(length, 1), max(length - 1, 0)), min_size=size, max_size=size))
            found.append((kind, np.array(numbers, np.int64).reshape(own)))
        dim += 1
    for extra in draw(st.lists(st.sampled_from(["none", "dots", "true", "false", "truth"]), max_size=2, unique=True)):
        found.insert(draw(st.integers(0, len(found))), (extra, None))
    return found


def index_for(lib, found):
    """An index of a library."""
    made = []
    for kind, value in found:
        constants = {"none": None, "dots": ..., "true": True, "false": False}
        if kind in constants:
            made.append(constants[kind])
        elif kind == "truth":
            made.append(lib.tensor(True))
        elif kind == "slice":
            made.append(slice(*value))
        elif kind in ("integer", "array"):
            made.append(value)
        elif kind == "list":
            made.append(value.tolist())
        else:
            made.append(lib.tensor(value, dtype={"mask": lib.bool, "int32": lib.int32}.get(kind, lib.int64)))
    return tuple(made)


def laid_out(lib, shape, layout):
    """Different numbers of a shape in a layout; the leaf that they are a view of comes second."""
    count = math.prod(shape)
    if layout == "expanded" and shape:
        leaf = lib.arange(1.0, 1.0 + count // max(shape[0], 1)).reshape(1, *shape[1:]) if shape[0] else lib.ones(1, *shape[1:])
        return leaf.expand(*shape)
    if layout == "transposed":
        return lib.arange(1.0, 1.0 + count).reshape(shape[::-1]).permute(tuple(range(len(shape)))[::-1])
    if layout == "stepped" and shape:
        return lib.arange(1.0, 1.0 + 2 * count).reshape(*shape[:-1], 2 * shape[-1])[..., ::2]
    return lib.arange(1.0, 1.0 + count).reshape(shape)


@st.composite
def cases(draw, layouts=LAYOUTS):
    shape = draw(shapes)
    return shape, draw(st.sampled_from(layouts)), draw(parts(shape))


def outcome(call):
    """What a call returns, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of masks of uint8
        try:
            return call()
        except Exception as error:
            return error


def assert_same(mine, theirs):
    """The same numbers and shape, or an error of the same class."""
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        assert isinstance(mine, type(theirs)), (mine, theirs)
        return
    assert tuple(mine.shape) == tuple(theirs.shape)
    assert mine.tolist() == theirs.tolist()


@given(cases())
@FEW
def test_an_index_selects_what_it_selects_in_pytorch(case):
    shape, layout, found = case
    assert_same(*(outcome(lambda lib=lib: laid_out(lib, shape, layout)[index_for(lib, found)]) for lib in (ours, torch)))


@given(cases())
@FEW
def test_gradients_go_where_they_go_in_pytorch(case):
    shape, layout, found = case

    def gradient(lib):
        leaf = laid_out(lib, shape, layout).detach().requires_grad_()
        out = leaf[index_for(lib, found)]
        (out * lib.arange(1.0, 1.0 + out.numel()).reshape(out.shape)).sum().backward()
        return leaf.grad

    assert_same(*(outcome(lambda lib=lib: gradient(lib)) for lib in (ours, torch)))


def unique(found, shape):
    """Whether an index names no element twice: then the order of assignments does not matter."""
    selected = outcome(lambda: torch.arange(math.prod(shape)).reshape(shape)[index_for(torch, found)])
    return isinstance(selected, Exception) or selected.unique().numel() == selected.numel()


@given(cases(("contiguous", "transposed", "stepped")), st.sampled_from(["number", "same", "one", "last", "leading", "wrong"]))
@FEW
def test_an_assignment_writes_what_it_writes_in_pytorch(case, kind):
    shape, layout, found = case
    if not unique(found, shape):
        return

    def value_for(lib, x):
        selected = x.detach()[index_for(lib, found)]
        size = {"same": selected.shape, "one": (1,), "last": selected.shape[-1:], "leading": (1, 1, *selected.shape), "wrong": (7,)}
        return -1.5 if kind == "number" else -1 - lib.arange(1.0 * math.prod(size[kind])).reshape(tuple(size[kind]))

    def written(lib, records):
        x = laid_out(lib, shape, layout)
        value = value_for(lib, x)
        if not records:
            x[index_for(lib, found)] = value
            return [x]
        leaf, values = x.clone().requires_grad_(), lib.as_tensor(value).requires_grad_()
        y = leaf * 1.0
        y[index_for(lib, found)] = values
        (y * lib.arange(1.0, 1.0 + y.numel()).reshape(y.shape)).sum().backward()
        return [y, leaf.grad, values.grad]

    for records in (False, True):
        mine, theirs = (outcome(lambda lib=lib, records=records: written(lib, records)) for lib in (ours, torch))
        if isinstance(mine, list) and isinstance(theirs, list):
            for a, b in zip(mine, theirs, strict=True):
                assert_same(a, b)
        else:
            assert_same(mine, theirs)


@given(cases(("contiguous",)))
@FEW
def test_the_tensor_of_the_course_follows_the_same_rule(case):
    shape, _, found = case
    if any(kind == "truth" for kind, _ in found):
        return
    theirs = outcome(lambda: laid_out(torch, shape, "contiguous")[index_for(torch, found)])
    if isinstance(theirs, Exception):
        return
    x = minitorch.tensor(np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape))
    mine = x[tuple(part.numpy() if isinstance(part, ours.Tensor) else part for part in index_for(ours, found))]
    assert (() if isinstance(mine, float) else mine.shape) == tuple(theirs.shape)
    assert (mine if isinstance(mine, float) else mine.tolist()) == theirs.tolist()


KINDS = {
    "lists": lambda lib, x: x[[[0, 1], [1, 0]]],
    "list of tensors": lambda lib, x: x[[lib.tensor(0), lib.tensor([1, 2])]],
    "list of slices": lambda lib, x: x[[slice(0, 1), slice(0, 2)]],
    "list of None": lambda lib, x: x[[None]],
    "int8": lambda lib, x: x[lib.tensor([0, 1], dtype=lib.int8)],
    "int8, no dimensions": lambda lib, x: x[lib.tensor(1, dtype=lib.int8)],
    "uint8": lambda lib, x: x[lib.tensor([0, 1], dtype=lib.uint8)],
    "uint8, no dimensions": lambda lib, x: x[lib.tensor(1, dtype=lib.uint8)],
    "float": lambda lib, x: x[lib.tensor([0.0])],
    "empty float": lambda lib, x: x[lib.tensor([])],
    "number": lambda lib, x: x[1.0],
    "word": lambda lib, x: x["a"],
    "negative step": lambda lib, x: x[::-1],
    "tensors in slices": lambda lib, x: x[lib.tensor(0) : lib.tensor(1)],
    "range": lambda lib, x: x[range(2)],
    "loop": lambda lib, x: lib.stack([x[i] for i in lib.arange(2)]),
    "integers of a loop": lambda lib, x: lib.stack([x[:, i] for i in range(lib.tensor(3))]),
    "list index": lambda lib, x: [x, x + 1][lib.tensor(1)],
    "list index, bool": lambda lib, x: [x, x + 1][lib.tensor(True)],
    "list index, float": lambda lib, x: [x, x + 1][lib.tensor(1.0)],
    "list index, several": lambda lib, x: [x, x + 1][lib.tensor([0, 1])],
    "loop of no dimensions": lambda lib, x: list(lib.tensor(1.0)),
    "assigned list": lambda lib, x: x.__setitem__(0, [1.0]),
    "assigned word": lambda lib, x: x.__setitem__(0, "a"),
    "assigned fraction": lambda lib, x: write(x.long(), 0, 2.7),
    "assigned truth": lambda lib, x: write(x.bool(), 0, 0.5),
    "assigned too large": lambda lib, x: write(x.to(lib.uint8), 0, 300),
    "assigned NaN": lambda lib, x: write(x.long(), 0, float("nan")),
    "one of expanded": lambda lib, x: write(x[:1].expand(2, 3, 4), (0, 1), 5.0),
    "expanded": lambda lib, x: write(x[:1].expand(2, 3, 4), slice(None), 5.0),
}


def write(x, index, value):
    """The tensor after an assignment."""
    x[index] = value
    return x


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_of_such_a_kind_does_what_it_does_in_pytorch(kind):
    assert_same(*(outcome(lambda lib=lib: KINDS[kind](lib, lib.arange(24.0).reshape(2, 3, 4))) for lib in (ours, torch)))


def test_an_integer_tensor_serves_as_an_integer_of_python() -> None:
    one, two = torch.tensor(2), torch.tensor([2])
    x = torch.arange(12.0).reshape(3, 4)
    for n in (one, two):
        assert ("abc"[n], [1, 2, 3][n], np.arange(5)[n], [*range(n)], "abc"[:n]) == ("c", 3, 2, [0, 1], "ab")
        assert tuple(torch.zeros(n).shape) == tuple(torch.zeros(n, n)[0].shape) == (2,)
    assert ("ab" * one, [0] * one, one * [1]) == ("abab", [0, 0], [1, 1])
    assert (x[:one].tolist(), x[one, one].item(), {2: "a"}[one.item()]) == (x[:2].tolist(), 10.0, "a")
    assert tuple(torch.Tensor(one, 3).shape) == (2, 3)
    assert tuple(torch.randint(0, one, (4,)).shape) == tuple(torch.randint(one, (4,)).shape) == (4,)
    assert tuple(torch.multinomial(torch.ones(3), one).shape) == (2,)
    assert tuple(x.unsqueeze(torch.tensor(0)).shape) == (1, 3, 4)
    assert tuple(torch.stack([x, x], torch.tensor(0)).shape) == (2, 3, 4)
    assert [type(size) for size in x.unfold(0, one, 1).shape] == [int] * 3
