"""A few new tokens through `GPT2` with kernels: the results and caches of the textbook functions, which compute what the kernels do not."""

import gc
from functools import partial

import numpy as np
import pytest

from minitorch import FastBackend, float32, float64, no_grad, tensor
from minitorch.core.recording import active
from minitorch.language import GPT2, KeyValueCache, add_adapters, decode, quantize
from minitorch.language.layers import LayerNorm, Linear
from minitorch.module import Module, Parameter
from minitorch.tensor_data import IndexingError
from minitorch.tensor_functions import MatMul
from minitorch.tensor_ops import SimpleBackend
from tests.errors import raises
from tests.marks import needs_compiler

pytestmark = needs_compiler

TOKENS = np.array([[3, 0, 4, 1, 1, 2, 4, 0]])


def model_of(backend=FastBackend, dtype=float64, layers=2, heads=2, width=6, context=8):
    """A model with weights that are large enough to make a difference, the same on each backend."""
    model, random = GPT2(5, context, layers, heads, width, backend), np.random.default_rng(0)
    for parameter in model.parameters():
        parameter.update(tensor(random.normal(0, 0.5, parameter.value.shape), backend, dtype=dtype))
    return model


def caches_for(model):
    return [KeyValueCache(model.context) for _ in range(model.layers)]


def read(model, caches, start, end):
    """The logits of tokens."""
    with no_grad():
        return model(tensor(TOKENS[:, start:end], model.parameters()[0].value.backend), caches).to_numpy()


@no_grad()
def run_kernels(model, caches, start=0, end=1):
    """What the library's function returns, which may refuse."""
    return decode.decode(model, tensor(TOKENS[:, start:end], FastBackend), caches)


def contents(caches):
    """Keys, values and lengths."""
    return [(cache.keys.to_numpy(), cache.values.to_numpy(), cache.length) for cache in caches]


def check_same(found, expected, tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# Results


@pytest.mark.parametrize(("dtype", "tolerance"), [(float32, 1e-5), (float64, 1e-12)])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 2, 6), (1, 4, 20)], ids=str)
def test_logits_and_caches_are_those_of_the_textbook_functions(dtype, tolerance, sizes):
    models = [model_of(backend, kind, *sizes) for backend, kind in ((FastBackend, dtype), (SimpleBackend, float64))]
    for ends in ([1, 2, 3, 8], [5, 6, 7, 8], [2, 5, 8]):
        both = [caches_for(model) for model in models]
        for start, end in zip([0, *ends], ends, strict=False):
            logits = run_kernels(models[0], both[0], start, end)
            check_same([logits.to_numpy()], [read(models[1], both[1], start, end)], tolerance)
            assert (logits.dtype, logits.shape, logits.requires_grad) == (dtype, (1, end - start, 5), False)
        for ours, theirs in zip(*map(contents, both), strict=True):
            check_same(ours, theirs, tolerance)


def test_the_model_calls_the_kernels(monkeypatch):
    model = model_of()
    caches = caches_for(model)
    monkeypatch.setattr(MatMul, "forward", None)
    first = read(model, caches, 0, 2)
    assert [cache.length for cache in caches] == [2, 2]
    monkeypatch.undo()
    with no_grad():  # tensors that are passed by name are left to the textbook function
        named = model(tokens=tensor(TOKENS[:, :2], FastBackend), caches=caches_for(model))
    check_same([first], [named.to_numpy()], 1e-12)


def test_kernels_and_textbook_functions_take_turns_on_the_same_caches():
    model, expected = model_of(), model_of(SimpleBackend)
    caches, others = caches_for(model), caches_for(expected)
    for start, end, fused in ((0, 1, False), (1, 2, True), (2, 4, False), (4, 8, True)):
        tokens = tensor(TOKENS[:, start:end], FastBackend)
        with no_grad():
            logits = decode.decode(model, tokens, caches) if fused else GPT2.forward.__wrapped__(model, tokens, caches)
        check_same([logits.to_numpy()], [read(expected, others, start, end)], 1e-12)


