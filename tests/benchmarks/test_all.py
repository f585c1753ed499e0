"""Every goal as one table: what is kept of the programs, and what README shows of it."""

import json

import pytest

from benchmarks import all as goals
from benchmarks import language, rivals
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Demand
from tests.errors import raises

RECORD = {
    "command": "python -m benchmarks.all --short",
    "date": "2026-11-29",
    "machine": "a machine, 2 cores, Python 3.11.7",
    "rows": [
        ["operations, 1 thread", "matmul 256", "0.8 of NumPy", "1.2", REACHED],
        ["operations, 1 thread", "exp", "1 of torch", "0.9", MISSED],
        ["operations, 1 thread", "log", "1 of torch", "", NOT_RUN],
        ["compiled steps, 1 thread", "LeNet: of torch's time", "at most 0.6", "0.73", MISSED],
        ["compiled steps, 1 thread", "LeNet: memory", "at most 0.8", "0.70", REACHED],
    ],
}

SHOWN = """Measured on 2026-11-29, a machine, 2 cores, Python 3.11.7.

| `python -m benchmarks.all --short` | goals reached | missed | not run |
| --- | --- | --- | --- |
| operations, 1 thread | 1 | 1 | 1 |
| compiled steps, 1 thread | 1 | 1 | 0 |

| compiled step | of PyTorch's time | of `torch.compile`'s |
| --- | --- | --- |
| LeNet | 0.73 |  |

<details><summary>The 2 goals that are missed</summary>

| program | row | goal | measured |
| --- | --- | --- | --- |
| operations, 1 thread | exp | 1 of torch | 0.9 |
| compiled steps, 1 thread | LeNet: of torch's time | at most 0.6 | 0.73 |

</details>
"""


def test_readme_shows_how_many_goals_are_reached_and_which_are_missed():
    text = goals.insert_into_readme(f"Before.\n{goals.BEGIN}\nold\n{goals.END}\nAfter.\n", RECORD)
    assert text == f"Before.\n{goals.BEGIN}\n\n{SHOWN}\n{goals.END}\nAfter.\n"
    assert goals.insert_into_readme(text, RECORD) == text


def test_readme_shows_the_recorded_goals():
    text = goals.README.read_text(encoding="utf-8")
    assert goals.insert_into_readme(text, json.loads(goals.RECORD.read_text(encoding="utf-8"))) == text


def test_a_readme_without_the_markers_is_refused():
    with raises(ValueError, f"README.md expected the lines {goals.BEGIN!r} and {goals.END!r}"):
        goals.insert_into_readme(f"{goals.BEGIN} alone", RECORD)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--only=nothing", "--only expected part of one of operations, convolutions, optimizers, training steps, compiled steps, "),
        (
            "--torch-python=/bin/false",
            "/bin/false expected PyTorch, with which goals are compared; name an interpreter with --torch-python",
        ),
    ],
)
def test_a_program_that_there_is_not_and_an_interpreter_without_pytorch_are_refused(argument, message, capsys):
    with pytest.raises(SystemExit):
        goals.main([argument])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("only", ["", "language"])
def test_the_programs_goals_are_kept_and_nothing_is_recorded_of_a_part(only, tmp_path, monkeypatch, capsys):
    readme, record = tmp_path / "README.md", tmp_path / "goals.json"
    readme.write_text(f"{goals.BEGIN}{goals.END}")
    for name, value in {"README": readme, "RECORD": record, "AGAINST": {"language": "language"}, "SHORT_COURSE": ()}.items():
        monkeypatch.setattr(goals, name, value)
    monkeypatch.setattr(language, "main", lambda arguments: rivals.print_row(arguments[0], [Demand("2 times", "1.5", REACHED)]))
    goals.main(["--short", "--torch-python=/bin/true", *([f"--only={only}"] if only else [])])
    assert "| language, 1 thread | 1 | 0 | 0 |" in capsys.readouterr().out
    assert record.exists() == (not only)
    if not only:
        assert json.loads(record.read_text())["rows"] == [["language, 1 thread", "--threads=1", "2 times", "1.5", REACHED]]
        assert "| language, 1 thread | 1 | 0 | 0 |" in readme.read_text()
