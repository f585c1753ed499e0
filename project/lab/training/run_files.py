"""Training runs as files: one JSON file for each run in .course/runs, written by programs and pages alike. Without Streamlit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from course.manifest import ROOT
from course.workspace.atomic_files import write_bytes
from project.lab.training import run_logs
from project.lab.training.training_run import TrainingRun

FORMAT = 1
"""Version of the format of a file. Increase it when a reader of the old format would misread the new one."""

MOST_RUNS = 200
"""Number of runs to keep; a new one removes the oldest."""

MOST_POINTS = 500
"""Number of points of a curve; longer ones leave epochs out."""

MOST_BYTES = 1_000_000
"""Size of the largest file to read; a run needs at most a tenth of it."""

MOST_CHARACTERS = 300
"""Length of a note."""

USED_PROGRAMS = {"run_playground": ("run_scalar", "run_tensor", "run_fast_tensor")}
"""Programs whose layers another program uses."""

CHANGED = "Settings, points or weights were changed during this run, so the command does not repeat it."

STATUSES = ("finished", "stopped", "failed")

EXAMPLES = ROOT / "project" / "lab" / "models" / "m1_runs"
"""The folder of the runs that come with the app."""

NAMES = "[0-9]" * 8 + "-" + "[0-9]" * 6 + "-*.json"
"""Pattern of the names of the files. Only such files are ever removed."""


@dataclass(frozen=True)
class RunFile:
    """A training run as it is stored.

    Attributes:
        id: The name of its file without .json; it begins with the start time, so that names sort by age.
        program: The file in project/ that trains, without .py.
        settings: The value of each setting by name.
        command: The command line that repeats the run.
        seed: The seed among the settings; None if there is none.
        digest: See `digest`; computed when the run started. "" if it is not known.
        started: When it started: local time in ISO format, with the offset from UTC.
        seconds: Time spent on training.
        status: "finished"; "stopped" before its last epoch or step, or still running; or "failed" with an error.
        note: A sentence about the run, such as its error; "" for none.
        unit: What its curves count: "epoch" or "step".
        finished: Number of finished epochs or steps.
        total: Number of epochs or steps that it was to train.
        resumable_at: The value of `seconds` in its last checkpoint, by which the resumed run is recognized; None without a checkpoint.
        curves: Under `unit`, the epochs or steps of the points, counted from 1; under every other name, such as "loss" or
            "valid_accuracy", the values there. None replaces infinity and NaN, which JSON lacks.
    """

    id: str
    program: str
    settings: dict[str, Any]
    command: str
    seed: int | None
    digest: str
    started: str
    seconds: float
    status: str
    note: str
    unit: str
    finished: int
    total: int
    resumable_at: float | None
    curves: dict[str, list[Any]]

    def last(self, *names: str) -> float | None:
        """Return the last value of the first of these curves that the run has; None if it has none, or if the value is not finite."""
        values = next((self.curves[name] for name in names if name in self.curves), [])
        return values[-1] if values else None

    def to_json(self) -> bytes:
        """Return the contents of its file."""
        return (json.dumps({"format": FORMAT} | asdict(self), allow_nan=False) + "\n").encode()


@dataclass(frozen=True)
class Unreadable:
    """A file that is not a run, or one that cannot be read.

    Attributes:
        path: The file.
        reason: What is wrong with it, and what to do.
    """

    path: Path
    reason: str


def folder() -> Path:
    """Return the folder of the runs: that in the environment variable MINITORCH_RUNS, otherwise .course/runs in the repository."""
    return Path(os.environ.get("MINITORCH_RUNS") or ROOT / ".course" / "runs")


def digest(program: str) -> str:
    """Return a digest of the files on which a training run depends: the package, the program and the trainers.

    Args:
        program: A file in project/, without .py.
    """
    found = hashlib.sha256()
    programs = [f"project/{name}.py" for name in (program, *USED_PROGRAMS.get(program, ()))]
    for pattern in ("minitorch/**/*.py", *programs, "project/lab/*/*trainer.py", "project/lab/training/training_run.py"):
        for path in sorted(ROOT.glob(pattern)):
            with contextlib.suppress(FileNotFoundError):  # a lock file of an editor, or a file being replaced
                found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


# Writing


@dataclass
class _Start:
    """What is known of a run besides its trainer, in which `begin` stores it, so that it survives a reload of this module."""

    id: str
    started: str
    digest: str
    resumable_at: float | None = None
    status: str = ""
    note: str = ""
    kept: RunFile | None = None
    warned: bool = False


def begin(trainer: TrainingRun) -> None:
    """Note when the training of a trainer starts, and with which source code; do nothing if this was noted before.

    A run that is resumed from a checkpoint keeps the start, and the file, of the run that saved the checkpoint.

    Args:
        trainer: The run.
    """
    if trainer.run_file is not None:
        return
    with _warning(trainer):
        trainer.run_file = _interrupted(trainer) if trainer.finished else None
        if trainer.run_file is None:
            now, program = datetime.now().astimezone(), trainer.setting.program
            id = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03d}-{program}-{secrets.token_hex(3)}"
            trainer.run_file = _Start(id, now.isoformat(timespec="seconds"), digest(program))


def keep(trainer: TrainingRun | None, status: str = "", note: str = "", saved: bool = False) -> None:
    """Write the file of a run; a later call for the same run replaces it if there is something new.

    If the file cannot be written, a line on standard error says so: training never fails because of it.

    Args:
        trainer: A trainer that was passed to `begin`. Nothing is written before its first epoch or step is finished. None is allowed
            and does nothing.
        status: One of STATUSES; by default that of an earlier call, or else "finished" or "stopped", whichever the trainer is.
        note: A sentence about that status; by default, it says so if `trainer.changed` is true.
        saved: Whether a checkpoint has just been saved.
    """
    start: _Start | None = trainer and trainer.run_file
    if trainer is None or start is None or not trainer.finished:
        return
    with _warning(trainer):
        if status:
            start.status, start.note = status, " ".join(note.split())[:MOST_CHARACTERS]
        if saved:
            start.resumable_at = trainer.time_spent()
        run = _describe(trainer, start)
        if run != start.kept:
            write_bytes(folder() / f"{run.id}.json", run.to_json())
            start.kept = run
            _remove_oldest()


def _describe(trainer: TrainingRun, start: _Start) -> RunFile:
    """Return the run of a trainer as it is stored."""
    setting = trainer.setting
    positions = trainer.positions()  # first: a page may count another epoch in between
    chosen = _evenly_spaced(len(positions), MOST_POINTS)
    curves = {name: [_finite(values[i]) for i in chosen] for name, values in trainer.curves().items()}
    return RunFile(
        id=start.id,
        program=setting.program,
        settings={name: value for name, value in asdict(setting).items() if name != "program"},
        command=trainer.command(),
        seed=getattr(setting, "seed", None),
        digest=start.digest,
        started=start.started,
        seconds=trainer.time_spent(),
        status=start.status or ("finished" if trainer.done else "stopped"),
        note=start.note or (CHANGED if trainer.changed else ""),
        unit=trainer.unit,
        finished=getattr(trainer, trainer.unit),
        total=getattr(setting, f"{trainer.unit}s"),
        resumable_at=start.resumable_at,
        curves={trainer.unit: [positions[i] for i in chosen]} | curves,
    )


def _interrupted(trainer: TrainingRun) -> _Start | None:
    """Return the start of the run that saved the checkpoint from which a trainer was restored; None if its file is gone."""
    seconds, unit = trainer.time_spent(), {"epochs", "steps"}
    settings = {name: value for name, value in asdict(trainer.setting).items() if name not in unit | {"program"}}
    for run in read_all()[0]:
        same = {name: value for name, value in run.settings.items() if name not in unit} == settings
        if run.program == trainer.setting.program and run.resumable_at == seconds and same:
            return _Start(run.id, run.started, run.digest, seconds)
    return None


def _remove_oldest() -> None:
    """Remove the oldest files beyond MOST_RUNS."""
    for path in sorted(folder().glob(NAMES))[:-MOST_RUNS]:
        path.unlink(missing_ok=True)


def _finite(value: float | None) -> float | None:
    """Return a value of a curve for JSON."""
    return None if value is None or not math.isfinite(value) else float(value)


@contextlib.contextmanager
def _warning(trainer: TrainingRun) -> Iterator[None]:
    """Turn an error in the `with` block into a line on standard error, once for each trainer."""
    try:
        yield
    except Exception as error:  # whatever it is, it must not end training
        start = trainer.run_file
        if start is None or not start.warned:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
            with contextlib.suppress(OSError):
                print(f"{trainer.setting.program}.py: this run is not kept in {folder()} ({reason})", file=sys.stderr)
        if start is not None:
            start.warned = True


def _evenly_spaced(n: int, most: int) -> list[int]:
    """Return at most `most` evenly spaced indices below n, including the first and the last."""
    return list(range(n)) if n <= most else [round(i * (n - 1) / (most - 1)) for i in range(most)]


# Reading


@dataclass(frozen=True)
class LoggedRun(RunFile):
    """A run that a program logged with PyTorch's SummaryWriter.

    Attributes:
        path: Its log.
    """

    path: str


def _logged() -> tuple[list[RunFile], list[Unreadable]]:
    """Return the runs in logs, and the logs that cannot be read."""
    runs: list[RunFile] = []
    unreadable = []
    for path, modified in run_logs.modification_times().items():
        try:
            if found := run_logs.facts(path, modified, MOST_POINTS):
                runs.append(LoggedRun(**found, path=str(path)))
        except OSError as error:
            unreadable.append(Unreadable(path, f"could not be read ({error.strerror or error}); check its permissions"))
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable.append(Unreadable(path, "is damaged; delete it"))
    return runs, unreadable


def _newest_first(runs: Sequence[RunFile]) -> list[RunFile]:
    """Return runs by age."""
    return sorted(runs, key=lambda run: run.id, reverse=True)


def read_all() -> tuple[list[RunFile], list[Unreadable]]:
    """Return all runs, newest first, and the files in their folder that cannot be read."""
    (runs, unreadable), (logged, damaged) = _read(sorted(folder().glob("[!.]*.json"), reverse=True)), _logged()
    return _newest_first([*runs, *logged]) if logged else runs, unreadable + damaged


def examples() -> list[RunFile]:
    """Return the runs that come with the app, each made by its command."""
    return _read(sorted(EXAMPLES.glob("*.json")))[0]


def latest(count: int) -> list[RunFile]:
    """Return the newest runs, newest first."""
    paths = sorted(folder().glob(NAMES), reverse=True)
    return _newest_first([*_read(paths[: 2 * count])[0], *_logged()[0]])[:count]  # a few of them may be unreadable


def delete(runs: Sequence[RunFile]) -> None:
    """Remove the files of runs; of a logged run its log, but not its images.

    Raises:
        OSError: If one cannot be removed.
    """
    for run in runs:
        Path(run.path if isinstance(run, LoggedRun) else folder() / f"{run.id}.json").unlink(missing_ok=True)


def _read(paths: Sequence[Path]) -> tuple[list[RunFile], list[Unreadable]]:
    """Return the runs in some files, and the unreadable files."""
    runs, unreadable = [], []
    for path in paths:
        try:
            facts = path.stat()
            runs.append(_parse(path, facts.st_mtime_ns, facts.st_size))
        except FileNotFoundError:  # it has just been removed
            continue
        except OSError as error:
            unreadable.append(Unreadable(path, f"could not be read ({error.strerror or error}); check its permissions"))
        except _NotARun as error:
            unreadable.append(Unreadable(path, str(error)))
    return runs, unreadable


class _NotARun(ValueError):
    """A file that is not a run of this format; the message says what to do."""


@lru_cache(maxsize=2 * MOST_RUNS)
def _parse(path: Path, modified: int, size: int) -> RunFile:
    """Return the run in a file, parsed once for each version of the file.

    Raises:
        _NotARun: If it does not contain a run.
        OSError: If it cannot be read.
    """
    foreign, damaged = "is not a training run; move it to another folder", "is damaged; delete it"
    if size > MOST_BYTES:
        raise _NotARun(foreign)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise _NotARun(damaged) from None
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise _NotARun(foreign)
    if document.pop("format") > FORMAT:
        raise _NotARun("was written by a newer version of MiniTorch; update this one to read it")
    run = RunFile(**document) if document.keys() == RunFile.__annotations__.keys() else None
    if run is None or run.id != path.stem or not _is_valid(run):
        raise _NotARun(damaged)
    return run


def _is_valid(run: RunFile) -> bool:
    """Whether all attributes have the types and values that readers rely on."""
    texts = (run.program, run.command, run.digest, run.started, run.note)
    settings, curves = run.settings, run.curves
    return (
        all(isinstance(text, str) for text in texts)
        and re.fullmatch(r"\w+", run.program) is not None
        and _is_time(run.started)
        and run.status in STATUSES
        and run.unit in ("epoch", "step")
        and isinstance(settings, dict)
        and all(isinstance(value, str | int | float | None) for value in settings.values())
        and (run.seed is None or _is_number(run.seed))
        and (run.resumable_at is None or _is_number(run.resumable_at))
        and all(_is_number(value) and value >= 0 for value in (run.seconds, run.finished, run.total))
        and all(isinstance(count, int) for count in (run.finished, run.total))
        and isinstance(curves, dict)
        and all(isinstance(values, list) and len(values) == len(curves.get(run.unit, [])) for values in curves.values())
        and all(value is None or _is_number(value) for values in curves.values() for value in values)
        and all(isinstance(position, int) for position in curves.get(run.unit, []))
    )


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_time(text: str) -> bool:
    """Whether a text is a time in ISO format."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
