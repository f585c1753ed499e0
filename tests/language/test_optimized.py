"""What the functions of Task 6.2 refuse, and the library's fused functions beside them, on the compiled backend."""

import numpy as np

from minitorch import tensor
from minitorch.language.functions import embedding, gelu, layer_norm
from minitorch.language.model import cross_entropy
from minitorch.tensor_data import IndexingError
from tests.errors import raises
from tests.marks import needs_compiler

from .test_functions import TABLE, weights_for


@needs_compiler
def test_the_library_s_fused_functions_are_used_on_the_compiled_backend_and_agree():
    x, weight, bias = (np.random.default_rng(6).normal(size=shape) for shape in ((3, 4), (4,), (4,)))
    tokens = tensor(np.array([2, 0, 2]))
    functions = (
        (layer_norm, (x, weight, bias)),
        (gelu, (x,)),
        (lambda table: embedding(tokens.to(table.backend), table), (x,)),
        (lambda logits: cross_entropy(logits.view(3, 1, 4), tokens.to(logits.backend).view(3, 1)), (x,)),
    )
    for f, args in functions:
        both = []
        for backend in ("simple", "cpu"):
            leaves = [tensor(each).to(backend).requires_grad_() for each in args]
            out = f(*leaves)
            out.backward(tensor(weights_for(out.shape)).to(backend))
            both.append([out.to_numpy(), *(each.grad.to_numpy() for each in leaves)])
        assert not out.history.last_fn.__module__.startswith("minitorch.language")
        for ours, theirs in zip(*both, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_what_is_no_row_is_refused():
    with raises(TypeError, "embedding expected tokens of int64 or int32, got float64; make them with tensor([1, 2], dtype=int64)"):
        embedding(tensor([1.0]), tensor(TABLE))
    for wrong in (-1, 4):
        with raises(IndexingError, f"embedding expected tokens from 0 to 3 for 4 rows, got {wrong}"):
            embedding(tensor(np.array([0, wrong])), tensor(TABLE))
