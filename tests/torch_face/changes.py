"""Changes of the calls of calls.py: layouts, sizes, dtypes and invalid values; their results, and how these differ from PyTorch's."""

import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minitorch.torch import names
from tests.torch_face import calls as table
from tests.torch_face.calls import CALLS, LAYOUTS, Numbers


def words(text: str) -> set[str]:
    """The words of a text."""
    return set(text.split())


RANDOM = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "rand_like", "randn_like", "randint_like", "empty",
          "empty_like", "new_empty"}  # fmt: skip
"""Functions whose numbers differ: only shapes and dtypes are compared."""


def orthonormal(x: Any) -> Any:
    """XᵀX for a matrix X, 1 if its columns are orthonormal; without a gradient."""
    return x.detach().transpose(-1, -2) @ x.detach()


def unique_of_svd(u: Any, s: Any, v: Any) -> list[Any]:
    """What is unique of U, s and V."""
    k = s.shape[-1]
    return [s, (u[..., :k] * s[..., None, :]) @ v[..., :k].transpose(-1, -2), orthonormal(u), orthonormal(v)]


def unique_of_qr(q: Any, r: Any) -> list[Any]:
    """What is unique of Q, which mode="r" leaves empty, and R."""
    return [r.tril(-1), r.transpose(-1, -2) @ r, *((q @ r, orthonormal(q)) if q.ndim > 1 else (q,))]


UNIQUE: dict[str, Callable[..., list[Any]]] = {
    "svd": unique_of_svd,
    "linalg.svd": lambda u, s, vh: unique_of_svd(u, s, vh.transpose(-1, -2)),
    "linalg.eigh": lambda values, v: [values, (v * values[..., None, :]) @ v.transpose(-1, -2), orthonormal(v)],
    **dict.fromkeys(["qr", "linalg.qr"], unique_of_qr),
}
"""What is compared of factorizations whose vectors are unique up to signs only, or up to a basis if singular values are equal: the
values, the products, and that the vectors are orthonormal."""

SINGULAR = {*UNIQUE, "lu", "slogdet", "logdet", "linalg.slogdet"}
"""Functions whose gradient divides by 0, or by differences of equal values, if all rows are equal, and is refused."""

TIES = words("""amax amin max min aminmax median nanmedian kthvalue quantile nanquantile sort argsort topk index_fill div""")
"""Functions that differ in which of equal elements they take, or give the gradient to, or in the gradient of a division by 0."""

DTYPES = ("bool", "int32", "int64", "float64")

WIDER = words("""index_put hypot logaddexp dist div floor_divide remainder fmod pow masked_fill index_fill addcmul addcdiv round
    index_copy bucketize searchsorted vecdot normal linalg.vecdot""")
"""Functions that take more dtypes than PyTorch's."""

FEWER = words("""addr einsum tensordot normal addmm linalg.solve_triangular""")
"""Functions that take fewer dtypes than PyTorch's: products of bools, or a second dtype beside the first."""

LENIENT = words("""cummax cummin roll gather scatter scatter_add scatter_reduce index_add index_fill trapezoid bincount multinomial""")
"""Functions whose arguments PyTorch does not check if there are no elements."""

OTHERS = {
    **dict.fromkeys(["log int", "log2 int", "log10 int"], "the simple backend refuses logarithms of 0"),
    "addcmul int": "integers with a fraction as value are not truncated",
    "pow int": "integers are not raised to negative integers",
    "scatter_reduce shape": "PyTorch's gradient needs as many values as indices",
    **dict.fromkeys(["take_along_dim shape", "take_along_dim size"], "PyTorch reads past the end of a dimension of size 1"),
    **dict.fromkeys(["take_along_dim transposed", "take_along_dim expanded"], "PyTorch refuses the gradient of some layouts"),
    "linalg.matrix_norm expanded": "equal singular values have other vectors",
    "cholesky_solve expanded": "PyTorch's gradient takes the whole matrix for its triangle",
    "cholesky_inverse expanded": "PyTorch's gradient takes the whole matrix for its triangle",
    **dict.fromkeys(["block_diag shape", "block_diag size"], "PyTorch's gradient misses a part beside an empty matrix"),
    "linalg.lstsq shape": "PyTorch takes the rows of a single B for a batch, and finds no rank without columns of B",
    **dict.fromkeys(["lu_unpack shape", "lu_unpack size"], "PyTorch reads past the end of the pivots, and may crash"),
}
"""Functions with changes, by how these begin, that PyTorch is not compared on, and why."""

