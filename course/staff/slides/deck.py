"""A deck: slides in Markdown, with figures that the book's functions draw and code from files, as one HTML page that opens offline.

A line `---` separates slides. Speaker notes follow a line `Notes:`. Two kinds of blocks are replaced:

    ```{figure}                        Python whose last line is a figure
    from tensor_figures import layout
    layout([1, 2, 3, 4], {"x": ((2, 2), (2, 1), 0)}, "A table of two rows.")
    ```

    ```{source} minitorch/tensor_functions.py Add.forward
    ```
"""

from __future__ import annotations

import ast
import base64
import hashlib
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.manifest import ROOT, course
from course.staff import StaffError
from course.staff.outputs.class_page import render_page
from course.workspace import function_source
from course.workspace.atomic_files import write_bytes

HERE = Path(__file__).parent
SOURCES = ROOT / "docs" / "slides"
FIGURES = ROOT / "docs" / "_ext"


@dataclass(frozen=True)
class Slide:
    """A slide.

    Attributes:
        title: Its first heading; empty if it has none.
        body: HTML.
        notes: The speaker notes as HTML.
    """

    title: str
    body: str
    notes: str


def read_deck(path: Path) -> list[Slide]:
    """The slides in a Markdown file.

    Raises:
        StaffError: If a figure raises an error, or a file or function is missing or a solution; the message names the slide.
    """
    from markdown_it import MarkdownIt  # rich needs it, too

    slides: list[Slide] = []
    for number, text in enumerate(re.split(r"(?m)^---$", path.read_text(encoding="utf-8")), 1):
        where = f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path}, slide {number}"
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        plain = markdown.renderer.rules["fence"]  # type: ignore[attr-defined]  # of the HTML renderer

        def fence(tokens: Sequence[Any], place: int, *rest: Any, where: str = where, plain: Any = plain) -> str:
            kind, *arguments = tokens[place].info.split() or [""]
            if kind == "{figure}":
                return draw_figure(tokens[place].content, where)
            if kind == "{source}":
                tokens[place].info, tokens[place].content = "python", quote_source(arguments, where)
            return plain(tokens, place, *rest)

        markdown.renderer.rules["fence"] = fence  # type: ignore[attr-defined]  # as above
        body, _, notes = re.split(r"(?m)(^Notes:$|\Z)", text, maxsplit=1)
        heading = re.search(r"(?m)^#+ (.+)$", body)
        slides.append(Slide(heading[1] if heading else "", markdown.render(body), markdown.render(notes)))
    return slides


def draw_figure(source: str, where: str) -> str:
    """The HTML of the figure that the last line of a program returns.

    Raises:
        StaffError: If the program raises an error, or its last line is no figure.
    """
    if str(FIGURES) not in sys.path:
        sys.path.append(str(FIGURES))
    names: dict[str, Any] = {}
    try:
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, where, "exec"), names)
        figure = eval(compile(ast.Expression(last.value), where, "eval"), names) if isinstance(last, ast.Expr) else None
    except Exception as error:
        raise StaffError(f"{where}: the figure raised {type(error).__name__}: {error}") from error
    html = getattr(figure, "_repr_html_", None)
    if html is None:
        raise StaffError(f"{where}: a figure block expected a figure in its last line, got {type(figure).__name__}")
    return html()


def quote_source(arguments: Sequence[str], where: str) -> str:
    """The text of a function in a file of the course.

    Raises:
        StaffError: If there is no such function, or students are to write it.
    """
    path, name = (*arguments, "", "")[:2]
    file = ROOT / path
    found = function_source.definitions(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if name not in found:
        raise StaffError(f"{where}: a source block expected a file and a function in it, got {' '.join(arguments) or 'nothing'}")
    module = path.removesuffix(".py").replace("/", ".")
    for task in course().tasks:
        for full in (*task.write, *task.leave_out):
            hidden, _, own = full.partition(":")
            if hidden == module and (not own or f"{own}.".startswith(f"{name}.") or f"{name}.".startswith(f"{own}.")):
                raise StaffError(f"{where}: {path} {name} is a part of the solution of Task {task.id}; quote code that students are given")
    return textwrap.dedent(found[name]).strip() + "\n"


def write_deck(path: Path, folder: Path) -> Path:
    """Write the deck of a Markdown file into a folder.

    Returns:
        Its path: NAME.html for NAME.md.
    """
    from markupsafe import Markup

    slides = read_deck(path)
    script = (HERE / "deck.js").read_text(encoding="utf-8")
    text = render_page(
        HERE / "deck.html",
        base=ROOT / "docs" / "_static" / "book.css",  # of the figures
        title=slides[0].title,
        slides=[(Markup(slide.body), Markup(slide.notes)) for slide in slides],
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    made = folder / f"{path.stem}.html"
    write_bytes(made, (text + "\n").encode())
    return made
