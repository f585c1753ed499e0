"""Results of made-up submissions, written by hand, on which the outputs of grading are tested."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from course.staff.grading.results import FAIL, NOT_RUN, PART, PASS, PASS_SIM, HiddenProbe, Nearest, Result, TaskResult, VisibleTest

RELU = "tests/test_operators.py::test_relu"
SUM = "tests/test_operators.py::test_sum"

SECRET = "expected 41.5 for [17.25], got 3"
"""The reason of a hidden probe; it would reveal the probe's input."""

PASSED = TaskResult("0.1", PASS, 10, 10, visible=(VisibleTest(RELU, "passed"),), seconds=1.25)

PARTLY = TaskResult(
    "0.3",
    PART,
    10,
    7.5,
    reason="2 of 3 hidden probes failed",
    visible=(
        VisibleTest(RELU, "passed"),
        VisibleTest(f"{SUM}[2]", "failed", "Smallest input  ls = [1.0]\n\x1b[31mYours\x1b[0m           0.0"),
        VisibleTest(f"{SUM}[3]", "missing"),
    ),
    probes=(
        HiddenProbe("adds what it is given", 2, True),
        HiddenProbe("sums lists of any length", 1, False, SECRET),
        HiddenProbe("sums lists of any length", 1, False, SECRET),
    ),
    nearest=Nearest("0.3/sum_starts_at_one", "Begins with 1, as a product does.", 0.8),
    seconds=2.0,
)

FAILED = TaskResult(
    "0.4", FAIL, 5, 0, reason="minitorch/module.py, line 3: '(' was never closed", flaky=True, note="passed at first", seconds=0.5
)

SIMULATED = TaskResult("3.3", PASS_SIM, 20, 20, disagrees=True, note="all probes passed, 2 visible tests failed", seconds=30.0)

NOT_DONE = TaskResult("4.4b", NOT_RUN, 5, 0, reason="there is no GPU here", extra=True)

ADA = Result("ada", "a1", "", (PASSED, PARTLY, FAILED, SIMULATED, NOT_DONE), ("setup.py",), "bubblewrap", 7, 34.0)
BEN = Result(
    "ben", "b2", "", (PASSED, replace(PASSED, task="0.3"), replace(PASSED, task="0.4", points=5, mark=5)), (), "bubblewrap", 7, 4.0
)
EVE = Result("<script>alert('eve')</script>", "e3", "it holds a link, ../../etc/passwd", (), (), "", 7, 0.1)

EVE_FILE = "_script_alert__eve____script_-" + hashlib.sha256(b"<script>alert('eve')</script>\0e3").hexdigest()[:8]
"""The name of her files."""

CLASS = (ADA, BEN, EVE)