INVALID: dict[type, tuple[Any, ...]] = {
    bool: (None, "a"),
    int: (-9, -5, -2, -1, 0, 1, 2, 3, 5, 9, 1.5, None, "a"),
    float: (-1.0, -0.5, 0.0, 1.5, math.nan, math.inf, -math.inf, 2, None, "a"),
    str: ("", "wrong", 1, None),
    type(None): (),
    np.ndarray: (None, "a", 1.5),
    tuple: ((), (0, 0), (5,), (-5,), (0,), (-1, -1), (1.5,), (1, 1, 1, 1), None, "a"),
    list: ((), [], [0, 0], [5], [-1, 5], None),
}
"""What takes the place of an argument, by its type."""


class Call(NamedTuple):
    """A call: a function's name and arguments, and what was changed."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    change: str = "none"

    def __str__(self) -> str:
        given = [str(x) for x in self.args] + [f"{key}={value}" for key, value in self.kwargs.items()]
        return f"{self.name}({', '.join(given)})"

    def replaced(self, place: Any, value: Any, change: str) -> "Call":
        """The call with one argument in place of another."""
        if isinstance(place, str):
            return self._replace(kwargs={**self.kwargs, place: value}, change=change)
        return self._replace(args=(*self.args[:place], value, *self.args[place + 1 :]), change=change)

    def places(self) -> Iterator[tuple[Any, Any]]:
        """Every argument with its position or name."""
        yield from enumerate(self.args)
        yield from self.kwargs.items()

    def is_empty(self) -> bool:
        """Whether a tensor has no elements."""
        return any(0 in x.shape for _, x in self.places() if isinstance(x, Numbers))

    def mapped(self, fn: Callable[[Numbers], Numbers], change: str) -> "Call":
        """The call with all its tensors changed."""

        def visit(x: Any) -> Any:
            return fn(x) if isinstance(x, Numbers) else [visit(each) for each in x] if type(x) is list else x

        return self._replace(args=tuple(map(visit, self.args)), kwargs={key: visit(x) for key, x in self.kwargs.items()}, change=change)


def calls(name: str) -> list[Call]:
    """The valid calls of a function."""
    found = [eval(f"arguments({each})", vars(table)) for each in CALLS[name].split(";")]
    return [Call(name, args, kwargs) for args, kwargs in found]


def reshapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Other shapes: sizes of 0, of 1 and of 2, fewer and more dimensions."""
    for i in range(len(shape)):
        for size in (0, 1, 2):
            yield (*shape[:i], size, *shape[i + 1 :])
    yield from ((), shape[1:], (*shape[:-1], 0, 0), (1,) * len(shape), (0,) * len(shape), (1, *shape), (2, *shape), (0, *shape), (0,), (1,))


def changes(call: Call, kinds: str = "layouts sizes dtypes values") -> Iterator[Call]:
    """A call with one change after the other."""
    tensors = [(place, x) for place, x in call.places() if isinstance(x, Numbers)]
    if "layouts" in kinds:
        for layout in LAYOUTS:
            yield call.mapped(lambda x, layout=layout: x._replace(layout=layout), layout)
    if "sizes" in kinds:
        for place, x in tensors:
            for shape in dict.fromkeys(reshapes(x.shape)):
                yield call.replaced(place, x._replace(shape=shape), f"shape of {place}")
        for size in (0, 1):
            for dim in (0, 1, -1):
                yield call.mapped(lambda x, size=size, dim=dim: x._replace(shape=resized(x.shape, dim, size)), f"size {size} of {dim}")
    if "dtypes" in kinds:
        for place, x in tensors:
            for dtype in DTYPES:
                yield call.replaced(place, x._replace(dtype=dtype), f"{dtype} of {place}")
        for dtype in DTYPES:
            yield call.mapped(lambda x, dtype=dtype: x._replace(dtype=dtype), dtype)
    if "values" in kinds:
        for place, x in call.places():
            if (place == 0 and call.name in METHODS) or (call.name, place) == ("arange", 1):
                continue
            for value in (None, "a", 1, 1.5) if isinstance(x, Numbers) else INVALID[type(x)]:
                yield call.replaced(place, value, f"{value!r} of {place}")


