"""Tests that check more than the original course asks for: the list of them, their effect in an adopted workspace, and in feedback."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from course.manifest import course
from course.runner.progress import run_tasks
from tests.course.original_copies import STYLES

NO_ZIP = pytest.mark.xfail(
    reason="the interpreter of CUDA kernels cannot iterate over an index with zip, as Task 3.3 in this style does", strict=True
)


@pytest.mark.parametrize("style", [pytest.param(style, marks=NO_ZIP if style == "typed" else ()) for style in STYLES])
def test_all_right_answers_of_the_original_course_pass_in_an_adopted_workspace(style: str, adopted_workspaces: Mapping[str, Path]) -> None:
    ids = [task.id for task in course().tasks if task.stage < 5 and (style == "typed" or task.stage < 4)]
    states = run_tasks(ids, adopted_workspaces[style], time_limit=120)  # other tests run at the same time
    assert {id: state.failures for id, state in states.items() if state.state not in ("passed", "todo")} == {}


def test_right_answers_of_the_original_course_pass_in_an_adopted_workspace(adopted_workspaces: Mapping[str, Path]) -> None:
    beyond = {"0.1": 7, "0.3": 13, "0.4": 3, "1.1": 5}
    states = run_tasks(list(beyond), adopted_workspaces["typed"])
    assert {id: (state.state, state.beyond) for id, state in states.items()} == {id: ("passed", count) for id, count in beyond.items()}
    assert states["0.1"].total == states["0.1"].passed == 73


def test_a_mistake_fails_in_an_adopted_workspace(adopted_workspaces: Mapping[str, Path]) -> None:
    file = adopted_workspaces["typed"] / "minitorch" / "operators.py"
    text = file.read_text()
    assert "return x < y" in text
    file.write_text(text.replace("return x < y", "return x <= y"))
    try:
        state = run_tasks(["0.1"], adopted_workspaces["typed"])["0.1"]
    finally:
        file.write_text(text)
    assert (state.state, state.beyond) == ("failing", 7)
