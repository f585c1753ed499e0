"""Tests without kernels compute in float64 on the simple backend, which compiles nothing, unless they name another."""

from collections.abc import Iterator

import pytest

import minitorch.torch as torch
from minitorch import FastBackend, SimpleBackend

SUBJECTS = ("module", "layers", "init", "summary", "containers", "linear", "embedding", "prune", "parametrize")
WITHOUT_KERNELS = {f"test_{subject}" for subject in SUBJECTS}


@pytest.fixture(autouse=True)
def _default_place(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.path.stem in WITHOUT_KERNELS:
        torch.set_default_device(SimpleBackend)
        torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)


@pytest.fixture(params=[SimpleBackend, FastBackend], ids=lambda backend: backend.name)
def backend(request):
    return request.param
