"""A test bench for kernels: memory with guards around it and, in the simulator, threads that run in turns with checked accesses.

numba's simulator schedules threads as the operating system does, which may hide a missing barrier. Here the threads run one after the
other, each up to the next barrier, and accesses to shared memory are recorded: no thread may access what another has written before
all threads have met at a barrier. Uninitialized memory contains NaN, because on a GPU it could contain anything.
"""

import contextlib
import operator
import sys
import threading
from collections import Counter
from functools import partial

import numpy as np
import pytest

from minitorch.cuda_limits import check_memory
from minitorch.kernels.cuda.device import SIMULATED, cuda, launch

GUARDS = 64
"""Numbers before and behind those that a kernel is given on a GPU."""

UNTOUCHED = -987654321
"""What the guards hold."""

only_the_simulator_counts = pytest.mark.skipif(not SIMULATED, reason="NOT RUN: only the simulator counts what threads read and write")


def run(kernel, blocks, threads, *args):
    """Launch a kernel on arrays, which are copied to the GPU's memory.

    Args:
        kernel: The kernel.
        blocks: The number of blocks.
        threads: The number of threads per block.
        args: The kernel's arguments, including one-dimensional arrays.

    Returns:
        The memory of each of the arrays, in order.
    """
    memories = [Memory(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    launch(kernel, blocks, threads, *(memory.argument if isinstance(memory, Memory) else memory for memory in memories))
    return [memory for memory in memories if isinstance(memory, Memory)]


class Memory:
    """An array in the GPU's memory.

    Args:
        values: The initial values.

    Attributes:
        argument: The object passed to a kernel: in the simulator this object, which counts accesses.
        reads: The number of reads of each element by each block, by (block, position).
        readers: The elements that each thread of each block has read.
        writes: The number of writes of each element, by position.
    """

    def __init__(self, values):
        self.dtype, self.size, self.shape, self.ndim = values.dtype, len(values), values.shape, 1
        self.reads, self.readers, self.writes = Counter(), {}, Counter()
        self.around = np.full(len(values) + 2 * GUARDS, UNTOUCHED, values.dtype)
        self.around[GUARDS:-GUARDS] = values
        if SIMULATED:
            self.values = self.around[GUARDS:-GUARDS]
            self.argument = self
        else:
            self.device = cuda.to_device(self.around)
            self.argument = self.device[GUARDS:-GUARDS]

    def numbers(self):
        """The current values; raises an AssertionError if a kernel has written next to the array."""
        if not SIMULATED:
            self.around = self.device.copy_to_host()
        beside = np.flatnonzero(np.r_[self.around[:GUARDS], self.around[-GUARDS:]] != UNTOUCHED)
        assert beside.size == 0, f"expected a kernel to write into its {self.size} elements, got {beside.size} written beside them"
        return self.around[GUARDS:-GUARDS].copy()

    def __len__(self):
        return self.size

    def _inside(self, position, deed):
        position = operator.index(position)
        if not 0 <= position < self.size:
            raise IndexError(f"position {position} is {deed}, but this storage has positions 0 to {self.size - 1}")
        return position

    def __getitem__(self, position):
        position = self._inside(position, "read")
        block, thread = here()
        self.reads[block, position] += 1
        self.readers.setdefault((block, thread), set()).add(position)
        return self.values[position]

    def __setitem__(self, position, value):
        position = self._inside(position, "written")
        self.writes[position] += 1
        self.values[position] = value


def assert_holds(memory, expected, tolerance=1e-9):
    """Fail unless a memory has these values, and nothing was written next to it."""
    found, expected = memory.numbers(), np.asarray(expected).reshape(-1)
    assert found.shape == expected.shape
    close = np.isclose(found, expected, rtol=tolerance, atol=tolerance)
    if not close.all():
        i = int(np.flatnonzero(~close)[0])
        unwritten = ", which is what stands where nobody has written" if np.isnan(found[i]) else ""
        raise AssertionError(
            f"expected {expected[i]} at position {i}, got {found[i]}{unwritten}; {np.sum(~close)} of {close.size} are wrong"
        )


def here():
    """The current block and thread, each as (x, y, z)."""
    thread = threading.current_thread()
    return tuple(thread.blockIdx), tuple(thread.threadIdx)


# Shared memory with checks


class Shared:
    """A shared array, or a part of one.

    Args:
        values: The numbers.
        cells: For each number, its cell in the whole array.
        whole: The shape of the whole array.
        log: The accesses to each cell since the last barrier; see `note`.
    """

    def __init__(self, values, cells, whole, log):
        self.values, self.cells, self.whole, self.log = values, cells, whole, log
        self.dtype, self.shape, self.size, self.ndim = values.dtype, values.shape, values.size, values.ndim

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        found = self.values[self._inside(index)]
        if isinstance(found, np.ndarray):
            return Shared(found, self.cells[index], self.whole, self.log)
        self.note(int(self.cells[index]), "read")
        return found

    def __setitem__(self, index, value):
        for cell in np.ravel(self.cells[self._inside(index)]).tolist():
            self.note(cell, "written")
        self.values[index] = value

    def _inside(self, index):
        """A negative index is invalid on a GPU; NumPy would count it from the end."""
        for i in index if isinstance(index, tuple) else (index,):
            if not isinstance(i, slice) and operator.index(i) < 0:
                raise IndexError(f"index {index} of a shared array of shape {self.shape} is negative")
        return index

    def note(self, cell, deed):
        """Record that the current thread reads or writes a cell.

        Raises:
            AssertionError: If another thread has written the cell since the last barrier, or has read it and this one writes it.
        """
        me = threading.current_thread()
        if sys._getframe(2).f_code.co_filename.endswith("kernelapi.py"):  # an atomic operation
            deed = "changed"
        seen = self.log.setdefault((cell, me.barriers), [])
        for other, its_deed in seen:
            if other is not me and (deed, its_deed) not in (("read", "read"), ("changed", "changed")):
                index = tuple(map(int, np.unravel_index(cell, self.whole)))
                raise AssertionError(
                    f"cell {index if len(index) > 1 else cell} of a shared array is {its_deed} by thread {named(other)} and {deed} by "
                    f"thread {named(me)}, and nothing says who comes first; between the two all threads must meet at cuda.syncthreads()"
                )
        if not any(other is me and its_deed == deed for other, its_deed in seen) and len(seen) < 4:
            seen.append((me, deed))


def named(thread):
    """The position of a thread in its block, without dimensions that the block lacks."""
    x, y, z = thread.threadIdx
    return f"({x}, {y}, {z})" if z else f"({x}, {y})" if thread.block_dims > 1 else str(x)


def nothing(shape, dtype):
    """Uninitialized memory: NaN, or an arbitrary number for integers."""
    values = np.empty(shape, dtype)
    values[...] = np.nan if values.dtype.kind == "f" else 77
    return values


# Threads that run in turns


@contextlib.contextmanager
def in_turns():
    """In this context, simulated threads run in turns, accesses to shared memory are checked, and uninitialized memory is NaN."""
    from numba.core import types
    from numba.cuda.simulator import kernel, kernelapi
    from numba.np.numpy_support import as_dtype

    class Turn(kernel.BlockThread):
        """A simulated GPU thread that, in its turn, runs up to the next barrier or to its end."""

        def __init__(self, manager, block, place, target):
            super().__init__(target, manager, block, place, False)
            self.go, self.back = threading.Semaphore(0), threading.Semaphore(0)
            self.barriers, self.ended, self.error, self.wrong = 0, False, None, None
            self.block_dims = sum(size > 1 for size in manager._block_dim)

        def run(self):
            try:
                self._target()
            except BaseException as error:
                error.add_note(f"in thread {tuple(self.threadIdx)} of block {tuple(self.blockIdx)}")
                self.error = error
            self.ended = True
            self.back.release()

        def syncthreads(self):
            self.barriers += 1
            self.back.release()
            self.go.acquire()
            if self.wrong:
                raise self.wrong

        def turn(self):
            (self.go.release if self.is_alive() else self.start)()
            self.back.acquire()
            if self.error:
                raise self.error

    def run_block(manager, grid_point, *args):
        manager.shared = {}
        target = partial(manager._f, *args)
        threads = [Turn(manager, grid_point, point, target) for point in np.ndindex(*manager._block_dim)]
        running = threads
        try:
            while running:
                for thread in running:
                    thread.turn()
                waiting = [thread for thread in running if not thread.ended]
                if waiting and len(waiting) < len(threads):
                    gone = next(thread for thread in threads if thread.ended)
                    waiting[0].wrong = AssertionError(
                        f"thread {named(waiting[0])} waits at cuda.syncthreads(), where thread {named(gone)} never comes; "
                        "a barrier must stand where every thread of the block meets it"
                    )
                    waiting[0].turn()  # raised where the thread waits
                running = waiting
        finally:
            for thread in threads:
                if thread.is_alive():
                    thread.wrong = SystemExit()
                    thread.go.release()

    def as_numpy(dtype):
        return as_dtype(dtype) if isinstance(dtype, types.Type) else dtype

    def shared_array(self, shape, dtype):
        frame, allocated = sys._getframe(1), threading.current_thread()._manager.shared
        place = frame.f_code, frame.f_lasti
        if place not in allocated:
            values = nothing(shape, as_numpy(dtype))
            allocated[place] = Shared(values, np.arange(values.size).reshape(values.shape), values.shape, {})
            check_memory("shared", sum(one.values.nbytes for one in allocated.values()))
        return allocated[place]

    def local_array(self, shape, dtype):
        values = nothing(shape, as_numpy(dtype))
        check_memory("local", values.nbytes)
        return values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel.BlockManager, "run", run_block)
        patch.setattr(kernelapi.FakeCUDAShared, "array", shared_array)
        patch.setattr(kernelapi.FakeCUDALocal, "array", local_array)
        yield
