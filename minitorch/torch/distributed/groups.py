"""Stage 7 - torch.distributed: process groups, over `minitorch.distributed`.

The backend "gloo" connects processes that the program or the launcher started by sockets; "mpi" uses those of mpiexec.
"""

from __future__ import annotations

import enum
import importlib.util
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from minitorch import distributed
from minitorch.core.errors import ArgumentError
from minitorch.distributed import rendezvous
from minitorch.distributed.group import LAUNCHED, current_group, join
from minitorch.distributed.group import ProcessGroup as Engine
from minitorch.distributed.sockets import Mesh, SocketGroup
from minitorch.distributed.staging import select_device
from minitorch.torch.cuda.devices import is_available as gpu_is_available

TIMEOUT = timedelta(minutes=30)
"""How long a process waits for the others by default, as in PyTorch."""

NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."


class ReduceOp(enum.Enum):
    """The operations of reductions; the values are the names of MPI."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "SUM", "AVG", "PROD", "MIN", "MAX", "BAND", "BOR", "BXOR"


class Backend:
    """Names of the backends."""

    GLOO, MPI, NCCL, UCC, UNDEFINED = "gloo", "mpi", "nccl", "ucc", "undefined"


class ProcessGroup:
    """Some of the processes, or all.

    Args:
        engine: The group that carries the messages.
        ranks: The ranks of its processes among all.
    """

    def __init__(self, engine: Engine, ranks: Sequence[int]) -> None:
        self.engine, self.ranks = engine, list(ranks)

    def rank(self) -> int:
        """Number of this process in the group."""
        return self.engine.rank

    def size(self) -> int:
        """Number of processes."""
        return self.engine.size

    def name(self) -> str:
        """Name of the backend."""
        return self.engine.backend

    def __repr__(self) -> str:
        return f"ProcessGroup(ranks={self.ranks})"


class GroupMember:
    """What `new_group` returns where this process is not in the group."""

    NON_GROUP_MEMBER = -100


class _GroupType(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """All processes; None before init_process_group."""
        return world("WORLD") if is_initialized() else None


class group(metaclass=_GroupType):
    """Holds `WORLD`, the group of all processes, or None if there is none."""


class Work:
    """A collective operation or a message under way.

    Args:
        engine: The group in which it runs.
        requests: What must be complete.
        finish: Writes the result into tensors.
        op: Its name, for messages.
    """

    def __init__(self, engine: Engine, requests: Sequence[Any], finish: Callable[[], None], op: str) -> None:
        self._engine, self._requests, self._finish, self._op = engine, requests, finish, op
        self._done = False

    def is_completed(self) -> bool:
        """Whether the result has been written."""
        if not self._done and not sum(not request.Test() for request in self._requests):  # each progresses
            self._done = True
            self._finish()
        return self._done

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the result has been written; returns True.

        Args:
            timeout: Accepted for PyTorch; that of the group is used.

        Raises:
            RuntimeError: If the other processes do not take part within the time limit of the group.
        """
        if not self._done:
            self._engine.wait(self._requests, self._op)
            self._done = True
            self._finish()
        return True

    def source_rank(self) -> int:
        """The rank from which a message came."""
        return self._requests[0].source


_faces: list[ProcessGroup] = []


def world(op: str) -> ProcessGroup:
    """The group of all processes. Raises ValueError if there is none."""
    if not distributed.is_initialized():
        raise ArgumentError(NO_GROUP)
    engine = current_group(op)
    if not _faces or _faces[0].engine is not engine:  # also if minitorch.distributed made it
        _faces[:] = [ProcessGroup(engine, range(engine.size))]
    return _faces[0]


def member_of(group: Any, op: str) -> ProcessGroup | None:
    """The group of an argument, by default that of all processes; None if this process is not in it.

    Raises:
        TypeError: If it is not a group.
        ValueError: If there is none.
    """
    default = world(op)
    if group is None:
        return default
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"{op} expected a group from new_group, got {group!r}; leave it out for all processes")
    return group


