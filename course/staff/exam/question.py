"""Questions of the exam bank, and the random numbers in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from course.staff.exam.markdown import Text, paragraphs
from course.staff.keyed_random import keyed_integer

T = TypeVar("T")

COMPUTE, PREDICT, MISTAKE, EXPLAIN = "compute", "predict", "mistake", "explain"
KINDS = (COMPUTE, PREDICT, MISTAKE, EXPLAIN)
"""Compute by hand; predict what code returns; find and fix a mistake; explain why."""


class Rng:
    """A random number generator whose numbers depend only on a seed and a purpose; see `keyed_integer`.

    Args:
        seed: The seed of the exam.
        about: The purpose, such as a question and a student.
    """

    def __init__(self, seed: str, *about: str) -> None:
        self._seed = seed
        self._about = about
        self._count = 0

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1."""
        self._count += 1
        return keyed_integer(self._seed, *self._about, str(self._count)) % n

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low + self.below(high - low + 1)

    def integers(self, count: int, low: int, high: int) -> list[int]:
        """Several integers from low to high."""
        return [self.integer(low, high) for _ in range(count)]

    def table(self, rows: int, columns: int, low: int, high: int) -> list[list[int]]:
        """A table of integers from low to high."""
        return [self.integers(columns, low, high) for _ in range(rows)]

    def choice(self, values: Sequence[T]) -> T:
        """One of the values."""
        return values[self.below(len(values))]

    def shuffle(self, values: Sequence[T]) -> list[T]:
        """The values in random order, as a new list."""
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """Several different values, in random order."""
        return self.shuffle(values)[:count]


@dataclass(frozen=True)
class Exercise:
    """A question with the numbers of one student.

    Attributes:
        text: The question, as Markdown.
        answer: The full answer, as Markdown.
        rubric: What earns how many points.
        given: The numbers in the question, by name.
        expected: The numbers in the answer, by name.
    """

    text: str
    answer: str
    rubric: tuple[tuple[int, str], ...]
    given: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question of the bank.

    Attributes:
        id: The module and a name, such as "2-strides".
        module: The module of the course.
        topic: The topic, in a few words.
        tasks: The tasks of the course that it relates to.
        kind: One of KINDS.
        points: What a full answer earns.
        make: Makes the exercise from a random number generator.
    """

    id: str
    module: int
    topic: str
    tasks: tuple[str, ...]
    kind: str
    points: int
    make: Callable[[Rng], Exercise]

    def draw(self, seed: str, student: str) -> Exercise:
        """The question of one student."""
        return self.make(Rng(seed, self.id, student))


Maker = Callable[[Rng], Exercise]


class Module:
    """Collects the questions of a module.

    Args:
        number: The module of the course.

    Attributes:
        questions: The questions so far.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.questions: list[Question] = []

    def question(self, tasks: str, kind: str, points: int) -> Callable[[Maker], Maker]:
        """A decorator that registers a function as a question. Its name becomes the id, its docstring the topic.

        Args:
            tasks: Ids of tasks, separated by spaces.
            kind: One of KINDS.
            points: What a full answer earns.
        """

        def register(make: Maker) -> Maker:
            id = f"{self.number}-{make.__name__.replace('_', '-')}"
            topic = (make.__doc__ or "").strip().rstrip(".")
            self.questions.append(Question(id, self.number, topic, tuple(tasks.split()), kind, points, make))
            return make

        return register


def exercise(
    text: Text,
    answer: Text,
    rubric: Sequence[tuple[int, str]],
    given: Mapping[str, Any] | None = None,
    expected: Mapping[str, Any] | None = None,
) -> Exercise:
    """An `Exercise` whose paragraphs are joined and dedented."""
    return Exercise(paragraphs(text), paragraphs(answer), tuple(rubric), given or {}, expected or {})
