"""Stage 3 - Compilation with numba: kernels cached on disk until their source changes, and launched safely from threads and forks."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from pathlib import Path
from pickle import UnpicklingError
from threading import RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any

# By default, idle threads spin for milliseconds and take processor time from threads with work. If they slept at once, every short kernel
# would have to wake them. So they spin for about 50 µs. libgomp reads these variables once, when numba loads it.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import numba
import numpy as np
from numba import get_num_threads, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.extending import register_jitable

from minitorch.core.recording import call

FLAGS: dict[str, Any] = {
    "error_model": "numpy",  # 1 / 0 is inf, as in hardware
    "fastmath": {"contract"},  # fused multiply-add; keeps the order of sums, NaN and inf
}

SOURCES = ("operators", "core/math_operators", "tensor_data", "fast_ops")
"""Modules outside this folder that kernels are compiled from."""

IN_ANY_ORDER = FLAGS | {"fastmath": {"contract", "reassoc"}}
"""Flags for sums whose terms may be reordered, which lets the compiler vectorize them."""

_config: Any = vars(numba)["config"]  # set from the environment, which type checkers cannot see


def compiler_is_off() -> bool:
    """Return whether numba's compiler is disabled (NUMBA_DISABLE_JIT=1)."""
    return bool(_config.DISABLE_JIT)


def serial(fn: Callable[..., Any], flags: dict[str, Any] = FLAGS) -> Any:
    """Compile fn for one thread, at its first call, or load it from disk."""
    return cached_on_disk(njit(**flags)(fn))


def parallel(fn: Callable[..., Any], flags: dict[str, Any] = FLAGS) -> Any:
    """Compile fn with its outermost `prange` divided among threads. Call the result through `launch`.

    A function cannot be compiled as both serial and parallel: the two would share a cache file.
    """
    return cached_on_disk(njit(parallel=True, **flags)(fn))


_jitable: set[Callable[..., Any]] = set()


def jitable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Allow compiled functions to call fn, and return fn itself.

    A kernel that closes over `njit(fn)` is never found in the cache again, because that object differs in every process.

    Raises:
        TypeError: If fn is not written in Python, such as math.sin.
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


_HAS_CODE_HASH = re.compile(r"\.of_[0-9a-f]{16}$")


def _name_by_code(fn: Any) -> None:
    """Append a hash of its code and closure to the name of a local function.

    numba names machine code after the function and a counter of the process. Two functions made from the same lines, such as the loops of
    a sum and of a product, compiled by two processes and cached on disk, could get the same name: a third process that loads both would
    link the second with parts of the first. Functions defined at module level have unique names and are left alone.
    """
    if "<" in fn.__qualname__ and not _HAS_CODE_HASH.search(fn.__qualname__):  # <lambda>, or within <locals>
        fn.__qualname__ += f".of_{_digest(fn)[:16]}"


def _digest(fn: Any) -> str:
    """Return a hash of the code of a function and of everything that it calls, and of the values that numba freezes in them."""
    frozen = int | float | complex | str | bytes | tuple | Enum | type | np.ndarray | np.generic | np.dtype
    inner = _call_closure([fn])
    values = [value for each in inner for value in _named_in(each) if isinstance(value, frozen)]
    values += [value for each in inner for value in _kept_by(each) if not isinstance(value, FunctionType | Dispatcher | ModuleType)]
    options = [_options(value) for each in inner for value in (*_named_in(each), *_kept_by(each)) if isinstance(value, Dispatcher)]
    return hashlib.sha256(b"|".join([str(code_key(fn)).encode(), *map(dumps, values), *options])).hexdigest()


# Cache keys: compiled code on disk must match the source


