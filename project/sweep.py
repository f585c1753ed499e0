"""Try many settings of a training program, on all cores or a cluster, and rank them. The same command continues a stopped sweep."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from project.lab.sweeps import search as searches
from project.lab.sweeps import store, trials
from project.lab.sweeps.cluster import ClusterError, connect, run_on_cluster
from project.lab.sweeps.store import Request, Result, Trial
from project.lab.sweeps.trials import Events, run_here
from project.lab.training import command_line, run_files

PROGRAM = "sweep.py"

BEST = 10
"""Number of trials in the table."""

DEFAULT_TRIALS = 20

Vary = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUES", help="what to try: rate=0.1,0.5 or, unless in a grid, rate=0.01..1; repeat it for each option"),
]
Fixed = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="an option that is the same in all trials: dataset=Xor")
]
Trials = Annotated[int | None, command_line.whole(1, f"how many settings to draw, unless in a grid; {DEFAULT_TRIALS} if omitted")]
Epochs = Annotated[int | None, command_line.whole(1, "how long to train; with halving, the best trial; steps of run_gpt")]
Metric = Annotated[
    str, typer.Option(metavar="NAME", help=f"rank by the last value of the first that the program has of {', '.join(store.METRICS)}")
]
Jobs = Annotated[int | None, command_line.whole(1, "trials at the same time; by default, one for every --threads cores")]
Threads = Annotated[int | None, command_line.whole(1, "threads of the compiled kernels of a trial; by default NUMBA_NUM_THREADS, or 1")]
Scale = Annotated[str | None, typer.Option(metavar="dask://HOST:PORT", help="the cluster that runs the trials, instead of this machine")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", readable=False, help="folder of the results; a new one in .course/sweeps if omitted")
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


def command(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help=f"what to train: {', '.join(trials.PROGRAMS)}")],
    vary: Vary = None,
    fixed: Fixed = None,
    search: Annotated[Literal["grid", "random", "halving"], typer.Option(help="what to try, and how long to train it")] = "grid",
    trials: Trials = None,
    epochs: Epochs = None,
    eta: Annotated[int, command_line.whole(2, "halving keeps 1/eta of the trials and trains them eta times as long")] = 3,
    metric: Metric = "",
    seed: Annotated[int, command_line.whole(0, "of the drawn settings; --set seed=N is that of training")] = 0,
    jobs: Jobs = None,
    threads: Threads = None,
    scale: Scale = None,
    out: Out = None,
) -> int:
    """Run the trials that are left and print the best; returns the exit status."""
    if scale is not None and jobs is not None:
        raise command_line.UsageError("--jobs expected no --scale; a cluster runs as many trials as its workers have threads")
    try:
        request = _request(program, vary or [], fixed or [], search, trials, epochs, eta, metric, seed)
        client = None if scale is None else connect(scale)
        folder = (out or store.folder() / f"{datetime.now().astimezone():%Y%m%d-%H%M%S-%f}"[:-3]).resolve()
        store.begin(folder, request)
        results = store.read_results(folder)
    except ValueError as error:
        raise command_line.UsageError(str(error)) from None
    threads = threads or _threads()
    if client is None:
        execute = partial(run_here, request, jobs=jobs or max(1, _cores() // threads), threads=threads)
    else:
        execute = partial(run_on_cluster, request, client=client, threads=threads)
    with client or nullcontext():
        stopped = run(request, folder, results, execute)
    if stopped is not None:
        kept = f"{len(results)} {'trial is' if len(results) == 1 else 'trials are'} kept in {store.shown(folder)}"
        where = f" --scale {scale}" if scale else ""
        command_line.print_stopped(PROGRAM, f"{stopped}{kept}. To continue: {request.command(folder)}{where}")
        return command_line.INTERRUPTED
    return report(request, results)


def _request(
    program: str,
    vary: list[str],
    fixed: list[str],
    search: str,
    number: int | None,
    epochs: int | None,
    eta: int,
    metric: str,
    seed: int,
) -> Request:
    """Return the request of a command line.

    Raises:
        ValueError: If the options do not fit each other or the program; the message is one line.
    """
    program = program.removesuffix(".py")
    if program not in trials.present():
        raise ValueError(f"PROGRAM expected one of {', '.join(trials.present())}, got {program!r}")
    if not vary:
        raise ValueError("expected at least one --vary NAME=VALUES, such as --vary rate=0.1,0.5")
    if search == "grid" and number is not None:
        raise ValueError("--trials expected --search random or halving; a grid tries all combinations")
    if search == "halving" and epochs is None:
        raise ValueError("--search halving expected --epochs N, the length of the longest trials")
    if metric and metric not in store.METRICS:
        raise ValueError(f"--metric expected one of {', '.join(store.METRICS)}, got {metric!r}")
    if number is not None and number > searches.MOST_TRIALS:
        raise ValueError(f"--trials expected at most {searches.MOST_TRIALS}, got {number}")
    names = [searches.parse_vary(text)[0] for text in vary] + [searches.parse_set(text)[0] for text in fixed]
    known = trials.options(program)
    unit = "epochs" if "epochs" in known else "steps"
    trials.check_options(program, names, known)
    names += [unit] if epochs is not None else []
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"expected each option once in --vary, --set and --epochs, got {twice[0]} twice")
    count = 0 if search == "grid" else number or DEFAULT_TRIALS
    request = Request(program, vary, fixed, search, count, epochs, eta, seed, metric, unit, run_files.digest(program))
    request.rungs()  # raises an error if there are too many trials or too few epochs
    return request


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads() -> int:
    """Return the number of threads of a trial: that of the environment, or 1, because several trials use the cores better than one."""
    given = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(given) if given.isdecimal() and int(given) else 1


def run(request: Request, folder: Path, results: dict[store.Key, Result], execute: Callable[[Sequence[Trial]], Events]) -> str | None:
    """Run the trials that are left, keep and print each.

    Args:
        request: The sweep.
        folder: Its folder.
        results: The finished trials, to which this function adds.
        execute: Runs trials and yields their outcomes as they finish, and None in between.

    Returns:
        None if the sweep is finished, "" if it was interrupted, otherwise why it cannot go on.

    Raises:
        UsageError: If the program has no such metric.
    """
    total = sum(rung.trials for rung in request.rungs())
    with _stop_signals() as stopped, command_line.progress_bar(total, "trial", len(results)) as show:
        try:
            while batch := store.due(request, results):
                with closing(execute(batch)) as events:
                    for each in events:
                        if stopped():
                            return ""
                        if each is not None:
                            result = Result(*each)
                            _check_metric(request, result)
                            store.write_result(folder, result)
                            results[result.trial.key] = result
                            print(line(request, result, len(results), total), flush=True)
                            show(len(results))
        except ClusterError as error:
            return f"{error}. "
    return None


def _check_metric(request: Request, result: Result) -> None:
    """Check that a trial has the metric by which trials are ranked.

    Raises:
        UsageError: If it has others.
    """
    metrics = result.outcome.metrics
    if not result.outcome.error and request.metric not in ("", *metrics):
        known = [name for name in store.METRICS if name in metrics]
        raise command_line.UsageError(f"--metric expected one of {', '.join(known)}, got {request.metric!r}; choose another --out, too")


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """In the `with` block, Ctrl-C, a request to end and a closed terminal are only recorded, so that no process is left running.

    Yields:
        A function that returns whether there was one.
    """
    seen: list[int] = []
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), lambda number, frame: seen.append(number)) for name in names}
    try:
        yield lambda: bool(seen)
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def line(request: Request, result: Result, done: int, total: int) -> str:
    """Describe a finished trial in one line."""
    trial, outcome = result.trial, result.outcome
    metrics = [f"{name} {outcome.metrics[name]:.4g}" for name in store.METRICS if outcome.metrics.get(name) is not None]
    reached = f"failed: {outcome.error}" if outcome.error else "  ".join(metrics)
    length = f"  {trial.epochs} {request.unit}" if request.search == "halving" else ""
    return f"{done:>{len(str(total))}}/{total}  {store.label(trial.values)}{length}  {reached}"


def report(request: Request, results: dict[store.Key, Result]) -> int:
    """Print the best trials and the command line of the best one; returns the exit status, 1 if all trials failed."""
    failed = [result for _, result in sorted(results.items()) if result.outcome.error]
    ranked = store.rank(list(results.values()), request.metric)
    if not ranked:
        print(f"{PROGRAM}: all {len(failed)} trials failed; {_first_error(failed)}", file=sys.stderr)
        return 1
    print()
    Console().print(table(request, ranked))
    if failed:
        print(f"\n{len(failed)} of {len(results)} trials failed; {_first_error(failed)}")
    print(f"\nThe best: {ranked[0].outcome.command}")
    return 0


def _first_error(failed: Sequence[Result]) -> str:
    """Return the settings and the error of the first trial that failed."""
    return f"the first ({store.label(failed[0].trial.values)}): {failed[0].outcome.error}"


def table(request: Request, ranked: Sequence[Result]) -> Table:
    """Return the table of the best trials, one row each."""
    metric = store.metric_of(ranked, request.metric)
    names = list(request.choices())
    shown = [name for name in (metric, "valid_loss", "loss") if any(name in result.outcome.metrics for result in ranked)]
    columns = ["trial", *([request.unit] if request.search == "halving" else []), *names, *dict.fromkeys(shown), "seconds"]
    found = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        found.add_column(name, justify="right", overflow="fold")
    for result in ranked[:BEST]:
        trial, outcome = result.trial, result.outcome
        cells = {"trial": trial.number, request.unit: trial.epochs, "seconds": f"{outcome.seconds:.2f}"} | trial.values
        cells |= {name: f"{value:.4g}" for name, value in outcome.metrics.items() if value is not None}
        found.add_row(*(str(cells.get(name, "")) for name in columns), style="green" if result is ranked[0] else None)
    return found


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