def test_the_writes_into_the_memory_are_counted():
    model = model_of()
    caches = caches_for(model)
    run_kernels(model, caches, 0, 1)
    before = caches[1].keys._tensor.version, caches[1].values._tensor.version
    run_kernels(model, caches, 1, 3)
    assert (caches[1].keys._tensor.version, caches[1].values._tensor.version) == (before[0] + 1, before[1] + 1)


# Changes between two tokens


def double(model):
    """Write into a weight."""
    with no_grad():
        model.h.modules()[1].mlp.c_fc.weight.value[:] = model.h.modules()[1].mlp.c_fc.weight.value * 2


def update(model):
    """Replace a weight."""
    model.h.modules()[0].ln_2.bias.update(model.h.modules()[0].ln_2.bias.value + 1)


def exchange(model):
    """Replace a layer."""
    width, backend = 6, model.wte.weight.value.backend
    model.h.modules()[0].attn.c_proj = Linear(width, width, backend)


def exchange_part(model):
    """Replace a part of a block."""
    model.h.modules()[1].ln_1 = LayerNorm(6, model.wte.weight.value.backend)


def exchange_blocks(model):
    """Let the second block be the first."""
    first, second = model.h.modules()
    setattr(model.h, "0", second)
    setattr(model.h, "1", first)


@pytest.mark.parametrize("change", [double, update, exchange, exchange_part, exchange_blocks])
def test_a_model_may_change_between_two_tokens(change):
    model, expected = model_of(), model_of(SimpleBackend)
    caches, others = caches_for(model), caches_for(expected)
    for start in range(3):
        found = run_kernels(model, caches, start, start + 1).to_numpy()
        check_same([found], [read(expected, others, start, start + 1)], 1e-12)
        change(model)
        change(expected)


def test_another_model_may_go_on_with_the_caches():
    models, expected = [model_of(), model_of(width=6, heads=2)], [model_of(SimpleBackend), model_of(SimpleBackend)]
    update(models[1])
    update(expected[1])
    caches, others = caches_for(models[0]), caches_for(expected[0])
    for start in range(4):
        found = run_kernels(models[start % 2], caches, start, start + 1).to_numpy()
        check_same([found], [read(expected[start % 2], others, start, start + 1)], 1e-12)


def test_a_cache_may_be_shortened_and_emptied():
    model = model_of()
    caches = caches_for(model)
    first, second = (run_kernels(model, caches, start, start + 2).to_numpy() for start in (0, 2))
    for cache in caches:
        cache.length = 2
    np.testing.assert_array_equal(run_kernels(model, caches, 2, 4).to_numpy(), second)
    for cache in caches:
        cache.length, cache.keys, cache.values = 0, None, None
    np.testing.assert_array_equal(run_kernels(model, caches, 0, 2).to_numpy(), first)


def test_the_memory_is_free_when_the_caches_are():
    model = model_of()
    caches = caches_for(model)
    run_kernels(model, caches)
    gc.collect()
    before = len(decode.plans)
    del caches
    gc.collect()
    assert len(decode.plans) == before - 1


# What the kernels leave to the textbook functions


def other_cache(model, caches):
    caches[1] = type("Longer", (KeyValueCache,), {})(8)


def other_forward(model, caches):
    model.h.modules()[0].mlp.forward = lambda x: x


def other_layer(model, caches):
    model.h.modules()[1].mlp.c_proj = type("Layer", (Linear,), {})(24, 6, FastBackend)


def other_layout(model, caches):
    weight = model.h.modules()[0].attn.c_proj.weight
    weight.update(weight.value.detach().transpose(0, 1))


def other_dtype(model, caches):
    weight = model.h.modules()[0].attn.c_proj.weight
    weight.update(weight.value.to(float32))


def other_shape(model, caches):
    model.h.modules()[0].attn.c_proj.bias.update(tensor([1.0], FastBackend))


def other_capacity(model, caches):
    caches[0].capacity = 9


def other_children(model, caches):
    model.ln_f = Module()


