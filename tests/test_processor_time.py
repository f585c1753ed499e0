"""The budget of `make test`: what is measured, printed and refused."""

import json
import os

import pytest

from tests import processor_time
from tests.processor_time import BUDGET, LIMIT, YARDSTICK, excesses, main, summary

LOSSES, SCALAR = "tests/nn/test_losses.py::test_x", "tests/test_scalar.py::test_a"


def run(total, yardstick=YARDSTICK, **tests):
    return {"total": total, "yardstick": yardstick, "tests": {{"losses": LOSSES, "scalar": SCALAR}[name]: tests[name] for name in tests}}


def test_the_summary_names_the_share_of_each_folder_and_the_most_expensive_files():
    assert summary([run(60.0, 2 * YARDSTICK, losses=16.0, scalar=20.0), run(10.0, scalar=10.0)]) == [
        " 50.0 %  tests",
        " 30.0 %  starting and loading tests",
        " 20.0 %  tests/nn",
        "The ten most expensive files, in yardstick-seconds:",
        " 20.0  tests/test_scalar.py",
        "  8.0  tests/nn/test_losses.py",
        f"70 s of processor time; 40 yardstick-seconds of {BUDGET:.0f}, with a yardstick of {2 * YARDSTICK:.2f} s, {YARDSTICK:.2f} s",
    ]


@pytest.mark.parametrize(
    ("runs", "exceeded"),
    [
        ([run(BUDGET)], []),
        ([run(2 * BUDGET, 2 * YARDSTICK)], []),
        ([run(BUDGET + 1)], ["make test"]),
        ([run(BUDGET / 2), run(BUDGET / 2 + 1)], ["make test"]),
        ([run(10.0, losses=LIMIT, scalar=1.0)], []),
        ([run(10.0, YARDSTICK / 2, losses=LIMIT, scalar=1.0)], [LOSSES]),
    ],
)
def test_the_budget_and_the_limit_of_a_test_are_in_yardstick_seconds(runs, exceeded):
    assert [text.partition(" took")[0] for text in excesses(runs)] == exceeded


def test_the_check_names_what_to_do_and_fails(tmp_path, capsys):
    record = tmp_path / "record.json"
    assert main(record) == 0
    assert capsys.readouterr().out == "The processor time of the tests is unknown: make test measures it.\n"
    record.write_text(json.dumps([run(BUDGET - 1)]))
    assert main(record) == 0
    assert capsys.readouterr().out == "The tests keep to their budget of processor time.\n"
    record.write_text(json.dumps([run(BUDGET + 1)]))
    assert main(record) == 1
    assert capsys.readouterr().out == (
        f"make test took {BUDGET + 1} yardstick-seconds, expected at most {BUDGET:.0f}; make tests cheaper, or move what a cheaper test "
        "establishes as well to tests/exhaustive\n"
    )


def test_a_run_measures_each_test_with_its_child_processes_and_is_added_to_the_record(tmp_path, monkeypatch):
    (tmp_path / "test_two.py").write_text(
        "import subprocess, sys\n"
        "def test_child():\n    subprocess.run([sys.executable, '-c', 'sum(range(20_000_000))'], check=True)\n"
        "def test_nothing():\n    pass\n"
    )
    record = tmp_path / "cache" / "record.json"
    monkeypatch.setattr(processor_time, "measure_yardstick", lambda: 0.01)
    arguments = [f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", "-c", os.devnull, "-p", "no:cacheprovider"]
    for count in (1, 2):
        assert pytest.main([*arguments, f"--processor-time={record}", str(tmp_path)], plugins=[processor_time]) == 0
        runs = json.loads(record.read_text())
        assert len(runs) == count
    child, nothing = runs[-1]["tests"].values()
    assert child > 0.1 > nothing
    assert runs[-1]["total"] > child
    assert runs[-1]["yardstick"] == 0.01