def resized(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """A shape with another size of a dimension, if it has this one."""
    return tuple(size if i == dim % len(shape) else each for i, each in enumerate(shape)) if -len(shape) <= dim < len(shape) else shape


def run(call: Call, lib: Any, gradient: bool = True, contiguous: bool = False) -> Any:
    """The results of a call as a list of arrays, followed by the gradients; or the error that it raises."""
    leaves = []

    def visit(x: Any) -> Any:
        if isinstance(x, Numbers):
            made = x.on(lib, zlib.crc32(f"{call.name} {len(leaves)}".encode()))
            made = made.contiguous() if contiguous else made
            leaves.append(made.requires_grad_() if gradient and made.is_floating_point() else made)
            return leaves[-1]
        return [visit(each) for each in x] if type(x) is list else x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            args, kwargs = [visit(x) for x in call.args], {key: visit(x) for key, x in call.kwargs.items()}
            if call.name in METHODS:
                result = getattr(args[0], call.name)(*args[1:], **kwargs)
            else:
                owner, _, name = call.name.rpartition(".")
                in_linalg = owner or name in ("qr", "cholesky")  # PyTorch has removed these two from torch
                result = getattr(lib.linalg if in_linalg else lib, name)(*args, **kwargs)
        except Exception as error:
            return error
        found = UNIQUE[call.name](*result) if call.name in UNIQUE else flat(result)
        outputs = [x for x in found if getattr(x, "requires_grad", False) and x.numel()]
        if outputs:
            try:
                sum(((x * x * x).sum() for x in outputs[1:]), (outputs[0] * outputs[0] * outputs[0]).sum()).backward()
            except Exception as error:
                return [*found, error]
        return found + [x.grad for x in leaves if x.requires_grad]


METHODS = {name for words in names.METHODS.values() for name in words.split()}


def flat(result: Any) -> list[Any]:
    """The tensors and numbers of a result."""
    return [each for x in result for each in flat(x)] if isinstance(result, (tuple, list)) else [result]


def difference(call: Call, mine: Any, theirs: Any, tolerance: float = 1e-3) -> str:
    """How two results of `run` differ; nothing if they do not."""
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        if isinstance(mine, Exception) and isinstance(theirs, list) and call.name in LENIENT and call.is_empty():
            return ""
        if isinstance(mine, TypeError) and call.change.startswith(("1 of", "1.5 of")):
            return ""  # two numbers
        if isinstance(mine, RuntimeError) and call.name in FEWER and call.change.startswith(DTYPES):
            return ""
        if isinstance(mine, list) and call.name in WIDER | FEWER and call.change.startswith(DTYPES):
            return ""
        if isinstance(mine, list) and call.change.startswith(("None of", "() of", "1 of", "1.5 of")):
            return ""  # the default, all dimensions, or a number as a tensor
        known = (each for each in (IndexError, TypeError, ValueError, RuntimeError) if isinstance(theirs, each))
        kind = TypeError if isinstance(theirs, AttributeError) else next(known, ())
        return "" if isinstance(mine, kind) else f"{describe(mine)} instead of {describe(theirs)}"
    if isinstance(theirs[-1], Exception):  # only ours has a gradient
        theirs, mine = theirs[:-1], mine[: len(theirs) - 1]
    if len(mine) != len(theirs) and call.name != "nextafter":
        return f"{len(mine)} results instead of {len(theirs)}"
    for a, b in zip(mine, theirs, strict=False):
        if isinstance(a, Exception):
            if call.name == "nextafter" or (call.name in SINGULAR and call.change == "expanded"):
                break
            return f"{describe(a)} instead of a gradient"
        if a is None or b is None:  # no gradient is one of 0
            if any(x is not None and np.any(np.asarray(x.tolist())) for x in (a, b)):
                return f"{a} instead of {b}"
            continue
        if not hasattr(b, "shape"):
            if a != b:
                return f"{a} instead of {b}"
            continue
        if tuple(a.shape) != tuple(b.shape):
            return f"shape {tuple(a.shape)} instead of {tuple(b.shape)}"
        if call.name not in RANDOM and str(a.dtype).removeprefix("torch.") != str(b.dtype).removeprefix("torch."):
            return f"{a.dtype} instead of {b.dtype}"
        if call.change.startswith(("inf", "nan", "-inf")) or "correction" in call.change or call.change == "() of 1":
            continue  # numbers that no formula is made for
        if call.name not in RANDOM and not (call.name in TIES and call.change.startswith(("expanded", *DTYPES))):
            x, y = (np.asarray(each.detach().tolist(), float) for each in (a, b))
            if not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
                return f"{x.tolist()} instead of {y.tolist()}"
    return ""


def describe(x: Any) -> str:
    """A result or an error in words."""
    return f"{type(x).__name__}: {x}" if isinstance(x, Exception) else "a result" if isinstance(x, list) else str(x)
