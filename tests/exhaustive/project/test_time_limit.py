"""The time limit: an endless loop in student code is interrupted and shown; slow code of the app is not."""

import json
import time

import pytest

from project.lab import guard
from project.lab.time_limit import TimeLimitExceeded
from tests.project import workspace
from tests.project.test_time_limit import LOOPS, check_page, short_time_limit, student_namespace


def test_a_call_that_returns_just_in_time_raises_nothing_later():
    source = "import time\n\ndef f(seconds):\n    end = time.monotonic() + seconds\n    while time.monotonic() < end:\n        pass\n"
    f = student_namespace(source)["f"]
    for k in range(12):
        try:
            with guard.limited():
                f(0.2 + 0.01 * k)
        except TimeLimitExceeded:
            pass
        end = time.monotonic() + 0.15
        while time.monotonic() < end:  # a late exception would be raised here
            pass


@pytest.mark.parametrize("page", LOOPS)
def test_every_page_shows_an_endless_loop_and_recovers_when_the_file_is_fixed(tmp_path, page):
    check_page(tmp_path, page, *LOOPS[page])


def test_a_page_shows_an_endless_loop_and_recovers_when_the_file_is_fixed(tmp_path):
    check_page(tmp_path, "m0_operators", *LOOPS["m0_operators"])


def test_a_kernel_that_does_not_return_is_shown_before_it_is_compiled(tmp_path):
    copy = workspace.copy(tmp_path)
    path = copy / "minitorch" / "fast_ops.py"
    source = path.read_text(encoding="utf-8")
    loop = "    for i in prange(out_shape[1]):\n"
    first = source.index(loop, source.index("def _tensor_matrix_multiply("))
    path.write_text(source[:first] + "    while True:\n        pass\n" + source[first:], encoding="utf-8")
    program = "import runpy\nrunpy.run_path('project/lab/training/kernel_check.py', run_name='__main__')"
    script = f"import os, subprocess, sys\ndone = subprocess.run([sys.executable, '-c', {program!r}], stdout=subprocess.PIPE, text=True, "
    script += "env=os.environ | {'NUMBA_DISABLE_JIT': '1'})\nprint(done.returncode)\nprint(done.stdout)"
    status, line = workspace.execute(copy, script).split("\n", 1)
    assert status == "1"
    title = json.loads(line)["card"]["title"]
    assert title.startswith("minitorch/fast_ops.py, line ")
    assert title.endswith(": this loop did not end within 2 seconds and was stopped")
