"""The time limit: an endless loop in student code is interrupted and shown; slow code of others is not."""

import json
import threading
import time
from types import ModuleType

import pytest

from course.manifest import ROOT
from project.lab import cards, guard, time_limit
from project.lab.time_limit import TimeLimitExceeded
from tests.project import workspace

OPERATORS = str(ROOT / "minitorch" / "operators.py")


@pytest.fixture(autouse=True)
def short_limit(monkeypatch):
    """A short limit, so that the tests are fast."""
    monkeypatch.setattr(time_limit, "LIMIT", 0.5)
    monkeypatch.setattr(time_limit, "PERIOD", 0.05)


def student(source, **names):
    """The namespace of this source, compiled as the student's file."""
    exec(compile(source, OPERATORS, "exec"), names)
    return names


def interrupt(function, *arguments):
    """Call a function that does not return; the error that interrupts it, and the seconds until then."""
    start = time.monotonic()
    with pytest.raises(TimeLimitExceeded) as caught, guard.limited():
        function(*arguments)
    return caught.value, time.monotonic() - start


CATCH = "def f(x):\n    while True:\n        try:\n            x = x + 1\n        except {}:\n            pass\n"
GENERATOR = """
def g(x):
    while True:
        x = x + 1
        if x < 0:
            yield x

def f(x):
    return list(g(x))
"""
ENDLESS = {
    "a loop": "def f(x):\n    while True:\n        x = x + 1\n",
    "a loop with calls": "def g(x):\n    return x + 1\n\ndef f(x):\n    while True:\n        x = g(x)\n",
    "a loop that catches exceptions": CATCH.format("Exception"),
    "a loop that catches everything": CATCH.format("BaseException"),
    "a generator": GENERATOR,
    "a wait": "import time\n\ndef f(x):\n    while True:\n        time.sleep(0.01)\n",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_loop_is_interrupted(kind):
    error, seconds = interrupt(student(ENDLESS[kind])["f"], 1)
    assert seconds > 0.4
    assert error.frame.f_code.co_name in ("f", "g")


def test_the_card_shows_the_loop_and_its_variables(monkeypatch):
    source = "def nearest(x):\n    step = 7\n    while step > 1:\n        step = step % 10\n"
    monkeypatch.setattr(cards.endless, "loop_around", lambda path, line: 3)  # the file on disk has other lines
    error, _ = interrupt(student(source)["nearest"], 2.5)
    card = cards.explain(error)
    assert not card.todo
    assert card.title == "minitorch/operators.py, line 3: this loop did not end within 0.5 seconds and was stopped"
    assert "in `nearest` with `x = 2.5`" in card.body
    assert "Variables when it was stopped: `step = 7, x = 2.5`" in card.body
    assert "run `course test`, then `course explain`" in card.body


def test_the_card_for_a_call_without_a_loop_shows_the_call(monkeypatch):
    monkeypatch.setattr(cards.endless, "loop_around", lambda path, line: None)
    error, _ = interrupt(student("import time\n\ndef f(x):\n    time.sleep(1)\n    return x\n")["f"], 1)
    assert cards.explain(error).title == "minitorch/operators.py, line 4: this call did not return within 0.5 seconds and was stopped"


def test_the_card_without_a_frame_names_the_cause():
    card = cards.explain(TimeLimitExceeded())
    assert card.title == "This call did not return within 0.5 seconds and was stopped"
    assert card.body == "Look for a loop that never ends."


def test_task_guard_shows_the_card_and_the_page_continues(monkeypatch):
    shown = []
    monkeypatch.setattr(guard, "show", shown.append)
    with guard.task_guard(stop=False):
        student(ENDLESS["a loop"])["f"](1)
    assert len(shown) == 1
    with guard.task_guard(stop=False):
        assert student("def f(x):\n    return x\n")["f"](1) == 1
    assert len(shown) == 1


def test_many_short_calls_may_take_long_together():
    f = student("def f(x):\n    for _ in range(1000):\n        x = x + 1\n    return x\n")["f"]
    end = time.monotonic() + 1.5
    with guard.limited():
        while time.monotonic() < end:
            f(1)


def test_compile_time_does_not_count():
    compiler = ModuleType("numba.core.fake")
    exec("import time\n\ndef compiled():\n    time.sleep(1.5)\n", compiler.__dict__)
    with guard.limited():
        student("def f(x):\n    compiled()\n", compiled=compiler.compiled)["f"](1)


def test_code_of_the_app_has_no_limit():
    with guard.limited():
        time.sleep(1.5)


def test_a_call_that_returns_just_in_time_raises_nothing_later():
    source = "import time\n\ndef f(seconds):\n    end = time.monotonic() + seconds\n    while time.monotonic() < end:\n        pass\n"
    f = student(source)["f"]
    for k in range(12):
        try:
            with guard.limited():
                f(0.45 + 0.02 * k)
        except TimeLimitExceeded:
            pass
        end = time.monotonic() + 0.15
        while time.monotonic() < end:  # a late exception would be raised here
            pass


def test_nested_guards_share_one_limit_and_leave_no_thread():
    before = threading.active_count()
    with guard.limited(), guard.limited():
        assert threading.active_count() == before + 1
    with pytest.raises(TimeLimitExceeded), guard.limited(), guard.limited():
        student(ENDLESS["a loop"])["f"](1)
    end = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before
    error, _ = interrupt(student(ENDLESS["a loop"])["f"], 1)  # the next guard works
    assert error.frame is not None


# Pages

PAGE = """
import json, sys
from pathlib import Path
from streamlit.testing.v1 import AppTest

app = AppTest.from_file("project/app.py", default_timeout=120).run()
app.switch_page("views/m0_operators.py").run()
complete = len(app.get("vega_lite_chart"))
path = Path("minitorch/operators.py")
source = path.read_text()
line = source[: source.index("def sigmoid(")].count("\\n") + 1
first = source.index("\\n", source.index("def sigmoid(")) + 1
path.write_text(source[:first] + "    y = 3\\n    while y == 3:\\n        pass\\n    return y\\n" + source[first:])
app.run()
errors = [error.value for error in app.error]
path.write_text(source)
app.run()
print(json.dumps({"line": line + 2, "errors": errors, "charts": [complete, len(app.get("vega_lite_chart"))],
    "after": [error.value for error in app.error], "exceptions": len(app.exception)}))
"""


def test_a_page_shows_an_endless_loop_and_recovers_when_the_file_is_fixed(tmp_path):
    folder = workspace.copy(tmp_path)
    seen = json.loads(workspace.execute(folder, PAGE.replace("\\", "\\")).splitlines()[-1])
    assert len(seen["errors"]) == 1
    card = seen["errors"][0].replace("\\", "")
    assert f"minitorch/operators.py, line {seen['line']}: this loop did not end within 4 seconds" in card
    assert "while y == 3:" in card
    assert "y = 3, x = -5.0" in card
    assert seen["after"] == []
    assert seen["exceptions"] == 0
    assert seen["charts"][0] == seen["charts"][1] > 0
