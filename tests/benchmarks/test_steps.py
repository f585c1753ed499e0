"""The steps from the textbook's kernels to the library's: all compute the same, and the table says what was measured."""

import json

import numpy as np
import pytest

from benchmarks import steps
from course.manifest import ROOT

SAVED = ROOT / "benchmarks" / "results" / "steps.json"


@pytest.fixture(scope="module")
def groups():
    """The smallest work that each step can do."""
    return [steps.elementwise(5), steps.matrix_product(256)]


def test_a_kernel_that_computes_something_else_is_not_timed(groups):
    out, expected = groups[0].results["add"]

    def wrong():
        out[:] = expected
        out[-1, -1] += 1

    group = groups[0]._replace(steps=[steps.Step("a wrong idea", {"add": wrong})])
    with pytest.raises(SystemExit, match=r"^a wrong idea, add: the result differs from NumPy's; its time is meaningless$"):
        steps.check(group)


def test_a_kernel_that_leaves_a_place_unwritten_is_not_timed(groups):
    out, expected = groups[0].results["add"]

    def forgets_the_last():
        out.reshape(-1)[:-1] = expected.reshape(-1)[:-1]

    out[:] = expected  # what an earlier step left there must not count
    with pytest.raises(SystemExit):
        steps.check(groups[0]._replace(steps=[steps.Step("forgetful", {"add": forgets_the_last})]))


def test_the_steps_take_turns():
    called = []
    run = [steps.Step(name, {"add": lambda name=name: called.append(name)}) for name in ("first", "second")]
    out = np.zeros(1)
    steps.measure(steps.Group("", {"add": 0}, run, {"add": (out, out)}), repeats=3)
    changes = [name for i, name in enumerate(called) if i == 0 or called[i - 1] != name]
    assert changes == ["first", "second"] * 3


def test_the_middle_half_leaves_out_a_quarter_at_either_end():
    assert steps.middle_half([9.0, 1.0, 2.0, 100.0, 3.0, 4.0, 5.0, 0.0, 6.0]) == [4.0, 2.0, 6.0]
    assert steps.middle_half([7.0]) == [7.0, 7.0, 7.0]


def test_a_gain_is_that_over_the_last_step_with_the_same_work():
    group = {
        "operations": {"add": 0, "product": 2_000_000},
        "steps": [
            {"idea": "textbook", "seconds": {"add": [0.004, 0.003, 0.005], "product": [0.002, 0.002, 0.002]}},
            {"idea": "for products", "seconds": {"product": [0.0005, 0.0005, 0.0005]}},
            {"idea": "for both", "seconds": {"add": [0.001, 0.0009, 0.0011], "product": [0.0004, 0.0004, 0.0004]}},
        ],
    }
    assert steps.rows_of(group) == [
        ["step", "add, µs", "gain", "product, µs", "gain", "GFLOP/s"],
        ["textbook", "4,000 ± 25%", "", "2,000 ± 0%", "", "1.0"],
        ["for products", "", "", "500 ± 0%", "4.0", "4.0"],
        ["for both", "1,000 ± 10%", "4.0", "400 ± 0%", "1.2", "5.0"],
    ]


def test_the_table_is_one_of_markdown():
    assert steps.table([["step", "µs"], ["a", "10"]]) == "| step | µs |\n| ---- | -- |\n| a    | 10 |"


def test_the_program_prints_its_tables_and_saves_what_it_measured(tmp_path, capsys, monkeypatch):
    out = np.zeros(1)
    group = steps.Group(
        "one number", {"add": 0}, [steps.Step("the only idea", {"add": lambda: out.fill(3)})], {"add": (out, np.full(1, 3.0))}
    )
    monkeypatch.setattr(steps, "elementwise", lambda rows: group)
    monkeypatch.setattr(steps, "matrix_product", lambda size: group._replace(title=f"size {size}"))
    file = tmp_path / "new" / "steps.json"
    steps.main(["--repeats", "2", "--size", "256", "--save", str(file)])
    saved = json.loads(file.read_text(encoding="utf-8"))
    assert saved["command"] == f"python -m benchmarks.steps --repeats 2 --size 256 --save {file}"
    assert [group["title"] for group in saved["groups"]] == ["one number", "size 256"]
    printed = capsys.readouterr().out
    assert saved["machine"] in printed
    for group in saved["groups"]:
        assert f"\n{group['title']}\n\n{steps.table(steps.rows_of(group))}\n" in printed


def test_the_figures_of_the_book_are_those_of_today_s_steps(groups):
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    assert [[(step["idea"], [*step["seconds"]]) for step in group["steps"]] for group in saved["groups"]] == [
        [(step.idea, [*step.kernels]) for step in group.steps] for group in groups
    ], "measure again: python -m benchmarks.steps --save benchmarks/results/steps.json"
    assert [group["title"] for group in saved["groups"]] == ["1000 × 1000 numbers, float32", "512 × 512 matrices, float32"]


def test_the_chapter_on_performance_claims_what_was_measured():
    elementwise, product = json.loads(SAVED.read_text(encoding="utf-8"))["groups"]
    median = {step["idea"]: step["seconds"]["matrix product"][0] for step in product["steps"]}
    slowest, row_by_row, tiles, *_, fused, all_cores, library = median.values()
    first, *_, last = (step["seconds"] for step in elementwise["steps"])
    text = " ".join((ROOT / "docs" / "module3" / "performance.md").read_text(encoding="utf-8").split())
    claims = {
        "two hundred to fourteen hundred times": all(
            200 < gain < 1400 for gain in [*(first[work][0] / last[work][0] for work in first), slowest / library]
        ),
        "By itself, this gains little": tiles > 0.75 * row_by_row,
        "gain several times as much": slowest / fused > 3 * 16,
        "A second core gives a factor of about two": 1.7 < fused / all_cores < 2.2,
    }
    assert {claim: claim in text and holds for claim, holds in claims.items()} == dict.fromkeys(claims, True)
