"""What training runs printed that are too long for the book: read from docs/runs.toml, which `python -m benchmarks.runs` writes."""

import tomllib
from pathlib import Path

RECORDS = Path(__file__).parents[1] / "runs.toml"


def show_runs(*names: str) -> None:
    """Print the records of some runs: what a terminal would show, without times, and below it the date and the machine."""
    records = tomllib.loads(RECORDS.read_text(encoding="utf-8"))
    shown = (f"$ {run['command']}\n{run['printed']}\n# {run['date']}, {run['machine']}" for run in map(records.__getitem__, names))
    print("\n\n".join(shown))
