"""Checkpoints: the same gradients to the last bit, in less memory; what a function may use, and what is noticed."""

import pytest

from minitorch import FastBackend, SimpleBackend, manual_seed, nn, rand, tensor
from minitorch.autograd import checkpoint
from tests.autograd.test_checkpoint import assert_same, numbers, plain

BACKENDS = (SimpleBackend, FastBackend)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_gradients_of_arguments_and_of_parameters_are_the_same_to_the_last_bit(backend):
    x, w, v = (tensor(numbers(shape), backend, requires_grad=True) for shape in ((3, 4), (4, 4), (4, 2)))

    def part(a):
        return (a @ w).tanh() + a * a + a

    def step(run):
        return (run(part, run(part, x * 2)) @ v).sigmoid().sum() + x.sum()

    assert_same(step, [x, w, v])


def test_dropout_drops_the_same_elements_again_and_the_numbers_after_it_are_as_without_a_checkpoint():
    x, w = (tensor(numbers((6, 6), k), FastBackend, requires_grad=True) for k in (1, 2))

    def part(a):
        return nn.dropout((a @ w).tanh(), 0.5) * rand((6, 6), FastBackend)

    drawn = []

    def step(run):
        y = run(part, run(part, x))
        drawn.append(rand((3,)).tolist())
        return (y * rand((6, 6), FastBackend)).sum()

    assert_same(step, [x, w])
    manual_seed(3)
    step(checkpoint).backward()
    after = rand((2,)).tolist()
    manual_seed(3)
    step(plain).backward()
    assert rand((2,)).tolist() == after
    assert drawn[0] == drawn[1] == drawn[2]
