"""A check, through numba's diagnostics, that a kernel's loop runs in parallel."""

import re


def assert_shares_its_loop(kernel, capsys):
    """Fail unless the kernel, which must have been called, has a prange that numba runs in parallel.

    Args:
        kernel: Compiled by njit with parallel=True, or with its own method `parallel_diagnostics`.
        capsys: The pytest fixture, which captures the report that numba prints.
    """
    capsys.readouterr()
    try:
        kernel.parallel_diagnostics(level=1)
    except (AttributeError, RuntimeError):
        raise AssertionError("expected a kernel compiled by njit with parallel=True, got one that is not") from None
    report = capsys.readouterr().out
    assert re.search(r"\bprange\(.*\| #\d+", report), f"expected a loop over prange that runs in parallel; numba says:\n{report}"
