"""Stage 7 - torch.cuda: streams and events. All kernels run in one stream, in their order, so streams change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.kernels.cuda.device import SIMULATED, cuda, require_cuda
from minitorch.torch.cuda.devices import synchronize


class Event:
    """A point in the order of the kernels of a GPU.

    Args:
        enable_timing: Whether the time between two events can be asked for.
        blocking: Accepted for PyTorch.
        interprocess: Accepted for PyTorch.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing, self._event = enable_timing, None

    def record(self, stream: Any = None) -> None:
        """Put the event after the kernels that were started until now.

        Raises:
            RuntimeError: If there is no GPU.
        """
        require_cuda()
        options = {} if SIMULATED else {"timing": self.enable_timing}
        self._event = self._event or cuda.event(**options)
        self._event.record()

    def query(self) -> bool:
        """Whether all before it is complete."""
        return self._event is None or SIMULATED or self._event.query()

    def synchronize(self) -> None:
        """Wait until all before it is complete."""
        if self._event is not None:
            self._event.synchronize()

    def wait(self, stream: Any = None) -> None:
        """Nothing: kernels run in their order."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another.

        Raises:
            RuntimeError: If one was not recorded, or without enable_timing=True.
        """
        if self._event is None or end_event._event is None or not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("elapsed_time expected two recorded events with enable_timing=True; call record() on both")
        return self._event.elapsed_time(end_event._event)


class Stream:
    """The stream of a GPU, of which there is one.

    Args:
        device: The GPU.
        priority: Accepted for PyTorch.

    Raises:
        RuntimeError: If there is no GPU.
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        require_cuda()

    def synchronize(self) -> None:
        """Wait until the GPU has computed everything."""
        synchronize()

    def wait_stream(self, stream: Any) -> None:
        """Nothing: kernels run in their order."""

    wait_event = wait_stream

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event."""
        event = event or Event()
        event.record()
        return event


def current_stream(device: Any = None) -> Stream:
    """The stream; errors as for `Stream`."""
    return Stream(device)


default_stream = current_stream


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Nothing: there is one stream."""
    yield
