"""Functions that the Python array API standard names against array_api_strict, its reference over NumPy: values, dtypes and shapes."""

import operator
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch.torch as ours

xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed; pip install -r requirements.torch.txt")

DTYPES = {"f": ("float32", "float64"), "i": ("int64",), "b": ("bool",)}
SHAPES = ((), (3,), (2, 3), (0, 3))
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e30]


class Row(NamedTuple):
    """One call.

    Attributes:
        name: The function's name in the standard, and what is special about the call.
        standard: The call with the standard's names; takes the library and arrays.
        call: The same call with PyTorch's names.
        arrays: How many arrays.
        kinds: Their dtypes: "f" floating-point numbers, "i" integers, "b" bool.
        domain: Smallest and largest number of them.
        least: Fewest dimensions.
        most: Most dimensions.
        empty: Whether an array without elements is one of the cases.
        special: Whether infinities, NaN and zeros of both signs are compared.
    """

    name: str
    standard: Callable[..., Any]
    call: Callable[..., Any]
    arrays: int = 1
    kinds: str = "f"
    domain: tuple[float, float] = (-3, 3)
    least: int = 0
    most: int = 2
    empty: bool = True
    special: bool = False


def pairs(names: str, **options: Any) -> list[Row]:
    """Functions of arrays alone; `less:lt` is a function with another name in PyTorch."""
    found = []
    for pair in names.split():
        theirs, _, mine = pair.partition(":")
        standard = lambda lib, *arrays, path=theirs: operator.attrgetter(path)(lib)(*arrays)  # noqa: E731
        call = lambda lib, *arrays, path=mine or theirs: operator.attrgetter(path)(lib)(*arrays)  # noqa: E731
        found.append(Row(theirs, standard, call, **options))
    return found


def along(names: str, **options: Any) -> list[Row]:
    """Functions along an axis: over all elements, along the last axis, and along the first with keepdims."""
    found = pairs(names, **options)
    for pair in names.split():
        theirs, _, mine = pair.partition(":")
        mine = mine or theirs
        last = (lambda lib, x, n=theirs: getattr(lib, n)(x, axis=-1), lambda lib, x, n=mine: getattr(lib, n)(x, dim=-1))
        kept = (
            lambda lib, x, n=theirs: getattr(lib, n)(x, axis=0, keepdims=True),
            lambda lib, x, n=mine: getattr(lib, n)(x, dim=0, keepdim=True),
        )
        found += [Row(f"{theirs} last axis", *last, **options | {"least": 1}), Row(f"{theirs} keepdims", *kept, **options | {"least": 1})]
    return found


def definite(lib: Any, x: Any) -> Any:
    """A positive definite matrix from a 2×3 one."""
    return x @ (x.mT) + lib.eye(2, dtype=x.dtype)


