"""The files of a sweep: its request in sweep.json, and one file for each finished trial. What is still to do follows from them."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course.manifest import ROOT
from course.workspace.atomic_files import write_json
from project.lab.sweeps import search
from project.lab.sweeps.search import Choices, Rung, Value, Values

FORMAT = 1
"""Version of the format of the files. Increase it when a reader of the old format would misread the new one."""

REQUEST = "sweep.json"
"""The file of the request."""

METRICS = ("valid_accuracy", "accuracy", "train_accuracy", "valid_loss", "loss")
"""The curves by whose last value trials can be ranked. Without --metric, it is the first one that the program has."""

Key = tuple[int, int]
"""What identifies a trial in a sweep: its rung and its number, both counted from 1."""


@dataclass(frozen=True)
class Request:
    """What a sweep was asked to do.

    Attributes:
        program: The file in project/ that trains, without .py.
        vary: What to try, as on the command line: "rate=0.1,0.5".
        fixed: Options that are the same in all trials, as on the command line: "dataset=Xor".
        search: One of `search.SEARCHES`.
        trials: Number of settings for a random search and for halving; 0 for a grid.
        epochs: Epochs of a trial, with halving those of the last rung; None for the program's default.
        eta: The factor of halving.
        seed: For the settings that are drawn.
        metric: One of METRICS; "" for the first that the program has.
        unit: The program's option for the length of training, "epochs" or "steps".
        digest: Of the source code, see `run_files.digest`.
    """

    program: str
    vary: list[str]
    fixed: list[str]
    search: str
    trials: int
    epochs: int | None
    eta: int
    seed: int
    metric: str
    unit: str
    digest: str

    def choices(self) -> dict[str, Choices]:
        """What to try, by the name of the option."""
        return dict(map(search.parse_vary, self.vary))

    def settings(self) -> list[Values]:
        """The settings to try."""
        if self.search == "grid":
            return search.grid(self.choices())
        return search.draw(self.choices(), self.trials, self.seed)

    def rungs(self) -> list[Rung]:
        """The parts of the sweep; only halving has more than one."""
        count = len(self.settings())
        if self.search == "halving" and self.epochs is not None:
            return search.halving(count, self.epochs, self.eta)
        return [Rung(count, self.epochs)]

    def flags(self, trial: Trial) -> list[str]:
        """The command-line options of a trial. The value true makes an option a flag, and false leaves it out."""
        values = dict(map(search.parse_set, self.fixed)) | trial.values
        if trial.epochs is not None:
            values[self.unit] = trial.epochs
        words = []
        for name, value in values.items():
            flag, text = f"--{name.replace('_', '-')}", str(value)
            words += {"true": [flag], "false": []}.get(text.lower(), [flag, text])
        return words

    def command(self, folder: Path) -> str:
        """The command line that starts the sweep, and continues it if it was stopped."""
        words = [self.program]
        for option, values in {"vary": self.vary, "set": self.fixed}.items():
            words += [word for value in values for word in (f"--{option}", value)]
        words += [] if self.search == "grid" else ["--search", self.search, "--trials", str(self.trials)]
        words += [] if self.epochs is None else ["--epochs", str(self.epochs)]
        words += ["--eta", str(self.eta)] if self.search == "halving" else []
        words += [] if self.search == "grid" else ["--seed", str(self.seed)]
        words += ["--metric", self.metric] if self.metric else []
        return f"python project/sweep.py {shlex.join([*words, '--out', shown(folder)])}"


@dataclass(frozen=True)
class Trial:
    """A training run of a sweep.

    Attributes:
        rung: The number of its rung, counted from 1.
        number: The number of its settings, counted from 1; the same in every rung.
        values: The options that vary.
        epochs: How long it is trained; None for the program's default.
    """

    rung: int
    number: int
    values: Values
    epochs: int | None

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.rung, self.number


@dataclass(frozen=True)
class Outcome:
    """What a trial reached.

    Attributes:
        error: Why it failed; "" if it finished.
        metrics: The last values of the curves; None replaces infinity and NaN.
        seconds: Time spent on training; that of the whole program if it failed before.
        command: The command line that repeats it; "" if it failed before training.
    """

    error: str
    metrics: dict[str, float | None]
    seconds: float
    command: str


@dataclass(frozen=True)
class Result:
    """A finished trial.

    Attributes:
        trial: What was tried.
        outcome: What it reached.
    """

    trial: Trial
    outcome: Outcome


Results = Mapping[Key, Result]


# What to do


def due(request: Request, results: Results) -> list[Trial]:
    """Return the trials that can run now: those of the first rung that is not finished. There are none at the end of the sweep.

    A rung has the best settings of the one before, or all of them if fewer have finished without an error.
    """
    candidates = list(enumerate(request.settings(), 1))
    for number, rung in enumerate(request.rungs(), 1):
        trials = [Trial(number, candidate, values, rung.epochs) for candidate, values in candidates[: rung.trials]]
        if missing := [trial for trial in trials if trial.key not in results]:
            return missing
        ranked = rank([results[trial.key] for trial in trials], request.metric)
        candidates = [(result.trial.number, result.trial.values) for result in ranked]
    return []


def metric_of(results: Iterable[Result], given: str = "") -> str:
    """Return the metric by which trials are ranked: the given one, or the first of METRICS that one of them has; "" if there is none."""
    found = {name for result in results for name in result.outcome.metrics}
    return given or next((name for name in METRICS if name in found), "")


def rank(results: Sequence[Result], metric: str = "") -> list[Result]:
    """Return the trials that have a value of the metric and did not fail, the best first.

    A trial of a later rung is better than any of an earlier one, and of each setting only the last trial counts. Equal values are ordered
    by the loss, on the validation data if there are any.

    Args:
        results: Finished trials.
        metric: Whose last value counts; a loss is minimized, everything else is maximized. "" for the first of METRICS.
    """
    metric = metric_of(results, metric)
    latest: dict[int, Result] = {}
    for result in sorted(results, key=lambda result: result.trial.key):
        if not result.outcome.error and result.outcome.metrics.get(metric) is not None:
            latest[result.trial.number] = result

    def order(result: Result) -> tuple[float, ...]:
        metrics = result.outcome.metrics
        value, loss = metrics[metric], metrics.get("valid_loss", metrics.get("loss"))
        assert value is not None
        score = value if metric.endswith("loss") else -value
        return -result.trial.rung, score, math.inf if loss is None else loss, result.trial.number

    return sorted(latest.values(), key=order)


# Files


def folder() -> Path:
    """Return the folder of the sweeps: that in the environment variable MINITORCH_SWEEPS, otherwise .course/sweeps in the repository."""
    return Path(os.environ.get("MINITORCH_SWEEPS") or ROOT / ".course" / "sweeps")


def shown(path: Path) -> str:
    """Return a path as a command line in the repository has it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def begin(path: Path, request: Request) -> None:
    """Write the request of a new sweep; do nothing if the folder has the same one.

    Raises:
        ValueError: If the folder has another request, or sweep.json is damaged; the message is one line.
        OSError: If the file cannot be written.
    """
    if not (path / REQUEST).exists():
        write_json(path / REQUEST, {"format": FORMAT} | asdict(request))
        return
    old, new = asdict(read_request(path)), asdict(request)
    if differing := [name for name in new if old[name] != new[name]]:
        name = differing[0]
        if name == "digest":
            reason = f"was started with other source code of minitorch/ or project/{request.program}.py, so results could not be compared"
            raise ValueError(f"the sweep in {shown(path)} {reason}; choose another --out")
        reason = f"its {'set' if name == 'fixed' else name} is {old[name]!r}, not {new[name]!r}"
        again = read_request(path).command(path)
        raise ValueError(f"{shown(path)} has another sweep ({reason}); choose another --out, or continue that one: {again}")


