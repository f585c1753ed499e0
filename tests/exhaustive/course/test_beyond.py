"""Tests that check more than the original course asks for: the list of them, their effect in an adopted workspace, and in feedback."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from course.manifest import course
from course.runner.progress import run_tasks
from tests.course.original_copies import STYLES
from tests.course.test_beyond import workspaces


@pytest.mark.parametrize("style", STYLES)
def test_all_right_answers_of_the_original_course_pass_in_an_adopted_workspace(style: str, workspaces: Mapping[str, Path]) -> None:
    ids = [task.id for task in course().tasks if task.stage < 5 and (style == "typed" or task.stage < 4)]
    states = run_tasks(ids, workspaces[style], time_limit=120)  # other tests run at the same time
    assert {id: state.failures for id, state in states.items() if state.state not in ("passed", "todo")} == {}