ELEMENTWISE = [
    *pairs("asinh atan cos cosh exp expm1 sin sinh tan tanh", special=True),
    *pairs("acos asin atanh", domain=(-0.9, 0.9), special=True),
    *pairs("acosh", domain=(1.5, 4), special=True),
    *pairs("log log2 log10 sqrt reciprocal log1p", domain=(0.5, 4), special=True),
    *pairs("abs sign square negative positive ceil floor round trunc", kinds="fi", special=True),
    *pairs("isfinite isinf isnan", kinds="fi", special=True),
    *pairs("signbit", special=True),
    *pairs("logical_not", kinds="b"),
    *pairs("bitwise_invert:bitwise_not", kinds="ib"),
    *pairs("add subtract multiply maximum minimum", arrays=2, kinds="fi", special=True),
    *pairs("divide atan2 copysign hypot logaddexp nextafter", arrays=2, domain=(1, 4), special=True),
    *pairs("floor_divide remainder pow", arrays=2, kinds="fi", domain=(1, 4), special=True),
    *pairs("equal:eq not_equal:ne", arrays=2, kinds="fib", special=True),
    *pairs("less:lt less_equal:le greater:gt greater_equal:ge", arrays=2, kinds="fi", special=True),
    *pairs("logical_and logical_or logical_xor", arrays=2, kinds="b"),
    *pairs("bitwise_and bitwise_or bitwise_xor", arrays=2, kinds="ib"),
    *pairs("bitwise_left_shift bitwise_right_shift", arrays=2, kinds="i", domain=(0, 4)),
    Row("clip", lambda lib, x: lib.clip(x, -1, 1), lambda lib, x: lib.clip(x, -1, 1), kinds="fi", special=True),
    Row("floor_divide signs", lambda lib, x, y: -x // y, lambda lib, x, y: -x // y, 2, "fi", (1, 4)),
    Row("remainder signs", lambda lib, x, y: x % -y, lambda lib, x, y: x % -y, 2, "fi", (1, 4)),
    Row("add a number", lambda lib, x: x + 1, lambda lib, x: x + 1, kinds="fi"),
    Row("multiply a number", lambda lib, x: 2.5 * x, lambda lib, x: 2.5 * x),
]

STATISTICAL = [
    *along("sum prod", kinds="fi"),
    *along("mean"),
    *along("max:amax min:amin", kinds="fi", empty=False),
    *along("argmax argmin", kinds="fi", empty=False),
    *along("all any", kinds="fib"),
    Row("count_nonzero", lambda lib, x: lib.count_nonzero(x), lambda lib, x: lib.count_nonzero(x), kinds="fib"),
    Row(
        "count_nonzero axis", lambda lib, x: lib.count_nonzero(x, axis=0), lambda lib, x: lib.count_nonzero(x, dim=0), kinds="fib", least=1
    ),
    Row("sum axes", lambda lib, x: lib.sum(x, axis=(0, 1)), lambda lib, x: lib.sum(x, dim=(0, 1)), kinds="fi", least=2),
    Row("var", lambda lib, x: lib.var(x), lambda lib, x: lib.var(x, correction=0), empty=False),
    Row("std", lambda lib, x: lib.std(x, axis=0, correction=1), lambda lib, x: lib.std(x, dim=0), least=1, empty=False),
    Row("cumulative_sum", lambda lib, x: lib.cumulative_sum(x, axis=-1), lambda lib, x: lib.cumsum(x, dim=-1), kinds="fi", least=1),
    Row("cumulative_prod", lambda lib, x: lib.cumulative_prod(x, axis=-1), lambda lib, x: lib.cumprod(x, dim=-1), kinds="fi", least=1),
    Row("diff", lambda lib, x: lib.diff(x), lambda lib, x: lib.diff(x), kinds="fi", least=1),
]

MANIPULATION = [
    Row("concat", lambda lib, x, y: lib.concat([x, y], axis=0), lambda lib, x, y: lib.concat([x, y], dim=0), 2, "fib", least=1),
    Row("stack", lambda lib, x, y: lib.stack([x, y], axis=-1), lambda lib, x, y: lib.stack([x, y], dim=-1), 2, "fib"),
    Row("expand_dims", lambda lib, x: lib.expand_dims(x, axis=0), lambda lib, x: lib.unsqueeze(x, 0), kinds="fib"),
    Row("squeeze", lambda lib, x: lib.squeeze(x[None, ...], axis=0), lambda lib, x: lib.squeeze(x[None, ...], 0), kinds="fib"),
    Row("flip", lambda lib, x: lib.flip(x, axis=-1), lambda lib, x: lib.flip(x, (-1,)), kinds="fib", least=1),
    Row("moveaxis", lambda lib, x: lib.moveaxis(x, 0, -1), lambda lib, x: lib.movedim(x, 0, -1), kinds="fib", least=2),
    Row("permute_dims", lambda lib, x: lib.permute_dims(x, (1, 0)), lambda lib, x: lib.permute(x, (1, 0)), kinds="fib", least=2),
    Row("matrix_transpose", lambda lib, x: lib.matrix_transpose(x), lambda lib, x: x.mT, kinds="fib", least=2),
    Row("repeat", lambda lib, x: lib.repeat(x, 2, axis=0), lambda lib, x: lib.repeat_interleave(x, 2, dim=0), kinds="fib", least=1),
    Row("reshape", lambda lib, x: lib.reshape(x, (-1,)), lambda lib, x: lib.reshape(x, (-1,)), kinds="fib"),
    Row("roll", lambda lib, x: lib.roll(x, 1, axis=-1), lambda lib, x: lib.roll(x, 1, -1), kinds="fib", least=1),
    Row("roll all", lambda lib, x: lib.roll(x, -2), lambda lib, x: lib.roll(x, -2), kinds="fib"),
    Row("tile", lambda lib, x: lib.tile(x, (2, 1, 2)), lambda lib, x: lib.tile(x, (2, 1, 2)), kinds="fib"),
    Row("unstack", lambda lib, x: lib.unstack(x, axis=-1), lambda lib, x: lib.unbind(x, -1), kinds="fib", least=1),
    Row("broadcast_to", lambda lib, x: lib.broadcast_to(x, (4, *x.shape)), lambda lib, x: x.expand(4, *x.shape), kinds="fib"),
    Row("broadcast_arrays", lambda lib, x: lib.broadcast_arrays(x, x[None, ...]), lambda lib, x: lib.broadcast_tensors(x, x[None, ...]),
        kinds="f"),
    Row("astype", lambda lib, x: lib.astype(x, lib.int64), lambda lib, x: x.to(lib.int64), kinds="fib"),
    Row("tril", lambda lib, x: lib.tril(x, k=1), lambda lib, x: lib.tril(x, 1), kinds="fib", least=2),
    Row("triu", lambda lib, x: lib.triu(x, k=-1), lambda lib, x: lib.triu(x, -1), kinds="fib", least=2),
    Row("meshgrid", *[lambda lib, x: lib.meshgrid(x, x[:2], indexing="xy")] * 2, least=1, most=1),
]  # fmt: skip

SEARCHING = [
    Row("where", lambda lib, x, y: lib.where(x > y, x, y), lambda lib, x, y: lib.where(x > y, x, y), 2, "fi"),
    Row("nonzero", lambda lib, x: lib.nonzero(x), lambda lib, x: lib.nonzero(x, as_tuple=True), kinds="fib", least=1),
    Row("searchsorted", lambda lib, x: lib.searchsorted(lib.sort(x), x), lambda lib, x: lib.searchsorted(lib.sort(x)[0], x), kinds="fi",
        least=1, most=1),
    Row("sort", lambda lib, x: lib.sort(x, axis=0), lambda lib, x: lib.sort(x, dim=0)[0], kinds="fi", least=1),
    Row("sort last axis", lambda lib, x: lib.sort(x, descending=True), lambda lib, x: lib.sort(x, descending=True)[0], kinds="fi", least=1),
    Row("argsort", lambda lib, x: lib.argsort(x), lambda lib, x: lib.argsort(x, stable=True), kinds="fi", least=1),
    Row("argsort descending", lambda lib, x: lib.argsort(x, descending=True), lambda lib, x: lib.argsort(x, descending=True), least=1),
    Row("take", lambda lib, x: lib.take(x, lib.asarray([1, 0, 1]), axis=-1), lambda lib, x: lib.index_select(x, -1, lib.tensor([1, 0, 1])),
        least=1),
    Row("take_along_axis", lambda lib, x: lib.take_along_axis(x, lib.argsort(x), axis=-1),
        lambda lib, x: lib.take_along_dim(x, lib.argsort(x), dim=-1), least=1),
    *pairs("unique_values:unique", kinds="fib"),
    Row("unique_counts", lambda lib, x: lib.unique_counts(x), lambda lib, x: lib.unique(x, return_counts=True), kinds="fib"),
    Row("unique_inverse", lambda lib, x: lib.unique_inverse(x), lambda lib, x: lib.unique(x, return_inverse=True), kinds="fib"),
    *pairs("isin", arrays=2, kinds="i"),
]  # fmt: skip

LINEAR_ALGEBRA = [
    Row("matmul", lambda lib, x, y: lib.matmul(x, y.mT), lambda lib, x, y: lib.matmul(x, y.mT), 2, "fi", least=2),
    Row("matmul vectors", *[lambda lib, x, y: lib.matmul(x[0, :], y.mT)] * 2, arrays=2, kinds="fi", least=2, empty=False),
    Row("vecdot", lambda lib, x, y: lib.vecdot(x, y), lambda lib, x, y: lib.linalg.vecdot(x, y), 2, "fi", least=1),
    Row("tensordot", lambda lib, x, y: lib.tensordot(x, y.mT, axes=1), lambda lib, x, y: lib.tensordot(x, y.mT, dims=1), 2, "fi", least=2),
    Row("linalg.outer", lambda lib, x: lib.linalg.outer(x[0, :], x[1, :]), lambda lib, x: lib.outer(x[0], x[1]), kinds="fi", least=2,
        empty=False),
    Row("linalg.trace", lambda lib, x: lib.linalg.trace(x), lambda lib, x: lib.trace(x), kinds="fi", least=2),
    Row("linalg.diagonal", lambda lib, x: lib.linalg.diagonal(x, offset=1), lambda lib, x: lib.diagonal(x, 1), kinds="fi", least=2),
    Row("linalg.vector_norm", lambda lib, x: lib.linalg.vector_norm(x), lambda lib, x: lib.linalg.vector_norm(x)),
    Row("linalg.vector_norm 1", lambda lib, x: lib.linalg.vector_norm(x, axis=-1, ord=1), lambda lib, x: lib.linalg.vector_norm(x, 1, -1),
        least=1),
    *pairs("linalg.matrix_norm", least=2),
    *[
        Row(f"linalg.{name}", *[lambda lib, x, n=name: getattr(lib.linalg, n)(definite(lib, x))] * 2, least=2, empty=False)
        for name in ("cholesky", "det", "inv", "slogdet", "svdvals", "eigvalsh", "pinv")
    ],
    Row("linalg.solve", *[lambda lib, x, y: lib.linalg.solve(definite(lib, x), y)] * 2, arrays=2, least=2, empty=False),
    Row("linalg.eigh", *[lambda lib, x: lib.linalg.eigh(definite(lib, x))[0]] * 2, least=2, empty=False),
    Row("linalg.svd", *[lambda lib, x: lib.linalg.svd(x, full_matrices=False)[1]] * 2, least=2, empty=False),
    Row("linalg.qr", *[lambda lib, x: lib.abs(lib.linalg.qr(x)[1])] * 2, least=2, empty=False),
    Row("linalg.matrix_power", *[lambda lib, x: lib.linalg.matrix_power(definite(lib, x), 3)] * 2, least=2, empty=False),
    Row("linalg.matrix_rank", *[lambda lib, x: lib.linalg.matrix_rank(definite(lib, x))] * 2, least=2, empty=False),
    Row("linalg.cross", *[lambda lib, x, y: lib.linalg.cross(x, y)] * 2, arrays=2, kinds="fi", least=1),
]  # fmt: skip

CREATION = [
    Row(name, call, call, arrays=0, kinds=kinds)
    for name, kinds, call in [
        ("zeros", "fib", lambda lib, *, dtype: lib.zeros((2, 3), dtype=dtype)),
        ("zeros without dimensions", "fib", lambda lib, *, dtype: lib.zeros((), dtype=dtype)),
        ("ones", "fib", lambda lib, *, dtype: lib.ones((0, 2), dtype=dtype)),
        ("full", "fi", lambda lib, *, dtype: lib.full((2,), 7, dtype=dtype)),
        ("eye", "fib", lambda lib, *, dtype: lib.eye(2, 3, dtype=dtype)),
        ("arange", "fi", lambda lib, *, dtype: lib.arange(1, 8, 3, dtype=dtype)),
        ("arange down", "fi", lambda lib, *, dtype: lib.arange(5, 0, -2, dtype=dtype)),
        ("arange empty", "fi", lambda lib, *, dtype: lib.arange(3, 3, dtype=dtype)),
        ("linspace", "f", lambda lib, *, dtype: lib.linspace(-1, 2, 7, dtype=dtype)),
        ("linspace one", "f", lambda lib, *, dtype: lib.linspace(3, 5, 1, dtype=dtype)),
        ("zeros_like", "fib", lambda lib, *, dtype: lib.zeros_like(lib.ones((2, 3), dtype=dtype))),
        ("ones_like", "fib", lambda lib, *, dtype: lib.ones_like(lib.zeros((), dtype=dtype))),
        ("full_like", "fi", lambda lib, *, dtype: lib.full_like(lib.zeros((0, 3), dtype=dtype), 2)),
    ]
]

ROWS = [*ELEMENTWISE, *STATISTICAL, *MANIPULATION, *SEARCHING, *LINEAR_ALGEBRA, *CREATION]

COMPUTED = "0 is computed by the engine's formula, in which -0.0 is 0"
SIGNS_OF_ZEROS = {
    "abs": "a negative zero is not below 0",
    "sign": "PyTorch's is 0, the engine returns its input",
    **dict.fromkeys(["ceil", "floor", "round", "trunc", "maximum", "minimum", "clip"], COMPUTED),
}
"""The rows in which only the signs of zeros differ, and why."""

LEFT_OUT = {
    "no complex numbers": "complex64 complex128 conj imag real",
    "no unsigned integers of more than 8 bits": "uint16 uint32 uint64",
    "of the reference, not of the standard": (
        "ArrayAPIStrictFlags ModuleType Device get_array_api_strict_flags set_array_api_strict_flags reset_array_api_strict_flags"
    ),
    "dtypes, compared in every test": "bool float32 float64 int8 int16 int32 int64 uint8",
    "numbers and dtypes, compared in tests below": "e inf nan newaxis pi empty empty_like finfo iinfo result_type",
    "about dtypes and shapes, under no name of PyTorch's": "can_cast isdtype broadcast_shapes",
    "arrays from outside: tests/core/test_conversion.py": "asarray from_dlpack",
    "the positions of first occurrences, which torch.unique does not return": "unique_all",
    "the same as without linalg": "linalg.matmul linalg.matrix_transpose linalg.tensordot linalg.vecdot",
}
"""What the standard names and no row compares, and why."""


def numbers(row: Row, dtype: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The arrays of a row."""
    random = np.random.default_rng(zlib.crc32(f"{row.name} {dtype} {shape}".encode()))
    low, high = row.domain
    if dtype == "bool":
        return [random.random(shape) < 0.5 for _ in range(row.arrays)]
    if dtype == "int64":
        return [random.integers(int(np.ceil(low)), int(high) + 1, shape) for _ in range(row.arrays)]
    return [random.uniform(low, high, shape).astype(dtype) for _ in range(row.arrays)]


def results(row: Row, dtype: str, given: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """What both libraries return, ours first."""
    options = [{"dtype": getattr(lib, dtype)} if not row.arrays else {} for lib in (ours, xp)]
    with np.errstate(all="ignore"):
        wanted = row.standard(xp, *map(xp.asarray, given), **options[1])
        got = row.call(ours, *map(ours.tensor, given), **options[0])
    wanted, got = (list(each) if isinstance(each, (tuple, list)) else [each] for each in (wanted, got))
    return [(mine.numpy(), np.asarray(theirs)) for mine, theirs in zip(got, wanted, strict=True)]


def assert_equal(a: np.ndarray, b: np.ndarray) -> None:
    """Fail unless values, dtypes and shapes are the same."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    tolerance = {"float32": 1e-5, "float64": 1e-10}.get(b.dtype.name, 0)
    np.testing.assert_allclose(a, b, tolerance, tolerance)


def assert_equal_zeros(a: np.ndarray, b: np.ndarray) -> None:
    """Fail unless the zeros of both have the same signs."""
    zeros = (a == 0) & (b == 0)
    np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]), "signs of zeros")


