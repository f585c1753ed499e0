"""Products with the Jacobian from both sides, the Jacobian and the Hessian: by hand, by finite differences, and what is refused."""

import numpy as np
import pytest

from minitorch import FastBackend, float32, nn, tensor
from minitorch.autograd import grad, hessian, jacobian, jvp, vjp
from tests.autograd.conftest import function
from tests.errors import raises


def f(x, y):
    """The Jacobian is diag(2 x y) by x, and x² by y."""
    return x * x * y


def test_vjp_gives_the_value_and_pulls_a_vector_back():
    x, y = tensor([2.0, 3.0]), tensor([5.0])
    for v, by_x, by_y in ([1.0, 0.0], [20.0, 0.0], [4.0]), ([1.0, 10.0], [20.0, 300.0], [94.0]):
        out, found = vjp(f, (x, y), tensor(v))
        assert (out.tolist(), out.requires_grad, x.requires_grad, x.grad) == ([20.0, 45.0], False, False, None)
        assert [g.tolist() for g in found] == [by_x, by_y]
    assert vjp(lambda a: (a * a).sum(), x)[1].tolist() == [4.0, 6.0]  # one input as it is, and 1 for one element


def test_an_argument_that_is_not_used_gets_zeros():
    x, y = tensor([2.0, 3.0]), tensor([[5.0]], dtype=float32)
    assert [g.tolist() for g in vjp(lambda a, b: a * 2, (x, y), tensor([1.0, 1.0]))[1]] == [[2.0, 2.0], [[0.0]]]
    assert [g.tolist() for g in vjp(lambda a, b: tensor([7.0]), (x, y), tensor([1.0]))[1]] == [[0.0, 0.0], [[0.0]]]


def test_jvp_gives_the_value_and_how_it_changes_in_a_direction():
    x, y = tensor([2.0, 3.0]), tensor([5.0])
    out, tangent = jvp(f, (x, y), (tensor([1.0, 0.0]), tensor([10.0])))
    assert (out.tolist(), tangent.tolist(), tangent.requires_grad) == ([20.0, 45.0], [60.0, 90.0], False)
    value, tangent = jvp(lambda a: a * a, tensor(3.0), tensor(0.5))  # a single tensor as it is
    assert (value.item(), tangent.item()) == (9.0, 3.0)


def test_jvp_of_what_does_not_depend_on_the_point_is_zero():
    x = tensor([2.0, 3.0])
    out, tangent = jvp(lambda a: tensor([[7.0]]), x, x)
    assert (out.tolist(), tangent.tolist()) == ([[7.0]], [[0.0]])
    assert jvp(lambda a: a * 0 + 1, x, x)[1].tolist() == [0.0, 0.0]
    assert jvp(lambda a: tensor([1.0], requires_grad=True) * 2, x, x)[1].tolist() == [0.0]


def test_jvp_through_a_network_is_that_of_finite_differences():
    w = tensor(np.cos(np.arange(12.0)).reshape(3, 4), FastBackend)
    x, t = (tensor(np.sin(np.arange(6.0) * k).reshape(2, 3), FastBackend) for k in (1, 2))

    def network(x):
        return nn.logsoftmax((x @ w).tanh().relu(), 1)

    _, tangent = jvp(network, x, t)
    step = 1e-6
    expected = (network(x + t * step).to_numpy() - network(x - t * step).to_numpy()) / (2 * step)
    np.testing.assert_allclose(tangent.to_numpy(), expected, atol=1e-8)


def test_products_with_create_graph_can_be_differentiated():
    x = tensor([2.0, 3.0], requires_grad=True)
    out, g = vjp(lambda a: a**3, x, tensor([1.0, 1.0]), create_graph=True)
    assert [grad(y.sum(), x, retain_graph=True)[0].tolist() for y in (out, g)] == [[12.0, 27.0], [12.0, 18.0]]
    out, tangent = jvp(lambda a: a**3, x, tensor([1.0, 10.0]), create_graph=True)
    assert (grad(out.sum(), x, retain_graph=True)[0].tolist(), grad(tangent.sum(), x)[0].tolist()) == ([12.0, 27.0], [12.0, 180.0])


