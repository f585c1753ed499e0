"""What the exhaustive tests of compiled functions share."""

import pytest

from minitorch import FastBackend
from tests.compiler import programs


@pytest.fixture(autouse=True)
def on_the_fast_backend(monkeypatch):
    """The tests that this folder imports run on the simple backend in tests/compiler."""
    monkeypatch.setattr(programs, "BACKEND", FastBackend)
