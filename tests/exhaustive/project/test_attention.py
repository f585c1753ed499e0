"""The attention of a GPT, and its generated text, on the compiled backend."""

import pytest

from minitorch import FastBackend
from tests.project.test_attention import *
from tests.project.test_attention import file, loaded, on_the_backend, trained


@pytest.fixture(scope="module")
def backend():
    """The compiled backend."""
    return FastBackend