def test_a_hessian_times_a_vector_is_forward_over_reverse():
    def gradient(x):
        return grad((x * x * x).sum() + x[0:1].sum() * x[1:].sum(), x, create_graph=True)[0]

    _, product = jvp(gradient, tensor([1.0, 2.0]), tensor([10.0, 1.0]))
    assert product.tolist() == [61.0, 22.0]  # [[6, 1], [1, 12]] · [10, 1]


def test_the_jacobian_has_the_shape_of_the_value_and_then_that_of_the_point():
    x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    jac = jacobian(lambda a: a.sum(0, keepdim=False) ** 2, x)
    assert jac.shape == (3, 2, 3)
    expected = np.zeros((3, 2, 3))
    for i, total in enumerate((5.0, 7.0, 9.0)):
        expected[i, :, i] = 2 * total
    assert (jac.to_numpy() == expected).all()


def test_the_hessian_of_a_product_and_of_what_is_not_curved():
    x = tensor([2.0, 3.0, 5.0])
    assert hessian(lambda a: a.prod() + (a * a).sum(), x).tolist() == [[2.0, 5.0, 3.0], [5.0, 2.0, 2.0], [3.0, 2.0, 2.0]]
    assert hessian(lambda a: a.sum(), x).tolist() == [[0.0] * 3] * 3
    assert hessian(lambda a: tensor([1.0]), x).tolist() == [[0.0] * 3] * 3


X = tensor([2.0, 3.0])
SHAPES = "jvp expected a direction of the shapes of the point, [(2,)], got"
MISUSES = [
    (lambda: vjp(f, (X, 3.0)), TypeError, "vjp expected tensors as the point, got float"),
    (lambda: vjp(abs, X, 3.0), TypeError, "a product with the Jacobian expected a vector that is a Tensor, got float"),
    (lambda: vjp(abs, X, tensor([1.0])), ValueError, "grad expected grad_outputs of shape (2,), that of the output, got (1,)"),
    (lambda: vjp(abs, X, (X, X)), ValueError, "a product with the Jacobian expected a vector for each of 1 results, got 2"),
    (lambda: jacobian(abs, X, strict=True), NotImplementedError,
     "jacobian supports strict=False only: derivatives that do not exist are 0"),
    (lambda: jvp(lambda a: a, (3.0,), (1.0,)), TypeError, "jvp expected tensors as the point, got float"),
    (lambda: jvp(lambda a: a, X, 1), TypeError, "jvp expected tensors as a direction, got int"),
    (lambda: jvp(lambda a: a.sum().item(), X, X), TypeError, "jvp expected a function that returns a Tensor, got float"),
    (lambda: jvp(lambda a: a, (X,), (tensor([1.0]),)), ValueError, f"{SHAPES} [(1,)]"),
    (lambda: jvp(lambda a: a, (X,), ()), ValueError, f"{SHAPES} []"),
    (lambda: hessian(lambda a: a * 2, X), RuntimeError, "hessian expected a function with one number as its value, got shape (2,); sum it"),
    (lambda: jacobian(lambda a: a, tensor([1, 2], dtype="int64")), TypeError,
     "only floating-point tensors can require gradients, got int64; convert it first: x.to(float64)"),
]  # fmt: skip


@pytest.mark.parametrize(("misuse", "error", "message"), MISUSES)
def test_what_they_are_given_is_checked(misuse, error, message):
    with raises(error, message):
        misuse()


def test_jvp_through_a_kernel_that_cannot_be_differentiated_twice_is_refused():
    square = function(
        lambda ctx, a: ctx.save_for_backward(a) or a * a, lambda ctx, g: tensor(2 * ctx.saved_values[0].to_numpy() * g.to_numpy()), "Square"
    )
    assert vjp(square.apply, X, tensor([1.0, 1.0]))[1].tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="the gradient of Square cannot be differentiated again: its backward reads the numbers"):
        jvp(square.apply, X, X)
