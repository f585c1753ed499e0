"""Grading with variants: adds a student's functions to the base and the probes of a task, and finds whose variant the answers match."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from course.staff.grading.bases import Base
from course.staff.grading.reference import PreparedTask
from course.staff.grading.results import TaskResult
from course.staff.probes.check import Probe
from course.staff.probes.compare import Check
from course.staff.probes.program import Program
from course.staff.probes.remote import SECONDS
from course.staff.variants.family import Family, Parameters, Question
from course.staff.variants.variant import Variant, from_document, insert_functions, insertions, stubs_of, with_functions


@dataclass(frozen=True)
class VariantTask(PreparedTask):
    """A prepared task with a student's variant.

    Attributes:
        variant: The families of this task only.
        weight: The total weight of the task's other probes and the student's own tests.
    """

    variant: Variant
    weight: float

    @cached_property
    def base(self) -> Base:
        """The base of the task, with the added functions as stubs."""
        base = super().base
        files, written = dict(base.files), dict(base.student_functions)
        for family, parameters in self.variant.families:
            files[family.file] = insert_functions(str(files[family.file]), family, stubs_of(family, parameters))
            written[family.file] = (*written[family.file], *(full.partition(":")[2] for full in family.write))
        return replace(base, task=self.task, files=files, student_functions=written)

    @property
    def right(self) -> Mapping[str, str]:
        """The files of the task with a correct answer to this variant."""
        right = dict(super().right)
        for family, parameters in self.variant.families:
            right[family.file] = insert_functions(right[family.file], family, family.fill(family.solution, parameters))
        return right

    @property
    def given(self) -> Mapping[str, str]:
        """The tests of the variant, and given files that it changes."""
        found: dict[str, str] = {}
        for family, parameters in self.variant.families:
            found |= insertions(family, parameters, {path: self.text(path) for path, _ in family.insertions})
            found[family.test_file] = family.fill(family.tests, parameters)
        return found

    @property
    def ids(self) -> tuple[str, ...]:
        """The tests that count, with those of the variant last."""
        tests = [id for family, parameters in self.variant.families for id in test_ids(family, parameters)]
        return (*super().ids, *tests)

    def probes(self, answers: dict[str, list[Any]]) -> list[Probe]:
        """The probes of the added functions; they record answers in `answers`."""
        percent = self.variant.percent / 100
        questions = [(question, parameters) for family, parameters in self.variant.families for question in family.questions]
        each = self.weight * percent / (1 - percent) / len(questions)
        return [probe_of(self.task.id, question, parameters, each, answers) for question, parameters in questions]


def add_variant(prepared: PreparedTask, variant: Variant, weight: float) -> VariantTask:
    """Add a student's variant to a prepared task.

    Args:
        prepared: The prepared task.
        variant: The families of this task only.
        weight: See `VariantTask`.

    Returns:
        The task with the variant.
    """
    task = prepared.task
    for family, _ in variant.families:
        task = with_functions(task, family)
    return VariantTask(task, prepared.folder, variant, weight)


def test_ids(family: Family, parameters: Parameters) -> list[str]:
    """The tests of a family, as pytest names them."""
    tree = ast.parse(family.fill(family.tests, parameters))
    return [f"{family.test_file}::{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def probe_of(task: str, question: Question, parameters: Parameters, weight: float, answers: dict[str, list[Any]]) -> Probe:
    """The probe of a function that a family adds.

    Args:
        task: Id of the task.
        question: The function.
        parameters: The student's parameters.
        weight: See `Probe`.
        answers: Receives, under the name of the function, each list of arguments with its answer, or None if it is not plain data.

    Returns:
        The probe.
    """
    asked = answers.setdefault(question.name, [])

    def check(p: Program, *arguments: Any) -> Check:
        entry = [list(arguments), None]
        asked.append(entry)
        (got,) = yield [p.find(question.name)(*arguments)]
        entry[1] = got if _is_plain(got) else None
        question.judge(parameters, arguments, got)

    return Probe(task, question.says, weight, check, question.inputs, question.examples, 20, SECONDS)


def _is_plain(value: Any) -> bool:
    """Whether an answer is a number or a list or tuple of numbers."""
    if isinstance(value, (list, tuple)):
        return all(type(item) in (int, float) for item in value)
    return type(value) in (int, float)


def matching_students(result: TaskResult, others: Mapping[str, Variant]) -> tuple[str, ...]:
    """The students whose variant of a task the answers match although they are wrong for the student's own.

    Students whose parameters are equal to the student's own, or too similar to distinguish a copy from a mistake, are not named.

    Args:
        result: The result of the task.
        others: Variants of a class by the names that the teacher sees; they may include the student's own.

    Returns:
        Their names.
    """
    if not result.variant:
        return ()
    own, answers = from_document(result.variant), result.variant["answers"]
    found: list[str] = []
    for family, parameters in own.families:
        complete = [question for question in family.questions if _is_complete(answers.get(question.name))]
        if all(_all_accept(question, parameters, answers) for question in complete):
            continue
        for name, other in others.items():
            theirs = other.parameters.get(family.name)
            if theirs is not None and family.distinct(parameters, theirs) and all(_all_accept(q, theirs, answers) for q in complete):
                found.append(name)
    return tuple(dict.fromkeys(found))


def _is_complete(asked: Sequence[Any] | None) -> bool:
    return bool(asked) and all(answer is not None for _, answer in asked)


def _all_accept(question: Question, parameters: Parameters, answers: Mapping[str, Sequence[Any]]) -> bool:
    return all(question.accepts(parameters, arguments, answer) for arguments, answer in answers[question.name])