def cases(row: Row, dtype: str) -> Iterator[tuple[object, list[np.ndarray]]]:
    """The shapes of a row with its arrays, and special values."""
    if not row.arrays:
        yield "created", []
        return
    for shape in SHAPES:
        if row.least <= len(shape) <= row.most and (row.empty or 0 not in shape):
            yield shape, numbers(row, dtype, shape)
    if row.special and dtype.startswith("float"):
        table = np.meshgrid(*[np.array(SPECIAL, dtype)] * row.arrays)
        yield "special", [each.reshape(-1) for each in table]


CASES = [(row, dtype) for row in ROWS for kind in row.kinds for dtype in DTYPES[kind]]


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(("row", "dtype"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_function_is_the_standards(row, dtype):
    for case, given in cases(row, dtype):
        try:
            found = results(row, dtype, given)
        except AttributeError as error:
            if " in minitorch; " not in str(error):
                raise
            pytest.skip(str(error))
        for a, b in found:
            assert_equal(a, b)
            if row.name not in SIGNS_OF_ZEROS and b.dtype.kind == "f":
                assert_equal_zeros(a, b)
            if row.name in SIGNS_OF_ZEROS and case == "special":
                with pytest.raises(AssertionError, match="signs of zeros"):
                    assert_equal_zeros(a, b)


def test_every_name_of_the_standard_is_compared_or_has_a_reason():
    public = {name for name in dir(xp) if not name.startswith("_")} | {f"linalg.{name}" for name in xp.linalg.__all__}
    compared, left_out = {row.name.split()[0] for row in ROWS}, set(" ".join(LEFT_OUT.values()).split())
    assert sorted(public - compared - left_out - {"fft", "linalg"}) == []
    assert sorted((compared | left_out) - public) == []
    assert sorted(compared & left_out) == []
    assert set(SIGNS_OF_ZEROS) <= {row.name for row in ROWS}


def test_most_functions_of_the_standard_exist():
    def exists(row: Row) -> bool:
        _, given = next(iter(cases(row, DTYPES[row.kinds[0]][0])))
        try:
            return bool(results(row, DTYPES[row.kinds[0]][0], given))
        except AttributeError:
            return False

    assert sum(map(exists, ROWS)) >= 110


INTEGERS, FLOATS = ("int8", "int16", "int32", "int64", "uint8"), ("float32", "float64")


@pytest.mark.parametrize("kinds", [INTEGERS, FLOATS], ids=["integers", "floats"])
def test_promotion_is_the_standards(kinds):
    for first in kinds:
        for second in kinds:
            a, b = (ours.ones((2,), dtype=getattr(ours, name)) for name in (first, second))
            assert (a + b).numpy().dtype.name == str(xp.result_type(getattr(xp, first), getattr(xp, second))).rpartition(".")[2]


def test_limits_of_dtypes_are_the_standards():
    for name in FLOATS:
        mine, theirs = ours.finfo(getattr(ours, name)), xp.finfo(getattr(xp, name))
        assert [float(getattr(mine, field)) for field in ("bits", "eps", "max", "min")] == [
            float(getattr(theirs, field)) for field in ("bits", "eps", "max", "min")
        ]
    for name in INTEGERS:
        mine, theirs = ours.iinfo(getattr(ours, name)), xp.iinfo(getattr(xp, name))
        assert (mine.bits, mine.max, mine.min) == (theirs.bits, theirs.max, theirs.min)


def test_constants_are_the_standards():
    assert (ours.e, ours.pi, ours.inf) == (xp.e, xp.pi, xp.inf)
    assert np.isnan(ours.nan)
    assert tuple(ours.zeros(3)[xp.newaxis].shape) == (1, 3)


def test_memory_without_values_has_the_shape_and_dtype_of_the_standard():
    for shape in SHAPES:
        x = xp.empty(shape, dtype=xp.float64)
        for mine in (ours.empty(shape, dtype=ours.float64), ours.empty_like(ours.ones(shape, dtype=ours.float64))):
            assert (tuple(mine.shape), mine.numpy().dtype) == (x.shape, np.asarray(x).dtype)
