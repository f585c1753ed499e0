"""LU factorizations, the exponential of a matrix and the older functions of torch: known values, and gradients by finite differences."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.autograd import gradcheck, gradgradcheck
from tests.errors import raises


def matrix(*shape: int, seed: int = 0) -> Any:
    """Random numbers in float64."""
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)


def weighted(x: Any) -> Any:
    """A sum in which every element has a weight of its own."""
    return (x * torch.tensor(np.random.default_rng(1).standard_normal(tuple(x.shape)))).sum()


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 5, 3)])
def test_lu_factors_a_matrix_with_gradients(shape: tuple[int, ...]) -> None:
    a = matrix(*shape)
    p, lower, upper = torch.linalg.lu(a)
    np.testing.assert_allclose((p @ lower @ upper).detach().numpy(), a.detach().numpy(), atol=1e-12)
    assert float(lower.abs().max()) == 1.0
    assert gradcheck(lambda x: weighted(torch.lu(x)[0]), (a,))
    assert gradgradcheck(lambda x: weighted(torch.lu(x)[0].sin()), (a,))


def test_lu_names_the_first_pivot_that_is_0() -> None:
    packed, pivots, infos = torch.lu(torch.tensor([[0.0, 1.0], [0.0, 3.0]]), get_infos=True)
    assert (packed.tolist(), pivots.tolist(), infos.tolist()) == ([[0.0, 1.0], [0.0, 3.0]], [1, 2], 1)
    assert (pivots.dtype, infos.dtype) == (torch.int32, torch.int32)
    empty = torch.lu_unpack(packed, pivots, unpack_data=False)
    assert [tuple(x.shape) for x in empty] == [(2, 2), (0,), (0,)]
    with pytest.raises(IndexError, match=r"lu_unpack expected int32 pivots of shape \(2,\) for factors of shape torch.Size\(\[2, 2\]\)"):
        torch.lu_unpack(packed, pivots[:1])
    with raises(ValueError, "lu_unpack expected a matrix of factors, got shape torch.Size([2])"):
        torch.lu_unpack(packed[0], pivots)
    with raises(RuntimeError, "lu_factor expected matrices of full rank, got a singular one; factor it with torch.linalg.lu"):
        torch.linalg.lu_factor(packed)
    with raises(RuntimeError, "lu_factor expected matrices of full rank, got a singular one; factor it with torch.linalg.lu"):
        torch.linalg.lu_factor(torch.zeros(3, 2))
    assert torch.lu(torch.zeros(0, 0), get_infos=True)[2].item() == 0
    with pytest.raises(RuntimeError, match="lu supports pivot=True only"):
        torch.lu(torch.eye(2), pivot=False)


def test_triangles_are_solved_with_gradients() -> None:
    a, b = matrix(3, 3), matrix(3, 2, seed=1)
    found = torch.lu_solve(b, *torch.lu(a))
    np.testing.assert_allclose(found.detach().numpy(), np.linalg.solve(a.detach().numpy(), b.detach().numpy()))
    for options in ({}, {"upper": False}, {"transpose": True}, {"upper": False, "unitriangular": True}):
        assert gradcheck(lambda x, y, options=options: weighted(torch.triangular_solve(y, x, **options).solution), (a, b)), options
    x = torch.triangular_solve(torch.tensor([[2.0], [6.0]]), torch.tensor([[2.0, 9.0], [1.0, 5.0]]), upper=False).solution
    assert x.tolist() == [[1.0], [1.0]]
    factor = torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    np.testing.assert_allclose(torch.cholesky_inverse(factor).numpy(), [[0.375, -0.25], [-0.25, 0.5]], 1e-5)
    np.testing.assert_allclose(torch.cholesky_inverse(factor.mT, upper=True).numpy(), [[0.375, -0.25], [-0.25, 0.5]], 1e-5)
    with pytest.raises(RuntimeError, match=r"lu_solve expected a matrix of right-hand sides, got shape torch.Size\(\[3\]\)"):
        torch.lu_solve(torch.ones(3), *torch.lu(torch.eye(3)))


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_the_exponential_of_a_matrix_is_that_of_its_eigenvalues(scale: float) -> None:
    a = matrix(2, 3, 3).detach() * scale
    values, vectors = np.linalg.eig(a.numpy())
    wanted = (vectors * np.exp(values)[:, None, :] @ np.linalg.inv(vectors)).real
    np.testing.assert_allclose(torch.matrix_exp(a).numpy(), wanted, 1e-9)
    assert gradcheck(lambda x: weighted(torch.matrix_exp(x)), (matrix(3, 3),))


def test_svd_has_v_itself() -> None:
    a = matrix(2, 3).detach()
    u, s, v = torch.svd(a)
    np.testing.assert_allclose((u * s @ v.mT).numpy(), a.numpy())
    assert [tuple(x.shape) for x in torch.svd(a, some=False)] == [(2, 2), (2,), (3, 3)]
    u, s, v = a.svd(compute_uv=False)
    assert (tuple(u.shape), tuple(v.shape), float(u.abs().sum())) == ((2, 2), (3, 3), 0.0)
    np.testing.assert_allclose(torch.chain_matmul(a, a.mT, a).numpy(), (a @ a.mT @ a).numpy())
    with raises(ValueError, "chain_matmul expected one or more matrices, got shapes []; linalg.multi_dot takes vectors, too"):
        torch.chain_matmul()


@pytest.mark.parametrize("name", ["symeig", "eig", "matrix_rank", "lstsq", "solve"])
def test_what_pytorch_removed_names_its_replacement(name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"torch.{name} was removed from PyTorch; write torch.linalg\.\w+\("):
        getattr(torch, name)(torch.eye(2))
    if name != "matrix_rank":
        with pytest.raises(RuntimeError, match="was removed from PyTorch"):
            getattr(torch.eye(2), name)()


@pytest.mark.parametrize("name", ["numel", "clone", "positive", "is_nonzero", "is_floating_point", "is_complex"])
def test_a_number_is_no_tensor(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} expected a Tensor as input, got int"):
        getattr(torch, name)(1)
    if name == "clone":
        for function in (torch.atan2, torch.hypot, torch.logaddexp, torch.nextafter):
            with pytest.raises(TypeError, match="expected a Tensor as other, got float"):
                function(torch.ones(2), 1.5)


def test_the_functions_of_torch_functional_are_those_of_torch() -> None:
    from minitorch.torch import functional

    assert functional.einsum is torch.einsum
    assert functional.F is torch.nn.functional
    with pytest.raises(AttributeError, match=r"torch\.functional has no stft in minitorch"):
        _ = functional.stft
