"""The command line of all programs: options parsed by typer, one-line messages, a progress bar, and a clean exit."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from course.runner.messages import unwritten_task

BAD_USE, INTERRUPTED = 2, 130
"""Exit statuses: a wrong option or value, and Ctrl-C."""


class UsageError(Exception):
    """A wrong option or value: expected, got, and what to do, in one line."""


def call(program: str, command: Callable[..., int], arguments: Sequence[str] | None, description: str | None = None) -> int:
    """Call a command with the options of a command line; a wrong option ends the program with a one-line message.

    Args:
        program: Name of the file in project/.
        command: Its parameters are the options, annotated for typer. Returns the exit status.
        arguments: The command line; that of the process if None.
        description: What the program does, for --help; the docstring of the command if None.

    Returns:
        The exit status.
    """
    app = typer.Typer(add_completion=False)
    app.command(help=description)(command)
    parser = typer.main.get_command(app)
    try:
        with parser.make_context(program, list(sys.argv[1:] if arguments is None else arguments)) as context:
            return parser.invoke(context)
    except UsageError as error:
        message = str(error)
    except typer.Exit:  # after --help
        return 0
    except Exception as error:
        if not hasattr(error, "format_message"):  # a usage error of typer; the module of its class depends on the version
            raise
        message = f"{error.format_message().rstrip('.')}; run: python project/{program} --help"  # type: ignore[attr-defined]
    sys.stderr.write(f"{program}: {message}\n")
    raise SystemExit(BAD_USE)


def number(text: str) -> int | float | str:
    """Parse an integer or a float; return other text unchanged, for the validation of the value to reject."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def decimal(text: str) -> float | str:
    """Parse a float; return other text unchanged, for the validation of the value to reject."""
    try:
        return float(text)
    except ValueError:
        return text


def at_least(low: int) -> Callable[[Any], int]:
    """Return a typer parser for integers of at least `low`."""

    def parse(value: Any) -> int:
        found = number(value) if isinstance(value, str) else value
        if not isinstance(found, int) or found < low:
            raise typer.BadParameter(f"expected a whole number of at least {low}, got {found!r}")
        return found

    return parse


def whole(low: int, help: str) -> Any:
    """Return a typer option for an integer of at least `low`."""
    return typer.Option(parser=at_least(low), metavar="N", help=help)


def between(low: float, high: float, help: str, above: bool = False) -> Any:
    """Return a typer option for a number from `low` to `high`; with `above`, it must not be equal to `low`."""

    def parse(value: Any) -> float:
        found = decimal(value) if isinstance(value, str) else value
        if not isinstance(found, float) or not low <= found <= high or (above and found == low):
            expected = f"above {low:g} and up to" if above else f"from {low:g} to"
            raise typer.BadParameter(f"expected a number {expected} {high:g}, got {found!r}")
        return found

    return typer.Option(parser=parse, metavar="X", help=help)


def positive(value: Any) -> float:
    """A typer parser for numbers above 0."""
    found = decimal(value) if isinstance(value, str) else value
    if not isinstance(found, float) or not 0 < found < math.inf:
        raise typer.BadParameter(f"expected a number above 0, got {found!r}")
    return found


def printable(text: str) -> str:
    """Replace characters that cannot be printed, such as control characters."""
    return "".join(character if character.isprintable() or character in "\n\t" else "\N{REPLACEMENT CHARACTER}" for character in text)


def report_folder(path: Path | None) -> Path | None:
    """Create the folder for a report if it is missing, before any training.

    Raises:
        UsageError: If it cannot be created or written to.
    """
    if path is None:
        return None
    expected = f"--report expected a folder that can be made or written into, got {str(path)!r}"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{expected} ({error.strerror})") from None
    if not os.access(path, os.W_OK):
        raise UsageError(f"{expected} (not writable)")
    return path


def print_stopped(program: str, summary: str) -> None:
    """Print to standard error that a run was interrupted, and its result so far."""
    print(f"{program}: stopped. {summary}", file=sys.stderr)


def print_report(path: Path, interrupted: bool | int) -> None:
    """Print the path of the report; to standard error if the run was interrupted."""
    print(f"Report: {path}", file=sys.stderr if interrupted else sys.stdout)


@contextmanager
def progress_bar(total: int, unit: str, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on the terminal; show nothing if standard error is not a terminal, so that files and pipes stay clean.

    Args:
        total: Number of units.
        unit: The unit: "epoch", "step".
        done: Number of units that are already finished.

    Yields:
        A function to call with the number of finished units.
    """
    columns = (TextColumn(unit), MofNCompleteColumn(), BarColumn(bar_width=None), TimeRemainingColumn())
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        redirect_stdout=sys.stdout.isatty(),  # lines printed above the bar; a file or a pipe gets them directly
        refresh_per_second=5,
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=total, completed=done)
        shown = done

        def show(now: int) -> None:
            nonlocal shown
            if now != shown:
                bar.update(task, completed=now)
                shown = now

        yield show


@contextmanager
def ctrl_c_after_the_step() -> Iterator[Callable[[], bool]]:
    """In the `with` block, the first Ctrl-C is only recorded, so that no step is left unfinished; the second interrupts as usual.

    Yields:
        A function that returns whether Ctrl-C was pressed.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield lambda: False
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def run(prog: str, main: Callable[[], int]) -> NoReturn:
    """Run a program and exit with its status. Unwritten code, Ctrl-C or a full disk end it with one line instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a question mark replaces a character that the terminal lacks
    try:
        status = main()
        sys.stdout.flush()
    except NotImplementedError as error:
        if unwritten_task(error) is None:
            raise
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        status = _end(prog, f"{error}: {frame.f_code.co_qualname} in {frame.f_code.co_filename}, line {line}", 1)
    except KeyboardInterrupt:
        status = _end(prog, "stopped", INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        _drop_output()
        status = 1
    except OSError as error:
        _drop_output()
        status = _end(prog, f"could not write: {error}", 1)
    raise SystemExit(status)


def _drop_output() -> None:
    """Discard output that cannot be printed; otherwise Python tries again at exit and prints another error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(prog: str, message: str, status: int) -> int:
    print(f"{prog}: {message}", file=sys.stderr)
    return status
