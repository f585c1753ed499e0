"""Tests of minitorch.torch compute on the simple backend, which compiles nothing; tests/exhaustive repeats them on the fast one,
except those of every pair of dtypes, which would compile a kernel for each."""

from collections.abc import Iterator

import pytest

import minitorch.torch as torch
from minitorch import SimpleBackend

WITHOUT_KERNELS = {
    "test_argument_names",
    "test_autograd",
    "test_binomial",
    "test_changes",
    "test_compile",
    "test_distributions",
    "test_embedding_bag",
    "test_errors",
    "test_examples",
    "test_in_place",
    "test_known_values",
    "test_linalg",
    "test_nn_files",
    "test_nn_modules",
    "test_numpy_operands",
    "test_result_dtypes",
    "test_saved_tensors_hooks",
    "test_serialization",
    "test_special",
    "test_tensors",
    "test_thresholds",
    "test_training_tools",
    "test_trees",
    "test_tutorials",
    "test_vision",
    "test_vmap",
}


@pytest.fixture(autouse=True)
def _default_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """New tensors are stored on the simple backend, unless the kernels are what a file tests."""
    torch.set_default_device(SimpleBackend if request.path.stem in WITHOUT_KERNELS else None)
    yield
    torch.set_default_device(None)


@pytest.fixture
def fast_backend() -> None:
    """New tensors are stored on the fast backend, which is the one of the device "cpu"."""
    torch.set_default_device(None)
