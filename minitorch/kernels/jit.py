"""Stage 3 - How functions become machine code: compiled by numba, kept on disk until their source changes, safe in threads and forks."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from threading import RLock
from types import FunctionType, ModuleType, NoneType
from typing import Any

# Threads that wait for work would spin for milliseconds, and keep the processor from whoever has some; at once asleep, they would have to
# be woken for each of many short kernels. So they spin for some 50 µs. libgomp reads this once, when numba loads it.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import numba
from numba import get_num_threads, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.extending import register_jitable

FLAGS: dict[str, Any] = {
    "error_model": "numpy",  # 1 / 0 is inf, as the hardware has it
    "fastmath": {"contract"},  # x · y + z in one instruction; the order of a sum stays, and so do NaN and inf
}

SOURCES = ("operators", "tensor_data", "fast_ops")
"""Modules beside this folder's that kernels are compiled from."""


IN_ANY_ORDER = FLAGS | {"fastmath": {"contract", "reassoc"}}
"""For sums whose terms may change places, so that several are added at once."""


_config: Any = vars(numba)["config"]  # numba fills it from the environment, unseen by type checkers


def compiler_is_off() -> bool:
    """Whether numba leaves functions as they are (NUMBA_DISABLE_JIT=1)."""
    return bool(_config.DISABLE_JIT)


def serial(fn: Callable[..., Any], flags: dict[str, Any] = FLAGS) -> Any:
    """fn compiled for one thread, at its first call or from disk."""
    return on_disk(njit(**flags)(fn))


def parallel(fn: Callable[..., Any], flags: dict[str, Any] = FLAGS) -> Any:
    """fn compiled so that its outermost `prange` is shared among threads. Call it through `launch`.

    One function cannot have both forms: they would share their place on disk.
    """
    return on_disk(njit(parallel=True, **flags)(fn))


_jitable: set[Callable[..., Any]] = set()


def jitable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn itself, which from now on may be called in compiled functions.

    A kernel that closes over `njit(fn)` is never found on disk again, because that object is another one in every process.

    Raises:
        TypeError: If it is not written in Python, such as math.sin.
    """
    if isinstance(fn, Dispatcher):
        fn = fn.py_func
    if not isinstance(fn, FunctionType):
        raise TypeError(f"a kernel expected a function written in Python, got {fn!r}; wrap it: lambda x: …")
    if fn not in _jitable:
        _jitable.add(fn)
        _name_by_code(fn)
        register_jitable(fn)
    return fn


_NAMED = re.compile(r"\.of_[0-9a-f]{16}$")


def _name_by_code(fn: Any) -> None:
    """Make what a local function is made from a part of its name.

    numba calls machine code by the function's name and a number that it counts up in each process. Two functions from the same lines, such
    as the loops of a sum and of a product, compiled by two processes and kept on disk, could have one name: a third process that loads
    both would link the second with the parts of the first. Functions of a module, whose names are their own, stay as they are.
    """
    if "<" in fn.__qualname__ and not _NAMED.search(fn.__qualname__):  # <lambda>, or within <locals>
        cells = [cell.cell_contents for inner in _with_called([fn]) for cell in inner.__closure__ or ()]
        values = repr([cell for cell in cells if isinstance(cell, bool | int | float | str | tuple | NoneType)])
        digest = hashlib.sha256(f"{code_key(fn)} {values}".encode()).hexdigest()
        fn.__qualname__ += f".of_{digest[:16]}"


# What is on disk must be what the source says


@cache
def _digest(path: str) -> bytes:
    """Of a source file; of nothing for what was typed in."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""


def _modules() -> bytes:
    """Of all modules that kernels are compiled from."""
    here = Path(__file__).parent
    files = [here.parent / f"{module}.py" for module in SOURCES] + sorted(here.rglob("*.py"))
    return b"".join(_digest(str(file)) for file in files)


_MODULES = _modules()


def code_key(*functions: Callable[..., Any]) -> int:
    """A number that is another one as soon as the source of a kernel is another.

    numba keeps a compiled function until the file that it stands in changes, and does not notice a change in what it calls. So every
    kernel closes over this key and names it once (`_ = key`): numba compares what a function closes over.

    Args:
        functions: What the kernel is made from besides the modules in `SOURCES`; the files that they stand in count, too, and those of the
            functions that they call.
    """
    parts = [_MODULES]
    for fn in _with_called(functions):
        code = fn.__code__
        parts += [_digest(code.co_filename), code.co_code, repr(code.co_names).encode()]
        parts += [repr(constant).encode() for constant in code.co_consts if not hasattr(constant, "co_code")]
    return int.from_bytes(hashlib.sha256(b"|".join(parts)).digest()[:7])


