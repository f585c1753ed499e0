"""Stage 7 - A process group on sockets: programs that start their processes themselves need no MPI.

Every two processes have a connection, and a thread for each connection puts what comes into an inbox, so a process that sends never waits
for one that computes. As with MPI, a collective operation goes on when its request is tested. A process that ends closes its connections:
those that wait for it get an error at once.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from minitorch.distributed.group import ProcessGroup

HEADER = struct.Struct("<HQ")
"""What a message begins with: the bytes of its key, and of its elements."""

COMBINE = {
    "SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
    "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip
"""The operations of reductions, by the names of MPI."""


def receive_exactly(connection: socket.socket, count: int) -> bytearray:
    """The next bytes of a connection. Raises ConnectionError if it ends before."""
    data = bytearray(count)
    view = memoryview(data)
    while view:
        read = connection.recv_into(view)
        if not read:
            raise ConnectionError("the connection has ended")
        view = view[read:]
    return data


class Mesh:
    """The connections of a process to all others of its job.

    Args:
        rank: Number of this process.
        connections: The connection to each other rank.
        timeout: Seconds after which a process that takes no messages is given up.
    """

    def __init__(self, rank: int, connections: Mapping[int, socket.socket], timeout: float) -> None:
        self.rank, self.size, self._connections = rank, len(connections) + 1, dict(connections)
        self._lock, self._sending = threading.Lock(), {other: threading.Lock() for other in connections}
        self._inbox: dict[tuple[int, bytes], deque[bytearray]] = defaultdict(deque)
        self._ended: set[int] = set()
        for other, connection in connections.items():
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(timeout) + 1, 0))
            threading.Thread(target=self._read, args=(other, connection), daemon=True).start()

    def _read(self, other: int, connection: socket.socket) -> None:
        """Put the messages of a process into the inbox until it ends."""
        try:
            while True:
                key_size, size = HEADER.unpack(receive_exactly(connection, HEADER.size))
                key, message = bytes(receive_exactly(connection, key_size)), receive_exactly(connection, size)
                with self._lock:
                    self._inbox[other, key].append(message)
        except OSError:
            with self._lock:
                self._ended.add(other)
            connection.close()

    def send(self, other: int, key: bytes, elements: np.ndarray) -> None:
        """Send a contiguous array to a process.

        Raises:
            RuntimeError: If the process has ended or takes no messages.
        """
        try:
            with self._sending[other]:
                self._connections[other].sendall(HEADER.pack(len(key), elements.nbytes) + key)
                if elements.nbytes:  # else the header was all that the process waited for, and it may have ended
                    self._connections[other].sendall(elements.view(np.uint8).data)
        except OSError as error:
            raise RuntimeError(f"rank {self.rank} cannot send to rank {other}, which has ended or stopped; look at its output") from error

    def take(self, sources: Sequence[int], key: bytes) -> tuple[int, bytearray] | None:
        """The first message with a key from one of some processes, and its rank; None if it has not come yet.

        Raises:
            RuntimeError: If none has come and all of the processes have ended.
        """
        with self._lock:
            for source in sources:
                if messages := self._inbox.get((source, key)):
                    message = messages.popleft()
                    if not messages:
                        del self._inbox[source, key]
                    return source, message
            if self._ended.issuperset(sources):
                ranks = ", ".join(map(str, sources))
                raise RuntimeError(f"rank {self.rank} waits for a message of rank {ranks}, which has ended; look at its output")
        return None

    def close(self) -> None:
        """Close the connections, after what was sent has been delivered."""
        for connection in self._connections.values():
            with suppress(OSError):  # the other process was faster
                connection.shutdown(socket.SHUT_WR)
        self._connections.clear()  # the threads close them when the other processes have


class Request:
    """An operation that goes on when it is tested.

    Args:
        steps: A generator that stops where it must wait for messages. What it returns is the `source`.
    """

    def __init__(self, steps: Iterator[None]) -> None:
        self._steps, self._error, self._done, self.source = steps, None, False, None
        self._advance()

    def _advance(self) -> None:
        try:
            next(self._steps)
        except StopIteration as end:
            self._done, self.source = True, end.value
        except RuntimeError as error:
            self._error = error  # type: ignore[assignment]  # raised by Test, here and later

    def Test(self) -> bool:
        """Whether it is complete.

        Raises:
            RuntimeError: If it failed.
        """
        if not self._done and self._error is None:
            self._advance()
        if self._error is not None:
            raise self._error
        return self._done


class SocketGroup(ProcessGroup):
    """The processes of a job, or some of them, connected by sockets.

    Args:
        mesh: The connections.
        members: The ranks in the mesh, in the order of those in the group.
        local_rank: Number of this process among those of its machine.
        timeout: Seconds to wait for the other processes.
        name: Distinguishes the messages of groups on the same mesh; the same in every process.
    """

    backend = "gloo"

    def __init__(self, mesh: Mesh, members: Sequence[int], local_rank: int, timeout: float, name: str = "") -> None:
        super().__init__(None, local_rank, timeout)
        self.mesh, self.members, self.name = mesh, list(members), name
        self.rank, self.size = self.members.index(mesh.rank), len(self.members)
        self._operations = self._children = 0

    def close(self) -> None:
        """Close the connections."""
        self.mesh.close()

    def duplicate(self) -> SocketGroup:
        """The same processes with messages that cannot match those of another group."""
        return self.subset(range(self.size))  # type: ignore[return-value]  # of which this process is one

    def subset(self, ranks: Sequence[int]) -> SocketGroup | None:
        """Some of the processes; every process calls it. None in a process that is not among them."""
        self._children += 1
        members, name = [self.members[rank] for rank in ranks], f"{self.name}/{self._children}"
        return SocketGroup(self.mesh, members, self.local_rank, self.timeout, name) if self.rank in ranks else None

    def start_sum(self, numbers: np.ndarray, op: str = "SUM") -> Request:
        """Start to replace contiguous arrays by their sum over all processes, or by what another operation gives."""
        return Request(self._reduce(numbers, COMBINE[op]))

    def start_broadcast(self, elements: np.ndarray, src: int) -> Request:
        """Start to replace contiguous arrays by that of rank src."""
        others = [rank for rank in range(self.size) if rank != src]
        sent, received = (dict.fromkeys(others, elements), {}) if self.rank == src else ({}, {src: elements})
        return Request(self._exchange(sent, received, self._next_key()))

    def start_gather(self, own: np.ndarray, found: np.ndarray) -> Request:
        """Start to collect a contiguous array of every process in the rows of found."""
        found[self.rank] = own
        others = [rank for rank in range(self.size) if rank != self.rank]
        return Request(self._exchange(dict.fromkeys(others, own), {rank: found[rank] for rank in others}, self._next_key()))

    def start_exchange(self, sent: Mapping[int, np.ndarray], received: Mapping[int, np.ndarray]) -> list[Any]:
        """Start to send an array to each of some other ranks and to receive one from each of some."""
        return [Request(self._exchange(sent, received, self._next_key()))]

    def start_send(self, elements: np.ndarray, dst: int, tag: int) -> Request:
        """Send a contiguous array to rank dst."""
        return Request(self._exchange({dst: elements}, {}, f"{self.name}#{tag}".encode()))

    def start_receive(self, place: np.ndarray, src: int | None, tag: int) -> Request:
        """Start to receive a contiguous array from rank src, or from any."""
        sources = [rank for rank in range(self.size) if rank != self.rank] if src is None else [src]
        return Request(self._receive(sources, place, f"{self.name}#{tag}".encode()))

    def _next_key(self) -> bytes:
        """The key of the messages of the next operation in which all processes take part."""
        self._operations += 1
        return f"{self.name}:{self._operations}".encode()

    def _reduce(self, numbers: np.ndarray, combine: np.ufunc) -> Iterator[None]:
        """Each process combines one part of the arrays, in the order of the ranks, and sends it to all: 2 (p - 1) / p of the array.

        So every rank gets the same bits.
        """
        parts = np.array_split(numbers.reshape(-1), self.size)
        others = [rank for rank in range(self.size) if rank != self.rank]
        own, keys = parts[self.rank], (self._next_key(), self._next_key())
        found = {rank: own.copy() for rank in range(self.size)}
        yield from self._exchange({rank: parts[rank] for rank in others}, {rank: found[rank] for rank in others}, keys[0])
        own[...] = found[0]
        for rank in range(1, self.size):
            combine(own, found[rank], out=own)
        yield from self._exchange(dict.fromkeys(others, own), {rank: parts[rank] for rank in others}, keys[1])

    def _exchange(self, sent: Mapping[int, np.ndarray], received: Mapping[int, np.ndarray], key: bytes) -> Iterator[None]:
        """Send arrays to ranks, then receive some."""
        for rank, elements in sent.items():
            self.mesh.send(self.members[rank], key, elements)
        for rank, place in received.items():
            yield from self._receive([rank], place, key)

    def _receive(self, sources: Sequence[int], place: np.ndarray, key: bytes) -> Iterator[None]:
        """Fill an array with the next message from one of some ranks; returns the rank."""
        members = [self.members[rank] for rank in sources]
        while (found := self.mesh.take(members, key)) is None:
            yield
        source, message = found
        if len(message) != place.nbytes:
            raise RuntimeError(
                f"rank {self.rank} expected {place.nbytes} bytes from rank {self.members.index(source)}, got {len(message)}; "
                "pass tensors of the same shape and dtype on every rank"
            )
        place.view(np.uint8)[...] = np.frombuffer(message, np.uint8)
        return self.members.index(source)  # type: ignore[return-value]  # of a generator