def read_request(path: Path) -> Request:
    """Return the request of the sweep in a folder.

    Raises:
        ValueError: If it is damaged, or from another version; the message is one line.
        OSError: If it cannot be read.
    """
    request = Request(**_read(path / REQUEST, Request))
    try:
        request.rungs()
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{shown(path / REQUEST)} is damaged; delete the folder, or choose another --out") from None
    return request


def write_result(path: Path, result: Result) -> None:
    """Write a finished trial into the folder of its sweep.

    Raises:
        OSError: If it cannot be written.
    """
    rung, number = result.trial.key
    write_json(path / f"trial-{rung}-{number:04}.json", {"format": FORMAT} | asdict(result))


def read_results(path: Path) -> dict[Key, Result]:
    """Return the finished trials in the folder of a sweep.

    Raises:
        ValueError: If a file is damaged, or from another version; the message is one line.
        OSError: If a file cannot be read.
    """
    found = {}
    for file in sorted(path.glob("trial-*.json")):
        document = _read(file, Result)
        try:
            result = Result(Trial(**document["trial"]), Outcome(**document["outcome"]))
        except TypeError:
            raise ValueError(f"{shown(file)} is damaged; delete it") from None
        found[result.trial.key] = result
    return found


def _read(file: Path, kind: type) -> dict[str, Any]:
    """Return the document in a file, which has the attributes of a dataclass."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        document = None
    if isinstance(document, dict) and document.get("format", FORMAT) != FORMAT:
        raise ValueError(f"{shown(file)} was written by another version of MiniTorch; choose another --out")
    if not isinstance(document, dict) or document.keys() - {"format"} != kind.__annotations__.keys():
        raise ValueError(f"{shown(file)} is damaged; delete it")
    return {name: value for name, value in document.items() if name != "format"}


def label(values: Mapping[str, Value]) -> str:
    """Return the settings of a trial as one line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
