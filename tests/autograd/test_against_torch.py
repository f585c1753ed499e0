"""Gradients of gradients, products with Jacobians and Hessians beside PyTorch's."""

import numpy as np
import pytest

from minitorch import FastBackend, nn, tensor
from minitorch.autograd import checkpoint, grad, hessian, hvp, jacobian, jvp, vhp, vjp

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")


def numbers(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


X, CONV, BIAS, DENSE = numbers((2, 2, 4, 4), 0), numbers((3, 2, 3, 3), 1), numbers((3,), 2), numbers((12, 5), 3)
CLASSES = [3, 0]
LIMIT = -1.0 if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14) else -1.5
"""A point at the limit of a clamp, where the gradient has been 0 since PyTorch 2.14; for older versions one that is not."""


def ours(x, conv, bias, dense):
    """A small network of images, and its loss."""
    y = nn.max_pool2d(nn.gelu(nn.conv2d(x, conv, bias, padding=1)), 2)
    return nn.cross_entropy(y.reshape(2, 12) @ dense, tensor(CLASSES, x.backend, dtype="int64")), y


def theirs(x, conv, bias, dense):
    """The same."""
    f = torch.nn.functional
    y = f.max_pool2d(f.gelu(f.conv2d(x, conv, bias, padding=1)), 2)
    return f.cross_entropy(y.reshape(2, 12) @ dense, torch.tensor(CLASSES)), y


def penalties(network, leaves, grad):
    """A loss, and the gradients of the squares of its gradients."""
    loss, _ = network(*leaves)
    first = grad(loss, leaves, create_graph=True)
    return [loss, *first, *grad(sum((g * g).sum() for g in first), leaves)]


def assert_close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.to_numpy().reshape(other.shape), other.detach().numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("run", [lambda f, *xs: f(*xs), checkpoint], ids=["plain", "checkpoint"])
def test_the_gradients_of_a_penalty_on_the_gradients_of_a_network(run):
    arrays = X, CONV, BIAS, DENSE
    leaves = [tensor(array, FastBackend, requires_grad=True) for array in arrays]
    others = [torch.tensor(array, requires_grad=True) for array in arrays]
    assert_close(penalties(lambda *xs: run(ours, *xs), leaves, grad), penalties(theirs, others, torch.autograd.grad))


def test_products_with_the_jacobian_from_both_sides():
    x, direction, v = tensor(X, FastBackend), tensor(numbers(X.shape, 7), FastBackend), numbers((2, 3, 2, 2), 8)
    rest, others = [tensor(a, FastBackend) for a in (CONV, BIAS, DENSE)], [torch.tensor(a) for a in (CONV, BIAS, DENSE)]
    products = torch.autograd.functional  # torch.func would compile something that is deprecated
    assert_close(
        vjp(lambda x: ours(x, *rest)[1], x, tensor(v, FastBackend)),
        products.vjp(lambda x: theirs(x, *others)[1], torch.tensor(X), torch.tensor(v)),
    )
    found = jvp(lambda x: ours(x, *rest)[1], x, direction)
    expected = products.hvp(lambda x: theirs(x, *others)[1].sum(), torch.tensor(X), torch.tensor(direction.to_numpy()))
    for product in (hvp, vhp):
        assert_close(product(lambda x: ours(x, *rest)[1].sum(), x, direction), expected)
    assert_close(found, products.jvp(lambda x: theirs(x, *others)[1], torch.tensor(X), torch.tensor(direction.to_numpy())))


def test_the_jacobian_and_the_hessian():
    x = numbers((2, 3), 9)

    def f(x):
        return (x.tanh() @ x.permute(1, 0)).exp() / (1 + x.sum(1) ** 2)

    def of_torch(x):
        return (x.tanh() @ x.permute(1, 0)).exp() / (1 + x.sum(1, keepdim=True) ** 2)

    assert_close([jacobian(f, tensor(x))], [torch.autograd.functional.jacobian(of_torch, torch.tensor(x))])
    expected = torch.autograd.functional.hessian(lambda x: of_torch(x).sum(), torch.tensor(x))
    assert_close([hessian(lambda x: f(x).sum(), tensor(x))], [expected])


def test_derivatives_at_points_where_rules_have_to_choose():
    for f, of_torch, points in (
        (lambda x: x.relu(), torch.relu, [-1.0, 0.0, 1.0]),
        (abs, torch.abs, [-1.0, 0.0, 1.0]),
        (lambda x: x**3, lambda x: x**3, [-1.0, 0.0, 2.0]),
        (lambda x: x**2, lambda x: x**2, [-1.0, 0.0, 2.0]),
        (lambda x: x**1, lambda x: x**1, [-1.0, 0.0, 2.0]),
        (lambda x: x.prod(0), lambda x: x.prod(0), [0.0, 3.0, 0.0]),
        (lambda x: x.clip(-1, 1), lambda x: x.clip(-1, 1), [LIMIT, 0.5, 3.0]),
        (lambda x: x.max(0), lambda x: x.max(0).values, [3.0, 2.0, 1.0]),
        (nn.sigmoid, torch.sigmoid, [-800.0, 0.0, 800.0]),
        (lambda x: nn.binary_cross_entropy_with_logits(x, tensor([0.0, 0.5, 1.0])) ,
         lambda x: torch.nn.functional.binary_cross_entropy_with_logits(x, torch.tensor([0.0, 0.5, 1.0]).double()), [-800.0, 0.0, 800.0]),
    ):  # fmt: skip
        x, other = tensor(points, requires_grad=True), torch.tensor(points, dtype=torch.float64, requires_grad=True)
        (g,), (h,) = (
            grad((f(x) * f(x)).sum(), x, create_graph=True),
            torch.autograd.grad((of_torch(other) ** 2).sum(), other, create_graph=True),
        )
        assert_close([g, *grad(g.sum(), x)], [h, *torch.autograd.grad(h.sum(), other)])
