"""Stage 7 - The types of the arguments of PyTorch's functions, checked by their annotations, and the classes of their errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, is_float
from minitorch.core.errors import ArgumentError, DivisionError, DtypeError
from minitorch.tensor import Tensor
from minitorch.tensor_data import IndexingError

INTEGER = (int, np.integer, Tensor)
SEQUENCE = (list, tuple, range)
TYPES: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "int": INTEGER,
    "float": (float, *INTEGER, np.floating, np.bool_),
    "bool": (bool, np.bool_),
    "str": (str,),
    "Sequence[Tensor]": SEQUENCE,
    "Sequence[int]": SEQUENCE,
    "tuple[int, int]": SEQUENCE,
    "None": (type(None),),
    "Dims": (*INTEGER, *SEQUENCE, type(None)),
}
"""What an argument may be, by its annotation. Others are not checked."""

CLASSES: dict[type[Exception], Callable[..., Exception]] = {
    ValueError: ArgumentError,
    TypeError: DtypeError,
    ZeroDivisionError: DivisionError,
    IndexError: IndexingError,
    OverflowError: ArgumentError,
    np.exceptions.AxisError: IndexingError,
}
"""The error that is also one of PyTorch's, in place of one of Python's."""


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
"""Further names of arguments, which PyTorch takes from NumPy."""

FLOATS = """
    var std var_mean std_mean norm vector_norm matrix_norm lerp frac cdist softmax log_softmax logcumsumexp
    bernoulli rand_like randn_like"""
"""The functions of floating-point numbers only, unless a dtype is given."""

ONE_DTYPE = """
    lerp vecdot isclose allclose cdist cross quantile nanquantile"""
"""The functions of tensors of one dtype."""

NUMBERS = """
    argmax argmin isin topk kthvalue median nanmedian cross cov corrcoef trapezoid round trace"""
"""The functions that do not take bools, and do not check it themselves."""


def check_dtypes(name: str, args: tuple[Any, ...], floats: bool, same: bool, numbers: bool) -> None:
    """Raise DtypeError unless the tensors of a function are floats, have the same dtype or hold no bools, where it requires this."""
    dtypes = [x.dtype for x in args if isinstance(x, Tensor)]
    if floats and not all(map(is_float, dtypes)):
        raise DtypeError(f"{name} expected floating-point numbers, got {', '.join(x.name for x in dtypes)}; convert them first: x.float()")
    if same and len(set(dtypes)) > 1:
        raise DtypeError(
            f"{name} expected tensors of one dtype, got {' and '.join(x.name for x in dtypes)}; convert one of them: x.to(y.dtype)"
        )
    if numbers and bool_ in dtypes:
        raise DtypeError(f"{name} expected numbers, got a bool tensor; convert it first: x.long()")


def types_of(parameter: inspect.Parameter) -> tuple[type, ...] | None:
    """The types of an argument; None for any."""
    kinds = [kind.strip() for kind in str(parameter.annotation).split("|")]
    if parameter.kind is parameter.VAR_POSITIONAL or kinds == ["None"] or not all(kind in TYPES for kind in kinds):
        return None
    return tuple(each for kind in kinds for each in TYPES[kind])


def checked(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that refuses arguments of types that its annotations do not name, and whose errors are also PyTorch's."""
    parameters = inspect.signature(fn).parameters.values()
    allowed = {parameter.name: types for parameter in parameters if (types := types_of(parameter))}
    places = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    if any(each.kind is each.VAR_POSITIONAL for each in places):
        places = [each for each in places[:1] if each.name == "input"]
    ordered = [allowed.get(each.name, (object,)) for each in places]
    keywords, rules = set(allowed), [fn.__name__ in names.split() for names in (FLOATS, ONE_DTYPE, NUMBERS)]
    has_rule = any(rules)

    named = {each.name for each in parameters}
    renamed = {other: name for other, name in NUMPY_NAMES.items() if name in named and other not in named}

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not renamed.keys().isdisjoint(kwargs):
            kwargs = rename(fn, renamed, kwargs)
        if not all(map(isinstance, args, ordered)):  # in C, as every call comes here
            i = next(i for i, x in enumerate(args) if not isinstance(x, ordered[i]))
            refuse_type(fn, places[i].name, args[i])
        if kwargs:
            for name in keywords.intersection(kwargs):
                if not isinstance(kwargs[name], allowed[name]):
                    refuse_type(fn, name, kwargs[name])
        if has_rule and "dtype" not in kwargs:
            check_dtypes(fn.__name__, args, *rules)
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if isinstance(error, AttributeError) and " object has no attribute " in str(error):
                kinds = ", ".join(type(x).__name__ for x in (*args, *kwargs.values()))
                raise TypeError(f"{fn.__name__} expected tensors, got an argument of another type among {kinds}") from error
            if (kind := CLASSES.get(type(error))) is None:
                raise
            raise kind(*error.args).with_traceback(error.__traceback__) from None

    return call


def rename(fn: Callable[..., Any], renamed: Mapping[str, str], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments with PyTorch's names in place of NumPy's. Raises TypeError if one is given under both names."""
    for other in renamed.keys() & kwargs.keys():
        if renamed[other] in kwargs:
            raise TypeError(f"{fn.__name__} expected {renamed[other]} or {other}, got both; leave one out")
        kwargs[renamed[other]] = kwargs.pop(other)
    return kwargs


def size_by_name(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes sizes one by one or as a sequence, which may be named: `zeros(size=(2, 3))`."""

    @functools.wraps(fn)
    def made(*args: Any, size: Any = None, **kwargs: Any) -> Any:
        return fn(*args, **kwargs) if size is None else fn(*args, size, **kwargs)

    return made


def refuse_type(fn: Callable[..., Any], name: str, x: Any) -> None:
    """Refuse an argument. Raises TypeError."""
    if inspect.signature(fn).parameters[name].annotation == "Tensor":
        raise TypeError(f"{fn.__name__} expected a Tensor as {name}, got {type(x).__name__}; convert it with torch.tensor(...)")
    expected = str(inspect.signature(fn).parameters[name].annotation).replace("Dims", "int | Sequence[int] | None")
    raise TypeError(f"{fn.__name__} expected {name} of type {expected}, got {type(x).__name__} {x!r}")