CHANGES = {
    "an adapter": lambda model, caches: add_adapters(model, ["h.0.attn.c_attn"], 1, 1.0),
    "integers": lambda model, caches: quantize(model),
    "no caches": lambda model, caches: caches.clear(),
    "too few caches": lambda model, caches: caches.pop(),
    "one cache for two blocks": lambda model, caches: caches.__setitem__(1, caches[0]),
    "other heads": lambda model, caches: setattr(model.h.modules()[0].attn, "heads", 4),
    "half of a memory": lambda model, caches: setattr(caches[0], "values", None),
    "another parameter": lambda model, caches: setattr(model.wte, "weight", Parameter(tensor(np.ones((5, 6)), SimpleBackend))),
    **{
        change.__name__.replace("_", " "): change
        for change in (other_cache, other_forward, other_layer, other_layout, other_dtype, other_shape, other_capacity, other_children)
    },
}
"""What changes a model or its caches so that the kernels do not compute them."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before", [0, 1])
def test_the_kernels_refuse_what_they_do_not_compute(change, before):
    model = model_of()
    caches = caches_for(model)
    run_kernels(model, caches, 0, 1)
    caches = caches if before else caches_for(model)
    if not before:
        caches[0].keys = tensor(np.ones((1, 2, 8, 3)), FastBackend) if change == "half of a memory" else None
    CHANGES[change](model, caches)
    lengths = [cache.length for cache in caches]
    if not before and change == "other capacity":  # new memory is taken for it
        return
    assert run_kernels(model, caches, before, before + 1) is NotImplemented
    assert [cache.length for cache in caches] == lengths


def test_the_kernels_refuse_gradients_batches_long_texts_and_recordings(monkeypatch):
    model = model_of(context=40)
    caches = caches_for(model)
    ones = partial(np.ones, dtype=int)
    tokens = tensor(ones((1, 1)), FastBackend)
    assert decode.decode(model, tokens, caches) is NotImplemented
    with no_grad():
        for shape in ((2, 1), (1, decode.MAX_TOKENS + 1), (1,), (1, 0)):
            assert decode.decode(model, tensor(ones(shape), FastBackend), caches) is NotImplemented
        assert decode.decode(model, tensor(np.ones((1, 1)), FastBackend), caches) is NotImplemented
        assert decode.decode(model, tokens, None) is NotImplemented
        monkeypatch.setattr(active, "recorder", object())
        assert decode.decode(model, tokens, caches) is NotImplemented
        monkeypatch.undo()
        assert [cache.keys for cache in caches] == [None, None]
        assert decode.decode(model, tensor(ones((1, decode.MAX_TOKENS)), FastBackend), caches) is not NotImplemented


def test_large_products_are_left_to_several_threads_and_of_several_tokens_to_those_of_matrices(monkeypatch):
    model = model_of()
    each = 6 * (4 * 6 + 2 * 24)  # the multiplications of a block for one token
    for threads, threshold, tokens, used in (
        (2, each, 1, False), (2, each + 1, 1, True), (1, each, 1, True), (1, 2 * each, 2, False), (1, 2 * each + 1, 2, True),
    ):  # fmt: skip
        monkeypatch.setattr(decode, "THRESHOLD", threshold)
        monkeypatch.setattr(decode, "threads", lambda threads=threads: threads)
        assert (run_kernels(model, caches_for(model), 0, tokens) is not NotImplemented) == used


def test_errors_are_those_of_the_textbook_functions_and_change_nothing():
    model = model_of()
    caches = caches_for(model)
    read(model, caches, 0, 6)
    before = contents(caches)
    with raises(ValueError, "GPT2 expected at most 8 tokens, its context, got 3 after 6; shorten the text"), no_grad():
        model(tensor(TOKENS[:, :3], FastBackend), caches)
    for wrong in (-1, 5):
        with raises(IndexingError, f"embedding expected indices from 0 to 4 for a table of 5 rows, got {wrong}"), no_grad():
            model(tensor(np.array([[wrong]]), FastBackend), caches)
    for ours, theirs in zip(contents(caches), before, strict=True):
        check_same(ours, theirs, 0)
    long = [KeyValueCache(9), KeyValueCache(9)]
    read(model, long, 0, 8)
    with raises(ValueError, "GPT2 expected at most 8 tokens, its context, got 1 after 8; shorten the text"):
        read(model, long, 0, 1)
    short = [KeyValueCache(8), KeyValueCache(1)]
    read(model, short, 0, 1)
    with raises(ValueError, "KeyValueCache expected at most 1 tokens, got 1 after 1; make it with a larger capacity"):
        read(model, short, 1, 2)
