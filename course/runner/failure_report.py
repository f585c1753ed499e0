"""The failure card: what one failing test has to say, on half a screen."""

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
"""So many lines are shown of what a test printed."""


@dataclass(frozen=True)
class Place:
    """A line of the student's workspace.

    Attributes:
        file: Relative to the workspace, with forward slashes.
        line: Its number, from 1.
        source: What stands there.
        function: The function around it, "Scalar.__add__"; empty outside of one.
        in_task: Whether that is a function, or inside of one, that some task has the student write.
    """

    file: str
    line: int
    source: str = ""
    function: str = ""
    in_task: bool = False


@dataclass(frozen=True)
class Card:
    """What is known of a test that did not pass.

    Attributes:
        nodeid: pytest's name for the test; a file's name if the file did not load; empty if nothing ran.
        task: The task that the test belongs to.
        says: What the test demands, a sentence.
        case: The parameters of a parametrized test.
        inputs: The smallest input found, as name and value.
        expected, yours: The two sides of the comparison that failed, where there was one.
        error: What else went wrong: an exception's type and message.
        place: The student's line, else that of the package or of the test.
        called: Where the student's functions begin that the test calls, if the error passed through none of them.
        traceback: For those who ask for it.
        printed: What the failing test printed, of a property the failing example alone.
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
    """The card that `dataclasses.asdict` took apart.

    Raises:
        TypeError: If the data is not a card's.
    """
    place = data.get("place")
    called = tuple(Place(**other) for other in data.get("called", ()))
    return Card(**{**data, "place": Place(**place) if place else None, "called": called})


def sentence(test_name: str) -> str:
    """A test's name as a sentence: "test_relu_is_zero[x]" reads "Relu is zero."."""
    words = re.sub(r"^test_|\[.*", "", test_name).replace("_", " ").strip()
    return words[:1].upper() + words[1:] + "." if words else ""


def render(card: Card, width: int = 80, verbose: bool = False) -> Text:
    """The card as text of about this width; print it with `soft_wrap`, so that its commands stay whole.

    Args:
        card: The card.
        width: In columns.
        verbose: Show all that the test printed, not only its first lines.
    """
    from rich.text import Text  # not needed by pytest, which makes cards too

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
        _row(text, label, wrapped(value, width - LABEL_WIDTH), style)
    if card.printed:
        _row(text, "It printed", _folded(card.printed.splitlines(), card.task, verbose), "")
    _row(text, "Run again", rerun_commands(card), "")  # never wrapped: they are there to be copied
    return text


def _folded(lines: list[str], task: str | None, verbose: bool) -> list[str]:
    """The first lines, and how many more there are."""
    if verbose or len(lines) <= PRINTED_LINES:
        return lines
    how = f"; all of them: course test {task} -v" if task else ""
    return [*lines[:PRINTED_LINES], f"… {len(lines) - PRINTED_LINES} lines more{how}"]


def rerun_commands(card: Card) -> list[str]:
    """The commands that run this test again, the shortest first."""
    commands = [f"course test {card.task}"] if card.task else []
    return commands + ([f"pytest {shlex.quote(card.nodeid)}"] if card.nodeid else [])


def _row(text: Text, label: str, lines: list[str], style: str) -> None:
    """Add a label and, to its right, the lines."""
    for number, line in enumerate(lines):
        text.append(f"{label if number == 0 else '':<{LABEL_WIDTH}}", style="dim")
        text.append(line, style=style)
        text.append("\n")


def wrapped(value: str, width: int) -> list[str]:
    """The lines of a value, each wrapped to the width with its own indentation; rows of a drawing, which start with |, are cut."""
    lines = []
    for line in value.splitlines():
        if line.lstrip().startswith("|"):  # a row of a drawing
            lines.append(line[: max(width, 20)])
            continue
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(line, max(width, 20), subsequent_indent=indent, break_on_hyphens=False) or [""]
    return lines
