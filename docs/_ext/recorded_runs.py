"""What training runs that are too long for the book printed, and the goals of the benchmarks, from the files in which they are recorded.

`python -m benchmarks.runs` writes docs/runs.toml, `python -m benchmarks.all` benchmarks/results/goals.json.
"""

import json
import tomllib
from html import escape
from pathlib import Path

from compiler_table import Table

RECORDS = Path(__file__).parents[1] / "runs.toml"
GOALS = Path(__file__).parents[2] / "benchmarks" / "results" / "goals.json"


def show_runs(*names: str) -> None:
    """Print the records of some runs: what a terminal would show, without times, and below it the date and the machine."""
    records = tomllib.loads(RECORDS.read_text(encoding="utf-8"))
    shown = (f"$ {run['command']}\n{run['printed']}\n# {run['date']}, {run['machine']}" for run in map(records.__getitem__, names))
    print("\n\n".join(shown))


def show_goals() -> Table:
    """Print the command, the date and the machine; returns every goal of the benchmarks, what was measured, and whether it is reached."""
    record = json.loads(GOALS.read_text(encoding="utf-8"))
    print(f"$ {record['command']}\n# {record['date']}, {record['machine']}")
    return Table(("program", "row", "goal", "measured", "verdict"), [tuple(map(escape, row)) for row in record["rows"]])
