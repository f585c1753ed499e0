"""Families of variants, and how a student's parameters are derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any

from hypothesis.strategies import SearchStrategy

from course.staff.keyed_random import keyed_integer
from course.staff.probes.compare import Wrong, number, printable

Parameters = Mapping[str, Any]
"""A family's parameters for one student, by name: numbers and lists of numbers."""

EXACT = 1e-9
"""Tolerance of an answer. The profile of the original course does not increase it, because neighboring variants would then agree."""


def close_to(expected: float, got: Any) -> None:
    """Check that an answer is the expected number, within EXACT · (1 + |expected|).

    Raises:
        Wrong: If it is not.
    """
    if not abs(number(got) - expected) <= EXACT * (1 + abs(expected)):  # NaN is not close to anything
        raise Wrong(f"expected {printable(expected)}, got {printable(got)}")


Judge = Callable[[Parameters, Sequence[Any], Any], None]
"""Takes parameters, arguments and an answer; raises `Wrong` if these parameters do not give this answer."""


def number_judge(expected: Callable[..., float]) -> Judge:
    """The judge of a function that returns a number.

    Args:
        expected: Takes the parameters and then the arguments of the function; returns the correct answer.
    """

    def judge(parameters: Parameters, arguments: Sequence[Any], answer: Any) -> None:
        close_to(expected(parameters, *arguments), answer)

    return judge


@dataclass(frozen=True)
class Question:
    """A function that a family adds, and how its answers are checked.

    Attributes:
        name: The function, as "module:name".
        says: What must hold, as a sentence that applies to every student.
        judge: Checks an answer.
        examples: Arguments that are always used. Together they distinguish all parameters.
        inputs: Strategies for further arguments, by name.
    """

    name: str
    says: str
    judge: Judge
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
    """A parameterized addition to a task. Templates are those of `string.Template`, where `$name` is an entry of `values`.

    Attributes:
        name: The name in `term.toml`.
        task: Id of the task that it extends.
        choices: The possible values of each parameter, by name.
        after: The function of the task below which the added ones are inserted, as "module:name".
        solution: Template of the added functions with their solutions.
        tests: Template of the test file.
        about: Templates of Markdown paragraphs for the book, by the task below whose box they are inserted.
        questions: One for each added function.
        values: Computes the values for the templates from a student's parameters.
        insertions: Templates of further text, by path and the text below which it is inserted.
        distinct: Whether two students' parameters differ enough to distinguish a copy from a mistake.
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
        """The names of the added functions."""
        return tuple(question.name for question in self.questions)

    @property
    def file(self) -> str:
        """The path of the file to which they are added."""
        return self.after.partition(":")[0].replace(".", "/") + ".py"

    @property
    def test_file(self) -> str:
        """The path of the test file."""
        return f"tests/test_variant_{self.name.replace('-', '_')}.py"

    def draw(self, seed: str, student: str) -> Parameters:
        """Derive the parameters of a student; they are the same on every machine and with every version of Python.

        Args:
            seed: The secret of the course.
            student: The student's id.

        Returns:
            The parameters by name.
        """
        return {name: _choose(values, seed, self.name, name, student) for name, values in self.choices.items()}

    def fill(self, template: str, parameters: Parameters) -> str:
        """Fill in a template with a student's values."""
        return Template(template).substitute(self.values(parameters))


def _choose(values: Sequence[Any], seed: str, *about: str) -> Any:
    return values[keyed_integer(seed, *about) % len(values)]
