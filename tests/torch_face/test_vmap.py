"""torch.func.vmap against a loop by hand, and derivatives of mapped functions."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import func, nn
from minitorch.torch.func import vmap


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random numbers in float64."""
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


@pytest.mark.parametrize(("in_dims", "out_dims"), [((0, 0), 0), ((1, 0), 1), ((-1, -2), -1), ((None, 0), 0), ([0, None], -2)])
def test_dimensions_are_those_of_numpy(in_dims: Any, out_dims: int) -> None:
    a, b = numbers(4, 4), numbers(4, 4, seed=1)
    pairs = [[x if dim is None else np.take(x, i, dim) for x, dim in zip((a.numpy(), b.numpy()), in_dims, strict=True)] for i in range(4)]
    wanted = np.stack([x * np.sin(y) for x, y in pairs], out_dims)
    assert np.array_equal(vmap(lambda x, y: x * torch.sin(y), in_dims, out_dims)(a, b).numpy(), wanted)


def test_a_dot_product_becomes_one_of_a_batch() -> None:
    a, b = numbers(5, 3), numbers(5, 3, seed=1)
    np.testing.assert_allclose(vmap(torch.dot)(a, b).numpy(), (a * b).sum(1).numpy())
    both = vmap(vmap(torch.dot, (None, 0)), (0, None))(a, b)
    np.testing.assert_allclose(both.numpy(), (a @ b.T).numpy())


def test_arguments_and_results_are_nested() -> None:
    def combine(pair: dict[str, Any], weights: tuple[Any, float], *, shift: Any) -> Any:
        return {"sum": pair["a"] + pair["b"] + shift, "parts": (weights[0] * weights[1], pair["a"])}

    a, b, w, shift = numbers(4, 2), numbers(2), numbers(2, 4), numbers(4, 2, seed=2)
    out = vmap(combine, ({"a": 0, "b": None}, (1, None)), {"sum": 1, "parts": (0, 1)})({"a": a, "b": b}, (w, 3.0), shift=shift)
    assert out["sum"].tolist() == (a + b + shift).T.tolist()
    assert out["parts"][0].tolist() == (w * 3).T.tolist()
    assert out["parts"][1].tolist() == a.T.tolist()
    values, indices = vmap(lambda x: torch.max(x, 0))(a)
    assert values.tolist() == a.max(1).values.tolist()
    assert indices.tolist() == a.max(1).indices.tolist()


def test_gradients_flow_through_a_mapped_function_and_per_sample() -> None:
    x, w = numbers(4, 3), numbers(3, seed=1).requires_grad_()
    vmap(lambda row: (row * w).sum() ** 2)(x).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), (2 * (x @ w.detach()).unsqueeze(1) * x).sum(0).numpy())
    each = vmap(func.grad(lambda v, row: (row * v).sum() ** 2), (None, 0))(w.detach(), x)
    np.testing.assert_allclose(each.numpy(), (2 * (x @ w.detach()).unsqueeze(1) * x).numpy())


def test_models_are_called_with_several_sets_of_parameters() -> None:
    model = nn.Linear(3, 2)
    weights = {"weight": torch.randn(5, 2, 3), "bias": torch.randn(5, 2)}
    x = torch.randn(4, 3)
    out = vmap(lambda p, v: func.functional_call(model, p, (v,)), (0, None))(weights, x)
    wanted = np.einsum("bi,moi->mbo", x.numpy(), weights["weight"].numpy()) + weights["bias"].numpy()[:, None]
    np.testing.assert_allclose(out.numpy(), wanted, 1e-5, 1e-5)


def test_random_numbers_are_an_error_unless_it_is_said_how_they_are_drawn() -> None:
    x = torch.zeros(3, 2)

    def noisy(row: torch.Tensor) -> torch.Tensor:
        return row + torch.rand(2)

    with pytest.raises(RuntimeError, match='vmap expected a function without random numbers; pass randomness="different"'):
        vmap(noisy)(x)
    different, same = vmap(noisy, randomness="different")(x), vmap(noisy, randomness="same")(x)
    assert len({tuple(row) for row in different.tolist()}) == 3
    assert len({tuple(row) for row in same.tolist()}) == 1
    assert vmap(noisy, randomness="same")(x).tolist() != same.tolist()
    assert vmap(nn.Dropout(0.5).eval(), chunk_size=2)(x).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vmap(torch.dot)(numbers(3, 2), numbers(4, 2)), ValueError, r"one number of slices, above 0, got \[3, 4\]"),
        (lambda: vmap(torch.sin, None)(numbers(3)), ValueError, "got none with a dimension"),
        (lambda: vmap(torch.sin)(numbers(0, 3)), ValueError, r"above 0, got \[0\]"),
        (lambda: vmap(torch.sin, 2)(numbers(3, 2)), ValueError, r"a Tensor with dimension 2, got shape \(3, 2\)"),
        (lambda: vmap(lambda x, y: x * y)(numbers(3), 2.0), ValueError, "a Tensor with dimension 0, got float; pass in_dims with None"),
        (lambda: vmap(torch.sin, (0, 0))(numbers(3)), ValueError, r"in_dims for 1 arguments, got \(0, 0\)"),
        (lambda: vmap(torch.sin, ((0, 0),))((numbers(3),)), ValueError, "in_dims nested like the arguments"),
        (lambda: vmap(lambda x: 1.0)(numbers(3)), TypeError, "a function that returns Tensors, got float"),
        (lambda: vmap(lambda x: (x, x), 0, (0,))(numbers(3)), ValueError, "out_dims for 2 results"),
        (lambda: vmap(torch.sin, 0, (0, 1))(numbers(3)), ValueError, "one number as out_dims for one result"),
        (lambda: vmap(torch.sin, randomness="some"), ValueError, 'vmap expected randomness "error", "different" or "same"'),
    ],
)
def test_wrong_arguments_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_derivatives_of_a_function_are_there_under_all_names() -> None:
    x = numbers(3)
    np.testing.assert_allclose(func.jacfwd(lambda v: v**2)(x).numpy(), np.diag(2 * x.numpy()))
    np.testing.assert_allclose(func.hessian(lambda v: (v**3).sum())(x).numpy(), np.diag(6 * x.numpy()))
    np.testing.assert_allclose(vmap(func.jacrev(torch.sin))(x.reshape(3, 1)).numpy().reshape(-1), np.cos(x.numpy()))
