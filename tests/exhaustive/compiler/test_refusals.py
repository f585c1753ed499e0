"""The tests of tests/compiler/test_refusals.py on the fast backend."""

import pytest

import tests.compiler.test_refusals
from minitorch import FastBackend
from tests.compiler.test_refusals import *


@pytest.fixture(autouse=True)
def on_the_fast_backend(monkeypatch):
    monkeypatch.setattr(tests.compiler.test_refusals, "BACKEND", FastBackend)
