"""The time limit of a test: what it allows on a slow or a busy machine, and what it says about a test that does not end in time."""

import contextlib
import re
import signal
import sys
import time

import pytest

from course.explain.endless import HangRecorder
from course.manifest import ROOT
from course.runner import time_limit
from course.runner.time_limit import TimeLimit, limit_of

pytestmark = pytest.mark.skipif(not time_limit.TIMERS, reason="this system has no interval timers")

SECONDS = 0.1


@pytest.fixture
def limit(tmp_path):
    """A short limit for the code in a workspace."""
    handlers = {number: signal.getsignal(number) for number in time_limit.TIMERS}
    limit = TimeLimit(SECONDS, tmp_path, ("minitorch",))
    limit.install()
    yield limit
    limit.start(0)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def reason(limit, source):
    """Why the function f of a student's file is interrupted."""
    path = limit.root / "minitorch" / "code.py"
    path.parent.mkdir()
    path.write_text(source, encoding="utf-8")
    names = {}
    exec(compile(source, str(path), "exec"), names)
    limit.start()
    with pytest.raises(KeyboardInterrupt):
        names["f"]()
    return limit.reason


AFTER = r"after [\d.]+ seconds?"
ENDLESS = {
    "what the condition reads does not change": (
        "def f():\n    i, total = 0, 0\n    while i < 3:\n        total += i\n",
        r"code\.py:3: nothing that could end it changed in \d+ iterations \(i = 0\)",
    ),
    "no variable changes": (
        "def f(x=3):\n    while True:\n        y = x\n        if y < x:\n            break\n",
        r"code\.py:2: nothing that could end it changed in \d+ iterations \(x = 3.*\)",
    ),
    "nothing leaves it": ("def f():\n    x = 0\n    while True:\n        x += 1\n", r"code\.py:3: it has no break and no return"),
    "only an inner loop is left": (
        "def f():\n    while 1:\n        for i in range(3):\n            if i == 2:\n                break\n",
        r"code\.py:2: it has no break and no return",
    ),
    "it counts to infinity": (
        "import itertools\n\n\ndef f():\n    for i in itertools.count():\n        pass\n",
        r"code\.py:5: it has no break and no return",
    ),
    "it calls a function that ends": (
        "def g(n):\n    for i in range(9):\n        n += i\n    return n\n\n\ndef f(n=1):\n    while n > 0:\n        m = g(n)\n",
        r"code\.py:8: nothing that could end it changed in \d+ iterations \(n = 1\)",
    ),
}


@pytest.mark.parametrize(("source", "expected"), ENDLESS.values(), ids=ENDLESS)
def test_a_loop_that_does_not_end_is_named_with_the_reason(limit, source, expected):
    assert re.fullmatch(f"{AFTER}, in a loop that does not end, minitorch/{expected}", reason(limit, source))


SLOW = {
    "a loop over loops": (
        "def f(n=10**6):\n    for i in range(n):\n        for j in range(50):\n            i + j\n",
        r"; it was still in the loop of minitorch/code\.py:(2, where i|3, where j) went from \d+ to \d+",  # j if i never changed
    ),
    "it counts, and may end": (
        "def f(n=1):\n    while n > 0:\n        n += 1\n",
        r"; it was still in the loop of minitorch/code\.py:2, where n went from \d+ to \d+",
    ),
    "it counts to infinity, and may return": (
        "import itertools\n\n\ndef f():\n    for i in itertools.count():\n        if i < 0:\n            return\n",
        r"; it was still in the loop of minitorch/code\.py:5, where i went from \d+ to \d+",
    ),
    "a break depends on what changes": (
        "def f(more=True):\n    x = 1\n    while more:\n        x += 1\n        if x < 0:\n            break\n",
        r"; it was still in the loop of minitorch/code\.py:3, where x went from \d+ to \d+",
    ),
    "an object changes": (
        "class A:\n    n = 1\n\n\ndef f():\n    a = A()\n    a.n = 1\n    while a.n > 0:\n        a.n += 1\n",
        "",
    ),
    "an object in a list in an object changes": (
        "class A:\n    pass\n\n\ndef f():\n    a, a.b = A(), [A()]\n    a.b[0].n = 1\n    while a.b[0].n:\n        a.b[0].n += 1\n",
        "",
    ),
    "an array changes": (
        "import numpy as np\n\n\ndef f():\n    a = np.zeros(3000)\n    while a[1500] < 1e9:\n        a[1500] += 1\n",
        "",
    ),
    "a called function decides": (
        "n = [1]\n\n\ndef more():\n    n[0] += 1\n    return n[0]\n\n\ndef f():\n    while more():\n        pass\n",
        "",
    ),
    "an iterator decides": (
        "def f():\n    numbers = iter(range(10**9))\n    while any(numbers):\n        pass\n",
        "",
    ),
    "a recursion": (
        "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n\ndef f():\n    fib(50)\n",
        r"; fib was calling itself, \d+ levels deep",
    ),
}


