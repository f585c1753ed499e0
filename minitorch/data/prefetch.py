"""Stage 5 - Working ahead: a thread that prepares what a loop will ask for next, while the loop is busy with what it has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from queue import Empty, SimpleQueue
from typing import Any

POLL_SECONDS = 0.1
"""Seconds after which a wait begins anew: on Windows, Ctrl-C does not end a wait, it is noticed between two."""


def prefetch(source: Callable[[threading.Event], Iterator[Any]], count: int) -> Generator[Any, None, None]:
    """What an iterator gives, in its order, prepared by a thread that is up to `count` things ahead.

    What goes wrong in the thread is raised here, when its turn comes, with the traceback of the thread. When the loop over this is left,
    by its end, by break or by an error, the thread ends before anything else happens.

    Args:
        source: Makes the iterator. It is given an event, which is set when nobody will ask any more: a long preparation looks at it
            now and then, and gives up by raising whatever it likes.
        count: How many things may be ready and not yet asked for.
    """
    ready: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    free, abandoned = threading.Semaphore(count), threading.Event()

    def prepare() -> None:
        try:
            things = source(abandoned)
            while free.acquire() and not abandoned.is_set():
                ready.put((next(things), None))
        except BaseException as error:  # the end, which is StopIteration, and whatever the loop would have been interrupted by
            ready.put((None, error))

    thread = threading.Thread(target=prepare, name="minitorch prefetch", daemon=True)
    thread.start()
    try:
        while True:
            thing, error = _next(ready)
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            free.release()
            yield thing
    finally:
        abandoned.set()
        free.release()
        if thread is not threading.current_thread():  # the garbage collector may run there
            thread.join()


def _next(ready: SimpleQueue[tuple[Any, BaseException | None]]) -> tuple[Any, BaseException | None]:
    """What comes next; it is waited for."""
    while True:
        try:
            return ready.get(timeout=POLL_SECONDS)
        except Empty:
            continue
