"""The registry of pages is complete, and command-line arguments select the start page."""

from dataclasses import replace

import pytest

from course.manifest import ROOT, course
from project.lab import registry


def test_every_page_has_a_file_and_every_file_a_page():
    files = {path.stem for path in (ROOT / "project" / "views").glob("*.py")}
    assert files == {row.name for row in registry.VIEWS}


def test_every_task_has_its_page():
    names = {row.name: row.module for row in registry.ROWS}
    for task in course().tasks:
        assert names[task.app] == task.stage


def test_the_menu_lists_every_page_once_under_its_module():
    sections = registry.sections()
    modules = [
        "0 · Fundamentals",
        "1 · Autodiff",
        "2 · Tensors",
        "3 · Efficiency",
        "4 · Networks",
        "5 · Compilation",
        "6 · Language models",
        "7 · After the course",
    ]
    assert list(sections) == ["", *modules]
    assert [row for rows in sections.values() for row in rows] == list(registry.VIEWS)


def test_several_machines_follow_the_course_in_a_workspace_that_does_so(monkeypatch):
    assert [row.name for row in registry.sections()["7 · After the course"]] == ["m6_machines", "m7_formats"]
    shorter = replace(course(), stages=course().stages[:-1])
    monkeypatch.setattr(registry, "course", lambda: shorter)
    heading, rows = list(registry.sections().items())[-1]
    assert (heading, rows[-1].name) == ("6 · Language models", "m6_machines")


def test_a_workspace_without_a_page_has_no_row_for_it(tmp_path, monkeypatch):
    (tmp_path / "views").mkdir()
    for name in ("home", "m0_operators"):
        (tmp_path / "views" / f"{name}.py").touch()
    monkeypatch.setattr(registry, "APP", tmp_path)
    assert [row.name for row in registry.present()] == ["home", "m0_operators"]
    assert list(registry.sections()) == ["", "0 · Fundamentals"]


PAGES = {"0": "operators", "1": "derivative", "2": "strides", "3": "speed", "4": "convolution", "6": "tokens", "7": "formats"}


@pytest.mark.parametrize(("arguments", "name"), [([], "home"), *(([module], f"m{module}_{page}") for module, page in PAGES.items())])
def test_the_number_of_a_module_opens_its_first_page(arguments, name):
    first, complaint = registry.start(arguments)
    assert (first.name, complaint) == (name, "")


@pytest.mark.parametrize("arguments", [["8"], ["zero"], ["0", "1"], ["-1"]])
def test_invalid_arguments_open_the_board_with_a_message(arguments):
    first, complaint = registry.start(arguments)
    assert first.name == "home"
    assert complaint == f"expected a module number after --, one of 0, 1, 2, 3, 4, 5, 6, 7, got '{' '.join(arguments)}'"
