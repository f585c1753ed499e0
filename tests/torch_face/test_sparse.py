"""torch.sparse: products as those of the dense matrices, with gradients, and PyTorch's numbers where it is installed."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.autograd import gradcheck

PLACES, NUMBERS = [[0, 1, 1, 0], [2, 0, 2, 2]], [1.0, 2.0, 3.0, 4.0]


def example(**options: Any) -> Any:
    """A matrix in which one place is there twice."""
    return torch.sparse_coo_tensor(torch.tensor(PLACES), torch.tensor(NUMBERS, **options), (2, 3))


def test_what_stands_at_one_place_twice_is_added() -> None:
    a = example()
    assert a.to_dense().tolist() == [[0.0, 0.0, 5.0], [2.0, 0.0, 3.0]]
    assert a.t().to_dense().tolist() == [[0.0, 2.0], [0.0, 0.0], [5.0, 3.0]]
    assert (a.is_sparse, a.to_dense().is_sparse, a.is_coalesced(), tuple(a.shape), a._nnz()) == (True, False, False, (2, 3), 4)
    b = a.coalesce()
    assert (b.indices().tolist(), b.values().tolist(), b.coalesce() is b) == ([[0, 1, 1], [2, 0, 2]], [5.0, 2.0, 3.0], True)
    for name in ("indices", "values"):
        with pytest.raises(RuntimeError, match=rf"{name}\(\) expected a coalesced sparse tensor; call x.coalesce\(\).{name}\(\)"):
            getattr(a, name)()


@pytest.mark.parametrize("columns", [(), (2,)])
def test_products_are_those_of_dense_matrices_with_gradients(columns: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    values = torch.tensor(generator.standard_normal(4), requires_grad=True)
    x = torch.tensor(generator.standard_normal((3, *columns)), requires_grad=True)

    def product(values: Any, x: Any) -> Any:
        return torch.sparse_coo_tensor(PLACES, values, (2, 3)) @ x

    dense = torch.sparse_coo_tensor(PLACES, values, (2, 3)).to_dense()
    np.testing.assert_allclose(product(values, x).detach().numpy(), (dense @ x).detach().numpy())
    assert gradcheck(product, (values, x))
    a = torch.sparse_coo_tensor(PLACES, values, (2, 3))
    for function in (torch.matmul, *([torch.mm, torch.spmm, torch.sparse.mm] if columns else [])):
        np.testing.assert_allclose(function(a, x).detach().numpy(), (dense @ x).detach().numpy())


@pytest.mark.parametrize("rows", [(), (2,)])
def test_a_sparse_matrix_on_the_right_gives_a_dense_result_with_gradients(rows: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    values = torch.tensor(generator.standard_normal(4), requires_grad=True)
    x = torch.tensor(generator.standard_normal((*rows, 2)), requires_grad=True)
    a = torch.sparse_coo_tensor(PLACES, values, (2, 3))
    for function in (torch.matmul, lambda x, a: x @ a, *([torch.mm, torch.sparse.mm] if rows else [])):
        np.testing.assert_allclose(function(x, a).detach().numpy(), (x @ a.to_dense()).detach().numpy())
    assert gradcheck(lambda values, x: x @ torch.sparse_coo_tensor(PLACES, values, (2, 3)), (values, x))


def test_sums_with_sparse_tensors() -> None:
    a, ones = example(), torch.ones(2, 3, requires_grad=True)
    assert (ones + a).tolist() == (a.to_dense() + 1).tolist()
    assert (ones - a).tolist() == (1 - a.to_dense()).tolist()
    assert (torch.eye(2) + torch.sparse_coo_tensor([[0], [1]], [3], (2, 2))).dtype == torch.float32
    other = torch.sparse_coo_tensor([[0, 0], [0, 2]], [7.0, 1.0], (2, 3))
    assert (a + other).to_dense().tolist() == [[7.0, 0.0, 6.0], [2.0, 0.0, 3.0]]
    assert (a - other).coalesce().to_dense().tolist() == [[-7.0, 0.0, 4.0], [2.0, 0.0, 3.0]]
    (ones + a).sum().backward()
    assert ones.grad.tolist() == [[1.0] * 3] * 2


def test_a_dense_tensor_becomes_sparse_and_back() -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    a = x.to_sparse()
    assert (a.indices().tolist(), a.values().tolist()) == ([[0, 1], [1, 0]], [2.0, 3.0])
    (a.to_dense() ** 2).sum().backward()
    assert x.grad.tolist() == [[0.0, 4.0], [6.0, 0.0]]
    assert ((-a * 2) / 4).to_dense().tolist() == [[0.0, -1.0], [-1.5, 0.0]]
    assert (a.double().dtype, a.float().dtype, a.detach().requires_grad, torch.is_tensor(a)) == (torch.float64, torch.float32, False, True)
    assert torch.zeros(2, 2).to_sparse().to_dense().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert x.to_dense() is x


def test_sums_along_some_dimensions_are_sparse() -> None:
    a = example(requires_grad=True)
    assert torch.sparse.sum(a).item() == 10
    assert torch.sparse.sum(a, 0).to_dense().tolist() == [2.0, 0.0, 8.0]
    assert a.sum(-1).to_dense().tolist() == [5.0, 5.0]
    assert a.sum((0, 1)).item() == 10
    hybrid = torch.sparse_coo_tensor([[0, 1, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert hybrid.to_dense().tolist() == [[1.0, 2.0], [8.0, 10.0]]
    assert (hybrid.sum(1).to_dense().tolist(), hybrid.sum(0).tolist()) == ([3.0, 18.0], [9.0, 12.0])


def test_old_spellings_and_sizes() -> None:
    a = torch.sparse.FloatTensor(torch.LongTensor([[0, 1], [1, 0]]), torch.FloatTensor([1, 2]), torch.Size([2, 2]))
    assert a.to_dense().tolist() == [[0.0, 1.0], [2.0, 0.0]]
    assert tuple(torch.sparse.DoubleTensor([[0, 4]], [1, 2]).shape) == (5,)
    assert (
        repr(a) == "tensor(indices=tensor([[0, 1],\n        [1, 0]]), values=tensor([1., 2.]), size=(2, 2), nnz=2, layout=torch.sparse_coo)"
    )


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: example() + 1, TypeError, r"a sum of a sparse tensor expected a sparse one, got int; convert it with x.to_dense\(\)"),
        (lambda: example() + example().t(), RuntimeError, r"a sum of sparse tensors expected the size \(2, 3\), got \(3, 2\)"),
        (lambda: 1 + example(), TypeError, r"a sum with a sparse tensor expected a Tensor of size \(2, 3\), got 1"),
        (lambda: torch.ones(3) + example(), TypeError, r"a sum with a sparse tensor expected a Tensor of size \(2, 3\), got .*3"),
        (lambda: example() ** 2, TypeError, r"a sparse tensor has no __pow__ in minitorch; convert it first: x.to_dense\(\)"),
        (lambda: torch.ones(2) / example(), TypeError, "a sparse tensor has no __rtruediv__ in minitorch"),
        (lambda: example()[0], TypeError, "a sparse tensor has no __getitem__"),
        (lambda: example().relu(), AttributeError, r"a sparse tensor has no relu in minitorch; convert it first: x.to_dense\(\).relu"),
        (lambda: torch.relu(example()), TypeError, "relu expected a Tensor as input, got SparseTensor"),
        (lambda: example() * torch.ones(2), TypeError, "a product of a sparse tensor expected a number, got Tensor; convert it with"),
        (lambda: example() @ torch.ones(2, 2), RuntimeError, r"expected a matrix or vector of 3 rows in float32, got shape \(2, 2\)"),
        (lambda: example() @ example(), TypeError, "matmul of a sparse matrix expected a Tensor, got SparseTensor"),
        (lambda: torch.sparse_coo_tensor([[0], [5]], [1.0], (2, 3)), RuntimeError, r"of size \(2, 3\) expected indices inside of it"),
        (lambda: torch.sparse_coo_tensor([[0], [-1]], [1.0], (2, 3)), RuntimeError, "expected indices inside of it"),
        (lambda: torch.sparse_coo_tensor([[0], [1]], [1.0], (2,)), RuntimeError, "expected a size of 2 dimensions"),
        (lambda: torch.sparse_coo_tensor([[0, 1]], [1.0], (2,)), RuntimeError, "expected indices of shape"),
        (lambda: torch.sparse_coo_tensor([[0]], [[1.0]]).t(), RuntimeError, "t expected a sparse matrix"),
        (lambda: torch.sparse_coo_tensor([[0]], [1.0], requires_grad=True), NotImplementedError, "let the values require gradients"),
        (lambda: torch.sparse.softmax, AttributeError, "torch.sparse has no softmax in minitorch"),
    ],
)  # fmt: skip
def test_what_a_sparse_tensor_cannot_do_names_to_dense(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_results_are_those_of_pytorch() -> None:
    theirs = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    found = []
    for lib in (torch, theirs):
        values, x = lib.tensor(NUMBERS, requires_grad=True), lib.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        a = lib.sparse_coo_tensor(lib.tensor(PLACES), values, (2, 3), check_invariants=True)
        y = lib.sparse.mm(a, x)
        (y * y).sum().backward()
        once = a.detach().coalesce()
        found.append([y.tolist(), values.grad.tolist(), x.grad.tolist(), once.indices().tolist(), once.values().tolist()])
        found[-1].append(lib.sparse.sum(a.detach(), 0).to_dense().tolist())
    assert found[0] == found[1]
