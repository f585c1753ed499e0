"""Training runs for other programs and for a hand-in: JSON, CSV, and a zip file of Markdown and a picture. Without Streamlit."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict

from project.lab.training import run_files, runs_comparison
from project.lab.training.run_files import RunFile

CURVES = ("loss", "accuracy", "train_accuracy", "valid_accuracy", "valid_loss")


def to_json(runs: Sequence[RunFile]) -> bytes:
    """Return the runs as one JSON document with everything that their files contain."""
    return (json.dumps({"format": run_files.FORMAT, "runs": [asdict(run) for run in runs]}, indent=1, allow_nan=False) + "\n").encode()


def to_csv(runs: Sequence[RunFile]) -> bytes:
    """Return the curves as CSV: a row for each point, with the settings of its run in every row. A run without a point has one row."""
    settings = runs_comparison.settings_of(runs)
    about = ("id", "program", "started", "status", "seconds", "finished", "total")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*about, *(f"setting_{name}" for name in settings), "unit", "at", *CURVES])
    for run in runs:
        facts = [getattr(run, name) for name in about] + [run.settings.get(name, "") for name in settings]
        positions = run.curves.get(run.unit, [])
        columns = [run.curves.get(name) or [""] * len(positions) for name in CURVES]
        for row in zip(positions, *columns, strict=True) if positions else [[""] * (1 + len(CURVES))]:
            writer.writerow([*facts, run.unit, *row])
    return text.getvalue().encode()


def to_zip(runs: Sequence[RunFile]) -> bytes:
    """Return a zip file for a hand-in: report.md, curves.png if there are curves, and runs.json.

    Args:
        runs: At most `runs_comparison.MOST` runs.
    """
    content = io.BytesIO()
    spec = runs_comparison.chart(runs)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        if spec is not None:
            import vl_convert  # contains a JavaScript engine: import it only when a file is rendered

            archive.writestr("curves.png", vl_convert.vegalite_to_png(spec, scale=2))
        archive.writestr("report.md", markdown(runs, picture=spec is not None))
        archive.writestr("runs.json", to_json(runs))
    return content.getvalue()


def markdown(runs: Sequence[RunFile], picture: bool = True) -> str:
    """Return the report: results, curves, settings, and the command line of each run.

    Args:
        runs: At most `runs_comparison.MOST` runs.
        picture: Whether curves.png lies next to the report.
    """
    names = runs_comparison.labels(runs)
    results = [
        {
            "run": name.partition(":")[0],
            "started": runs_comparison.when(run),
            "trained": f"{run.finished} of {run.total} {run.unit}s",
            "loss": _number(run.last("loss"), ".4f"),
            "accuracy": _number(run.last(*runs_comparison.ACCURACIES), ".2%"),
            "seconds": f"{run.seconds:.1f}",
            "status": run.status,
        }
        for run, name in zip(runs, names, strict=True)
    ]
    lines = ["# Training runs", "", *_rows(results), ""]
    if picture:
        lines += ["![Loss and accuracy of the runs](curves.png)", ""]
    lines += ["## Settings", "", *_rows(runs_comparison.settings_table(runs)), ""]
    for run, name in zip(runs, names, strict=True):
        note = [run.note, ""] if run.note else []
        lines += [f"## {name}", "", runs_comparison.in_words(run, f"Started {runs_comparison.when(run)}"), "", *note]
        lines += ["```", run.command, "```", ""]
    return "\n".join(lines)


def _rows(table: Sequence[dict[str, str]]) -> list[str]:
    """Return a table as lines of Markdown."""
    lines = [list(table[0]), ["---"] * len(table[0]), *(list(row.values()) for row in table)]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines]


def _number(value: float | None, format: str) -> str:
    """Return a number as text, "-" for none."""
    return "-" if value is None else f"{value:{format}}"
