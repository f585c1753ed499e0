"""minitorch.torch.autograd and minitorch.torch.func, without PyTorch: derivatives are known."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import func, nn
from minitorch.torch.autograd import Function, functional, grad, gradcheck, gradgradcheck
from minitorch.torch.autograd.function import once_differentiable


class Cube(Function):
    """x³ times a number."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**3 * factor

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2 * ctx.factor, None


class SumAndProduct(Function):
    """a + b, a · b, and which of the two is larger."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.save_for_backward(a, b)
        larger = a > b
        ctx.mark_non_differentiable(larger)
        return a + b, a * b, larger

    @staticmethod
    def backward(ctx: Any, grad_sum: torch.Tensor, grad_product: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        a, b = ctx.saved_tensors
        assert ctx.needs_input_grad == (a.requires_grad, b.requires_grad)
        return grad_sum + grad_product * b, grad_sum + grad_product * a


def leaf(*values: float) -> torch.Tensor:
    """A leaf of float64."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_an_own_function_has_its_own_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = Cube.apply(x, 2.0)
    assert y.tolist() == [2.0, 16.0]
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 24.0]
    assert not Cube.apply(x.detach(), 2.0).requires_grad
    with torch.no_grad():
        assert not Cube.apply(x, 2.0).requires_grad


def test_an_own_function_is_differentiated_twice() -> None:
    x = leaf(2.0)
    (first,) = grad(Cube.apply(x, 1.0).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert second.tolist() == [12.0]
    assert gradcheck(lambda t: Cube.apply(t, 0.5), (leaf(0.3, -1.2),))


def test_a_function_may_return_several_tensors() -> None:
    a, b = leaf(1.0, 5.0), leaf(2.0, 3.0)
    total, product, larger = SumAndProduct.apply(a, b)
    assert larger.tolist() == [False, True]
    assert not larger.requires_grad
    (total + 10 * product).sum().backward()
    assert a.grad.tolist() == [21.0, 31.0]
    assert b.grad.tolist() == [11.0, 51.0]


def test_setup_context_saves_what_backward_needs() -> None:
    class Exp(Function):
        @staticmethod
        def forward(x: torch.Tensor) -> torch.Tensor:
            return x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
            return grad_output * ctx.saved_tensors[0]

    x = leaf(0.0, 1.0)
    (g,) = grad(Exp.apply(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), [1, np.e])
    (h,) = grad(g.sum(), x)  # the saved output leads back to x
    np.testing.assert_allclose(h.numpy(), [1, np.e])


def test_the_number_of_gradients_is_checked() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, y: int) -> torch.Tensor:
            return x * y

        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
            return grad_output

    with pytest.raises(RuntimeError, match=r"Wrong\.backward returned a wrong number of gradients \(expected 2, got 1\)"):
        Wrong.apply(leaf(1.0), 2).sum().backward()


def test_a_saved_tensor_that_was_changed_is_noticed() -> None:
    x = leaf(1.0)
    y = x * 1
    out = Cube.apply(y, 1.0)
    with torch.no_grad():
        y.fill_(5.0)
    with pytest.raises(RuntimeError, match="that backward needs has been written into since"):
        out.sum().backward()


def test_once_differentiable_gradients_are_constants() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
            return grad_output * 2

    x = leaf(1.0)
    (g,) = grad(Double.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [2.0]
    assert not g.requires_grad


def test_grad_returns_gradients_and_leaves_grad_alone() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0)
    assert [g.tolist() for g in grad((x * x).sum() * y, [x, y])] == [[6.0, 12.0], [5.0]]
    assert gradcheck(lambda a, b: a * 2, (x, y))  # b unused
    assert x.grad is None
    with pytest.raises(RuntimeError, match="no output depends on input 1"):
        grad(x.sum(), [x, y])
    assert grad(x.sum(), [x, y], allow_unused=True)[1] is None
    assert grad(x.sum(), [x, y], materialize_grads=True)[1].tolist() == [0.0]
    assert grad(x * 2, x, grad_outputs=torch.tensor([1.0, 10.0], dtype=torch.float64))[0].tolist() == [2.0, 20.0]


def test_backward_of_several_tensors_accumulates() -> None:
    x = leaf(2.0)
    y = x * x
    torch.autograd.backward([y.sum(), (3 * y).sum()])
    assert x.grad.tolist() == [16.0]


def test_gradcheck_finds_a_wrong_gradient() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
            return grad_output * 2.1

    with pytest.raises(RuntimeError, match="gradcheck found two derivatives of result 0 by input 0"):
        gradcheck(Wrong.apply, (leaf(1.0),))
    assert not gradcheck(Wrong.apply, (leaf(1.0),), raise_exception=False)
    with pytest.raises(ValueError, match="gradcheck expected inputs of float64, got float32 for input 0"):
        gradcheck(Cube.apply, (torch.ones(1, requires_grad=True), 1.0))