# Begin and end


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the other processes of a job.

    Args:
        backend: "gloo" for sockets, which is the default, or "mpi" for the processes of mpiexec, the default among them.
        init_method: "env://" for the variables MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; "tcp://ADDRESS:PORT"; or "file://PATH" for
            processes of one machine.
        timeout: How long to wait for the others in this and every later call.
        world_size: Number of processes.
        rank: Number of this process, from 0.
        store: Must be None.
        group_name: Accepted for PyTorch.
        pg_options: Accepted for PyTorch.
        device_id: Accepted for PyTorch.

    Raises:
        TypeError: If timeout is not a timedelta.
        ValueError: If the group exists, or an argument or a variable is missing or invalid.
        RuntimeError: If the others do not come in time.
    """
    if is_initialized():
        raise ArgumentError("init_process_group expected to be called once, but the group exists; call destroy_process_group() first")
    if store is not None:
        raise ArgumentError("init_process_group expected no store; pass init_method='tcp://127.0.0.1:29500', rank and world_size instead")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"init_process_group expected timeout as a datetime.timedelta, got {timeout!r}; such as timedelta(seconds=30)")
    seconds = (TIMEOUT if timeout is None else timeout).total_seconds()
    if seconds <= 0:
        raise ArgumentError(f"init_process_group expected a timeout above 0, got {timeout}; the default is {TIMEOUT}")
    by_mpiexec = init_method is None and "RANK" not in os.environ and any(name in os.environ for name in LAUNCHED)
    if _backend_name(backend, "mpi" if by_mpiexec else "gloo") == "mpi":
        distributed.init_process_group(seconds)
    else:
        mesh = _meet(init_method or "env://", rank, world_size, seconds)
        local_rank = int(os.environ.get("LOCAL_RANK", mesh.rank))
        select_device(local_rank)
        join(SocketGroup(mesh, range(mesh.size), local_rank, seconds))


def _backend_name(backend: str | None, default: str) -> str:
    """ "gloo" or "mpi". Raises ValueError if it is another backend."""
    name = (backend or default).lower()
    of_device = {device: each for device, _, each in (pair.partition(":") for pair in name.split(","))}
    name = of_device.get("cpu", name) if ":" in name else name  # "cpu:gloo,cuda:nccl"
    if name not in ("gloo", "mpi"):
        gpu = "" if gpu_is_available() or name != "nccl" else ", and there is no GPU here"
        raise ArgumentError(
            f"init_process_group expected backend 'gloo' or 'mpi', got {backend!r}, which does not exist here{gpu}; use 'gloo'"
        )
    return name


def _meet(init_method: str, rank: int, size: int, timeout: float) -> Mesh:
    """Connect to the other processes. Raises ValueError if an argument or a variable is missing or invalid."""
    url = urlsplit(init_method)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    if url.scheme not in ("env", "tcp", "file"):
        raise ArgumentError(f"init_process_group expected init_method env://, tcp://ADDRESS:PORT or file://PATH, got {init_method!r}")
    source = os.environ if url.scheme == "env" else {name.upper(): value for name, value in query.items()}
    rank = int(_setting(source, "RANK", init_method, "rank")) if rank < 0 else rank
    size = int(_setting(source, "WORLD_SIZE", init_method, "world_size")) if size < 0 else size
    if not 0 <= rank < size:
        raise ArgumentError(f"init_process_group expected a rank from 0 to {size - 1}, got {rank}; ranks count from 0")
    if url.scheme == "file":
        return rendezvous.connect_by_file(rank, size, url.netloc + url.path, timeout)
    if url.scheme == "tcp":
        host, port = url.hostname, url.port
        if not host or port is None:
            raise ArgumentError(f"init_process_group expected tcp://ADDRESS:PORT, got {init_method!r}; such as tcp://127.0.0.1:29500")
    else:
        host, port = _setting(source, "MASTER_ADDR", init_method), int(_setting(source, "MASTER_PORT", init_method))
    return rendezvous.connect(rank, size, host, port, timeout)


def _setting(source: Any, name: str, init_method: str, argument: str = "") -> str:
    """A variable of the environment, or a parameter of the address.

    Raises:
        ValueError: If it is missing, or is not a number where one is needed.
    """
    found = source.get(name)
    passed = f", or pass {argument}=" if argument else ""
    if not found or (name != "MASTER_ADDR" and not found.isdigit()):
        place = "the environment variable" if source is os.environ else "the argument"
        raise ArgumentError(
            f"init_process_group with {init_method} expected {place} {name if source is os.environ else argument}, got {found!r}; "
            f"start the program with python -m minitorch.torch.distributed.run{passed}"
        )
    return found


def destroy_process_group(group: Any = None) -> None:
    """Leave all groups, or forget one; every process calls it at the end.

    Raises:
        ValueError: If there is no group.
    """
    found = member_of(group, "destroy_process_group")
    if found is world("destroy_process_group"):
        distributed.destroy_process_group()
        _faces.clear()


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the processes; all processes call it, in the same order.

    Args:
        ranks: Their ranks; all by default.
        timeout: How long to wait in its calls; as for all processes by default.
        backend: That of all processes, or None.
        pg_options: Accepted for PyTorch.
        use_local_synchronization: Must be False.
        group_desc: Accepted for PyTorch.
        device_id: Accepted for PyTorch.
        sort_ranks: Whether to number them in the order of their ranks, not in that of the list.

    Returns:
        The group, or GroupMember.NON_GROUP_MEMBER if this process is not in it.

    Raises:
        ValueError: If there is no group yet, a rank does not exist or is there twice, or backend is another one.
    """
    every = world("new_group")
    if use_local_synchronization:
        raise ArgumentError("new_group expected use_local_synchronization=False, got True; call it on every rank")
    if backend is not None and backend.lower() != every.name():
        raise ArgumentError(f"new_group expected the backend of all processes, {every.name()!r}, got {backend!r}; leave it out")
    chosen = list(range(every.size()) if ranks is None else ranks)
    for rank in chosen:
        if not 0 <= rank < every.size():
            raise ArgumentError(f"new_group expected ranks from 0 to {every.size() - 1}, got {rank}; ranks count from 0")
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"new_group expected each rank once, got {chosen}; leave out the repeated ones")
    chosen = sorted(chosen) if sort_ranks else chosen
    engine = every.engine.subset(chosen)
    if engine is None:
        return GroupMember.NON_GROUP_MEMBER
    if timeout is not None:
        engine.timeout = timeout.total_seconds()
    return ProcessGroup(engine, chosen)


