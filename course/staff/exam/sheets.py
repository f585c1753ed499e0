"""The files of an exam: a sheet for each student, and the solutions, as Markdown and as HTML that prints without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.staff import RequestError
from course.staff.exam.question import Exercise, Question
from course.staff.outputs.class_page import render_page
from course.staff.outputs.words import line, markdown
from course.workspace.atomic_files import write_bytes

HERE = Path(__file__).parent

SHEETS, SOLUTIONS = "sheets", "solutions"
"""The folder of the sheets, and the name of the solutions."""

SPACE = 15
"""Millimeters of blank space for each point."""


@dataclass(frozen=True)
class Exam:
    """An exam of a class.

    Attributes:
        title: The title of the course.
        questions: The questions, the same for all students.
        students: Names by id; an empty name if only the id is known.
        drawn: The exercises of each student, in the order of the questions.
    """

    title: str
    questions: Sequence[Question]
    students: Mapping[str, str]
    drawn: Mapping[str, Sequence[Exercise]]

    @property
    def points(self) -> int:
        """The points for full answers to all questions."""
        return sum(question.points for question in self.questions)


def draw_exam(title: str, seed: str, questions: Sequence[Question], students: Mapping[str, str]) -> Exam:
    """The exam of a class: each student's numbers follow from the seed and the id."""
    return Exam(title, questions, students, {id: [question.draw(seed, id) for question in questions] for id in students})


def write_exam(exam: Exam, folder: Path, space: bool = False) -> list[Path]:
    """Write a sheet for each student and the solutions.

    Args:
        exam: The exam.
        folder: The folder to write to. Earlier files of the same students are replaced.
        space: Whether the HTML of the sheets has blank space for the answers, in proportion to the points.

    Returns:
        The paths of the files.

    Raises:
        RequestError: If the folder holds sheets of other students: the solutions would not cover them.
    """
    texts = {f"{SHEETS}/{id}": _sheet(exam, id) for id in exam.students} | {SOLUTIONS: _solutions(exam)}
    ours = {f"{path.rpartition('/')[2]}{suffix}" for path in texts for suffix in (".md", ".html")}
    others = sorted(path.name for path in (folder / SHEETS).glob("*") if path.name not in ours and not path.name.startswith("."))
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise RequestError(
            f"{folder} expected no sheets of other students, got {others[0]}{more}; the solutions would not cover them",
            "choose another folder for --out",
        )
    blank = [question.points if space else 0 for question in exam.questions]
    written = []
    for path, text in texts.items():
        name = path.rpartition("/")[2]
        html = _html(text, f"{exam.title}: {name}", [0] * len(blank) if path == SOLUTIONS else blank)
        for suffix, data in ((".md", text), (".html", html)):
            written.append(folder / f"{path}{suffix}")
            write_bytes(written[-1], data.encode("utf-8", "replace"))
    return written


def _sheet(exam: Exam, id: str) -> str:
    """The sheet of a student."""
    parts = [
        f"# {exam.title}: exam",
        f"**{_shown(exam, id)}**",
        f"{len(exam.questions)} questions, {exam.points} points. The numbers on this sheet are yours. Show how you get each result.",
    ]
    for place, (question, drawn) in enumerate(zip(exam.questions, exam.drawn[id], strict=True), 1):
        parts += [f"## Question {place} ({question.points} points)", drawn.text]  # the topic would name the mistake to find
    return "\n\n".join(parts) + "\n"


def _solutions(exam: Exam) -> str:
    """The solutions, by question: what all have in common, then each student's answer."""
    parts = [
        f"# {exam.title}: solutions",
        f"{len(exam.questions)} questions, {exam.points} points. Not for students.",
    ]
    for place, question in enumerate(exam.questions, 1):
        drawn = {id: exercises[place - 1] for id, exercises in exam.drawn.items()}
        first = next(iter(drawn.values()))
        about = f"{question.topic}. Task {' and '.join(question.tasks)}; `{question.id}` in the bank."
        rubric = "\n".join(f"- {points} {'point' if points == 1 else 'points'}: {text}" for points, text in first.rubric)
        parts += [f"## Question {place} ({question.points} points)", about, rubric]
        answers: dict[tuple[str, str], list[str]] = {}
        for id, each in drawn.items():
            answers.setdefault((each.text, each.answer), []).append(id)
        for (text, answer), ids in answers.items():
            whose = "All students" if len(ids) == len(drawn) > 1 else ", ".join(_shown(exam, id) for id in ids)
            parts += [f"### {whose}", quote(text), answer]
    return "\n\n".join(parts) + "\n"


def _shown(exam: Exam, id: str) -> str:
    """A student's name and id."""
    name = line(exam.students[id])
    return markdown(f"{name} ({id})" if name and name != id else id)


def quote(text: str) -> str:
    """Markdown as a block quote."""
    return "\n".join(f"> {row}".rstrip() for row in text.splitlines())


def _html(text: str, title: str, blank: Sequence[int]) -> str:
    """A page of Markdown, with blank space below each question.

    Args:
        text: The Markdown.
        title: The title of the page.
        blank: The height of the space for each question, in units of SPACE.
    """
    from markdown_it import MarkdownIt  # rich needs it, too
    from markupsafe import Markup

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    first, *sections = body.split("<h2>")
    filled = [(Markup(f"<h2>{section}"), SPACE * height) for section, height in zip(sections, blank, strict=True)]
    return render_page(HERE / "exam.html", base=None, title=title, first=Markup(first), sections=filled) + "\n"
