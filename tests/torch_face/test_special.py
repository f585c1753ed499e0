"""Special functions without PyTorch: known values, identities, differences and messages."""

import math
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.autograd import gradcheck, gradgradcheck
from tests.errors import raises

inf, nan = math.inf, math.nan


def double(*numbers: float) -> Any:
    """A leaf of float64."""
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


KNOWN = {
    "exp2": ([0, 0.5, -3, 1023, 1024, -1080, inf, -inf, nan], [1, 2**0.5, 0.125, 2.0**1023, inf, 0, inf, 0, nan]),
    "sinc": ([0, 0.5, -1.5, 1e308, inf, nan], [1, 2 / math.pi, -2 / (3 * math.pi), nan, nan, nan]),
    "erfinv": ([0, 0.5, -0.5, 1e-300, 1, -1, 1.5, nan],
               [0, 0.4769362762044699, -0.4769362762044699, 0.5e-300 * math.pi**0.5, inf, -inf, nan, nan]),
    "lgamma": ([1, 2, 0.5, 5, -0.5, 0, -3, 1e305, 1e308, inf, -inf, nan],
               [0, 0, math.log(math.pi) / 2, math.log(24), math.log(2 * math.pi**0.5), inf, inf, 1e305 * (305 * math.log(10) - 1), inf, inf,
                inf, nan]),
    "digamma": ([1, 0.5, 2, -0.5, 1e-300, -1e-300, 0, -0.0, -2, 1e10, inf, -inf, nan],
                [-0.5772156649015329, -0.5772156649015329 - 2 * math.log(2), 1 - 0.5772156649015329,
                 2 - 0.5772156649015329 - 2 * math.log(2), -1e300, 1e300, -inf, inf, nan, 10 * math.log(10) - 0.5e-10, inf, nan, nan]),
    "i0": ([0, 1, -1, 25, 700, 721, -inf, nan],
           [1, 1.2660658777520084, 1.2660658777520084, 5774560606.466311, 1.529593347671874e302, inf, inf, nan]),
}  # fmt: skip
"""Arguments and results, of tables (Abramowitz, Stegun 1964) or closed forms."""


@pytest.mark.parametrize("name", KNOWN)
def test_values_are_known(name: str) -> None:
    points, wanted = KNOWN[name]
    x = torch.tensor(points, dtype=torch.float64)
    np.testing.assert_allclose(getattr(torch, name)(x).numpy(), wanted, 1e-13, 1e-15)
    np.testing.assert_array_equal(getattr(x.clone(), f"{name}_")().numpy(), getattr(x, name)().numpy())


def test_derivatives_of_digamma_are_known() -> None:
    x = torch.tensor([1.0, 0.5, -0.5, 0.0, -1.0, 1e200, inf, -inf, nan], dtype=torch.float64)
    squares = math.pi**2
    wanted = [squares / 6, squares / 2, squares / 2 + 4, inf, inf, 1e-200, 0, nan, nan]
    np.testing.assert_allclose(torch.polygamma(1, x).numpy(), wanted, 1e-13)
    apery = 1.2020569031595942  # the sum of 1 / k³
    wanted = [-2 * apery, -14 * apery, -14 * apery + 16, -inf, -inf, 0, 0, nan, nan]
    np.testing.assert_allclose(torch.polygamma(2, x).numpy(), wanted, 1e-13)
    np.testing.assert_array_equal(torch.polygamma(0, x[:2]).numpy(), torch.digamma(x[:2]).numpy())
    ninth = math.factorial(9) * (math.pi**10 / 93555 - math.fsum(k**-10.0 for k in range(1, 3)))  # 9! Σ k⁻¹⁰ from k = 3 on
    np.testing.assert_allclose(torch.polygamma(9, x[0] * 3).item(), ninth, 1e-9)
    np.testing.assert_allclose(
        torch.polygamma(9, x[0] * 22).item(), math.factorial(9) * math.fsum(k**-10.0 for k in range(22, 9000)), 1e-14
    )
    assert torch.polygamma(30, torch.tensor(-1e-12, dtype=torch.float64)) == inf
    with raises(ValueError, "polygamma expected n from 0 on, got -1"):
        torch.polygamma(-1, x)


def test_an_inverse_and_recurrences_hold() -> None:
    x = torch.tensor([0.0, 1e-9, 0.3, -0.7, 1.9, -3.2], dtype=torch.float64)
    np.testing.assert_allclose(x.erf().erfinv().numpy(), x.numpy(), 1e-9)
    y = torch.tensor([0.3, -0.7, -12.4, 1.9, 40.5], dtype=torch.float64)
    np.testing.assert_allclose(((y + 1).digamma() - y.digamma()).numpy(), 1 / y.numpy(), 1e-12)
    for n in (1, 4):
        step = torch.polygamma(n, y + 1) - torch.polygamma(n, y)
        np.testing.assert_allclose(step.numpy(), (-1) ** n * math.factorial(n) / y.numpy() ** (n + 1), 1e-10, 1e-12)
    np.testing.assert_allclose(torch.special.i1(torch.tensor([0.0, 1.0, -1.0])).numpy(), [0, 0.5651591, -0.5651591], 1e-6)


@pytest.mark.parametrize("name", ["exp2", "sinc", "erfinv", "gammaln", "digamma", "i0", "i1"])
def test_gradients_are_differences(name: str) -> None:
    function = getattr(torch.special, name)
    x = double(0.31, -0.62, 0.0005) if name == "erfinv" else double(0.31, -1.62, 0.0005, 30.5)
    x = double(0.31, -1.62, 3.5) if name in ("gammaln", "digamma") else x
    assert gradcheck(function, (x,), rtol=1e-4)
    assert gradgradcheck(function, (x,), rtol=1e-4)
    zero = double(0.0)
    if name in ("sinc", "i1"):
        assert torch.func.grad(lambda x: function(x).sum())(zero).item() == {"sinc": 0.0, "i1": 0.5}[name]
        second = torch.func.hessian(lambda x: function(x).sum())(zero).item()
        assert second == pytest.approx({"sinc": -(math.pi**2) / 3, "i1": 0.0}[name])


def test_integers_become_floating_point_numbers() -> None:
    assert [torch.lgamma(torch.tensor(4)).dtype, torch.special.psi(torch.tensor([True])).dtype] == [torch.float32] * 2
    assert torch.special.expit(torch.tensor(0)).item() == 0.5
    message = "torch.special has no erfinf in minitorch; the nearest name is torch.special.erfinv; the table of names is in"
    with raises(AttributeError, f"{message} docs/from_here_to_pytorch.md"):
        _ = torch.special.erfinf
