"""The logs of PyTorch's SummaryWriter, as `minitorch.torch.utils.tensorboard` writes them, read as training runs. Without Streamlit."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from course.manifest import ROOT

FOLDERS = ("runs", "logs")
"""Where programs write logs: in these folders of the repository, of project/ and of the app's working directory."""

PATTERN = "events-*.jsonl"

FORMAT = 1
"""Version of the format of a log; newer ones are not read."""

VALIDATION = {"val", "valid", "validation", "test", "eval", "dev"}


def paths() -> list[Path]:
    """Return the logs; those in the folder MINITORCH_RUNS if the environment names one."""
    given = os.environ.get("MINITORCH_RUNS")
    folders = [Path(given)] if given else [top / name for top in (ROOT, ROOT / "project", Path.cwd()) for name in FOLDERS]
    return sorted({path.resolve() for folder in folders if folder.is_dir() for path in folder.rglob(PATTERN)})


def curve_name(tag: str) -> str:
    """Return the name of a curve as the page Runs knows it, by the words of its tag; the tag itself if it is neither loss nor accuracy."""
    words = set(re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", tag).lower()))
    kind = "accuracy" if words & {"accuracy", "acc"} else "loss" if "loss" in words else None
    return tag if kind is None else f"valid_{kind}" if words & VALIDATION else kind


@lru_cache(maxsize=400)
def facts(path: Path, modified: int, most: int) -> dict[str, Any] | None:
    """Return the attributes of a `RunFile` for a log; None if it is none that this version reads.

    A last line that a killed program did not finish is left out.

    Args:
        path: The log.
        modified: Its modification time, at which it is read again.
        most: Most points of a curve.

    Raises:
        OSError: If it cannot be read.
    """
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    if not events or not isinstance(events[0], dict) or events[0].get("format") != FORMAT:
        return None
    head, events = events[0], events[1:]
    times = [event["time"] for event in events]
    settings = {name: value for event in events if event["kind"] == "hparams" for name, value in event["value"].items()}
    curves = _curves([event for event in events if event["kind"] == "scalar"], most)
    started = datetime.fromisoformat(head["started"])
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:6]
    last = max(curves["step"], default=0)
    return {
        "id": f"{started:%Y%m%d-%H%M%S}-{started.microsecond // 1000:03d}-{head['program']}-{digest}",
        "program": head["program"],
        "settings": settings,
        "command": head["command"],
        "seed": next((settings[name] for name in ("seed",) if isinstance(settings.get(name), int)), None),
        "digest": "",
        "started": started.isoformat(timespec="seconds"),
        "seconds": max(0.0, max(times, default=started.timestamp()) - started.timestamp()),
        "status": "finished" if events and events[-1]["kind"] == "end" else "stopped",
        "note": f"Log of SummaryWriter in {path.parent}",
        "unit": "step",
        "finished": last,
        "total": last,
        "resumable_at": None,
        "curves": curves,
    }


def _curves(events: list[dict[str, Any]], most: int) -> dict[str, list[Any]]:
    """Return the curves at the union of their steps, which are counted from 1; None where a curve has no point."""
    found: dict[str, dict[int, float | None]] = {}
    for event in events:
        points = found.setdefault(event["tag"], {})
        step = event["step"] if event["step"] is not None else max(points, default=-1) + 1
        points[step] = event["value"] if isinstance(event["value"], (int, float)) else None  # infinity and NaN are texts
    steps = sorted({step for points in found.values() for step in points})
    if len(steps) > most:
        steps = [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]
    shift = max(0, 1 - min(steps, default=1))
    curves: dict[str, list[Any]] = {"step": [step + shift for step in steps]}
    for tag, points in found.items():
        name = curve_name(tag)
        curves[tag if name in curves or tag in curves else name] = _fractions(name, [points.get(step) for step in steps])
    return curves


def _fractions(name: str, values: list[float | None]) -> list[float | None]:
    """Return an accuracy from 0 to 1; one that exceeds 1 was written in percent."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    percent = name.endswith("accuracy") and max(finite, default=0) > 1
    return [None if value is None else value / 100 if percent else value for value in values]


def modification_times() -> Mapping[Path, int]:
    """Return when each log was last written into."""
    found = {}
    for path in paths():
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:  # it has just been removed
            continue
    return found
