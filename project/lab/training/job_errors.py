"""Errors of student code in programs that run for a page: the program prints the card as a line of JSON, and the page shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from project.lab.cards import explain, is_student
from project.lab.time_limit import TimeLimitExceeded, time_limit


@contextmanager
def reported(active: bool = True) -> Iterator[None]:
    """Limit each call of student code in the `with` block, and report its errors, which end the program with status 1.

    Errors that do not come from student code propagate.

    Args:
        active: Whether a page reads the output of the program; if False, there is no limit, and all errors propagate.
    """
    if not active:
        yield
        return
    try:
        with time_limit(is_student):
            yield
    except (Exception, TimeLimitExceeded) as error:
        card = explain(error)
        if card is None:
            raise
        print(json.dumps({"card": asdict(card)}), flush=True)
        raise SystemExit(1) from None
