"""The backends that a test of networks or optimizers with an argument `backend` runs on."""

import pytest

from minitorch import FastBackend, SimpleBackend


@pytest.fixture(params=[SimpleBackend, FastBackend], ids=lambda backend: backend.name)
def backend(request):
    return request.param
