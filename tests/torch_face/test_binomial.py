"""Binomial distributions, without PyTorch: known values, gradients and messages."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from tests.errors import raises


def test_a_binomial_distribution_is_known() -> None:
    p = torch.tensor([0.25, 0.5], dtype=torch.float64, requires_grad=True)
    several = torch.distributions.binomial.Binomial(3, probs=p)
    np.testing.assert_allclose(several.log_prob(torch.tensor(1.0)).exp().tolist(), [27 / 64, 3 / 8])
    np.testing.assert_allclose([several.mean.tolist(), several.variance.tolist()], [[0.75, 1.5], [0.5625, 0.75]])
    masses = several.log_prob(several.enumerate_support()).exp()
    np.testing.assert_allclose(masses.sum(0).tolist(), [1, 1])
    np.testing.assert_allclose(several.entropy().tolist(), (-(masses * masses.log()).sum(0)).tolist())
    (slope,) = torch.autograd.grad(several.log_prob(torch.tensor(1.0)).sum(), p)
    np.testing.assert_allclose(slope.tolist(), [1 / 0.25 - 2 / 0.75, 2 - 4])
    even = torch.distributions.Bernoulli(p[1])
    (slope,) = torch.autograd.grad(even.log_prob(torch.tensor(1.0)) + even.entropy(), p)
    np.testing.assert_allclose(slope.tolist(), [0, 2])
    torch.manual_seed(0)
    drawn = torch.distributions.Binomial(torch.tensor([3.0, 8.0]), torch.tensor([0.25, 1.0])).sample((2000,))
    np.testing.assert_allclose(drawn.mean(0).tolist(), [0.75, 8], atol=0.06)
    assert (tuple(drawn.shape), drawn.dtype) == ((2000, 2), torch.float32)
    assert torch.distributions.Binomial(2, logits=torch.tensor(0.0)).log_prob(torch.tensor(1.0)).exp().item() == pytest.approx(0.5)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: torch.distributions.Binomial(3), ValueError, "Binomial expected either probs or logits, got neither"),
    (lambda: torch.distributions.Binomial(1.5, 0.5), ValueError, "Binomial expected total_count of whole numbers from 0 on, got 1.5"),
    (lambda: torch.distributions.Binomial(3, 0.5).log_prob(torch.tensor(4.0)), ValueError,
     "Binomial expected values of whole numbers from 0 to total_count, got 4.0"),
    (lambda: torch.distributions.Binomial(torch.tensor([1.0, 2.0]), 0.5).entropy(), NotImplementedError,
     "Binomial expected one number of trials for all variables to list the counts, got several"),
])  # fmt: skip
def test_wrong_binomial_distributions_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with raises(error, message):
        call()
