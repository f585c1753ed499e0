"""Matrix products that are written as a multiplication and a sum: which are found, and that they compute the same."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, operators
from minitorch.compiler.products import find_products
from tests.marks import needs_compiler

pytestmark = needs_compiler

A, B = np.arange(12.0).reshape(3, 4) / 7 - 0.5, np.arange(20.0).reshape(4, 5) / 9 - 1.0
"""Factors of shapes (3, 4) and (4, 5)."""


def tensor(array):
    return minitorch.tensor(array.tolist(), backend=FastBackend)


def compiled_program(fn, *arrays):
    """A compiled function after a call, and the operations of its program after products are found."""
    compiled = minitorch.compile(fn)
    compiled(*map(tensor, arrays))
    recording = compiled._latest
    return compiled, [node.name for node in find_products(recording.nodes, recording.kept)]


FORMS = {
    "rows first": lambda a, b: (a.view(3, 4, 1) * b).sum(1),
    "second factor first": lambda a, b: (b * a.view(3, 4, 1)).sum(1),
    "columns first": lambda a, b: (b.permute(1, 0).unsqueeze(1) * a).sum(2),
    "sum over the first": lambda a, b: (a.permute(1, 0).unsqueeze(2) * b.unsqueeze(1)).sum(0),
    "sum over the last": lambda a, b: (a.view(3, 1, 4) * b.permute(1, 0)).sum(2),
    "with a dimension of 1": lambda a, b: (a.view(3, 1, 4, 1) * b.view(1, 1, 4, 5)).sum(2),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_product_is_found(form):
    _, names = compiled_program(FORMS[form], A, B)
    assert names.count("matmul") == 1
    assert "mul" not in names


@pytest.mark.parametrize("form", ["rows first", "columns first"])
def test_a_product_is_computed(form):
    check_form(form)


def check_form(form):
    compiled, _ = compiled_program(FORMS[form], A, B)
    assert "matmul(" in compiled.fuse()
    want = (A @ B).T if form == "columns first" else A @ B
    for factor in (1.0, 2.0, -3.0):
        got = compiled(tensor(A * factor), tensor(B)).to_numpy()
        np.testing.assert_allclose(got.reshape(want.shape), want * factor, rtol=1e-12, atol=1e-12)
    assert compiled._latest.program is not None


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b: (a * a).sum(1),
        lambda a, b: (a.view(3, 4, 1) * b).sum(1) + (a.view(3, 4, 1) * b).sum(0).sum(),
        lambda a, b: (a.view(3, 4, 1) + b).sum(1),
        lambda a, b: (a.view(3, 4, 1) * b).sum((0, 1)),
        lambda a, b: (a.view(3, 4, 1) * (a.view(3, 4, 1) + b)).sum(1),
        lambda a, b: (a.view(3, 4, 1) * b, (a.view(3, 4, 1) * b).sum(1)),
    ],
    ids=["vectors", "read twice", "another function", "two dimensions", "both vary in the rows", "a result"],
)
def test_what_is_no_product_stays(fn):
    _, names = compiled_program(fn, A, B)
    assert "matmul" not in names


def test_another_reduction_is_no_product():
    recording = compiled_program(FORMS["rows first"], A, B)[0]._latest
    nodes = [replace(node, fn=operators.max) if node.kind == "reduce" else node for node in recording.nodes]
    assert "matmul" not in [node.name for node in find_products(nodes, recording.kept)]


def test_a_factor_that_is_written_in_between_is_no_factor():
    def fn(a, b):
        copy = b.clone()
        terms = a.view(3, 4, 1) * copy
        copy[...] = 0.0
        return terms.sum(1) + copy.sum()

    compiled, names = compiled_program(fn, A, B)
    assert "matmul" not in names
    compiled.fuse()
    np.testing.assert_allclose(compiled(tensor(A), tensor(B)).to_numpy().reshape(3, 5), A @ B, rtol=1e-12, atol=1e-12)


def check_products(sizes, dtype, tolerance, layouts):
    """Compile one program of products of all these sizes, (rows, inner, columns), and layouts: whether each factor is transposed."""
    random = np.random.default_rng(0)
    pairs = []
    for (rows, inner, columns), transposed in itertools.product(sizes, layouts):
        factors = random.standard_normal((rows, inner)), random.standard_normal((inner, columns))
        stored = [np.ascontiguousarray(x.T if swap else x) for x, swap in zip(factors, transposed, strict=True)]
        pairs.append((transposed, [minitorch.tensor(x.tolist(), FastBackend, dtype=dtype) for x in stored], factors[0] @ factors[1]))

    def fn(*tensors):
        swaps = [swap for transposed, *_ in pairs for swap in transposed]
        factors = [x.permute(1, 0) if swap else x for x, swap in zip(tensors, swaps, strict=True)]
        return tuple([a @ b for a, b in zip(factors[::2], factors[1::2], strict=True)])

    compiled = minitorch.compile(fn)
    for call in range(3):
        factor = 1.0 + call
        results = compiled(*[x * factor for _, stored, _ in pairs for x in stored])
        for (transposed, _, product), result in zip(pairs, results, strict=True):
            want, what = product * factor**2, f"{transposed} {product.shape}"
            np.testing.assert_allclose(result.to_numpy(), want, rtol=0, atol=tolerance * np.abs(want).max(), err_msg=what)
        if call == 1:
            assert compiled.fuse().count("# ") > len(pairs)  # each product, and copies of factors
    assert compiled._latest.program is not None


def test_products_of_transposed_factors():
    check_products([(5, 6, 7)], minitorch.float64, 1e-14, [(True, False), (False, True)])
