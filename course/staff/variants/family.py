"""What a family of variants is, and how a student's parameters are drawn."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any

from hypothesis.strategies import SearchStrategy

from course.staff.probes.compare import Wrong, number, printable

Parameters = Mapping[str, Any]
"""The values of a family's parameters for one student, by name: numbers and lists of numbers."""

EXACT = 1e-9
"""Relative tolerance of an answer. The profile of the original course does not widen it: neighboring variants would agree."""


def close_to(expected: float, got: Any) -> None:
    """Check that an answer is the expected number, within EXACT · (1 + |expected|).

    Raises:
        Wrong: If it is not.
    """
    if not abs(number(got) - expected) <= EXACT * (1 + abs(expected)):  # NaN is not close to anything
        raise Wrong(f"expected {printable(expected)}, got {printable(got)}")


@dataclass(frozen=True)
class Question:
    """A function that a family adds, and how its answers are judged.

    Attributes:
        name: The function, as "module:name".
        says: What must hold, in a sentence that holds for every student.
        judge: Called with parameters, arguments and an answer; raises `Wrong` if these parameters do not give this answer.
        examples: Arguments that are always tried. Together they give different answers for different parameters.
        inputs: What further arguments are drawn from, by name.
    """

    name: str
    says: str
    judge: Callable[[Parameters, Sequence[Any], Any], None]
    examples: Sequence[Sequence[Any]] = ((),)
    inputs: Mapping[str, SearchStrategy[Any]] = field(default_factory=dict)

    def accepts(self, parameters: Parameters, arguments: Sequence[Any], answer: Any) -> bool:
        """Whether these parameters give this answer."""
        try:
            self.judge(parameters, arguments, answer)
        except Wrong:
            return False
        return True


@dataclass(frozen=True)
class Family:
    """A parameterized addition to a task. Its templates are those of `string.Template`; `$name` is a value of `values`.

    Attributes:
        name: As `term.toml` names it.
        task: Id of the task that it adds to.
        choices: What each parameter is drawn from, by name.
        after: The function of the task below which the added ones are inserted, as "module:name".
        solution: Template of the added functions with their solutions.
        tests: Template of the test file.
        about: Template of a Markdown paragraph for the book, by the task below whose box it is put.
        questions: One for each added function.
        values: The values of the templates for a student's parameters.
        insertions: Templates of further text, by path and the text below which it is inserted.
        distinct: Whether two students' parameters are so different that a copy can be told from a slip.
    """

    name: str
    task: str
    choices: Mapping[str, Sequence[Any]]
    after: str
    solution: str
    tests: str
    about: Mapping[str, str]
    questions: tuple[Question, ...]
    values: Callable[[Parameters], Mapping[str, Any]] = dict
    insertions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    distinct: Callable[[Parameters, Parameters], bool] = lambda one, other: one != other

    @property
    def write(self) -> tuple[str, ...]:
        """The functions that it adds."""
        return tuple(question.name for question in self.questions)

    @property
    def file(self) -> str:
        """The file that they are added to."""
        return self.after.partition(":")[0].replace(".", "/") + ".py"

    @property
    def test_file(self) -> str:
        """The file of its tests."""
        return f"tests/test_variant_{self.name.replace('-', '_')}.py"

    def draw(self, seed: str, student: str) -> Parameters:
        """The parameters of a student. The same on every machine and with every version of Python.

        Args:
            seed: The secret of the course.
            student: The student's id.
        """
        return {name: _choose(values, seed, self.name, name, student) for name, values in self.choices.items()}

    def fill(self, template: str, parameters: Parameters) -> str:
        """A template with a student's values."""
        return Template(template).substitute(self.values(parameters))


def _choose(values: Sequence[Any], seed: str, *about: str) -> Any:
    digest = hmac.new(seed.encode(), "\0".join(about).encode(), hashlib.sha256).digest()
    return values[int.from_bytes(digest, "big") % len(values)]
