"""Rprop and ASGD: steps by hand."""

import pytest

from minitorch import Parameter, tensor
from minitorch.optim import ASGD, Rprop
from tests.errors import raises


def steps(optimizer, parameter, gradients):
    """The values after each step."""
    found = []
    for gradient in gradients:
        parameter.value.grad = tensor(gradient, parameter.value.backend)
        optimizer.step()
        found.append(parameter.value.tolist())
    return found


def test_a_step_size_grows_while_the_sign_stays_and_shrinks_when_it_changes(backend):
    p = Parameter(tensor([1.0, 1.0], backend))
    found = steps(Rprop([p], lr=0.5, etas=(0.5, 2.0), step_sizes=(0.1, 1.5)), p, [[3.0, -1.0], [0.1, 9.0], [7.0, 9.0], [7.0, 0.0]])
    first = [1 - 0.5, 0.5 - 1.0, -0.5 - 1.5, -2.0 - 1.5]  # 0.5, 1, 2 limited to 1.5
    second = [1 + 0.5, 1.5, 1.5 - 0.25, 1.25]  # no step when the sign changes; then with the smaller size
    assert found == [pytest.approx(pair) for pair in zip(first, second, strict=True)]


def test_values_decay_and_are_averaged(backend):
    p = Parameter(tensor([1.0], backend))
    optimizer = ASGD([p], lr=0.5, lambd=0.2, alpha=1.0, t0=1.0)
    assert steps(optimizer, p, [[1.0]]) == [[pytest.approx(1 * (1 - 0.1) - 0.5)]]  # 0.4
    second = 0.4 * (1 - 0.2 * 0.5 / 1.1) - 0.5 / 1.1
    third = second * (1 - 0.2 * 0.5 / 1.2) - 0.5 / 1.2
    fourth = third * (1 - 0.2 * 0.5 / 1.3) - 0.5 / 1.3
    assert steps(optimizer, p, [[1.0]] * 3) == [[pytest.approx(value)] for value in (second, third, fourth)]
    (state,) = optimizer.state_dict()["state"].values()
    assert state["ax"].tolist() == [pytest.approx((third + fourth) / 2)]  # averaging starts with the third step


def test_factors_must_shrink_and_grow():
    with raises(ValueError, "Rprop expected etas below and above 1, got (1.0, 1.5); try (0.5, 1.2)"):
        Rprop([Parameter(tensor([1.0]))], etas=(1.0, 1.5))
