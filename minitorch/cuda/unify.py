"""Stage 3 - Types of variables: numba.cuda gives a variable one type, whichever branch assigned it.

Numba's frontend brings a function into a form in which each variable is assigned once. Where branches or iterations meet, a phi node
selects one of several values: their types must be one type, up to numbers, which become the larger type, and None.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numba.core import ir

from minitorch.cuda.calls import dtype_of
from minitorch.cuda.findings import KernelError
from minitorch.cuda.memory import Memory
from minitorch.cuda_limits import Code, code_of

Kind = tuple[Any, ...]
"""("number",), ("string",), ("tuple", elements) or ("array", dimensions, dtype); empty if unknown."""

UNKNOWN: Kind = ()

RESULT = "a function has one type of result: return one type in every branch"
VARIABLE = "a variable has one type: give each type a variable of its own"


def check_types(function: types.FunctionType, arguments: Mapping[str, Any]) -> None:
    """Check that the variables and results of a kernel, and of the functions that it calls, have one type each.

    Args:
        function: The Python function of the kernel.
        arguments: Its arguments, in which arrays are memories.

    Raises:
        KernelError: If one has several, with the line that assigns it.
    """
    kinds = tuple((name, _kind_of(value)) for name, value in arguments.items())
    if problem := _problem_of(function, kinds):
        raise KernelError(problem)


@lru_cache(maxsize=256)
def _problem_of(function: types.FunctionType, arguments: tuple[tuple[str, Kind], ...]) -> str:
    """The first variable or result of several types in a function, or in one that it calls; empty if there is none."""
    pending, seen = [function], {function}
    while pending:
        current = pending.pop()
        code = code_of(current, current is function)
        if code is None:
            continue
        for line, message in _Kinds(code, dict(arguments) if current is function else {}).conflicts():
            return f"{code.file}, line {line}: {message}"
        new = [called for called in code.called() if called not in seen]
        seen.update(new)
        pending += new
    return ""


class _Kinds:
    """The kinds of the variables of a function.

    Args:
        code: The function.
        arguments: The kinds of the arguments of a kernel; unknown for a function that it calls.
    """

    def __init__(self, code: Code, arguments: Mapping[str, Kind]) -> None:
        self.code, self.arguments, self.assigned = code, arguments, code.assigned

    def conflicts(self) -> Iterator[tuple[int, str]]:
        """Variables and results with values of several types, each with a line and a sentence."""
        for name, node in self.assigned.items():
            if isinstance(node.value, ir.Expr) and node.value.op == "phi":
                what = "this expression" if name.startswith("$") else name.split(".")[0]
                values = [value for value in node.value.incoming_values if isinstance(value, ir.Var)]
                yield from self._conflict(what, values, {name: UNKNOWN}, VARIABLE)
        if not self.code.is_kernel:
            yield from self._conflict("the result", self.code.returned, {}, RESULT)

    def _conflict(self, what: str, values: list[ir.Var], assumed: dict[str, Kind], remedy: str) -> Iterator[tuple[int, str]]:
        first = UNKNOWN
        for value in values:
            kind = self.kind(value, assumed)
            if first and kind and kind != first:
                yield self.assigned[value.name].loc.line, f"{what} is {_describe(first)} or {_describe(kind)}, and for numba.cuda {remedy}"
                return
            first = first or kind
            assumed = dict.fromkeys(assumed, first)

    def kind(self, value: Any, assumed: Mapping[str, Kind]) -> Kind:
        """The kind of a value; variables that are being looked at have the assumed kinds."""
        if isinstance(value, ir.Var):
            if value.name in assumed or value.name not in self.assigned:
                return assumed.get(value.name, UNKNOWN)
            return self.kind(self.assigned[value.name].value, {**assumed, value.name: UNKNOWN})
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            return _kind_of(value.value)
        if isinstance(value, ir.Arg):
            return self.arguments.get(value.name, UNKNOWN)
        find = getattr(self, f"_{getattr(value, 'op', '')}", None)
        return find(value, assumed) if find else UNKNOWN

    def _cast(self, value: Any, assumed: Mapping[str, Kind]) -> Kind:
        return self.kind(value.value, assumed)

    _unary = _cast

    def _build_tuple(self, value: Any, assumed: Mapping[str, Kind]) -> Kind:
        return "tuple", len(value.items)

    def _phi(self, value: Any, assumed: Mapping[str, Kind]) -> Kind:
        kinds = {self.kind(each, assumed) for each in value.incoming_values if isinstance(each, ir.Var)} - {UNKNOWN}
        return kinds.pop() if len(kinds) == 1 else UNKNOWN

    def _binop(self, value: Any, assumed: Mapping[str, Kind]) -> Kind:
        left, right = self.kind(value.lhs, assumed), self.kind(value.rhs, assumed)
        if left[:1] == right[:1] == ("tuple",) and value.fn in (operator.add, operator.iadd):
            return "tuple", left[1] + right[1]
        return left if left == right == ("number",) else UNKNOWN

    _inplace_binop = _binop

    def _call(self, value: Any, assumed: Mapping[str, Kind]) -> Kind:
        if not self.code.space(value.func):
            return UNKNOWN
        named = dict(value.kws)
        shape, dtype = [*value.args, *map(named.get, ("shape", "dtype")[len(value.args) :])][:2]
        shape, element = self.kind(shape, assumed), dtype_of(self.code.meaning(dtype))
        dims = {"tuple": shape[1:], "number": (1,)}.get(shape[0] if shape else "", ())
        return ("array", *dims, element) if dims and element is not None else UNKNOWN


def _kind_of(value: Any) -> Kind:
    """The kind of a value of Python."""
    if isinstance(value, (bool, int, float, np.generic)):
        return ("number",)
    if isinstance(value, tuple):
        return "tuple", len(value)
    if isinstance(value, Memory):
        return "array", value.ndim, value.dtype
    return ("string",) if isinstance(value, str) else UNKNOWN


def _describe(kind: Kind) -> str:
    name, *rest = kind
    if name == "tuple":
        return f"a tuple of {rest[0]}"
    return f"an array of {rest[1]} with {rest[0]} dimension{'' if rest[0] == 1 else 's'}" if name == "array" else f"a {name}"
