"""The directive `{task} 1.4`: what the manifest says of a task, as a box with hints that open one by one."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course.manifest import Manifest, ManifestError, Task, course
from project.lab.registry import view


def task_box(id: str, manifest: Manifest) -> str:
    """The box of one task as Markdown.

    Raises:
        ManifestError: If the manifest has no such task.
    """
    task = manifest.task(id)
    fence = ":" * (len(task.hints) + 3)  # longer than those of the hints inside
    lines = [
        f"{fence}{{admonition}} Task {task.id} · {task.title} ({task.worth})",
        ":class: task-box",
        "",
        *[f"* {line}" for line in _what_to_write(task)],
        *([f"* Builds on: {', '.join(f'Task {other}' for other in task.requires)}"] if task.requires else []),
        f"* In the app (`make app`): {_page(task)}",
        "",
        "```text",
        f"course test {task.id}",
        f"pytest -m {task.mark}",
        "```",
        "",
        *_hints(task),
        fence,
    ]
    return "\n".join(lines)


def _what_to_write(task: Task) -> list[str]:
    """One line for each file: the names to write in it."""
    lines = []
    for file in task.files:
        module = file.removesuffix(".py").replace("/", ".")
        names = [name.split(":")[1] for name in task.write if name.split(":")[0] == module]
        lines.append(f"Write in `{file}`: {', '.join(f'`{name}`' for name in names)}")
    return lines


def _page(task: Task) -> str:
    """The page of the app, as the menu names it, and the part of it."""
    row = view(task.app)
    page = view(row.within or row.name)
    part = f", under *{next(iter(row.query.values()))}*" if row.within else ""
    return f"the page *{page.title}* of Module {page.module}{part}"


def _hints(task: Task) -> list[str]:
    """The hints, each inside the one before it, so that the second cannot be opened before the first."""
    opened, closed = [], []
    for i, hint in enumerate(task.hints):
        fence = ":" * (len(task.hints) + 2 - i)
        opened += [f"{fence}{{dropdown}} Hint {i + 1} of {len(task.hints)}", "", hint, ""]
        closed.insert(0, fence)
    return opened + closed


class TaskBox(SphinxDirective):
    """Show the box of the task whose id is the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The box; an unknown id is an error of the build."""
        try:
            text = task_box(self.arguments[0], course())
        except ManifestError as error:
            raise self.error(f"{{task}}: {error}") from None
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("task", TaskBox)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