def test_gradcheck_skips_results_without_gradients() -> None:
    assert gradcheck(lambda t: (t > 0, Cube.apply(t, 0.5)), leaf(0.3, -1.2))


def test_gradgradcheck_checks_second_derivatives() -> None:
    class CubeOnce(Cube):
        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None]:
            (x,) = ctx.saved_tensors
            return grad_output * 3 * x.detach() ** 2 * ctx.factor, None

    x, y = leaf(0.3, -1.2), leaf(0.7, 2.0)
    assert gradgradcheck(lambda t: Cube.apply(t, 0.5), x)
    assert gradgradcheck(SumAndProduct.apply, (x, y))
    assert gradgradcheck(lambda a, b: a * b.exp(), [x, y], grad_outputs=leaf(1.0, 2.0))
    assert gradgradcheck(lambda t: 3 * t, x)  # no second derivative
    assert gradcheck(lambda t: CubeOnce.apply(t, 0.5), x)  # the first derivative is right
    with pytest.raises(RuntimeError, match="gradcheck found two derivatives of result 0 by input 0"):
        gradgradcheck(lambda t: CubeOnce.apply(t, 0.5), x)
    assert not gradgradcheck(lambda t: CubeOnce.apply(t, 0.5), x, raise_exception=False)
    with pytest.raises(ValueError, match="gradgradcheck expected 1 grad_outputs, one for each differentiable result, got 2"):
        gradgradcheck(lambda t: 3 * t, x, (leaf(1.0, 1.0), leaf(1.0, 1.0)))
    with pytest.raises(ValueError, match="expected an input that requires gradients"):
        gradgradcheck(lambda t: 3 * t, x.detach())
    assert gradcheck(lambda a, b: a * 2, (x, y))  # b unused
    assert x.grad is None


def test_jacobians_and_hessians_are_exact() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0)
    assert functional.jacobian(lambda t: t**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    by_x, by_y = functional.jacobian(lambda a, b: a * b, (x, y))
    assert by_x.tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert by_y.tolist() == [[1.0], [2.0]]
    assert functional.hessian(lambda t: (t**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    blocks = functional.hessian(lambda a, b: (a * a * b).sum(), (x, y))
    assert [[block.tolist() for block in row] for row in blocks] == [[[[6.0, 0.0], [0.0, 6.0]], [[2.0], [4.0]]], [[[2.0, 4.0]], [[0.0]]]]


def test_products_with_vectors() -> None:
    x, v = leaf(1.0, 2.0), torch.tensor([1.0, 10.0], dtype=torch.float64)
    assert functional.vjp(lambda t: t**2, x, v)[1].tolist() == [2.0, 40.0]
    assert functional.jvp(lambda t: t**2, x, v)[1].tolist() == [2.0, 40.0]
    assert functional.hvp(lambda t: (t**3).sum(), x, v)[1].tolist() == [6.0, 120.0]


def test_func_computes_derivatives_of_functions() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert func.grad(lambda t: (t**2).sum())(x).tolist() == [2.0, 4.0]
    assert func.grad(func.grad(lambda t: t**3))(torch.tensor(2.0, dtype=torch.float64)).item() == 12.0
    (a, b), value = func.grad_and_value(lambda s, t: (s * t).sum(), argnums=(0, 1))(x, x * 2)
    assert (a.tolist(), b.tolist(), value.item()) == ([2.0, 4.0], [1.0, 2.0], 10.0)
    assert func.jacrev(lambda t: t**2)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert func.hessian(lambda t: (t**3).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    out, pull = func.vjp(lambda t: t**2, x)
    assert out.tolist() == [1.0, 4.0]
    assert pull(torch.ones(2, dtype=torch.float64))[0].tolist() == [2.0, 4.0]
    assert func.jvp(torch.sin, (x,), (torch.ones(2, dtype=torch.float64),))[1].tolist() == pytest.approx(np.cos([1, 2]))


def test_a_module_is_called_with_other_parameters() -> None:
    layer = nn.Linear(2, 1)
    before = layer.weight.tolist()
    state = {"weight": torch.tensor([[1.0, 2.0]], requires_grad=True), "bias": torch.zeros(1)}
    out = func.functional_call(layer, state, torch.ones(1, 2))
    assert out.item() == 3.0
    out.sum().backward()
    assert state["weight"].grad.tolist() == [[1.0, 1.0]]
    assert layer.weight.tolist() == before
    with pytest.raises(KeyError, match="Linear has no parameter or buffer 'other'; it has weight, bias"):
        func.functional_call(layer, {"other": torch.ones(1)}, torch.ones(1, 2))
