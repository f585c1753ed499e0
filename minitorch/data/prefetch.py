"""Stage 7 - Prefetching: a thread prepares the next batches while the loop processes the current one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from queue import Empty, SimpleQueue
from typing import Any

POLL_SECONDS = 0.1
"""Timeout of a wait in seconds: on Windows, Ctrl-C is only noticed between two waits."""


def prefetch(source: Callable[[threading.Event], Iterator[Any]], count: int) -> Generator[Any, None, None]:
    """Yield the items of an iterator, computed by a thread that is up to `count` items ahead.

    An exception in the thread is raised here, in order, with the traceback of the thread. When the loop over this generator ends, by break
    or by an exception as well, the thread ends first.

    Args:
        source: Makes the iterator from an event that is set when no more items are needed: a long computation may check it and raise any
            exception.
        count: Maximum number of prepared items.
    """
    ready: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    free, abandoned = threading.Semaphore(count), threading.Event()

    def prepare() -> None:
        try:
            items = source(abandoned)
            while free.acquire() and not abandoned.is_set():
                ready.put((next(items), None))
        except BaseException as error:  # StopIteration at the end, or any exception for the loop to raise
            ready.put((None, error))

    thread = threading.Thread(target=prepare, name="minitorch prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item, error = _next(ready)
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            free.release()
            yield item
    finally:
        abandoned.set()
        free.release()
        if thread is not threading.current_thread():  # the garbage collector may run there
            thread.join()


def _next(ready: SimpleQueue[tuple[Any, BaseException | None]]) -> tuple[Any, BaseException | None]:
    """Wait for the next item."""
    while True:
        try:
            return ready.get(timeout=POLL_SECONDS)
        except Empty:
            continue
