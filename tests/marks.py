"""Marks that tests share."""

import pytest

from minitorch.kernels.jit import compiler_is_off

needs_compiler = pytest.mark.skipif(compiler_is_off(), reason="NUMBA_DISABLE_JIT=1: nothing is compiled")
