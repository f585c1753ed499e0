"""Signatures of functions: whether a student's signature still accepts the calls that the course makes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from course.workspace import function_source


@dataclass(frozen=True)
class Signature:
    """The signature of a function.

    Attributes:
        line: The line of `def`, from 1.
        text: Decorators, parameters and return type as normalized source.
        parameters: The parameters.
    """

    line: int
    text: str
    parameters: ast.arguments

    @property
    def most(self) -> float:
        """The maximum number of positional arguments."""
        return float("inf") if self.parameters.vararg else len(self.parameters.posonlyargs) + len(self.parameters.args)

    @property
    def least(self) -> int:
        """The number of positional parameters without a default."""
        return len(self.parameters.posonlyargs) + len(self.parameters.args) - len(self.parameters.defaults)

    @property
    def keywords(self) -> set[str]:
        """The names of the keyword-only parameters."""
        return {parameter.arg for parameter in self.parameters.kwonlyargs}

    def accepts_calls_of(self, published: Signature) -> bool:
        """Whether it accepts every call that the published signature accepts; positional parameters may have other names."""
        if self.least > published.least or self.most < published.most:
            return False
        names = self.keywords | {parameter.arg for parameter in self.parameters.args}
        if not (self.parameters.kwarg or published.keywords <= names):
            return False
        defaults = zip(self.parameters.kwonlyargs, self.parameters.kw_defaults, strict=True)
        needed = {parameter.arg for parameter, default in defaults if default is None}
        return needed <= published.keywords and not (published.parameters.kwarg and not self.parameters.kwarg)


def signatures(text: str) -> dict[str, Signature]:
    """The signature of every function of a text, by the function's name.

    Raises:
        Unreadable: If the text is not valid Python.
    """
    found = {}
    for name, node in function_source.iter_functions(function_source.parse(text)):
        returns = [ast.unparse(node.returns)] if node.returns else []
        source = "\n".join([*map(ast.unparse, node.decorator_list), f"({ast.unparse(node.args)})", *returns])
        found[name] = Signature(node.lineno, source, node.args)
    return found


def misfits(given: str, yours: str, names: Iterable[str]) -> dict[str, str]:
    """Messages for the functions whose signature no longer accepts the course's calls, by name.

    Args:
        given: The file as it was handed out.
        yours: The student's file.
        names: The functions that the student writes in it.

    Raises:
        Unreadable: If one of the two is not valid Python.
    """
    published, changed = signatures(given), signatures(yours)
    return {
        name: f"line {changed[name].line}: the course calls {_call(name, published[name])}, "
        f"which your {_call(name, changed[name])} does not accept"
        for name in names
        if name in published and name in changed and not changed[name].accepts_calls_of(published[name])
    }


def _call(name: str, signature: Signature) -> str:
    """A signature without annotations, for a message."""
    bare = ast.parse(f"def f({ast.unparse(signature.parameters)}): pass").body[0]
    for node in ast.walk(bare):
        if isinstance(node, ast.arg):
            node.annotation = None
    return f"{name.rpartition('.')[2].partition('@')[0]}({ast.unparse(bare.args)})"  # type: ignore[attr-defined]  # it is a function