@cache
def _file_digest(path: str) -> bytes:
    """Return the hash of a source file; b"" for code that is not in a file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""


def _sources_digest() -> bytes:
    """Return the hashes of all modules that kernels are compiled from."""
    here = Path(__file__).parent
    files = [here.parent / f"{module}.py" for module in SOURCES] + sorted(here.rglob("*.py"))
    return b"".join(_file_digest(str(file)) for file in files)


_SOURCES_DIGEST = _sources_digest()


def code_key(*functions: Callable[..., Any]) -> int:
    """Return a number that changes whenever the source of a kernel changes.

    numba invalidates a cached function when its own file changes, but not when a function that it calls changes. So every kernel closes
    over this key and uses it once (`_ = key`): numba compares the values in a function's closure.

    Args:
        functions: Functions outside `SOURCES` that the kernel is made from. Their files count as well, and so do those of the functions
            that they call.
    """
    parts = [_SOURCES_DIGEST]
    for fn in _call_closure(functions):
        parts.append(_file_digest(fn.__code__.co_filename))
        for code in _codes(fn.__code__):
            constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
            parts += [code.co_code, repr((code.co_names, constants)).encode()]
    return int.from_bytes(hashlib.sha256(b"|".join(parts)).digest()[:7])


def _call_closure(functions: Iterable[Callable[..., Any]]) -> list[Any]:
    """Return the functions and everything that they call by name, directly or indirectly, except functions of NumPy and numba."""
    found: list[Any] = []
    waiting: list[Any] = list(functions)
    while waiting:
        fn = waiting.pop()
        fn = getattr(fn, "py_func", fn)  # unwrap a compiled function
        if not isinstance(fn, FunctionType) or fn in found or fn.__module__.partition(".")[0] in ("numpy", "numba"):
            continue
        found.append(fn)
        waiting += [*_named_in(fn), *_kept_by(fn)]
    return found


def _codes(code: CodeType) -> list[CodeType]:
    """Return a function's code and that of what is defined in it, such as comprehensions."""
    return [code, *(each for constant in code.co_consts if isinstance(constant, CodeType) for each in _codes(constant))]


def _kept_by(fn: Any) -> list[Any]:
    """Return the values in a function's closure, without those that are assigned later, and its defaults."""
    cells = []
    for cell in fn.__closure__ or ():
        with suppress(ValueError):  # empty: a recursive function, or a function that is defined below
            cells.append(cell.cell_contents)
    return [*cells, *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]


def _named_in(fn: Any) -> list[Any]:
    """Return the values of the names that a function uses: globals, and members of modules among its globals, its closure, and so on."""
    names = sorted({name for code in _codes(fn.__code__) for name in code.co_names})
    found = [fn.__globals__.get(name) for name in names]
    waiting, seen = [*found, *_kept_by(fn)], []
    while waiting:
        module = waiting.pop()
        if isinstance(module, ModuleType) and module not in seen:
            seen.append(module)
            members = [getattr(module, name, None) for name in names]
            found += members
            waiting += members
    return found


def _options(compiled: Dispatcher) -> bytes:
    """Return what the machine code of a function depends on besides its source: its options, and those of the environment."""
    options = {name: sorted(value) if isinstance(value, set) else value for name, value in compiled.targetoptions.items()}
    return repr((sorted(options.items()), _config.OPT, _config.BOUNDSCHECK)).encode()  # the order of a set differs between processes


class _CacheFiles(IndexDataCacheFile):
    """The cached machine code of one function: a file for each combination of argument types and closure.

    numba numbers the files and keeps an index. If two processes save at the same time, or one is killed between its two writes, a number
    can lead to a different kernel, and from then on a product computes a sum. Here, file names are hashes of everything that the code
    depends on, so no index is needed.
    """

    def _file(self, key: Any) -> str:
        """Return the file's name. numba's key holds argument types, processor, bytecode and closure."""
        digest = hashlib.sha256(repr((self._version, self._source_stamp, key)).encode()).hexdigest()[:24]
        return f"{self._index_name.removesuffix('.nbi')}.{self._generation()}.{digest}.nbc"

    def _generation(self) -> str:
        """Identify one version of the function's file and of all sources, in the names of cache files."""
        return hashlib.sha256(_SOURCES_DIGEST + repr(self._source_stamp).encode()).hexdigest()[:8]

    def load(self, key: Any) -> Any:
        """Return the code saved under this key, or None if there is none or the file is damaged, as after a full disk."""
        try:
            return self._load_data(self._file(key))
        except (OSError, EOFError, UnpicklingError):
            return None

    def save(self, key: Any, data: Any) -> None:
        """Write the file, and remove files of earlier versions of the sources."""
        with suppress(OSError):  # a full disk: the next process compiles again
            self._save_data(self._file(key), data)
        function = self._index_name.rpartition("-")[0]  # a line number follows
        for path in Path(self._cache_path).glob(f"{function}-*.nb[ci]"):
            if path.name.split(".")[-3] != self._generation():
                with suppress(OSError):  # another process has removed it
                    path.unlink()


