"""Writes in place against PyTorch's: which are refused, and the values and gradients of the others."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from tests.torch_face.in_place import NEEDS_OF_ONE, NEEDS_OF_TWO, PROGRAMS, call, run
from tests.torch_face.table import is_before_2_14

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

WRITES = (".mul_(2)", ".exp_()", ".zero_()")
FUNCTIONS = [(function, "a") for text in NEEDS_OF_ONE.values() for function in text.split()]
FUNCTIONS += [(function, "ab") for text in NEEDS_OF_TWO.values() for function in text.split()]


def assert_same(got: Any, wanted: Any, said: str) -> None:
    """Fail unless two nested lists of numbers agree; None is a gradient of zeros."""
    assert (got[0] == "refused") == (wanted[0] == "refused"), f"{said}: {got} instead of {wanted}"
    if got[0] != "refused":
        for one, other in zip(got, wanted, strict=True):
            one, other = (0.0 if x is None else np.array(x) for x in (one, other))
            np.testing.assert_allclose(one, other, 1e-9, 1e-9, err_msg=said)


@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n\n"), ids=lambda program: program.split()[1])
def test_a_program_computes_what_pytorch_computes(program: str) -> None:
    got, wanted = run(ours, program), run(torch, program)
    assert_same(got[:3], wanted[:3], program)
    for one, other in zip(got[3:], wanted[3:], strict=True) if got[0] != "refused" else ():
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(("function", "names"), FUNCTIONS, ids=lambda value: value)
def test_a_function_needs_what_pytorch_saves(function: str, names: str) -> None:
    if "quantile" in function and is_before_2_14(torch):
        pytest.skip("before PyTorch 2.14, the tensor of a quantile may be overwritten")
    for constant in ("", *names) if len(names) > 1 else ("",):
        for target in (*names, "="):
            for write in WRITES:
                said = f"{function} with a constant {constant or 'none'}, then {target}{write}"
                assert_same(call(ours, function, constant, target, write), call(torch, function, constant, target, write), said)
