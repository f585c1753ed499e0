"""All changes of layouts, sizes, dtypes and values of every function of minitorch/torch/names.py, against PyTorch."""

from collections.abc import Iterator

import pytest

import minitorch.torch as ours
from minitorch import SimpleBackend
from tests.torch_face.changes import calls, changes
from tests.torch_face.test_changes import NAMES, assert_like_pytorch, assert_no_internal_error, run

pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")


@pytest.fixture(autouse=True)
def _simple_backend() -> Iterator[None]:
    """Nothing is compiled, as there are many dtypes."""
    ours.set_default_device(SimpleBackend)
    yield
    ours.set_default_device(None)


@pytest.mark.parametrize("kind", ["layouts", "sizes", "dtypes", "values"])
@pytest.mark.parametrize("name", NAMES)
def test_a_change_has_the_effect_that_it_has_in_pytorch(name, kind):
    for base in calls(name):
        for call in changes(base, kind):
            assert_no_internal_error(call, run(call, ours, gradient=False))
            assert_like_pytorch(call)