class _Cache(FunctionCache):
    """The cache of one function, which knows it by its code and the values in its closure.

    numba pickles the functions in a closure as well, and their bytes depend on whether a module was compiled in this process or read from
    disk: a second process would compile every kernel again.
    """

    options = b""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        _name_by_code(self._py_func)  # now that its closure is complete; file names do not contain the hash
        return sig, codegen.magic_tuple(), _digest(self._py_func), self.options


def cached_on_disk(compiled: Any) -> Any:
    """Cache a compiled function on disk as njit(cache=True) does, but with a unique name for each kernel.

    Functions that are in no file, such as those typed at a prompt, and plain functions where the compiler is off, stay as they are.
    """
    if isinstance(compiled, Dispatcher):
        try:
            cache: Any = _Cache(compiled.py_func)
        except RuntimeError:  # there is no file, or no folder in which to write
            return compiled
        cache._cache_file = _CacheFiles(cache.cache_path, cache._impl.filename_base, cache._impl.locator.get_source_stamp())
        cache.options = _options(compiled)
        vars(compiled).update(_cache=cache, **{name: partial(_inspect, compiled, name) for name in _INSPECTIONS})
    return compiled


_INSPECTIONS = ("parallel_diagnostics", "inspect_asm", "inspect_llvm")


def _inspect(kernel: Dispatcher, name: str, signature: Any = None, *args: Any, **options: Any) -> Any:
    """Take the place of numba's method, which knows nothing of code from disk: such a kernel is compiled again."""
    if kernel.stats.cache_hits or (signature is not None and signature not in kernel.overloads):
        again = numba.jit(**kernel.targetoptions)(kernel.py_func)
        for each in kernel.signatures if signature is None else [signature]:
            again.compile(each)
        kernel = again
    return getattr(type(kernel), name)(kernel, signature, *args, **options)


# Threads


class _ProcessState:
    """State of this process that decides whether threads may be used.

    Attributes:
        lock: Held while a parallel kernel runs; with some of numba's threading layers, two at once abort the process.
        launched: Whether a parallel kernel has run in this process.
        forked: Whether one had run in a parent process before the fork. The child does not have its threads, and OpenMP aborts a process
            that uses them.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.launched = False
        self.forked = False

    def after_fork(self) -> None:
        """Reset the lock in the child: another thread of the parent may have held it."""
        self.lock = RLock()
        self.forked = self.forked or self.launched


_process = _ProcessState()
os.register_at_fork(after_in_child=_process.after_fork)


def threads() -> int:
    """Return the number of threads that a parallel kernel may use; 1 in a process forked from one that has used several."""
    if _config.NUMBA_NUM_THREADS == 1 or compiler_is_off() or _process.forked:
        return 1
    return get_num_threads()


@cache
def _compiled_serial(kernel: Dispatcher) -> Any:
    """Compile a parallel kernel again, for one thread."""
    return njit(**FLAGS)(kernel.py_func)


def launch(kernel: Callable[..., Any], *args: Any) -> None:
    """Run a parallel kernel while no other thread of this process runs one; in a forked process, its serial version."""
    call(run_alone, kernel, *args)


def run_alone(kernel: Callable[..., Any], *args: Any) -> None:
    """`launch` without being recorded."""
    if _process.forked and isinstance(kernel, Dispatcher):
        _compiled_serial(kernel)(*args)
        return
    with _process.lock:
        _process.launched = True
        kernel(*args)
