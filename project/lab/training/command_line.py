"""What the training programs share on the command line: messages of one line, a progress bar, and an orderly end."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from course.runner.messages import unwritten_task

BAD_USE, INTERRUPTED = 2, 130
"""Exit statuses: a wrong flag or value, and Ctrl-C."""


class Parser(argparse.ArgumentParser):
    """An argument parser that refuses in one line, which says what is allowed."""

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(prog, description=description, allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """End the program over something that argparse did not understand."""
        flags = [action.option_strings[-1] for action in self._actions if action.option_strings]
        self.refuse(f"{message}; allowed are {', '.join(flags)}")

    def refuse(self, message: str) -> NoReturn:
        """End the program with this message."""
        self.exit(BAD_USE, f"{self.prog}: {message}\n")


def number(text: str) -> int | float | str:
    """The whole number or else the number that a text shows; the text itself if it shows none, for whoever checks the value to refuse."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def decimal(text: str) -> float | str:
    """The number that a text shows as a float; the text itself if it shows none."""
    try:
        return float(text)
    except ValueError:
        return text


def report_folder(parser: Parser, name: str | None) -> Path | None:
    """The folder for a report, made if it is missing, before the time for training is spent."""
    if name is None:
        return None
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.refuse(f"--report expected a folder that can be made or written into, got {name!r} ({error.strerror})")
    if not os.access(folder, os.W_OK):
        parser.refuse(f"--report expected a folder that can be made or written into, got {name!r} (not writable)")
    return folder


@contextmanager
def progress_bar(total: int, what: str = "epoch", done: int = 0) -> Iterator[Callable[[], None]]:
    """A bar on the terminal; nothing where standard error is none, so that files and pipes stay clean.

    Args:
        total: How many steps there are.
        what: What a step is.
        done: How many were done before.

    Yields:
        What is called after each further step.
    """
    columns = (TextColumn(what), MofNCompleteColumn(), BarColumn(bar_width=None), TimeRemainingColumn())
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
        yield lambda: bar.advance(task)


@contextmanager
def ctrl_c_at_a_good_moment() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C is only noted, so that nothing is left half done; the second interrupts as ever.

    Yields:
        Whether Ctrl-C has been pressed.
    """
    if threading.current_thread() is not threading.main_thread():  # only there signals arrive
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
    """Run a program to its exit status; unwritten code, Ctrl-C and a full disk end it with one line instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal that lacks a sign gets a question mark
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
    except BrokenPipeError:  # the reader has gone, as `head` does
        _drop_output()
        status = 1
    except OSError as error:
        _drop_output()
        status = _end(prog, f"could not write: {error}", 1)
    raise SystemExit(status)


def _drop_output() -> None:
    """Send what cannot be printed to nowhere: else Python tries once more when it ends, and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(prog: str, message: str, status: int) -> int:
    print(f"{prog}: {message}", file=sys.stderr)
    return status
