"""The tests that check more than the original MiniTorch course asks for, in the workspace of a student who came from it.

Such a workspace has a list of them, made when the work was taken over. Whether one of them passes does not change the state of its
task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.runner.failure_report import Card

PATH = Path("course") / "published.json"
"""The list, in a workspace of an adopted student."""


@dataclass(frozen=True)
class BeyondRule:
    """Some tests, and a way in which they may fail although the code does what the original course asks for.

    Attributes:
        tests: The beginnings of their ids, such as "tests/test_nn.py::test_max_by_hand[numbers3-".
        failure: A regular expression that is found in the message of such a failure; empty for any failure.
        why: What the original course leaves open.
    """

    tests: tuple[str, ...]
    failure: str
    why: str

    def includes(self, id: str, message: str) -> bool:
        """Whether a test may fail in this way."""
        return id.startswith(self.tests) and re.search(self.failure, message, re.MULTILINE) is not None


def is_beyond(rules: Sequence[BeyondRule], id: str, message: str) -> bool:
    """Whether a failing test checks more than the original course asks for.

    Args:
        rules: The list.
        id: pytest's name of the test.
        message: Its inputs, what was expected, what came, and the error, one a line.
    """
    return any(rule.includes(id, message) for rule in rules)


def message_of(card: Card) -> str:
    """The message of a failing test, as in `is_beyond`."""
    lines = [f"{name} = {value}" for name, value in card.inputs.items()]
    lines += [f"expected {card.expected}", f"yours {card.yours}"] if card.expected is not None else []
    return "\n".join([*lines, card.error or ""])


def to_document(rules: Sequence[BeyondRule]) -> dict[str, Any]:
    """The list as JSON data."""
    return {"profile": "published", "beyond": [{"tests": rule.tests, "failure": rule.failure, "why": rule.why} for rule in rules]}


def read_rules(root: Path) -> tuple[BeyondRule, ...]:
    """The list of a workspace; empty in the workspace of this course's own students, and if the file is damaged."""
    try:
        document = json.loads((root / PATH).read_text(encoding="utf-8"))
        rules = tuple(BeyondRule(tuple(entry["tests"]), entry["failure"], entry["why"]) for entry in document["beyond"])
        for rule in rules:
            rule.includes("", "")
            re.compile(rule.failure)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, re.error):
        return ()
    return rules