# Questions


def is_available() -> bool:
    """True: there are process groups."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return distributed.is_initialized()


def is_gloo_available() -> bool:
    """True: groups on sockets need nothing else."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """False: NCCL is not used."""
    return False


def is_torchelastic_launched() -> bool:
    """False: the launcher does not restart processes."""
    return False


def get_rank(group: Any = None) -> int:
    """Number of this process in a group, from 0; -1 if it is not in it.

    Raises:
        ValueError: If there is no group.
    """
    found = member_of(group, "get_rank")
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """Number of processes in a group; -1 if this process is not in it. Errors as for `get_rank`."""
    found = member_of(group, "get_world_size")
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """ "gloo" or "mpi".

    Raises:
        ValueError: If there is no group, or this process is not in it.
    """
    found = member_of(group, "get_backend")
    if found is None:
        raise ArgumentError("get_backend expected a group that this process is in; ask on its members only")
    return found.name()


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks, among all processes, of those in a group."""
    found = member_of(group, "get_process_group_ranks")
    return [] if found is None else list(found.ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Number in a group of the process with a rank among all.

    Raises:
        ValueError: If it is not in the group.
    """
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ArgumentError(f"expected a rank in the group, one of {ranks}, got {global_rank}; src and dst count all processes")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Rank among all processes of a number in a group.

    Raises:
        ValueError: If it is not in the group.
    """
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ArgumentError(f"expected a number in the group from 0 to {len(ranks) - 1}, got {group_rank}; it counts from 0")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Number of this process among those of its machine, from the variable LOCAL_RANK.

    Args:
        fallback_rank: The result where the variable is missing.

    Raises:
        RuntimeError: If it is missing and there is no fallback.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("get_node_local_rank expected the environment variable LOCAL_RANK; pass fallback_rank, or use the launcher")
    return fallback_rank
