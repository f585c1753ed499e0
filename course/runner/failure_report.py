"""The failure card: everything a student needs to know about one failing test, on half a screen."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

LABEL_WIDTH = 16
"""Columns of the labels on the left."""

PRINTED_LINES = 20
"""Number of printed lines that a card shows."""


@dataclass(frozen=True)
class Place:
    """A line of the student's workspace.

    Attributes:
        file: Relative to the workspace, with forward slashes.
        line: Its number, from 1.
        source: The source line.
        function: The enclosing function, such as "Scalar.__add__"; empty outside of functions.
        in_task: Whether the line belongs to a function that a task asks the student to write.
    """

    file: str
    line: int
    source: str = ""
    function: str = ""
    in_task: bool = False


@dataclass(frozen=True)
class Card:
    """One test that did not pass.

    Attributes:
        nodeid: pytest's name of the test; the file's name if the file failed to load; empty if nothing ran.
        task: The id of the test's task.
        says: What the test requires, as a sentence.
        case: The parameters of a parametrized test.
        inputs: The smallest failing input, by parameter name.
        expected, yours: The two sides of the failed comparison, if there was one.
        error: The type and message of an exception, or a note on the comparison.
        place: The student's line, else a line of the package or of the test.
        called: The student's functions that the test calls, if the error passed through none of them.
        traceback: The traceback, shown on request.
        printed: What the failing test printed; for a property, what the failing example printed.
    """

    nodeid: str
    task: str | None = None
    says: str = ""
    case: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    expected: str | None = None
    yours: str | None = None
    error: str | None = None
    place: Place | None = None
    called: tuple[Place, ...] = ()
    traceback: str = ""
    printed: str = ""


def card_from(data: Mapping[str, Any]) -> Card:
    """Rebuild a card from the dict that `dataclasses.asdict` made of it.

    Raises:
        TypeError: If the dict does not describe a card.
    """
    place = data.get("place")
    called = tuple(Place(**other) for other in data.get("called", ()))
    return Card(**{**data, "place": Place(**place) if place else None, "called": called})


def sentence(test_name: str) -> str:
    """A test's name as a sentence: "test_relu_is_zero[x]" reads "Relu is zero."."""
    words = re.sub(r"^test_|\[.*", "", test_name).replace("_", " ").strip()
    return words[:1].upper() + words[1:] + "." if words else ""


def render(card: Card, width: int = 80, verbose: bool = False) -> Text:
    """Render a card as text. Print it with `soft_wrap`, so that its commands are not broken across lines.

    Args:
        card: The card.
        width: Columns of the terminal.
        verbose: Show everything that the test printed, not only the first lines.
    """
    from rich.text import Text  # pytest builds cards, too, and does not need rich

    rows: list[tuple[str, str, str]] = [("The test says", card.says, "bold")]
    if card.case:
        rows.append(("Case", card.case, ""))
    if card.inputs:
        rows.append(("Smallest input", "\n".join(f"{name} = {value}" for name, value in card.inputs.items()), ""))
    if card.expected is not None:
        rows.append(("Expected", card.expected, "green"))
    if card.yours is not None:
        rows.append(("Yours", card.yours, "red"))
    if card.error:
        rows.append(("Note" if card.yours is not None else "Error", card.error, "" if card.yours is not None else "red"))
    if card.place is not None:
        label = "Test line" if card.place.file.startswith("tests/") else "Your line" if card.place.in_task else "Line"
        rows.append((label, f"{card.place.file}:{card.place.line}", "cyan"))
        if card.place.source:
            rows.append(("", f"    {card.place.source}", ""))
    if card.called:
        rows.append(("Your code", "\n".join(f"{other.file}:{other.line}  {other.function}" for other in card.called), "cyan"))
    text = Text()
    for label, value, style in rows:
        _row(text, label, wrap(value, width - LABEL_WIDTH), style)
    if card.printed:
        _row(text, "It printed", _truncate_lines(card.printed.splitlines(), card.task, verbose), "")
    _row(text, "Run again", rerun_commands(card), "")  # never wrapped, so that they can be copied
    return text


def _truncate_lines(lines: list[str], task: str | None, verbose: bool) -> list[str]:
    """The first lines, and the number of the others."""
    if verbose or len(lines) <= PRINTED_LINES:
        return lines
    how = f"; to see all: course test {task} -v" if task else ""
    return [*lines[:PRINTED_LINES], f"… {len(lines) - PRINTED_LINES} more lines{how}"]


def rerun_commands(card: Card) -> list[str]:
    """The commands that rerun this test, the shortest first."""
    commands = [f"course test {card.task}"] if card.task else []
    return commands + ([f"pytest {shlex.quote(card.nodeid)}"] if card.nodeid else [])


def _row(text: Text, label: str, lines: list[str], style: str) -> None:
    """Append a row: a label and the lines to its right."""
    for number, line in enumerate(lines):
        text.append(f"{label if number == 0 else '':<{LABEL_WIDTH}}", style="dim")
        text.append(line, style=style)
        text.append("\n")


def wrap(value: str, width: int) -> list[str]:
    """Wrap each line of a value to the width, with its own indentation; cut the rows of a drawing, which start with |."""
    lines = []
    for line in value.splitlines():
        if line.lstrip().startswith("|"):  # a row of a drawing
            lines.append(line[: max(width, 20)])
            continue
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(line, max(width, 20), subsequent_indent=indent, break_on_hyphens=False) or [""]
    return lines
