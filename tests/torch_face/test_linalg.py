"""torch.linalg without PyTorch: values are NumPy's or products that must agree, gradients agree with finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import linalg
from minitorch.torch.autograd import gradcheck

SHAPES = {"square": (3, 3), "tall": (4, 2), "wide": (2, 4), "batch": (2, 3, 3), "tall batch": (2, 3, 2)}


def matrix(*shape: int, seed: int = 0) -> Any:
    """Random numbers in float64."""
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)


def weighted(x: Any) -> Any:
    """A sum in which every element has a weight of its own, so that an exchanged gradient is seen."""
    weights = np.random.default_rng(1).standard_normal(tuple(x.shape))
    return (x * torch.tensor(weights)).sum()


def total(parts: tuple[Any, ...]) -> Any:
    """One number of several tensors."""
    return sum(weighted(x) for x in parts)


GRADIENTS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "det": (linalg.det, ("square", "batch")),
    "logabsdet": (lambda a: linalg.slogdet(a).logabsdet, ("square", "batch")),
    "logdet": (lambda a: torch.logdet(a @ a.mT), ("square", "batch")),
    "pinv": (linalg.pinv, tuple(SHAPES)),
    "qr": (lambda a: total(linalg.qr(a)), tuple(SHAPES)),
    "svd": (lambda a: total(linalg.svd(a, full_matrices=False)), tuple(SHAPES)),
    "svdvals": (linalg.svdvals, tuple(SHAPES)),
    "eigh": (lambda a: total(linalg.eigh(a + a.mT)), ("square", "batch")),
    "eigvalsh": (lambda a: linalg.eigvalsh(a + a.mT, "U"), ("square",)),
    "lstsq": (lambda a: linalg.lstsq(a, torch.sin(a[..., :1] + 1)).solution, ("square", "tall", "wide", "batch")),
    "matrix_power 3": (lambda a: linalg.matrix_power(a, 3), ("square", "batch")),
    "matrix_power -2": (lambda a: linalg.matrix_power(a, -2), ("square",)),
    "multi_dot": (lambda a: linalg.multi_dot([a[0], a.mT, a, a.mT[:, 0]]), ("tall",)),
    "norm 2": (lambda a: linalg.norm(a, 2), ("square", "tall", "wide")),
    "norm nuc": (lambda a: linalg.matrix_norm(a, "nuc", keepdim=True), ("tall", "batch")),
    "norm inf": (lambda a: linalg.matrix_norm(a, np.inf), ("tall", "batch")),
}


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, (_, shapes) in GRADIENTS.items() for shape in shapes])
def test_gradients_agree_with_finite_differences(name: str, shape: str) -> None:
    assert gradcheck(GRADIENTS[name][0], (matrix(*SHAPES[shape]),))


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_those_of_numpy(shape: str) -> None:
    a = matrix(*SHAPES[shape]).detach()
    x = a.numpy()
    (q, r), (u, s, vh) = linalg.qr(a), linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose((q @ r).numpy(), x, atol=1e-12)
    identity = np.broadcast_to(np.eye(q.shape[-1]), (*x.shape[:-2], q.shape[-1], q.shape[-1]))
    np.testing.assert_allclose((q.mT @ q).numpy(), identity, atol=1e-12)
    np.testing.assert_allclose(r.numpy(), np.triu(r.numpy()), atol=1e-12)
    np.testing.assert_allclose((u * s.unsqueeze(-2) @ vh).numpy(), x, atol=1e-12)
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(x, compute_uv=False))
    np.testing.assert_allclose(linalg.pinv(a).numpy(), np.linalg.pinv(x), atol=1e-12)
    for order in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
        np.testing.assert_allclose(linalg.matrix_norm(a, order).numpy(), np.linalg.norm(x, order, (-2, -1)), err_msg=str(order))
        np.testing.assert_allclose(linalg.matrix_norm(a, order, (0, -1)).numpy(), np.linalg.norm(x, order, (0, -1)), err_msg=str(order))
    assert linalg.matrix_rank(a).tolist() == np.linalg.matrix_rank(x).tolist()


@pytest.mark.parametrize("shape", ["square", "batch"])
def test_values_of_square_matrices_are_those_of_numpy(shape: str) -> None:
    a = matrix(*SHAPES[shape]).detach()
    x = a.numpy()
    np.testing.assert_allclose(torch.det(a).numpy(), np.linalg.det(x))
    for got, wanted in zip(torch.slogdet(a), np.linalg.slogdet(x), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted)
    symmetric = x + np.swapaxes(x, -1, -2)
    values, vectors = linalg.eigh(torch.tensor(symmetric))
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(symmetric))
    np.testing.assert_allclose((vectors * values.unsqueeze(-2) @ vectors.mT).numpy(), symmetric, atol=1e-12)
    for n in (-2, 0, 1, 5):
        np.testing.assert_allclose(linalg.matrix_power(a, n).numpy(), np.linalg.matrix_power(x, n))


def test_one_triangle_is_read() -> None:
    a = torch.tensor([[1.0, 9.0], [2.0, 4.0]])
    np.testing.assert_allclose(linalg.eigvalsh(a).numpy(), np.linalg.eigvalsh([[1, 2], [2, 4]]), 1e-5, 1e-6)
    np.testing.assert_allclose(linalg.eigvalsh(a, "U").numpy(), np.linalg.eigvalsh([[1, 9], [9, 4]]), 1e-5)


@pytest.mark.parametrize("shape", ["tall", "wide", "tall batch"])
def test_complete_bases_are_orthonormal(shape: str) -> None:
    a = matrix(*SHAPES[shape])
    (u, s, vh), (q, r) = linalg.svd(a), linalg.qr(a, "complete")
    for basis in (u, vh, q):
        product = (basis @ basis.mT).detach().numpy()
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), atol=1e-12)
    np.testing.assert_allclose((q @ r).detach().numpy(), a.detach().numpy(), atol=1e-12)
    k = s.shape[-1]
    np.testing.assert_allclose((u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :]).detach().numpy(), a.detach().numpy(), atol=1e-12)
    assert gradcheck(lambda x: total((linalg.svd(x).S, linalg.svd(x).U[..., :k])), (a,))


def test_r_alone_has_no_q() -> None:
    a = matrix(3, 2)
    assert linalg.qr(a, "r").Q.numel() == 0
    assert linalg.qr(a, "r").R.tolist() == linalg.qr(a).R.tolist()


def test_a_singular_matrix_has_a_determinant_with_a_gradient() -> None:
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-12)  # the cofactors
    zero = torch.zeros(2, 2, requires_grad=True)
    linalg.det(zero).backward()
    assert zero.grad.tolist() == [[0, 0], [0, 0]]
    assert [x.item() for x in linalg.slogdet(zero.detach())] == [0, -np.inf]
    assert torch.isnan(torch.logdet(torch.tensor([[-1.0]]))).item()


def test_lstsq_has_the_solution_of_smallest_norm() -> None:
    generator = np.random.default_rng(2)
    for shape, deficient in (((5, 2), False), ((2, 5), False), ((4, 3), True)):
        x = generator.standard_normal(shape)
        x[:, -1] = x[:, 0] if deficient else x[:, -1]
        y = generator.standard_normal((shape[0], 2))
        wanted, residuals, rank, _ = np.linalg.lstsq(x, y)
        found = linalg.lstsq(torch.tensor(x), torch.tensor(y), driver="gelsd")
        assert linalg.lstsq(torch.tensor(x), torch.tensor(y)).residuals.shape == (0,)
        np.testing.assert_allclose(found.solution.numpy(), wanted, atol=1e-12)
        np.testing.assert_allclose(found.residuals.numpy(), residuals, atol=1e-12)
        assert found.rank.item() == rank
    column = linalg.lstsq(torch.tensor(x), torch.tensor(y[:, 0])).solution
    np.testing.assert_allclose(column.numpy(), wanted[:, 0], atol=1e-12)


def test_the_rank_depends_on_the_tolerance() -> None:
    a = torch.diag(torch.tensor([10.0, 1.0, 0.01]))
    assert [linalg.matrix_rank(a).item(), linalg.matrix_rank(a, rtol=0.05).item(), linalg.matrix_rank(a, atol=5).item()] == [3, 2, 1]
    assert linalg.matrix_rank(a, 0.5).item() == 2
    np.testing.assert_allclose(linalg.pinv(a, rtol=0.05).numpy(), np.diag([0.1, 1, 0]), atol=1e-6)


def test_gradients_that_do_not_exist_are_refused() -> None:
    identity = torch.eye(3, dtype=torch.float64, requires_grad=True)
    linalg.eigvalsh(identity).sum().backward()
    np.testing.assert_allclose(identity.grad.numpy(), np.eye(3), atol=1e-12)
    with pytest.raises(RuntimeError, match="eigenvectors of equal eigenvalues have no gradient"):
        weighted(linalg.eigh(identity).eigenvectors).backward()
    with pytest.raises(RuntimeError, match=r"singular vectors of equal singular values, or of 0 for .* have no gradient"):
        weighted(linalg.svd(identity).U).backward()
    with pytest.raises(RuntimeError, match="the columns that complete an orthonormal basis have no gradient"):
        weighted(linalg.qr(matrix(4, 2), "complete").Q).backward()
    with pytest.raises(RuntimeError, match="the columns that complete an orthonormal basis have no gradient"):
        weighted(linalg.svd(matrix(2, 4)).Vh).backward()
    with pytest.raises(RuntimeError, match="the gradient of qr expected matrices of full rank"):
        weighted(linalg.qr(torch.zeros(3, 2, requires_grad=True)).Q).backward()


TWICE = [
    linalg.inv, linalg.det, linalg.pinv, linalg.svdvals, linalg.qr, lambda a: linalg.cholesky(a @ a.mT),
    lambda a: linalg.eigvalsh(a + a.mT), lambda a: linalg.slogdet(a).logabsdet,
]  # fmt: skip


@pytest.mark.parametrize("fn", TWICE)
def test_a_gradient_has_a_gradient(fn: Callable[[Any], Any]) -> None:
    def gradient(a: Any) -> Any:
        with torch.enable_grad():
            x = a if a.requires_grad else a.detach().requires_grad_()
            out = fn(x)
            return torch.autograd.grad(total(out) if isinstance(out, tuple) else weighted(out), x, create_graph=True)[0]

    assert gradcheck(gradient, (matrix(3, 3),))


def test_norm_is_that_of_a_matrix_only_if_ord_is_given() -> None:
    x = np.array([[1.0, 2.0], [3.0, -4.0]])
    a = torch.tensor(x)
    for order in (None, 2, 1, "nuc"):
        np.testing.assert_allclose(linalg.norm(a, order).item(), np.linalg.norm(x, order))
    np.testing.assert_allclose(linalg.vector_norm(a, 1).item(), 10)
    np.testing.assert_allclose(linalg.vector_norm(torch.tensor([0.0, 2.0, 3.0]), 0).item(), 2)
    np.testing.assert_allclose(linalg.norm(a, 1, 1).numpy(), [3, 7])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linalg.det(torch.ones(2, 3)), r"det expected square matrices, got shape torch.Size\(\[2, 3\]\)"),
        (lambda: linalg.svd(torch.ones(3)), r"svd expected matrices, in two or more dimensions, .* got shape torch.Size\(\[3\]\)"),
        (lambda: linalg.qr(torch.ones(2, 2, dtype=torch.int64)), "qr expected matrices, .* of int64"),
        (lambda: linalg.qr(torch.ones(2, 2), "full"), 'qr expected mode "reduced", "complete" or "r"'),
        (lambda: linalg.eigh(torch.ones(2, 2), "X"), 'eigh expected UPLO "L" or "U"'),
        (
            lambda: linalg.lstsq(torch.ones(1, 3, 2), torch.ones(3, 2)),
            r"^lstsq expected B of shape \(1, 3\), or \(1, 3, k\) for k right-hand sides of each matrix, got \(3, 2\)$",
        ),
        (lambda: linalg.lstsq(torch.ones(3, 2), torch.ones(3, 2), driver="qr"), 'lstsq expected driver "gels"'),
        (lambda: linalg.lstsq(torch.ones(3, 2), torch.ones(3, 2), driver="gels"), "expected matrices of full rank"),
        (lambda: linalg.multi_dot([torch.ones(2, 2)]), "multi_dot expected two or more matrices"),
        (lambda: linalg.matrix_norm(torch.ones(2, 2), 3), "matrix_norm expected ord"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_options_that_are_not_there_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="pinv supports hermitian=False only"):
        linalg.pinv(torch.ones(2, 2), hermitian=True)
