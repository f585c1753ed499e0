"""PyTorch's tensor is a subclass of the course's: what is computed from it, mixed with it or written into it."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch.torch import nn


def ones(requires_grad: bool = False) -> torch.Tensor:
    return torch.ones(2, 3, requires_grad=requires_grad)


def test_a_tensor_is_one_of_the_course() -> None:
    assert issubclass(torch.Tensor, minitorch.Tensor)
    assert isinstance(nn.Parameter(ones()), torch.Tensor)


@pytest.mark.parametrize("compute", [
    lambda x: x + 1, lambda x: 1 - x, lambda x: x.sum(), lambda x: x @ x.T, lambda x: x[0], lambda x: x.detach(), lambda x: x.exp(),
    lambda x: x.to(torch.float64), lambda x: x.max(1).values, lambda x: x.split(1)[0], lambda x: x > 0, lambda x: x.clone(),
    lambda x: nn.functional.softmax(x, 1), lambda x: nn.Linear(3, 1)(x), lambda x: minitorch.nn.gelu(x),
    lambda x: minitorch.nn.linear(x, x), lambda x: torch.cat([x, x]), lambda x: torch.zeros_like(x), copy.deepcopy,
    lambda x: pickle.loads(pickle.dumps(x)),
])  # fmt: skip
def test_what_is_computed_from_a_tensor_is_one(compute: Any) -> None:
    assert type(compute(ones())) is torch.Tensor
    copied = compute is copy.deepcopy or "pickle" in compute.__code__.co_names
    assert type(compute(nn.Parameter(ones()))) is (nn.Parameter if copied else torch.Tensor)


@pytest.mark.parametrize("compute", [
    lambda a, b: a + b, lambda a, b: b + a, lambda a, b: a @ b.permute(1, 0), lambda a, b: b.permute(1, 0) @ a,
    lambda a, b: a == b, lambda a, b: b - a,
    lambda a, b: minitorch.cat([a, b]), lambda a, b: minitorch.where(b > 0, b, a), lambda a, b: minitorch.tensor_functions.Mul.apply(b, a),
])  # fmt: skip
def test_a_tensor_of_the_course_and_one_of_pytorch_give_one_of_pytorch(compute: Any) -> None:
    given = minitorch.tensor(np.ones((2, 3), np.float32), backend=minitorch.FastBackend)
    assert type(compute(ones(), given)) is torch.Tensor


def test_each_leaf_keeps_a_gradient_of_its_own_class() -> None:
    mine = minitorch.tensor(np.ones((2, 3), np.float32), backend=minitorch.FastBackend, requires_grad=True)
    theirs = ones(True)
    (mine * theirs * 2).sum().backward()
    assert type(mine.grad) is minitorch.Tensor
    assert type(theirs.grad) is torch.Tensor
    assert mine.grad.sum(1).shape == (2, 1)
    assert theirs.grad.sum(1).shape == (2,)


def test_methods_mean_what_pytorch_means_and_the_course_keeps_its_own() -> None:
    x, mine = ones(), minitorch.ones((2, 3))
    assert (x.sum(1).shape, mine.sum(1).shape) == ((2,), (2, 1))
    assert (x.size(), mine.size) == (torch.Size([2, 3]), 6)
    assert (x.numel(), mine.numel()) == (6, 6)
    assert (torch.zeros(1).exp().log().item(), x.is_leaf) == (0.0, True)
    assert mine.is_leaf() is False


def test_a_tensor_has_room_for_attributes() -> None:
    x = ones()
    x.note = "first"
    assert copy.deepcopy(x).note == "first"
    with pytest.raises(AttributeError):
        minitorch.ones((2,)).note = "none"  # type: ignore[attr-defined]


# In place: what used a tensor before goes on with the tensor that it was


def written(x: torch.Tensor, write: Any) -> Any:
    """The gradient where a computed tensor is used, written into, and used again."""
    y = x + 1
    used = y + 3
    write(y)
    (used.sum() + y.sum()).backward()
    return x.grad.tolist()


@pytest.mark.parametrize(("write", "expected"), [
    (lambda y: y.add_(1), 2.0), (lambda y: y.add_(y), 3.0), (lambda y: y.sub_(y.detach()), 2.0), (lambda y: y.neg_(), 0.0),
    (lambda y: y.copy_(torch.zeros(2)), 1.0), (lambda y: y.__setitem__(0, 5.0), [1.0, 2.0]), (lambda y: y.unsqueeze_(0), 2.0),
    (lambda y: y.add_(1).add_(1).neg_(), 0.0), (lambda y: y.detach_(), 1.0),
])  # fmt: skip
def test_what_used_a_tensor_before_it_was_written_into_keeps_its_gradient(write: Any, expected: Any) -> None:
    assert written(torch.ones(2, requires_grad=True), write) == (expected if isinstance(expected, list) else [expected] * 2)


def test_a_constant_that_becomes_computed_stays_one_for_what_used_it_before() -> None:
    c, w = torch.zeros(2), torch.ones(2, requires_grad=True)
    product = c + w
    c.add_(w)
    (product + c).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_hooks_stay_with_the_tensor_that_they_were_registered_for() -> None:
    x, seen = torch.ones(1, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    y.retain_grad()
    y.add_(1)
    (y * 5).sum().backward()
    assert (seen, y.grad.item(), x.grad.item()) == ([5.0], 5.0, 10.0)


def test_gradients_of_gradients_see_the_tensor_as_it_was() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    y = x * x
    cube = x + y
    y.add_(1)
    (first,) = torch.autograd.grad((cube + y).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (9.0, 4.0)


# NumPy beside a tensor


@pytest.mark.parametrize("number", [np.float64(2), np.sqrt(4), np.float32(2), np.int64(2), 2])
def test_a_number_of_numpy_multiplies_like_one_of_python(number: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    for product in (number * x, x * number):
        assert (type(product), product.dtype, product.tolist()) == (torch.Tensor, torch.float32, [2.0, 2.0])
    (number * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_array_beside_a_tensor_is_a_tensor_and_functions_of_numpy_give_arrays() -> None:
    x, array = torch.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    assert type(array * x) is torch.Tensor
    assert (array - x).tolist() == [2.0, 2.0]
    assert type(np.exp(x)) is np.ndarray
    np.testing.assert_allclose(np.maximum(x, array), [3.0, 4.0])
    assert np.add.reduce(x) == 3.0
