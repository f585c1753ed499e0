"""The page of compiled steps: stages of a program, removed lines, and a measurement."""

import itertools

import pytest

import minitorch
from project.lab.explorers import compiled_step
from tests.marks import needs_compiler

from .pages import forward, ignore_saved_files, open_page, page_text  # noqa: F401  a fixture

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def stages():
    step, args = compiled_step.example(compiled_step.EXAMPLES[1], 4)
    compiled = minitorch.compile(step, fuse=False)
    compiled(*args)
    return compiled_step.stages(compiled)


def test_each_stage_keeps_the_lines_that_are_not_marked(stages):
    *programs, last = stages
    assert last.is_source
    assert last.text.startswith("def fused(")
    counts = [stage.operations for stage in programs]
    assert counts == sorted(counts, reverse=True)
    for before, after in itertools.pairwise(programs):
        removed = sum(line.startswith("- ") for line in before.text.splitlines())
        assert removed == before.operations - after.operations
    assert last.operations < counts[-1] < counts[0]


def test_the_bars_are_the_operations_of_the_stages_and_that_of_the_shown_one_has_a_color(stages):
    spec = compiled_step.sizes(stages, 1)
    assert [(row["operations"], row["now"] == "shown") for row in spec["data"]["values"]] == [
        (stage.operations, at == 1) for at, stage in enumerate(stages)
    ]
    assert spec["description"].startswith(f"Operations of each stage: recorded {stages[0].operations}, ")


def test_marked_lines_are_those_that_the_next_stage_lacks():
    lines = ["def f(x):", "    t1: float64[2] = neg(c0)      # a.py:1", "    t2: float64[2] = add(x, t1)", "    sgd(W, t2)"]
    after = ["def f(x):", "    t2: float64[2] = add(x, c0)", "    sgd(W, t2)"]
    assert compiled_step.marked(lines, after).splitlines() == [
        "  def f(x):",
        "-     t1: float64[2] = neg(c0)",
        "      t2: float64[2] = add(x, t1)",
        "      sgd(W, t2)",
    ]


def test_the_page_steps_through_the_stages():
    app = open_page("m5_compiled")
    assert "As recorded" in page_text(app)
    assert app.code[0].value.startswith("  def step(input0")
    operations = int(app.metric[0].value)
    for _ in range(5):
        forward(app)
    assert app.code[0].value.startswith("def fused(")
    assert int(app.metric[0].value) < operations
    assert not app.exception


def test_a_measurement_is_drawn_and_told():
    seconds = {"as it is": 4e-4, "replayed": 5e-5, "fused": 2e-5}
    expected = "One step takes 400 µs as it is; replayed 50 µs, 8.0 times as fast; fused 20 µs, 20.0 times as fast."
    assert compiled_step.in_words(seconds) == expected
    spec = compiled_step.chart(seconds)
    assert spec["description"] == expected
    assert [row["µs"] for row in spec["data"]["values"]] == [400.0, 50.0, 20.0]
    assert set(compiled_step.measure(compiled_step.EXAMPLES[1], 3, turns=2)) == set(compiled_step.FORMS)
