"""The pages with which teachers plan a course: what they name exists, and their numbers add up."""

import re
from fractions import Fraction

import pytest
from typer.main import get_command

from course.cli.main import app as student_app
from course.manifest import ROOT, course
from course.staff.cli import app
from course.staff.term.roster import create_term
from project.lab.registry import ROWS

TEACHERS = ROOT / "docs" / "teachers"
PAGES = ("teaching", "policy", "exam")
TEXT = {name: (TEACHERS / f"{name}.md").read_text(encoding="utf-8") for name in PAGES}
TEACHING = TEXT["teaching"]
TASKS = {task.id: task for task in course().tasks}
WEEKS = {"6 weeks": 6, "10 weeks": 10, "14 weeks": 14}


def rows(heading):
    """The cells of the first table below a heading, without its head."""
    section = re.split(r"\n#+ ", TEACHING.split(f"# {heading}\n")[1])[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def listed(cell):
    """The tasks in a cell."""
    return [task for task in cell.split(", ") if task]


HOURS = {task: Fraction(hours) for task, *_, hours in rows("Hours")}


def test_every_task_has_an_estimate_that_is_the_sum_of_its_parts_and_students_see_that_for_writing_and_reporting():
    assert set(HOURS) == set(TASKS)
    for task, chapters, *parts, hours in rows("Hours"):
        assert sum(Fraction(part) for part in parts if part) == Fraction(hours), task
        pages = re.findall(r"\.\./(\S+?)\.md", chapters)
        if pages:
            assert Fraction(parts[0]) == Fraction(3, 4) * len(pages), task
            assert TASKS[task].page in pages
    total = sum(hours for task, hours in HOURS.items() if not TASKS[task].extra)
    assert f"add up to {float(total)} hours" in TEACHING
    for task, _, _, write, report, _ in rows("Hours"):
        assert TASKS[task].minutes == 60 * sum(Fraction(part) for part in (write, report) if part), task


@pytest.mark.parametrize("heading", WEEKS)
def test_a_syllabus_has_each_task_once_and_after_those_that_it_requires_and_its_hours_add_up(heading):
    weeks = rows(heading)
    assert [week for week, *_ in weeks] == [str(number) for number in range(1, WEEKS[heading] + 1)]
    for week, _, tasks, hours, lab, _ in weeks:
        assert sum(HOURS[task] for task in listed(tasks)) == Fraction(hours), f"week {week}"
        assert lab
    order = [task for _, _, tasks, *_ in weeks for task in listed(tasks)]
    left_out = {task.id for task in course().tasks if task.extra} | ({"3.3", "3.4"} if heading == "6 weeks" else set())
    assert sorted(order) == sorted(set(TASKS) - left_out)
    for place, task in enumerate(order):
        assert set(TASKS[task].requires) <= set(order[:place]), task


def test_the_plan_names_every_chapter_that_students_get():
    chapters = {path.relative_to(TEACHERS.parent).as_posix() for path in TEACHERS.parent.glob("module*/*.md") if path.stem != "index"}
    linked = set(re.findall(r"\(\.\./(module\d/\w+\.md)", TEACHING))
    assert chapters - linked == {"module3/performance.md"}  # shows solutions


@pytest.mark.parametrize("heading", WEEKS)
def test_a_module_is_due_when_its_last_task_has_been_done(heading):
    last = {}
    for week, _, tasks, *_ in rows(heading):
        last |= {TASKS[task].stage: int(week) for task in listed(tasks)}
    due = {int(module): int(week) for week, *_, deadline in rows(heading) for module in re.findall(r"Module (\d)", deadline)}
    assert due == last


def test_every_task_has_a_learning_outcome_in_its_module_or_a_later_one():
    outcomes = rows("Learning outcomes")
    assert {task for *_, tasks in outcomes for task in listed(tasks)} == set(TASKS)
    for module, _, tasks in outcomes:
        assert int(module) in {TASKS[task].stage for task in listed(tasks)}


def test_every_rubric_has_four_points():
    headings = re.findall(r"^### (.+)$", TEACHING.split("## Rubrics")[1].split("## Demos")[0], re.MULTILINE)
    assert len(headings) == 3
    for heading in headings:
        assert sum(int(points) for points, _ in rows(heading)) == 4


def test_every_page_of_the_app_in_a_demo_or_lab_exists_and_all_are_shown():
    pages = {view.name for view in ROWS if view.module is not None}
    assert set(re.findall(r"`(m\d_\w+)`", TEACHING)) == pages
    for module, what, _ in rows("Demos for lectures"):
        if page := re.fullmatch(r"`m(\d)_\w+`", what):
            assert page[1] == module


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_exist(name):
    commands = {program: get_command(typer_app).commands for program, typer_app in (("course", student_app), ("course-staff", app))}
    shown = [line for block in re.findall(r"(?s)```text\n(.*?)```", TEXT[name]) for line in block.splitlines()]
    shown += [" ".join(code.split()) for code in re.findall(r"(?s)`([^`]+)`", re.sub(r"(?s)```.*?```", "", TEXT[name]))]
    for line in shown:
        program, _, rest = line.partition(" ")
        if program in commands and rest:
            command = commands[program].get(rest.split()[0])
            assert command is not None, line
            options = {option for parameter in command.params for option in parameter.opts}
            assert set(re.findall(r"--[a-z-]+", rest)) <= options, line
        elif program == "python":
            assert (ROOT / rest.split()[0]).is_file(), line


def test_the_policy_has_the_numbers_that_the_tools_know(tmp_path):
    late = TEXT["policy"].split("## Late work")[1].split("## Marks")[0]
    assert {"3", "10 %", "7", "10"} <= set(re.findall(r"\[([^\]]+)\]", late))
    term = create_term(tmp_path, course(), "2027-01-31").read_text(encoding="utf-8")
    for name in ("days", "percent", "most", "grace"):
        assert f"`{name}`" in TEXT["policy"]
        assert re.search(rf"^{name} = ", term, re.MULTILINE)


def test_the_index_names_the_pages():
    index = (TEACHERS / "index.md").read_text(encoding="utf-8")
    for name in PAGES:
        assert f"({name}.md)" in index
