"""Methods of minitorch.torch.Tensor that make other tensors or keep gradients, without PyTorch: values are known."""

import math

import pytest

import minitorch.torch as torch

INF = math.inf


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "long", "double"])
def test_every_dtype_is_a_dtype(name: str) -> None:
    assert isinstance(getattr(torch, name), torch.dtype)
    assert not isinstance(name, torch.dtype)


def test_new_tensors_have_the_dtype_of_the_tensor_unless_another_is_given() -> None:
    x = torch.ones(2, dtype=torch.float64)
    made = [x.new_zeros(2, 3), x.new_ones((2, 3)), x.new_empty([2, 3]), x.new_full((2, 3), 7), x.new_tensor([[1, 2, 3], [4, 5, 6]])]
    assert [each.dtype for each in made] == [torch.float64] * 5
    assert [tuple(each.shape) for each in made] == [(2, 3)] * 5
    assert [each.sum().item() for each in (made[0], made[1], made[3], made[4])] == [0, 6, 42, 21]
    assert x.new_zeros(1, dtype=torch.int32).dtype is torch.int32
    assert torch.ones(1, dtype=torch.int64).new_tensor([1.7]).tolist() == [1]
    assert x.new_ones(3, requires_grad=True).is_leaf


def test_retain_grad_keeps_the_gradient_of_a_computed_tensor() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    loss = (y * y).sum()
    loss.backward(retain_graph=True)
    assert y.retains_grad
    assert y.grad.tolist() == [6.0, 12.0]
    assert x.grad.tolist() == [18.0, 36.0]
    loss.backward()
    assert y.grad.tolist() == [12.0, 24.0]


def test_retain_grad_keeps_what_the_hooks_leave() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda gradient: gradient * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10.0]
    assert x.grad.tolist() == [30.0]


def test_retain_grad_survives_a_change_in_place() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.add_(2)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0]
    assert x.grad.tolist() == [15.0]


def test_retain_grad_is_refused_for_a_constant_and_does_nothing_to_a_leaf() -> None:
    with pytest.raises(RuntimeError, match=r"retain_grad expected a tensor that requires gradients, got a constant"):
        torch.ones(2).retain_grad()
    x = torch.ones(2, requires_grad=True)
    x.retain_grad()
    x.sum().backward()
    assert not x.retains_grad
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([0.0, -INF], "tensor([0., -inf])"),
        ([[1.0, -INF], [10.0, math.nan]], "tensor([[ 1., -inf],\n        [10., nan]])"),
        ([0.5, -INF, 100.25], "tensor([  0.5000,     -inf, 100.2500])"),
        ([INF, -INF], "tensor([inf, -inf])"),
    ],
)
def test_a_text_aligns_finite_numbers_as_pytorch_does(numbers: list, text: str) -> None:
    assert repr(torch.tensor(numbers)) == text
