"""The time limit: an endless loop in student code is interrupted and shown; slow code of the app is not."""

import gc
import json
import subprocess
import sys
import threading
import time
from types import ModuleType

import pytest

from course.manifest import ROOT
from project.lab import cards, guard, registry, time_limit
from project.lab.time_limit import TimeLimitExceeded
from tests.project import workspace

OPERATORS = str(ROOT / "minitorch" / "operators.py")


@pytest.fixture(autouse=True)
def short_time_limit(monkeypatch):
    """A short limit, so that the tests are fast."""
    monkeypatch.setattr(time_limit, "LIMIT", 0.25)
    monkeypatch.setattr(time_limit, "PERIOD", 0.02)


def student_namespace(source, **names):
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
    error, seconds = interrupt(student_namespace(ENDLESS[kind])["f"], 1)
    assert seconds > 0.2
    assert error.frame.f_code.co_name in ("f", "g")


BUSY_BEFORE = """
import time

def inner():
    while True:
        pass

def outer():
    end = time.monotonic() + 0.08
    while time.monotonic() < end:
        pass
    inner()
"""


def test_the_innermost_call_is_named_although_those_around_it_began_before():
    error, _ = interrupt(student_namespace(BUSY_BEFORE)["outer"])
    assert error.frame.f_code.co_name == "inner"


@pytest.mark.parametrize(
    ("line", "title"),
    [(2, "line 2: this loop did not end"), (None, "line 3: this call did not return")],
    ids=["of a loop", "of a call without a loop"],
)
def test_the_card_shows_the_line_and_its_variables(monkeypatch, line, title):
    source = "def nearest(x):\n    step = 7\n    while step == 7: pass\n"
    monkeypatch.setattr(cards.endless, "loop_around", lambda path, number: line)  # the lines of the file on disk differ
    error, _ = interrupt(student_namespace(source)["nearest"], 2.5)
    card = cards.explain(error)
    assert not card.todo
    assert card.title == f"minitorch/operators.py, {title} within 0.25 seconds and was stopped"
    assert "in `nearest` with `x = 2.5`" in card.body
    assert "Variables when it was stopped: `step = 7, x = 2.5`" in card.body
    assert "run `course test`, then `course explain`" in card.body


def test_the_card_without_a_frame_names_the_cause():
    card = cards.explain(TimeLimitExceeded())
    assert card.title == "This call did not return within 0.25 seconds and was stopped"
    assert card.body == "Look for a loop that never ends."


def test_task_guard_shows_the_card_and_the_page_continues(monkeypatch):
    shown = []
    monkeypatch.setattr(guard, "show", shown.append)
    with guard.task_guard(stop=False):
        student_namespace(ENDLESS["a loop"])["f"](1)
    with guard.task_guard(stop=False):
        assert student_namespace("def f(x):\n    return x\n")["f"](1) == 1
    assert len(shown) == 1


def test_many_short_calls_may_take_long_together():
    f = student_namespace("def f(x):\n    for _ in range(1000):\n        x = x + 1\n    return x\n")["f"]
    end = time.monotonic() + 0.5
    with guard.limited():
        while time.monotonic() < end:
            f(1)


def test_compile_time_does_not_count():
    compiler = ModuleType("numba.core.fake")
    exec("import time\n\ndef compiled():\n    time.sleep(0.6)\n", compiler.__dict__)
    with guard.limited():
        student_namespace("def f(x):\n    compiled()\n", compiled=compiler.compiled)["f"](1)


def test_code_of_the_app_has_no_limit():
    with guard.limited():
        time.sleep(0.6)


PROFILED = """
import sys
from project.lab import guard, time_limit
time_limit.LIMIT, time_limit.PERIOD = 0.2, 0.05
names = {}
exec(compile("def f():\\n    while True:\\n        pass\\n", %r, "exec"), names)
try:
    with guard.limited():
        names["f"]()
except time_limit.TimeLimitExceeded:
    sys.setprofile(lambda *event: None)
    print("profiled", sum(range(3)))
"""


def test_profiled_code_runs_after_an_interrupted_call():
    done = subprocess.run([sys.executable, "-c", PROFILED % OPERATORS], text=True, capture_output=True, timeout=60, check=False, cwd=ROOT)
    assert (done.stdout, done.returncode) == ("profiled 3\n", 0), done.stderr


def test_nested_guards_share_one_limit_and_leave_no_thread():
    before = threading.active_count()
    with guard.limited(), guard.limited():
        assert threading.active_count() == before + 1
    with pytest.raises(TimeLimitExceeded), guard.limited(), guard.limited():
        student_namespace(ENDLESS["a loop"])["f"](1)
    end = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before
    error, _ = interrupt(student_namespace(ENDLESS["a loop"])["f"], 1)  # the next guard works
    assert error.frame is not None


# Pages: the loop is shown with its line and variables, and the page recovers when the file is fixed

PAGE = """
import ast, json, sys, time
from pathlib import Path
from streamlit.testing.v1 import AppTest
from project.lab import registry

page, file, qualified, start = sys.argv[1:]
path = Path(file)
source = path.read_text()
node = ast.parse(source)
for part in qualified.split("."):
    node = next(child for child in ast.walk(node) if getattr(child, "name", None) == part)
first = node.body[0]
lines = source.splitlines(keepends=True)
loop = "".join(" " * first.col_offset + line for line in ("y = 3\\n", "while y == 3:\\n", "    pass\\n"))

app = AppTest.from_file("project/app.py", default_timeout=200).run()
row = registry.view(page)
app.switch_page(row.path).query_params.update(row.query)
app.run()
complete = len(app.main)
before = [error.value for error in app.error]
path.write_text("".join(lines[: first.lineno - 1]) + loop + "".join(lines[first.lineno - 1 :]))
app.run()
if start and not app.error:
    app.button(key=start).click().run()
    end = time.monotonic() + 120
    while not app.error and time.monotonic() < end:
        time.sleep(0.3)
        app.run()
errors = [error.value for error in app.error]
path.write_text(source)
app.run()
after = [error.value for error in app.error]
print(json.dumps({"line": first.lineno + 1, "before": before, "errors": errors, "after": after,
    "exceptions": [each.message for each in app.exception], "complete": len(app.main) == complete or bool(start)}))
"""

