"""What requirements on hand-ins of the original course rest on: its tests and texts, which the page for teachers lists."""

from __future__ import annotations

import re

import pytest

from course.manifest import ROOT, Task, course
from course.staff.probes import FULL, PUBLISHED, Probe, probes_of
from course.staff.probes.own_package import use_own_package

TASKS = [task for task in course().tasks if not task.extra and probes_of(task.id, PUBLISHED)]

PAGE = ROOT / "docs/teachers/original_course.md"

GENERAL = "create one_args two_args one_derivative two_grad reduce two_grad_broadcast permute"

TESTS = {
    "0.1": "same_as_python relu relu_back id lt max eq",
    "0.3": "zip_with sum_distribute sum prod negList",
    "0.4": "stacked_demo module stacked_module module_fail_forward module_forward",
    "1.1": "central_diff",
    "1.2": "one_args two_args",
    "1.3": "chain_rule1 chain_rule2 chain_rule3 chain_rule4",
    "1.4": "backprop1 backprop2 backprop3 backprop4 one_derivative two_derivative",
    "2.1": "layout enumeration index permute",
    "2.2": "shape_broadcast",
    "2.3": "one_args two_args reduce_forward_one_dim reduce_forward_one_dim_2 reduce_forward_all_dims",
    "2.4": "one_derivative permute grad_reduce two_grad two_grad_broadcast",
    "3.1": GENERAL,
    "3.2": "mm2 bmm",
    "3.3": f"sum_practice {GENERAL}",
    "3.4": "bmm mul_practice1",
    "4.1": "conv1d_simple conv1d conv1d_channel",
    "4.2": "conv conv_batch conv_channel conv2",
    "4.3": "avg",
    "4.4": "max_pool drop softmax log_softmax",
}
"""The tests of the original course by task, without "test_", from its public repositories."""

WITHOUT_TASK = {"test_backs", "test_view", "assert_close_tensor"}
"""Tests that belong to no task, and the function with which tests compare tensors."""


def published_tests(task: str) -> set[str]:
    """The names of the tests of a task."""
    return {f"test_{name}" for name in TESTS[task].split()}


def published_probes(task: str) -> list[Probe]:
    """The probes that mark a task of a hand-in, in this course's package and in its own."""
    with use_own_package():
        own = probes_of(task, PUBLISHED)
    return [probe for probe in [*probes_of(task, PUBLISHED), *own] if probe.weight]


def sources(task: str) -> tuple[list[str], list[str]]:
    """The tests and the texts that a task's probes name, in order."""
    found = dict.fromkeys(source for probe in published_probes(task) for source in probe.source.split("; "))
    return [source for source in found if " " not in source], [source for source in found if " " in source]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_every_requirement_names_a_test_or_a_text_of_the_original_course(task: Task) -> None:
    assert [probe.says for probe in published_probes(task.id) if not probe.source] == []
    tests, texts = sources(task.id)
    assert set(tests) <= WITHOUT_TASK.union(*(published_tests(other) for other in TESTS if other[0] == task.id[0]))
    assert set(tests) & published_tests(task.id) if task.id in TESTS else texts or tests
    for text in texts:
        assert re.fullmatch(rf"docstring of [\w.]+|Task {re.escape(task.id)}: .+", text), text


def test_only_requirements_of_the_original_course_name_a_source() -> None:
    counted = {(probe.task, probe.says) for task in course().tasks for probe in published_probes(task.id)}
    assert {(probe.task, probe.says) for task in course().tasks for probe in probes_of(task.id, FULL) if probe.source} <= counted


def test_the_page_for_teachers_lists_the_sources() -> None:
    rows = [(task.id, *sources(task.id)) for task in TASKS]
    table = [f"| {id} | {', '.join(f'`{name}`' for name in tests) or 'none'} | {'; '.join(texts)} |" for id, tests, texts in rows]
    listed = re.findall(r"^\| \d\.\db? \|.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == table, "put this table on the page:\n" + "\n".join(table)
