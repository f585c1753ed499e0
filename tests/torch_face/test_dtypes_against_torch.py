"""Calls in many dtypes: what PyTorch refuses is refused, and what it accepts has its dtype and numbers."""

import zlib
from collections.abc import Iterator

import pytest

import minitorch.torch as ours
from minitorch import SimpleBackend
from tests.torch_face.dtypes import CALLS, difference, pairs, run, variants

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")


@pytest.fixture(autouse=True)
def _simple_backend() -> Iterator[None]:
    """Nothing is compiled, as there are many dtypes."""
    ours.set_default_device(SimpleBackend)
    yield
    ours.set_default_device(None)


def assert_like_pytorch(call: str, dtypes: dict[int, str]) -> None:
    """Fail unless a call computes what PyTorch computes, or refuses what PyTorch refuses."""
    assert difference(call, dtypes, run(ours, call, dtypes), run(torch, call, dtypes)) == "", dtypes


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_dtypes_are_accepted_and_refused_as_in_pytorch(call: str) -> None:
    """In dtypes chosen by checksum, the same every time; the exhaustive tests take all."""
    for several in (variants(call), pairs(call)):
        for dtypes in sorted(several, key=lambda dtypes: zlib.crc32(f"{call} {dtypes}".encode()))[:1]:
            assert_like_pytorch(call, dtypes)
