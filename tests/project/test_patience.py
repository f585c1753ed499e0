"""Endless loops in student code: each is ended and told, and what is only slow elsewhere is not."""

import json
import subprocess
import sys
import time
from types import ModuleType

import pytest

from course.manifest import ROOT
from project.lab import guard, patience
from project.lab.patience import DidNotEnd
from tests.project import workspace

OPERATORS = str(ROOT / "minitorch" / "operators.py")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Less time, so that a test need not wait."""
    monkeypatch.setattr(patience, "LIMIT", 0.5)
    monkeypatch.setattr(patience, "PERIOD", 0.05)


def student(source, **names):
    """The names that this source defines as the student's file."""
    exec(compile(source, OPERATORS, "exec"), names)
    return names


def ended(function, *arguments):
    """The error that ends a call, and how long that took."""
    begun = time.monotonic()
    with pytest.raises(DidNotEnd) as caught, guard.in_time():
        function(*arguments)
    return caught.value, time.monotonic() - begun


ENDLESS = {
    "a loop": "def f(x):\n    while True:\n        x = x + 1\n",
    "a loop that calls": "def g(x):\n    return x + 1\n\ndef f(x):\n    while True:\n        x = g(x)\n",
    "a loop that takes every exception": "def f(x):\n    while True:\n        try:\n            x = x + 1\n        except Exception:\n            pass\n",
    "a generator": "def g(x):\n    while True:\n        x = x + 1\n        if x < 0:\n            yield x\n\ndef f(x):\n    return list(g(x))\n",
    "a wait": "import time\n\ndef f(x):\n    while True:\n        time.sleep(0.01)\n",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_loop_is_ended(kind):
    error, seconds = ended(student(ENDLESS[kind])["f"], 1)
    assert 0.4 < seconds < 3
    assert error.frame.f_code.co_name in ("f", "g")


def test_the_card_shows_the_loop_and_its_variables(monkeypatch):
    source = "def nearest(x):\n    step = 7\n    while step > 1:\n        step = step % 10\n"
    monkeypatch.setattr(guard.endless, "loop_around", lambda path, line: 3)  # the real file stands there
    error, _ = ended(student(source)["nearest"], 2.5)
    card = guard.explain(error)
    assert not card.todo
    assert card.title == "minitorch/operators.py, line 3: it did not end within 0.5 seconds and was stopped"
    assert "in `nearest` with `x = 2.5`" in card.body
    assert "Its variables were then: `step = 7, x = 2.5`" in card.body
    assert "`course explain`" in card.body


def test_a_task_guard_shows_it_and_goes_on(monkeypatch):
    shown = []
    monkeypatch.setattr(guard, "show", shown.append)
    with guard.task_guard(stop=False):
        student(ENDLESS["a loop"])["f"](1)
    assert len(shown) == 1
    with guard.task_guard(stop=False):
        assert student("def f(x):\n    return x\n")["f"](1) == 1
    assert len(shown) == 1


def test_many_calls_may_take_long_together():
    f = student("def f(x):\n    for _ in range(1000):\n        x = x + 1\n    return x\n")["f"]
    end = time.monotonic() + 1.5
    with guard.in_time():
        while time.monotonic() < end:
            f(1)


def test_compilation_is_given_its_time():
    compiler = ModuleType("numba.core.fake")
    exec("import time\n\ndef compiled():\n    time.sleep(1.5)\n", compiler.__dict__)
    with guard.in_time():
        student("def f(x):\n    compiled()\n", compiled=compiler.compiled)["f"](1)


def test_code_of_the_app_is_given_its_time():
    with guard.in_time():
        time.sleep(1.5)


def test_what_ends_just_in_time_is_left_alone_afterwards():
    f = student("import time\n\ndef f(seconds):\n    end = time.monotonic() + seconds\n    while time.monotonic() < end:\n        pass\n")[
        "f"
    ]
    for turn in range(12):
        try:
            with guard.in_time():
                f(0.45 + 0.02 * turn)
        except DidNotEnd:
            pass
        end = time.monotonic() + 0.15
        while time.monotonic() < end:  # where an exception that came late would show
            pass


def test_a_guard_within_a_guard_is_one():
    with pytest.raises(DidNotEnd), guard.in_time(), guard.in_time():
        student(ENDLESS["a loop"])["f"](1)
    assert not patience._watches


PAGE = """
import json, time
from pathlib import Path
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("project/app.py", default_timeout=60).run()
app.switch_page("views/m0_operators.py").run()
whole = len(app.get("vega_lite_chart"))
file = Path("minitorch/operators.py")
source = file.read_text()
before = "    return x if x > 0 else 0.0\\n"
assert before in source
file.write_text(source.replace(before, "    while x == x:\\n        y = x\\n    return y\\n", 1))
begun = time.monotonic()
app.run()
seconds = time.monotonic() - begun
errors = [error.value for error in app.error]
file.write_text(source)
app.run()
print(json.dumps({"seconds": seconds, "errors": errors, "whole": whole, "again": len(app.get("vega_lite_chart")),
    "after": [error.value for error in app.error], "exceptions": len(app.exception)}))
"""


def test_a_page_tells_it_within_five_seconds_and_recovers_when_the_file_is_mended(tmp_path):
    workspace.copy(tmp_path)
    done = subprocess.run([sys.executable, "-c", PAGE], cwd=tmp_path, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert len(seen["errors"]) == 1
    assert "while x == x:" in seen["errors"][0]
    assert "did not end within 4 seconds" in seen["errors"][0]
    assert seen["seconds"] < 5 + 3, "four seconds, and what a busy machine adds"
    assert (seen["again"], seen["after"], seen["exceptions"]) == (seen["whole"], [], 0)
    assert seen["whole"] > 0
