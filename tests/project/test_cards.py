"""The card of code that is not written yet: its hint is about the function that raised the error, as in `course hint`."""

from __future__ import annotations

import pytest

from course.manifest import ROOT, course
from project.lab import cards


def card_of_stub(name: str, file: str) -> cards.Card:
    """The card of a stub of Task 0.1 with this name, in a file."""
    source = f"def {name}():\n    raise NotImplementedError('Need to implement for Task 0.1')\n\n{name}()\n"
    with pytest.raises(NotImplementedError) as raised:
        exec(compile(source, str(ROOT / file), "exec"), {})
    card = cards.explain(raised.value)
    assert card is not None
    return card


@pytest.mark.parametrize(
    ("name", "file", "number"),
    [
        ("sigmoid", "minitorch/operators.py", 4),
        ("is_close", "minitorch/operators.py", 3),
        ("mul", "minitorch/operators.py", 1),
        ("unknown", "minitorch/operators.py", 1),
        ("sigmoid", "minitorch/scalar.py", 1),
    ],
    ids=["sigmoid", "is_close", "mul", "no hint names it", "a file of another task"],
)
def test_the_hint_is_about_the_function_that_is_not_written(name: str, file: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "is_open", lambda root, task: True)
    body = card_of_stub(name, file).body
    assert body.startswith(f"{cards.plain(course().task('0.1').hints[number - 1])}\n\nBook: ")
    assert body.endswith("`course test 0.1` · More hints with `course hint 0.1`")


def test_there_is_no_hint_before_the_first_one_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "is_open", lambda root, task: False)
    assert card_of_stub("sigmoid", "minitorch/operators.py").body.startswith("Book: ")
