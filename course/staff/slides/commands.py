"""`course-staff slides`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from course.staff.exam.commands import read_modules


def add_commands(app: typer.Typer, out: Console) -> None:
    """Add the command to an app.

    Args:
        app: The app.
        out: Where it prints.
    """

    @app.command()
    def slides(
        folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the decks, module0.html and so on.")],
        modules: Annotated[str, typer.Option(metavar="LIST", help="Modules, such as 0,1 or 0-2. Default: all.")] = "",
    ) -> None:
        """Make the slides of lectures: a deck for each module, from docs/slides/, that opens offline."""
        from course.staff.slides.deck import SOURCES, write_deck

        for module in read_modules(modules, "course-staff slides --help"):
            out.print(escape(str(write_deck(SOURCES / f"module{module}.md", folder))), soft_wrap=True)