def _with_called(functions: Iterable[Callable[..., Any]]) -> list[Any]:
    """These functions, those that they call by name, those that these call, and so on; without the libraries' own."""
    found: list[Any] = []
    waiting: list[Any] = list(functions)
    while waiting:
        fn = waiting.pop()
        fn = getattr(fn, "py_func", fn)  # of a compiled function
        if not isinstance(fn, FunctionType) or fn in found or fn.__module__.partition(".")[0] in ("numpy", "numba"):
            continue
        found.append(fn)
        names = fn.__code__.co_names
        known = [fn.__globals__.get(name) for name in names] + [cell.cell_contents for cell in fn.__closure__ or ()]
        members = [getattr(value, name, None) for value in known if isinstance(value, ModuleType) for name in names]
        waiting += known + members
    return found


class _Files(IndexDataCacheFile):
    """Where numba keeps the machine code of one function, in a file for each kind of arguments and each function closed over.

    numba itself numbers the files and keeps an index. Two processes that save at once, or one that ends between its two writes, leave
    a number that leads to another kernel, and from then on a product is a sum. Here the name is made from all that the code depends on.
    """

    def _file(self, key: Any) -> str:
        """The file's name; key is numba's: types of the arguments, processor, bytecode and what the function closes over."""
        digest = hashlib.sha256(repr((self._version, self._source_stamp, key)).encode()).hexdigest()[:24]
        return f"{self._index_name.removesuffix('.nbi')}.{_GENERATION}.{digest}.nbc"

    def load(self, key: Any) -> Any:
        """What was saved under this key, or None; also if the file is broken, as after a full disk."""
        try:
            return self._load_data(self._file(key))
        except (OSError, EOFError, UnpicklingError):
            return None

    def save(self, key: Any, data: Any) -> None:
        """Write the file, and remove those of earlier sources."""
        self._save_data(self._file(key), data)
        function = self._index_name.rpartition("-")[0]  # the number of its line follows
        for path in Path(self._cache_path).glob(f"{function}-*.nb[ci]"):
            if path.name.split(".")[-3] != _GENERATION:
                with suppress(OSError):  # another process was faster
                    path.unlink()


_GENERATION = hashlib.sha256(_MODULES).hexdigest()[:8]
"""Tells the files of one state of the sources from those of another."""


def on_disk(compiled: Any) -> Any:
    """A function compiled by numba, kept on disk: what njit(cache=True) does, with names that no two kernels share."""
    if isinstance(compiled, Dispatcher):  # with the compiler off it is the function itself
        cache: Any = FunctionCache(compiled.py_func)
        cache._cache_file = _Files(cache.cache_path, cache._impl.filename_base, cache._impl.locator.get_source_stamp())
        vars(compiled)["_cache"] = cache
        _name_by_code(compiled.py_func)  # only now: the files are called as they would be without
    return compiled


# Threads


class _Process:
    """What must be known about this process before it starts threads.

    Attributes:
        lock: Held by whoever runs a parallel kernel; two at once end the process with some of numba's threading layers.
        launched: Whether a parallel kernel has run.
        forked: Whether that was in the process that this one was forked from: its threads are not here, and OpenMP ends a process that
            asks for them.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.launched = False
        self.forked = False

    def after_fork(self) -> None:
        """In the child."""
        self.lock = RLock()  # another thread may have held it
        self.forked = self.forked or self.launched


_process = _Process()
os.register_at_fork(after_in_child=_process.after_fork)


def threads() -> int:
    """How many threads a parallel kernel may use; 1 in a process forked from one that has used several."""
    if _config.NUMBA_NUM_THREADS == 1 or compiler_is_off() or _process.forked:
        return 1
    return get_num_threads()


@cache
def _serial_twin(kernel: Dispatcher) -> Any:
    """A parallel kernel compiled anew, for one thread."""
    return njit(**FLAGS)(kernel.py_func)


def launch(kernel: Callable[..., Any], *args: Any) -> None:
    """Run a parallel kernel while no other thread of this process runs one."""
    if _process.forked and isinstance(kernel, Dispatcher):
        _serial_twin(kernel)(*args)
        return
    with _process.lock:
        _process.launched = True
        kernel(*args)
