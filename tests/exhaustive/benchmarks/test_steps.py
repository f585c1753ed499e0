"""The steps from the textbook's kernels to the library's: all compute the same, and the table says what was measured."""

from benchmarks import steps
from tests.benchmarks.test_steps import groups


def test_every_kernel_computes_what_numpy_computes(groups):
    for group in groups:
        steps.check(group)
