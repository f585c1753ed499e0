"""torch.distributions: known values, draws with known frequencies, and PyTorch's numbers where it is installed."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import distributions
from minitorch.torch.distributions import Bernoulli, Categorical, Independent, Normal, Uniform, kl_divergence

ROWS = [[0.2, 0.3, 0.5], [1.0, 0.0, 3.0]]


DISTRIBUTIONS: dict[str, tuple[Callable[..., Any], Any, Any, Callable[..., Any] | None]] = {
    "Normal": (
        lambda d, p, x: d.Normal(p, x([1.0, 0.5])), [[0.5, -1.0], [2.0, 0.0]], [[[0.1, -0.3], [2.5, 1.0]]], lambda d, x: d.Normal(1.0, 2.0)
    ),
    "Uniform": (lambda d, p, x: d.Uniform(p, p + x([2.0, 5.0])), [0.0, 1.0], [[0.5, 1.5], [1.9, 5.5]], None),
    "Bernoulli": (lambda d, p, x: d.Bernoulli(p), [0.2, 0.7], [[0.0, 1.0], [1.0, 1.0]], lambda d, x: d.Bernoulli(0.4)),
    "Bernoulli, logits": (lambda d, p, x: d.Bernoulli(logits=p), [-3.0, 0.5], [1.0, 0.0], lambda d, x: d.Bernoulli(0.4)),
    "Categorical": (lambda d, p, x: d.Categorical(p), ROWS, [[2, 0], [1, 1]], lambda d, x: d.Categorical(x([0.5, 0.25, 0.25]))),
    "Categorical, logits": (
        lambda d, p, x: d.Categorical(logits=p), [[0.1, -2.0, 1.0]], [[2], [0]], lambda d, x: d.Categorical(x([0.5, 0.25, 0.25]))
    ),
    "Independent": (
        lambda d, p, x: d.Independent(d.Normal(p, x([1.0, 0.5])), 1), [[0.5, -1.0], [2.0, 0.0]], [[0.1, -0.3]],
        lambda d, x: d.Independent(d.Normal(x([[0.0, 0.0]] * 2), 1.0), 1),
    ),
}  # fmt: skip
"""For each: what makes it from its parameter, the parameter, values, and what makes another one to diverge from."""


def libraries() -> list[tuple[Any, Callable[..., Any]]]:
    """Ours and PyTorch, and what makes a tensor of float64."""
    pytorch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    return [(lib, partial(lib.tensor, dtype=lib.float64)) for lib in (torch, pytorch)]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_and_gradients_are_pytorchs(name: str) -> None:
    found: list[list[Any]] = []
    make, parameter, values, _ = DISTRIBUTIONS[name]
    for lib, tensor in libraries():
        p = tensor(parameter, requires_grad=True)
        d, value = make(lib.distributions, p, tensor), lib.tensor(values, dtype=lib.int64 if "Cat" in name else lib.float64)
        parts = [d.log_prob(value), d.entropy()] + ([d.mean, d.stddev, d.variance] if "Cat" not in name else [d.probs, d.logits])
        if name in ("Normal", "Uniform"):
            parts.append(d.cdf(value))
        sum(part.sum() for part in parts[:2]).backward()
        found.append([tuple(d.batch_shape), tuple(d.event_shape), *[part.detach().numpy() for part in parts], p.grad.numpy()])
    for mine, theirs in zip(*found, strict=True):
        assert np.shape(mine) == np.shape(theirs)
        np.testing.assert_allclose(mine, theirs, 1e-12, 1e-12)


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS.keys() - {"Uniform"}))
def test_divergences_and_their_gradients_are_pytorchs(name: str) -> None:
    found = []
    make, parameter, _, other = DISTRIBUTIONS[name]
    for lib, tensor in libraries():
        p = tensor(parameter, requires_grad=True)
        out = lib.distributions.kl_divergence(make(lib.distributions, p, tensor), other(lib.distributions, tensor))
        out.sum().backward()
        found.append((out.detach().numpy(), p.grad.numpy()))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-6, 1e-12)


def test_log_probabilities_are_those_of_the_formulas() -> None:
    value = 0.7
    density = math.exp(-((value - 0.2) ** 2) / (2 * 1.5**2)) / (1.5 * math.sqrt(2 * math.pi))
    assert Normal(0.2, 1.5).log_prob(torch.tensor(value)).item() == pytest.approx(math.log(density), rel=1e-6)
    assert Uniform(1.0, 5.0).log_prob(torch.tensor(2.0)).item() == pytest.approx(-math.log(4))
    assert Bernoulli(0.25).log_prob(torch.tensor([1.0, 0.0])).tolist() == pytest.approx([math.log(0.25), math.log(0.75)])
    assert Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).item() == pytest.approx(math.log(0.75))


def test_draws_have_the_frequencies_of_the_distribution() -> None:
    torch.manual_seed(1)
    normal, uniform = Normal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 2.0])).sample((4000,)), Uniform(2.0, 4.0).sample((4000,))
    np.testing.assert_allclose(normal.mean(0).numpy(), [1, -2], atol=0.12)
    np.testing.assert_allclose(normal.std(0).numpy(), [0.5, 2], rtol=0.05)
    assert 2 <= uniform.min().item() < 2.01 < 3.99 < uniform.max().item() < 4
    np.testing.assert_allclose(Bernoulli(torch.tensor([0.1, 0.8])).sample((4000,)).mean(0).numpy(), [0.1, 0.8], atol=0.03)
    drawn = Categorical(torch.tensor(ROWS)).sample((4000,)).numpy()
    frequencies = [np.bincount(column, minlength=3) / 4000 for column in drawn.T]
    np.testing.assert_allclose(frequencies, [[0.2, 0.3, 0.5], [0.25, 0, 0.75]], atol=0.03)


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        (lambda: Normal(torch.zeros(2, 3), 1), (2, 3)), (lambda: Uniform(0, torch.ones(3)), (3,)), (lambda: Bernoulli(0.5), ()),
        (lambda: Categorical(torch.ones(2, 3, 4)), (2, 3)),
    ],
)  # fmt: skip
def test_draws_have_the_shape_of_the_sample_and_of_the_batch(make: Callable[[], Any], batch: tuple[int, ...]) -> None:
    d = make()
    for shape in ((), (5,), (2, 2), (0,)):
        assert tuple(d.sample(shape).shape) == (*shape, *batch)
        assert tuple(d.sample(torch.Size(shape)).shape) == (*shape, *batch)


def test_gradients_flow_through_rsample_only() -> None:
    loc, scale = torch.tensor([0.0, 1.0], requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    drawn = Normal(loc, scale).rsample((2,))
    drawn.sum().backward()
    noise = (drawn.detach() - loc.detach()) / scale.detach()
    assert loc.grad.tolist() == [2.0, 2.0]
    np.testing.assert_allclose(scale.grad.numpy(), noise.sum(0).numpy(), atol=1e-6)
    assert not Normal(loc, scale).sample().requires_grad
    with pytest.raises(NotImplementedError, match="Categorical has no draws with gradients"):
        Categorical(torch.ones(2)).rsample()


def test_a_policy_learns_from_log_probabilities() -> None:
    torch.manual_seed(0)
    logits = torch.zeros(3, requires_grad=True)
    for _ in range(200):
        policy = Categorical(logits=logits)
        action = policy.sample()
        (-policy.log_prob(action) * (action == 2).float()).backward()
        with torch.no_grad():
            logits -= 0.1 * logits.grad
        logits.grad = None
    assert Categorical(logits=logits).probs[2].item() > 0.8


def test_divergences_of_impossible_events() -> None:
    sure, even = Bernoulli(torch.tensor([1.0, 0.0])), Bernoulli(0.5)
    np.testing.assert_allclose(kl_divergence(sure, even).numpy(), [math.log(2)] * 2, rtol=1e-5)
    assert kl_divergence(even, sure).tolist() == [math.inf] * 2
    assert kl_divergence(Categorical(torch.tensor([0.5, 0.5])), Categorical(torch.tensor([1.0, 0.0]))).item() == math.inf
    assert kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0)).item() == 0.5
    with pytest.raises(NotImplementedError, match=r"kl_divergence supports \(Normal, Normal\), .* only, got Normal and Uniform"):
        kl_divergence(Normal(0.0, 1.0), Uniform(0.0, 1.0))
    with pytest.raises(ValueError, match="equal reinterpreted_batch_ndims, got 1 and 0"):
        kl_divergence(Independent(Normal(torch.zeros(2), 1.0), 1), Independent(Normal(torch.zeros(2), 1.0), 0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0.0, -1.0), "Normal expected scale above 0, got -1.0"),
        (lambda: Normal(math.nan, 1.0), "Normal expected loc that is a number, got nan"),
        (lambda: Uniform(1.0, torch.tensor([2.0, 1.0])), "Uniform expected high above low, got 1.0"),
        (lambda: Bernoulli(1.5), "Bernoulli expected probs from 0 to 1, got 1.5"),
        (lambda: Bernoulli(), "Bernoulli expected either probs or logits, got neither"),
        (lambda: Categorical(torch.ones(2), torch.ones(2)), "Categorical expected either probs or logits, got both"),
        (lambda: Categorical(torch.tensor([1.0, -1.0])), "Categorical expected probs from 0 on, got -1.0"),
        (lambda: Categorical(torch.zeros(2)), "Categorical expected probs with a sum above 0, got 0.0"),
        (lambda: Categorical(0.5), r"Categorical expected probs of shape \(..., classes\), got one number"),
        (lambda: Normal(0.0, 1.0).log_prob(torch.tensor(math.nan)), "Normal expected values that are numbers, got nan"),
        (lambda: Uniform(0.0, 1.0).log_prob(torch.tensor(2.0)), "Uniform expected values from low to high, got 2.0"),
        (lambda: Bernoulli(0.5).log_prob(torch.tensor(0.5)), "Bernoulli expected values of 0 or 1, got 0.5"),
        (lambda: Categorical(torch.ones(3)).log_prob(torch.tensor(3)), "Categorical expected values of whole numbers from 0 to 2, got 3"),
        (lambda: Independent(Normal(0.0, 1.0), 1), "Independent expected reinterpreted_batch_ndims from 0 to 0"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_checks_may_be_switched_off() -> None:
    assert Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    assert Uniform(0.0, 1.0, validate_args=False).log_prob(torch.tensor([0.5, 2.0])).tolist() == [0.0, -math.inf]
    assert distributions.kl.kl_divergence is kl_divergence


def test_multinomial_counts_draws() -> None:
    from minitorch.torch.distributions import multinomial
    from minitorch.torch.distributions.categorical import Categorical as Same

    assert Same is Categorical
    weights = torch.tensor([1.0, 2.0, 0.0, 1.0])
    counts = multinomial.Multinomial(1000, weights)
    drawn = counts.sample((3,))
    assert (tuple(drawn.shape), drawn.sum(-1).tolist(), drawn[:, 2].tolist()) == ((3, 4), [1000.0] * 3, [0.0] * 3)
    np.testing.assert_allclose(drawn.numpy() / 1000, [[0.25, 0.5, 0, 0.25]] * 3, atol=0.1)
    assert (counts.mean.tolist(), counts.variance.tolist()) == ([250.0, 500.0, 0.0, 250.0], [187.5, 250.0, 0.0, 187.5])
    one = multinomial.Multinomial(3, logits=torch.log(torch.tensor([0.25, 0.5, 0.25])))
    np.testing.assert_allclose(one.log_prob(torch.tensor([1.0, 2.0, 0.0])).item(), np.log(3 * 0.25 * 0.25), 1e-6)
    with pytest.raises(ValueError, match="Multinomial expected values with the sum 3, got 2"):
        one.log_prob(torch.tensor([1.0, 1.0, 0.0]))
    with pytest.raises(ValueError, match="Multinomial expected total_count from 0 on, got -1"):
        multinomial.Multinomial(-1, weights)
    with pytest.raises(NotImplementedError, match=r"Multinomial expected one number of draws, an int, got 1\.5"):
        multinomial.Multinomial(1.5, weights)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"torch\.distributions has no Multinomal in minitorch; the nearest name is"):
        _ = torch.distributions.Multinomal