OPS, DATA, TENSORS = "minitorch/operators.py", "minitorch/tensor_data.py", "minitorch/tensor_functions.py"
LOOPS = {  # page: the function that gets an endless loop, and the button that calls it
    "playground": ("project/run_scalar.py", "Linear.forward", ""),
    "m0_operators": (OPS, "sigmoid", ""),
    "m0_modules": ("minitorch/module.py", "Module.named_parameters", ""),
    "m0_datasets": ("minitorch/datasets.py", "make_pts", ""),
    "m0_manual": ("project/run_manual.py", "separating_line", ""),
    "m1_derivative": ("minitorch/autodiff.py", "central_difference", ""),
    "m1_graph": ("minitorch/autodiff.py", "topological_sort", ""),
    "m1_trace": ("minitorch/scalar.py", "Scalar.chain_rule", ""),
    "m1_training": ("minitorch/scalar_functions.py", "ReLU.backward", "step"),
    "m2_strides": (DATA, "index_to_position", ""),
    "m2_broadcasting": (DATA, "shape_broadcast", ""),
    "m2_functions": (TENSORS, "Sigmoid.forward", ""),
    "m2_graph": (TENSORS, "Mul.backward", ""),
    "m2_training": ("project/run_tensor.py", "Network.forward", ""),
    "m3_diagnostics": ("minitorch/fast_ops.py", "tensor_map._map", ""),
    "m3_speed": ("minitorch/fast_ops.py", "tensor_reduce._reduce", ""),
    "m3_training": ("minitorch/fast_ops.py", "_tensor_matrix_multiply", ""),
    "m4_convolution": ("minitorch/fast_conv.py", "_tensor_conv2d", ""),
    "m4_pooling": ("minitorch/nn/functional.py", "tile", ""),
    "m4_softmax": ("minitorch/nn/functional.py", "softmax", ""),
    "m4_dropout": ("minitorch/nn/functional.py", "dropout", ""),
    "m4_images": ("project/run_mnist_multiclass.py", "Conv2d.forward", "images_start"),
    "m4_sentiment": ("project/run_sentiment.py", "Conv1d.forward", "sentiment_start"),
    "m5_compiled": (TENSORS, "Sigmoid.forward", ""),
    "m6_tokens": ("minitorch/language/merges.py", "PairCounts.merge", ""),
    "m6_layers": ("minitorch/language/functions.py", "Normalize.forward", ""),
    "m6_attention": ("minitorch/language/attention.py", "split_heads", ""),
    "m6_model": ("minitorch/language/model.py", "Block.forward", ""),
    "m6_fused": ("minitorch/language/fused_attention.py", "add_tile", ""),
    "m6_generation": ("minitorch/language/generation.py", "next_probabilities", ""),
    "m6_training": ("minitorch/language/training.py", "learning_rate", ""),
    "m6_quantization": ("minitorch/language/quantization.py", "quantize_rows", ""),
    "m6_lora": ("minitorch/language/lora.py", "add_adapters", ""),
    "m6_machines": ("minitorch/language/machines.py", "all_reduce", ""),
    "m6_language_model": ("minitorch/language/attention.py", "causal_mask", ""),
    "m7_formats": ("minitorch/core/number_formats.py", "finfo", ""),
}
WITHOUT_STUDENT_CODE = {"home", "runs", "sweeps", "m3_tiling", "m3_grid", "m3_kernels"}


def check_page(folder, page, file, qualified, start):
    copy = workspace.copy(folder)
    workspace.turn_optimized_kernels_off(copy)
    seen = json.loads(workspace.execute(copy, PAGE, page, file, qualified, start).splitlines()[-1])
    assert seen["before"] == []
    cards = [text.replace("\\", "") for text in seen["errors"]]
    assert f"{file}, line {seen['line']}: this loop did not end within" in cards[0]
    assert "while y == 3:" in cards[0]
    assert "y = 3" in cards[0].partition("Variables when it was stopped")[2]
    job = start.endswith("_start")  # another process trains; the training page itself creates a new network when the file changes
    assert seen["after"] == (seen["errors"] if job else []), "a failed job stays on the page until the next one"
    assert seen["exceptions"] == []
    assert seen["complete"]


def test_every_page_that_runs_student_code_is_checked():
    assert {row.name for row in registry.ROWS} == LOOPS.keys() | WITHOUT_STUDENT_CODE


@pytest.mark.parametrize("collects", [True, False])
def test_a_stack_is_read_without_the_garbage_collector_and_its_state_restored(monkeypatch, collects):
    calls = []
    monkeypatch.setattr(gc, "isenabled", lambda: collects)
    monkeypatch.setattr(gc, "disable", lambda: calls.append("off"))
    monkeypatch.setattr(gc, "enable", lambda: calls.append("on"))
    here = sys._getframe()
    assert time_limit._stack(here)[:2] == [here, here.f_back]
    assert calls == (["off", "on"] if collects else ["off"])
