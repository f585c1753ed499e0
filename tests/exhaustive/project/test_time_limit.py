"""The time limit: an endless loop in student code is interrupted and shown; slow code of the app is not."""

import time

import pytest

from project.lab import guard
from project.lab.time_limit import TimeLimitExceeded
from tests.project.test_time_limit import LOOPS, check_page, short_time_limit, student_namespace


def test_a_call_that_returns_just_in_time_raises_nothing_later():
    source = "import time\n\ndef f(seconds):\n    end = time.monotonic() + seconds\n    while time.monotonic() < end:\n        pass\n"
    f = student_namespace(source)["f"]
    for k in range(12):
        try:
            with guard.limited():
                f(0.45 + 0.02 * k)
        except TimeLimitExceeded:
            pass
        end = time.monotonic() + 0.15
        while time.monotonic() < end:  # a late exception would be raised here
            pass


@pytest.mark.parametrize("page", LOOPS)
def test_every_page_shows_an_endless_loop_and_recovers_when_the_file_is_fixed(tmp_path, page):
    check_page(tmp_path, page, *LOOPS[page])
