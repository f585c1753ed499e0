"""Arguments of every layout and dtype, assignments, gradients that a step rewrites, and what a replay could not return or change."""

import warnings

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, optim
from tests.compiler.test_values import *
from tests.compiler.test_values import ANOTHER_DTYPE, ASSIGNMENTS, X, alike, numbers, steps_alike


@pytest.mark.parametrize("fn", [*ASSIGNMENTS.values(), ANOTHER_DTYPE], ids=[*ASSIGNMENTS, "another dtype"])
def test_assignments_stay_what_they_are_when_the_rest_is_fused(fn):
    compiled = minitorch.compile(fn)
    compiled(numbers(0))
    compiled.fuse()
    for n in range(1, 4):
        np.testing.assert_allclose(compiled(numbers(n)).to_numpy(), fn(numbers(n)).to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("check", [True, False])
def test_assignments_of_another_dtype_are_replayed(check):
    alike(ANOTHER_DTYPE, check=check, fuse=False)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint8"])
def test_an_argument_of_any_dtype(dtype):
    def make(n):
        return minitorch.tensor(np.add(np.abs(X), n).tolist(), FastBackend).to(dtype)

    alike(lambda x: x * 2 + x, make)
    alike(lambda x: (x.permute(1, 0) @ x).sum(1), make)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    alike(lambda x: (x.to(dtype) * 1.7).exp(), fuse=False)
    alike(lambda x: (x * x + 1.0).sum(1), lambda n: numbers(n).to(dtype))


def test_a_large_result():
    alike(lambda x: x * 2.0, lambda n: minitorch.tensor(np.arange(5000.0) + n, FastBackend))


def test_truth_values():
    alike(lambda x: (x == 0) * 2, lambda n: numbers(n) > 1.0)


def test_a_step_that_clips_gradients():
    steps_alike(lambda parameters: optim.clip_grad_value_(parameters, 0.001))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the norm is a number that Python reads
        steps_alike(lambda parameters: optim.clip_grad_norm_(parameters, 0.01), fallback="eager")