@pytest.mark.parametrize(("source", "expected"), SLOW.values(), ids=SLOW)
def test_any_other_code_is_called_slow_and_what_it_did_last_is_shown(limit, source, expected, monkeypatch):
    monkeypatch.setattr(time_limit, "slowness", lambda: 1.0)
    monkeypatch.setattr(time_limit, "USUAL_SHARE", SECONDS)
    message = (
        rf"{AFTER}, because it is slow: correct code takes less than 1 second{expected}; compute less, or allow more with --time-limit"
    )
    assert re.fullmatch(message, reason(limit, source))


def test_a_test_that_waits_is_told_so(limit, monkeypatch):
    monkeypatch.setattr(time_limit, "WALL_CLOCK_FACTOR", 1)
    source = "import time\n\n\ndef f():\n    time.sleep(60)\n"
    assert re.fullmatch(
        r"after 0\.\d seconds in which it only waited; remove what it waits for, such as time\.sleep or input", reason(limit, source)
    )


def test_a_busy_machine_takes_no_time_from_code_that_computes(limit, monkeypatch):
    monkeypatch.setattr(time_limit, "WALL_CLOCK_FACTOR", 0.3)  # as if other programs had most of the processor
    assert "in a loop that does not end" in reason(limit, ENDLESS["nothing leaves it"][0])


def test_a_slow_machine_allows_more(limit, monkeypatch):
    monkeypatch.setattr(time_limit, "slowness", lambda: 3.0)
    limit.start()
    began = time.process_time()
    while time.process_time() < began + 2.5 * SECONDS:
        pass
    limit.start(0)
    assert limit.reason == ""


def loop_of(limit, seconds):
    """A student's function that computes for so long."""
    path = limit.root / "minitorch" / "code.py"
    path.parent.mkdir()
    path.write_text(
        f"import time\n\ndef f():\n    end = time.process_time() + {seconds}\n    while time.process_time() < end:\n        x = 1\n"
    )
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["f"]


@pytest.mark.parametrize(("slowness", "records"), [(1.0, True), (30.0, False)])
def test_explain_records_a_loop_only_when_this_machine_would_have_finished(limit, slowness, records, monkeypatch):
    monkeypatch.setattr(time_limit, "slowness", lambda: slowness)
    recorder = HangRecorder(limit.root)
    limit.expired = recorder.record
    function = loop_of(limit, 5 * SECONDS)
    limit.start()
    with pytest.raises(KeyboardInterrupt) if records else contextlib.nullcontext():
        function()
    found = recorder.result()
    assert (found is not None, limit.reason) == (records, "")
    if found is not None:
        assert (found["file"], found["line"], len(found["iterations"])) == ("minitorch/code.py", 5, 3)


def test_explain_records_a_test_that_only_waits(limit):
    called = []
    limit.expired = called.append
    limit.seconds = 0.02
    limit.start()
    time.sleep(4 * 0.02 + 0.2)
    assert len(called) == 1


def test_the_message_counts_in_seconds_of_this_machine(limit, monkeypatch):
    monkeypatch.setattr(time_limit, "slowness", lambda: 20.0)
    monkeypatch.setattr(time_limit, "USUAL_SHARE", 0.1)
    limit.seconds = 0.01
    assert ": correct code takes less than 2 seconds;" in reason(limit, SLOW["a recursion"][0])


def test_slowness_is_measured_against_the_yardstick(monkeypatch):
    monkeypatch.setattr(time_limit, "work", lambda: time.sleep(0))
    assert time_limit.slowness() == 1.0
    clock = iter([5.0, 5.0 + 4 * time_limit.YARDSTICK])
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    assert time_limit.slowness() == pytest.approx(4.0)


def test_nothing_is_traced_after_the_test(limit):
    before = sys.gettrace()
    sys.settrace(None)
    limit.watch = time_limit.LoopWatch(sys._getframe(), ROOT, ("tests",))
    assert sys.gettrace() is not None
    limit.start()
    after = sys.gettrace()
    sys.settrace(before)
    assert after is None


def test_while_a_debugger_traces_no_loop_is_watched(limit):
    def debugger(*_):
        return None

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        text = reason(limit, ENDLESS["nothing leaves it"][0])
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
    assert "because it is slow" in text


def test_tests_that_compile_have_more_time():
    assert [limit_of(stage) for stage in (0, 2, 3, 4)] == [5.0, 5.0, 30.0, 30.0]
