"""The line below a chapter's title: how long it takes to read, its tasks with their times and files, and how hard it is.

A chapter states its difficulty, 1 to 3, in its front matter; the manifest states the time for a task. The time for reading is computed.
"""

from collections.abc import Iterable
from math import ceil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from course.manifest import Task, course

WORDS_A_MINUTE = 200

DIFFICULTIES = {"1": "easy", "2": "medium", "3": "hard"}

UNREAD = {"cell_output", "tag_hide-input", "task-box", "torch-names", "editor"}
"""Classes of what does not count as reading: outputs, which differ between copies of the book, what is folded, tasks, their editors."""


def words(node: nodes.Node) -> float:
    """The words below a node; those of a block of code count half."""
    if isinstance(node, nodes.Text):
        return len(node.astext().split())
    if isinstance(node, nodes.Element) and UNREAD & set(node.get("classes", [])):
        return 0
    total = sum(words(child) for child in node.children)
    return total / 2 if isinstance(node, nodes.literal_block) else total


def head(count: float, difficulty: str, tasks: Iterable[Task]) -> str:
    """The line of a chapter with this many words."""
    minutes = ceil(count / WORDS_A_MINUTE)
    times = ["1 minute of reading" if minutes == 1 else f"{minutes} minutes of reading"]
    times += [f"{task.time} for Task {task.id} in {' and '.join(task.files)}" for task in tasks if task.time]
    return f"Estimated time: {', '.join(times)} · Difficulty: {DIFFICULTIES[difficulty]}"


def add_head(app: Sphinx, doctree: nodes.document) -> None:
    """Add the line to a page that states a difficulty.

    Raises:
        ExtensionError: If the difficulty is not 1, 2 or 3.
    """
    page = app.env.docname
    difficulty = app.env.metadata[page].get("difficulty")
    if difficulty is None:
        return
    if difficulty not in DIFFICULTIES:
        raise ExtensionError(f"{page}: expected a difficulty of 1, 2 or 3, got {difficulty}")
    app.env.note_dependency(str(Path(__file__).parents[2] / "course" / "tasks.toml"))
    tasks = [task for task in course().tasks if task.page == page]
    title = next(iter(doctree.findall(nodes.title)))
    line = nodes.paragraph("", head(words(doctree), difficulty, tasks), classes=["chapter-head"])
    title.parent.insert(title.parent.index(title) + 1, line)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the line to every page when it has been read."""
    app.connect("doctree-read", add_head, priority=600)  # after Sphinx has collected the front matter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
