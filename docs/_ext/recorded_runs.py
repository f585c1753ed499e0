"""What training runs that are too long for the book printed, and the goals of the benchmarks, from the files in which they are recorded.

`python -m benchmarks.runs` writes docs/runs.toml, `python -m benchmarks.all` benchmarks/results/goals.json.
"""

import json
import tomllib
from pathlib import Path

from IPython.display import Markdown

RECORDS = Path(__file__).parents[1] / "runs.toml"
GOALS = Path(__file__).parents[2] / "benchmarks" / "results" / "goals.json"


def show_runs(*names: str) -> None:
    """Print the records of some runs: what a terminal would show, without times, and below it the date and the machine."""
    records = tomllib.loads(RECORDS.read_text(encoding="utf-8"))
    shown = (f"$ {run['command']}\n{run['printed']}\n# {run['date']}, {run['machine']}" for run in map(records.__getitem__, names))
    print("\n\n".join(shown))


def show_goals() -> Markdown:
    """Every goal of the benchmarks, what was measured, and whether it is reached, with the command, the date and the machine."""
    record = json.loads(GOALS.read_text(encoding="utf-8"))
    rows = [["program", "row", "goal", "measured", "verdict"], ["---"] * 5, *record["rows"]]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return Markdown(f"`{record['command']}`, {record['date']}, {record['machine']}:\n\n{table}")
