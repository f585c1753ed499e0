"""Stage 7 - The rendezvous: how the processes of a job find and connect to each other.

Rank 0 listens at an address that all know. The others connect to it, say who they are and where they listen themselves, and get the
addresses of all. Nobody listens at another address than that of rank 0's machine by which the others reach it, which is 127.0.0.1 unless
the job says otherwise.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minitorch.distributed.sockets import Mesh, receive_exactly

RETRY = 0.05
"""Seconds between attempts to reach rank 0, which may start later."""

GREETING = 5.0
"""Seconds in which a process that has connected says who it is; others that connect to the port say nothing."""


def connect(rank: int, size: int, host: str, port: int, timeout: float) -> Mesh:
    """Connect this process to all others of its job.

    Args:
        rank: Number of this process.
        size: Number of processes.
        host: Where rank 0 listens.
        port: The port.
        timeout: Seconds to wait for the others.

    Raises:
        RuntimeError: If the address cannot be used, the others do not come in time, or two have the same rank or different sizes.
    """
    return _listen(size, host, port, timeout) if rank == 0 else _join(rank, size, lambda: (host, port), timeout)


def connect_by_file(rank: int, size: int, path: str, timeout: float) -> Mesh:
    """Connect this process to all others of its job on this machine; rank 0 writes its address into a file.

    Args:
        rank: Number of this process.
        size: Number of processes.
        path: The file, which rank 0 creates, and removes when all have come.
        timeout: Seconds to wait for the others.

    Raises:
        RuntimeError: As by `connect`.
    """
    file = Path(path)
    if rank:
        return _join(rank, size, lambda: ("127.0.0.1", int(file.read_text())), timeout)

    def publish(port: int) -> None:
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_text(str(port))
        draft.replace(file)

    try:
        return _listen(size, "127.0.0.1", 0, timeout, publish)
    finally:
        file.unlink(missing_ok=True)


def _listen(size: int, host: str, port: int, timeout: float, publish: Callable[[int], None] | None = None) -> Mesh:
    """The mesh of rank 0: wait until all others have come, then send everybody's addresses."""
    deadline = time.monotonic() + timeout
    try:
        server = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=size)
    except OSError as error:
        raise RuntimeError(f"init_process_group cannot listen at {host}:{port}: {error}; choose another MASTER_PORT") from error
    connections: dict[int, socket.socket] = {}
    addresses: dict[int, Any] = {}
    with server, _closing_on_error(connections):
        if publish:
            publish(server.getsockname()[1])
        while len(connections) < size - 1:
            try:
                server.settimeout(max(0.01, deadline - time.monotonic()))
                connection, _ = server.accept()
            except TimeoutError:
                missing = ", ".join(str(rank) for rank in range(1, size) if rank not in connections)
                raise RuntimeError(
                    f"init_process_group expected {size} processes within {timeout:g} s, but rank {missing} did not come; "
                    "start all of them with the same address, or pass a longer timeout"
                ) from None
            try:
                connection.settimeout(GREETING)
                greeting = _receive(connection)
                rank, problem = greeting["rank"], _refusal(greeting, size, connections)
            except (OSError, ValueError, KeyError, TypeError):  # not one of ours
                connection.close()
                continue
            if problem:
                for each in (connection, *connections.values()):
                    _send(each, {"problem": problem})
                connection.close()
                raise RuntimeError(problem)
            connections[rank], addresses[rank] = connection, greeting["address"]
    for connection in connections.values():
        _send(connection, {"addresses": addresses})
    return Mesh(0, connections, timeout)


@contextmanager
def _closing_on_error(connections: dict[int, socket.socket]) -> Iterator[None]:
    """Close connections if the block raises an error."""
    try:
        yield
    except BaseException:
        for connection in connections.values():
            connection.close()
        raise


def _refusal(greeting: dict[str, Any], size: int, connections: dict[int, socket.socket]) -> str:
    """What is wrong with a process that wants to join; empty if nothing is."""
    rank = greeting["rank"]
    if greeting["size"] != size:
        return f"init_process_group expected the same world_size on every rank, got {size} on rank 0 and {greeting['size']} on rank {rank}"
    if rank in connections:
        return f"init_process_group expected every rank once, got two processes of rank {rank}; give each process its own rank"
    return ""


def _join(rank: int, size: int, find: Callable[[], tuple[str, int]], timeout: float) -> Mesh:
    """The mesh of another rank."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            first = socket.create_connection(find(), timeout=max(0.01, deadline - time.monotonic()))
            break
        except (OSError, ValueError) as error:  # ValueError: the file is not one of ours yet
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"init_process_group on rank {rank} expected rank 0 to listen within {timeout:g} s, got {error}; "
                    "start rank 0, or correct the address"
                ) from error
            time.sleep(RETRY)
    host = first.getsockname()[0]
    connections = {0: first}
    with socket.create_server((host, 0), family=first.family, backlog=size) as server, _closing_on_error(connections):
        _send(first, {"rank": rank, "size": size, "address": server.getsockname()[:2]})
        try:
            first.settimeout(max(0.01, deadline - time.monotonic()))
            answer = _receive(first)
            if "problem" in answer:
                raise RuntimeError(answer["problem"])
            for other in range(1, rank):
                connections[other] = socket.create_connection(tuple(answer["addresses"][str(other)]), timeout)
                _send(connections[other], {"rank": rank})
            while len(connections) < size - 1:
                server.settimeout(max(0.01, deadline - time.monotonic()))
                connection, _ = server.accept()
                connection.settimeout(GREETING)
                connections[_receive(connection)["rank"]] = connection
        except OSError as error:
            raise RuntimeError(
                f"init_process_group on rank {rank} expected {size} processes within {timeout:g} s, got {type(error).__name__}: {error}; "
                "look at the output of the others"
            ) from error
    return Mesh(rank, connections, timeout)


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send a message of the rendezvous."""
    data = json.dumps(message).encode()
    connection.sendall(struct.pack("<I", len(data)) + data)


def _receive(connection: socket.socket) -> dict[str, Any]:
    """Receive a message of the rendezvous, of at most a megabyte."""
    (count,) = struct.unpack("<I", receive_exactly(connection, 4))
    if count > 2**20:
        raise ValueError(f"a message of {count} bytes")
    return json.loads(receive_exactly(connection, count))
