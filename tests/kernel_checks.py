"""What a kernel must not do, checked by running it in the interpreter of `minitorch.cuda`; no GPU is needed."""

import numpy as np

from minitorch.cuda import inspect_kernel


def launched(kernel, grid, block, *args, trace=None):
    """The report of a launch without mistakes; a kernel that is not written yet raises its own error, which names the task."""
    if kernel.__code__.co_names == ("NotImplementedError",):
        kernel(*args)
    return inspected(kernel, grid, block, *args, trace=trace)


def inspected(kernel, grid, block, *args, trace=None):
    """The report of a launch; fails at the first mistake that the interpreter finds."""
    report = inspect_kernel(kernel, grid, block, *args, trace=trace)
    assert not report.findings, str(report.findings[0])
    return report


def assert_each_cell_once(report, memory, kind):
    """Every element of an array is read (or written) by one thread, once."""
    assert_accesses(report, memory, kind, 1)


def assert_accesses(report, memory, kind, expected):
    """Every element of an array is read (or written) as often as expected, by all threads together.

    Args:
        report: The report.
        memory: Name of the array.
        kind: "read" or "write".
        expected: A number, or one number per element.
    """
    shape = report.arrays[memory].shape
    counts = report.count_cells(memory, kind).reshape(-1)
    expected = np.broadcast_to(expected, counts.shape)
    wrong = np.flatnonzero(counts != expected)
    if not wrong.size:
        return
    cell, deed, verb = wrong[0], {"read": "read", "write": "written"}[kind], {"read": "reads", "write": "writes"}[kind]
    lines = sorted({access.place.line for access in report.select_accesses(memory, kind)})
    by_line = [(line, report.count_cells(memory, kind, line).reshape(-1)[cell]) for line in lines]
    lines_say = "; ".join(f"line {line} {verb} it {times(count)}" for line, count in by_line if count) or f"no line {verb} it"
    index = ", ".join(map(str, np.unravel_index(cell, shape)))
    raise AssertionError(
        f"expected {memory}[{index}] to be {deed} {times(expected[cell])} by all threads together, got {times(counts[cell])}: {lines_say}; "
        f"{wrong.size} of {counts.size} elements differ from what was expected"
    )


def times(count):
    """A number of times in words."""
    return "once" if count == 1 else f"{count} times"


def assert_coalesced(report):
    """The requests of warps touch no more 32-byte sectors of global memory than their elements fill."""
    for access in report.select_accesses(space="global"):
        assert access.sectors <= access.ideal, (
            f"line {access.place.line}: expected the {access.requests} requests of warps that {access.kind} {access.memory} to touch "
            f"{access.ideal} sectors of 32 bytes, got {access.sectors}; which index grows by 1 from thread to thread of a warp?"
        )


def assert_free_of_bank_conflicts(report):
    """The threads of a warp access different banks of shared memory, or the same word."""
    for access in report.select_accesses(space="shared"):
        assert access.degree <= 1, (
            f"line {access.place.line}: expected the threads of a warp that {access.kind} {access.memory} to use different banks, got a "
            f"{access.degree}-way conflict: {access.degree} threads wait for the same bank"
        )


def assert_warps_stay_together(report, most):
    """At most this many branches of warps are taken by some of their threads only."""
    diverged = [line for line in report.lines if line.diverged]
    total = sum(line.diverged for line in diverged)
    assert total <= most, f"expected at most {most} branches at which the threads of a warp part, got {total}: " + "; ".join(
        f"line {line.place.line}: {line.diverged} of {line.branches}" for line in diverged
    )
