"""The visible tests that check more than the original MiniTorch course asks for, in `beyond.toml`.

Marks do not depend on them. In the profile of the original course they are left out of the feedback, and in an adopted workspace, of the
states of its tasks.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from course.staff.grading.results import BEYOND, VisibleTest
from course.workspace.published import BeyondRule, is_beyond

FILE = Path(__file__).with_name("beyond.toml")


@cache
def beyond_rules() -> tuple[BeyondRule, ...]:
    """The list."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["rule"]
    return tuple(BeyondRule(tuple(entry["tests"]), entry.get("failure", ""), entry["why"]) for entry in entries)


def with_beyond(tests: Sequence[VisibleTest], passed: bool) -> tuple[VisibleTest, ...]:
    """The outcomes of a task's visible tests by the requirements of the original course.

    Args:
        tests: The outcomes.
        passed: Whether the task earned all points. Then any test that did not pass checks more than that course asks for; pytest does not
            even find some, such as one whose id has the name of a function that the student wrote as a lambda.
    """
    rules = beyond_rules()

    def is_open(test: VisibleTest) -> bool:
        return test.outcome != "passed" if passed else test.outcome == "failed" and is_beyond(rules, test.id, test.message)

    return tuple(replace(test, outcome=BEYOND) if is_open(test) else test for test in tests)
