"""All calls of tests/torch_face/dtypes.py in all dtypes, against PyTorch."""

import pytest

from tests.torch_face.dtypes import CALLS, pairs, variants

pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

from tests.torch_face.test_dtypes_against_torch import assert_like_pytorch


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_dtypes_are_accepted_and_refused_as_in_pytorch(call: str) -> None:
    for dtypes in (*variants(call), *pairs(call)):
        assert_like_pytorch(call, dtypes)
