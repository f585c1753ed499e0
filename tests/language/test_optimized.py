"""The library's fused functions for language models beside those of the tasks, on the compiled backend."""

import numpy as np

from minitorch import tensor
from minitorch.language.functions import embedding, gelu, layer_norm
from tests.marks import needs_compiler

from .test_functions import weights_for


@needs_compiler
def test_the_library_s_fused_functions_are_used_on_the_compiled_backend_and_agree():
    x, weight, bias = (np.random.default_rng(6).normal(size=shape) for shape in ((3, 4), (4,), (4,)))
    tokens = tensor(np.array([2, 0, 2]))
    for f, args in ((layer_norm, (x, weight, bias)), (gelu, (x,)), (lambda table: embedding(tokens.to(table.backend), table), (x,))):
        both = []
        for backend in ("simple", "cpu"):
            leaves = [tensor(each).to(backend).requires_grad_() for each in args]
            out = f(*leaves)
            out.backward(tensor(weights_for(out.shape)).to(backend))
            both.append([out.to_numpy(), *(each.grad.to_numpy() for each in leaves)])
        assert out.history.last_fn.__module__ != "minitorch.language.functions"
        for ours, theirs in zip(*both, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
