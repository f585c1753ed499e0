"""The tests of tests/compiler/test_guards.py on the fast backend."""

import pytest

import tests.compiler.test_guards
from minitorch import FastBackend
from tests.compiler.test_guards import *


@pytest.fixture(autouse=True)
def on_the_fast_backend(monkeypatch):
    monkeypatch.setattr(tests.compiler.test_guards, "BACKEND", FastBackend)
