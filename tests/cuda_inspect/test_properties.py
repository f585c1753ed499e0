"""Random kernels: counts and values equal those of one thread after the other in plain Python, and NumPy's."""

import math
from collections import Counter

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import cuda

from minitorch.cuda import inspect_kernel


def affine(out, a, size, step, shift):
    i = cuda.grid(1)
    if i < size:
        out[i] = a[i * step + shift] * 2.0 + a[i]


def counted(out, a, size):
    i = cuda.grid(1)
    if i >= size:
        return
    total = 0.0
    k = 0
    while k < i % 5:
        k += 1
        if k == 2:
            continue
        if k == 4:
            break
        total += a[(i + k) % size]
    out[i] = total


def threads(blocks, block):
    return [(b, t) for b in range(blocks) for t in range(block)]


def sectors(accesses, itemsize):
    """Sectors of the accesses (block, thread, element) of one instruction, warp by warp."""
    return len({(b, t // 32, element * itemsize // 32) for b, t, element in accesses})


@settings(max_examples=40, deadline=None)
@given(
    blocks=st.integers(1, 4), block=st.integers(1, 70), size=st.integers(1, 200), step=st.integers(1, 9), shift=st.integers(0, 5),
    dtype=st.sampled_from([np.float32, np.float64, np.int32]),
)  # fmt: skip
@example(blocks=1, block=32, size=32, step=1, shift=0, dtype=np.float32)
@example(blocks=2, block=33, size=66, step=8, shift=1, dtype=np.float64)
def test_an_elementwise_kernel_is_counted_as_threads_access_it(blocks, block, size, step, shift, dtype):
    a = (np.arange(size * step + shift) % 97).astype(dtype)
    report = inspect_kernel(affine, blocks, block, np.zeros(size, dtype), a, size, step, shift)
    active = [(b, t, b * block + t) for b, t in threads(blocks, block) if b * block + t < size]
    far, near = [(b, t, i * step + shift) for b, t, i in active], active
    expected = np.bincount([element for *_, element in far + near], minlength=a.size)
    np.testing.assert_array_equal(report.count_cells("a"), expected)
    (read,) = report.select_accesses("a", "read")
    assert read.sectors == sectors(far, a.itemsize) + sectors(near, a.itemsize)
    assert read.requests == 2 * len({(b, t // 32) for b, t, _ in active})
    done = np.arange(min(size, blocks * block))
    result = np.zeros(size, dtype)
    result[done] = (a[done * step + shift] * 2.0 + a[done]).astype(dtype)
    np.testing.assert_array_equal(report.arrays["out"], result)
    assert report.flops == 2 * len(active)  # float64 for all three dtypes, because of 2.0
    assert report.findings == []


@settings(max_examples=30, deadline=None)
@given(blocks=st.integers(1, 3), block=st.integers(1, 70), size=st.integers(1, 150))
@example(blocks=1, block=5, size=5)
@example(blocks=1, block=40, size=39)
def test_loops_with_break_and_continue_run_as_in_python(blocks, block, size):
    a = np.arange(1.0, size + 1)
    report = inspect_kernel(counted, blocks, block, np.zeros(size), a, size)
    result, reads = np.zeros(size), Counter()
    for i in range(min(size, blocks * block)):
        for k in [1, 3]:  # k = 2 is skipped, k = 4 ends the loop
            if k <= i % 5:
                result[i] += a[(i + k) % size]
                reads[(i + k) % size] += 1
    np.testing.assert_array_equal(report.arrays["out"], result)
    np.testing.assert_array_equal(report.count_cells("a"), [reads[i] for i in range(size)])


@settings(max_examples=30, deadline=None)
@given(stride=st.integers(1, 40), shift=st.integers(0, 40), active=st.integers(1, 32), size=st.sampled_from([1, 2, 4, 8]))
@example(stride=32, shift=0, active=32, size=4)
@example(stride=33, shift=0, active=32, size=4)
@example(stride=16, shift=3, active=17, size=8)
def test_bank_conflicts_are_counted_by_their_definition(stride, shift, active, size):
    dtype = {1: np.int8, 2: np.int16, 4: np.float32, 8: np.float64}[size]

    def kernel(out, stride, shift, active):
        cache = cuda.shared.array(1400, dtype)
        t = cuda.threadIdx.x
        if t < active:
            cache[t * stride + shift] = 1
            out[t] = cache[t * stride + shift]

    report = inspect_kernel(kernel, 1, 32, np.zeros(32), stride, shift, active)
    part = 16 if size == 8 else 32
    degrees = []
    for first in range(0, active, part):
        words = {(t * stride + shift) * size // 4 + w for t in range(first, min(active, first + part)) for w in range(max(1, size // 4))}
        degrees.append(max(Counter(word % 32 for word in words).values()))
    (access,) = report.select_accesses("cache", "read")
    assert (access.degree, access.wavefronts, access.requests) == (max(degrees), sum(degrees), 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["read", "write", "atomic"])), min_size=1, max_size=6), st.booleans())
@example([(0, "write"), (1, "atomic")], True)
@example([(0, "atomic"), (0, "read"), (1, "atomic")], True)
@example([(0, "read"), (1, "read")], True)
@example([(0, "read"), (1, "atomic")], False)
@example([(0, "atomic"), (1, "read")], False)
@example([(0, "read"), (1, "atomic")], True)
@example([(0, "atomic"), (1, "atomic")], False)
def test_a_race_is_found_exactly_where_two_threads_conflict(accesses, between):
    """Each access of the list is by one thread, to the same element; in one block, or each thread in a block of its own."""
    who = np.array([thread for thread, _ in accesses])
    what = np.array([["read", "write", "atomic"].index(kind) for _, kind in accesses])

    def kernel(a, out, who, what, count):
        me = cuda.grid(1)
        for i in range(count):
            if who[i] == me:
                if what[i] == 0:
                    out[me] = a[0]
                elif what[i] == 1:
                    a[0] = 1
                else:
                    cuda.atomic.add(a, 0, 1)

    grid, block = (4, 1) if between else (1, 4)
    report = inspect_kernel(kernel, grid, block, np.zeros(1), np.zeros(4), who, what, len(accesses))
    conflict = any(
        t != u and {k, m} != {"read"} and {k, m} != {"atomic"} for t, k in accesses for u, m in accesses
    )  # at least one write, not both atomic
    assert bool(report.races) == conflict
    assert all(race.between_blocks == between and math.prod(race.index) == 0 for race in report.races)
