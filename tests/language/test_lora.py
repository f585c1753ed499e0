"""Task 6.9: LoRA: adapters that begin as nothing, learn alone, and can be merged; the rest of the model stays as it is."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers, sampled_from

import minitorch
from minitorch import tensor
from minitorch.language.layers import Linear
from minitorch.language.lora import LoRALinear, add_adapters, named_layers
from minitorch.language.model import GPT2, cross_entropy
from minitorch.language.weights import named_weights
from minitorch.module import Module
from minitorch.optim import SGD, Adam
from minitorch.tensor_functions import MatMul
from minitorch.tensor_ops import SimpleBackend

from ..errors import raises
from .test_model import random_weights

CLOSE = {"rtol": 1e-9, "atol": 1e-11}
"""Merging rounds each weight once more, and sums in another order."""

few = settings(max_examples=15, deadline=None)
sizes = integers(1, 4)


class Pair(Module):
    """A model of two linear layers, one of them in a module of its own."""

    def __init__(self):
        super().__init__()
        self.first = Linear(3, 4, SimpleBackend)
        self.inner = Module()
        self.inner.second = Linear(4, 2, SimpleBackend)
        self.scale = minitorch.Parameter(tensor([2.0]))

    def forward(self, x):
        return self.inner.second(self.first(x).tanh()) * self.scale.value


def make_layer(in_size, out_size, rank, alpha=3.0, seed=0):
    """A layer with an adapter whose numbers are all random, and its arrays."""
    layer = LoRALinear(Linear(in_size, out_size, SimpleBackend), rank, alpha, np.random.default_rng(seed))
    return layer, random_weights(layer, seed)


def output(w, x, scale):
    return x @ w["weight"] + w["bias"] + scale * (x @ w["A"].T) @ w["B"].T


def values(model):
    return {name: parameter.value.to_numpy().copy() for name, parameter in model.named_parameters()}


def trained(model):
    return {name for name, parameter in model.named_parameters() if parameter.value.requires_grad}


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


# The layer


@pytest.mark.task6_9
def test_the_output_by_hand():
    layer, _ = make_layer(2, 2, 1, alpha=2.0)
    for name, value in {"weight": [[1.0, 0.0], [0.0, 1.0]], "bias": [10.0, 20.0], "A": [[1.0, 2.0]], "B": [[3.0], [-1.0]]}.items():
        getattr(layer, name).update(tensor(value))
    # x · Aᵀ = 1 · 3 + 2 · 4 = 11; times Bᵀ: 33 and -11; times alpha / rank = 2: 66 and -22
    assert layer(tensor([[3.0, 4.0]])).to_numpy().tolist() == [[3 + 10 + 66, 4 + 20 - 22]]
    # the first number of x adds 3 to the first output for each 1, and takes 1 from the second, both times 2
    assert layer.delta().to_numpy().tolist() == [[6.0, -2.0], [12.0, -4.0]]


@pytest.mark.task6_9
@few
@given(in_size=sizes, out_size=sizes, rank=sizes, alpha=sampled_from([0.5, 1.0, 6.0]), dims=integers(1, 3))
@example(in_size=3, out_size=2, rank=2, alpha=6.0, dims=2)
@example(in_size=2, out_size=4, rank=4, alpha=1.0, dims=3)
def test_the_output_is_that_of_the_formula(in_size, out_size, rank, alpha, dims):
    layer, w = make_layer(in_size, out_size, rank, alpha)
    x = numbers(*(2, 3)[: dims - 1], in_size)
    np.testing.assert_allclose(layer(tensor(x)).to_numpy(), output(w, x, alpha / rank), **CLOSE)
    np.testing.assert_allclose(layer.delta().to_numpy(), alpha / rank * (w["B"] @ w["A"]).T, **CLOSE)


@pytest.mark.task6_9
def test_forward_multiplies_with_a_and_then_with_b(monkeypatch):
    products, forward = [], MatMul.forward

    def counted(ctx, a, b):
        products.append(math.prod(a.shape) * b.shape[-1])
        return forward(ctx, a, b)

    layer, _ = make_layer(8, 6, 1)
    monkeypatch.setattr(MatMul, "forward", staticmethod(counted))
    layer(tensor(numbers(2, 8)))
    assert sum(products) <= 2 * 8 * 6 + 2 * 1 * (8 + 6)


@pytest.mark.task6_9
@pytest.mark.parametrize("name", ["A", "B"])
def test_gradients_are_those_of_finite_differences(name):
    layer, w = make_layer(3, 2, 2)
    x, weights = numbers(2, 4, 3), numbers(2, 4, 2, seed=2)
    (layer(tensor(x)) * tensor(weights)).sum().backward()
    expected, step = np.zeros_like(w[name]), 1e-6
    for index in np.ndindex(expected.shape):
        ends = []
        for sign in (1, -1):
            moved = {key: array.copy() for key, array in w.items()}
            moved[name][index] += sign * step
            ends.append((output(moved, x, 3.0 / 2) * weights).sum())
        expected[index] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(getattr(layer, name).value.grad.to_numpy(), expected, rtol=1e-6, atol=1e-7)


# Merging


@pytest.mark.task6_9
@few
@given(in_size=sizes, out_size=sizes, rank=sizes, alpha=sampled_from([0.5, 8.0]))
@example(in_size=4, out_size=2, rank=1, alpha=8.0)
@example(in_size=1, out_size=1, rank=3, alpha=0.5)
def test_merged_equals_unmerged(in_size, out_size, rank, alpha):
    layer, w = make_layer(in_size, out_size, rank, alpha)
    x = tensor(numbers(3, in_size))
    before = layer(x).to_numpy()
    layer.merge()
    np.testing.assert_allclose(layer(x).to_numpy(), before, **CLOSE)
    np.testing.assert_allclose(layer.weight.value.to_numpy(), w["weight"] + alpha / rank * (w["B"] @ w["A"]).T, **CLOSE)
    layer.unmerge()
    assert np.array_equal(layer(x).to_numpy(), before)


@pytest.mark.task6_9
def test_merged_equals_unmerged_in_float32_up_to_its_rounding():
    base = Linear(16, 8, SimpleBackend)
    base.weight.update(tensor(numbers(16, 8), dtype="float32"))
    base.bias.update(tensor(numbers(8), dtype="float32"))
    layer = LoRALinear(base, 4, 8.0, np.random.default_rng(0))
    assert {layer.A.value.dtype, layer.B.value.dtype} == {np.dtype("float32")}
    layer.B.update(tensor(numbers(8, 4), dtype="float32"))
    x = tensor(numbers(5, 16), dtype="float32")
    before = layer(x).to_numpy()
    layer.merge()
    assert layer.weight.value.dtype == np.float32
    assert np.abs(layer(x).to_numpy() - before).max() < 100 * np.finfo(np.float32).eps


@pytest.mark.task6_9
def test_a_merged_layer_costs_what_a_linear_layer_costs(monkeypatch):
    products, forward = [0], MatMul.forward

    def counted(ctx, a, b):
        products[0] += 1
        return forward(ctx, a, b)

    layer, _ = make_layer(3, 2, 1)
    layer.merge()
    monkeypatch.setattr(MatMul, "forward", staticmethod(counted))
    layer(tensor(numbers(1, 3)))
    assert products == [1]


@pytest.mark.task6_9
def test_merging_keeps_the_old_weight_and_changes_nothing_else():
    layer, w = make_layer(3, 4, 2)
    old = layer.weight.value
    layer.merge()
    assert layer.original is old
    assert np.array_equal(old.to_numpy(), w["weight"]), "the old tensor itself has changed"
    assert all(np.array_equal(values(layer)[name], w[name]) for name in ("bias", "A", "B"))


@pytest.mark.task6_9
def test_unmerging_gives_the_weight_back_bit_for_bit():
    layer, w = make_layer(4, 4, 2)
    w["weight"] *= 1e-12  # w + delta - delta would be far from w
    layer.weight.update(tensor(w["weight"]))
    for _ in range(2):
        layer.merge()
        layer.unmerge()
    assert np.array_equal(layer.weight.value.to_numpy(), w["weight"])
    assert layer.original is None


@pytest.mark.task6_9
def test_the_weight_stays_a_constant_when_it_is_merged_and_unmerged():
    layer, _ = make_layer(3, 2, 1)
    layer.weight.value.requires_grad_(False)
    layer.merge()
    assert layer.weight.value.is_constant()
    layer.unmerge()
    assert layer.weight.value.is_constant()
    assert layer.A.value.is_leaf()
    assert layer.B.value.is_leaf()


@pytest.mark.task6_9
def test_merging_twice_is_refused_before_anything_changes():
    layer, w = make_layer(2, 2, 1)
    layer.merge()
    merged = layer.weight.value.to_numpy().copy()
    with raises(RuntimeError, "merge expected an adapter that is not merged, got a merged one; its delta would be added twice"):
        layer.merge()
    assert np.array_equal(layer.weight.value.to_numpy(), merged)
    layer.unmerge()
    with raises(RuntimeError, "unmerge expected a merged adapter, got one that is not; call merge first"):
        layer.unmerge()
    assert np.array_equal(layer.weight.value.to_numpy(), w["weight"])


# Models


def small_model():
    model = GPT2(7, 4, 2, 2, 4)
    random_weights(model)
    return model


TOKENS = np.array([[1, 5, 2], [6, 0, 3]])

ATTENTION = ["h.0.attn.c_attn", "h.1.attn.c_attn"]


@pytest.mark.task6_9
@pytest.mark.parametrize("names", [ATTENTION, ["h.1.mlp.c_proj"], ["h.0.attn.c_proj", "h.0.mlp.c_fc", "h.0.mlp.c_proj"]])
def test_new_adapters_change_no_output_by_a_single_bit(names):
    model = small_model()
    before = model(tensor(TOKENS)).to_numpy()
    add_adapters(model, names, rank=2, alpha=4.0)
    assert model(tensor(TOKENS)).to_numpy().tobytes() == before.tobytes()


@pytest.mark.task6_9
def test_exactly_the_named_layers_get_an_adapter_and_all_others_stay_the_same_objects():
    model = small_model()
    before, parameters = named_layers(model, Linear), dict(model.named_parameters())
    add_adapters(model, ATTENTION, rank=2, alpha=4.0)
    adapted = named_layers(model, LoRALinear)
    assert list(adapted) == ATTENTION
    assert all((layer.rank, layer.alpha) == (2, 4.0) for layer in adapted.values())
    assert named_layers(model, Linear) == {name: layer for name, layer in before.items() if name not in ATTENTION}
    after = dict(model.named_parameters())
    assert all(after[name] is parameter for name, parameter in parameters.items())
    assert set(after) - set(parameters) == {f"{name}.{part}" for name in ATTENTION for part in ("A", "B")}
    assert [type(block).__name__ for block in model.h.modules()] == ["Block", "Block"]


@pytest.mark.task6_9
def test_only_adapters_are_trained_and_their_number_is_rank_times_in_plus_out():
    model = small_model()
    names = ["h.0.attn.c_attn", "h.1.mlp.c_fc", "h.1.mlp.c_proj"]
    add_adapters(model, names, rank=3, alpha=1.0)
    assert trained(model) == {f"{name}.{part}" for name in names for part in ("A", "B")}
    count = sum(parameter.value.numel() for parameter in model.parameters() if parameter.value.requires_grad)
    assert count == 3 * (4 + 12) + 3 * (4 + 16) + 3 * (16 + 4)


@pytest.mark.task6_9
def test_a_model_of_other_modules_may_have_adapters():
    model = Pair()
    random_weights(model)
    x = tensor(numbers(2, 3))
    before = model(x).to_numpy()
    add_adapters(model, ["inner.second"], rank=1, alpha=1.0)
    assert trained(model) == {"inner.second.A", "inner.second.B"}
    assert np.array_equal(model(x).to_numpy(), before)
    assert isinstance(model.first, Linear)
    add_to = Pair()
    add_adapters(add_to, ["inner.second", "first"], rank=1, alpha=1.0)
    assert set(named_layers(add_to, LoRALinear)) == {"first", "inner.second"}


@pytest.mark.task6_9
def test_a_is_drawn_by_the_seed_in_the_order_of_names_and_b_is_zero():
    drawn = []
    for names, seed in ((["first", "inner.second"], 5), (["inner.second", "first"], 5), (["first", "inner.second"], 6)):
        model = Pair()
        add_adapters(model, names, rank=2, alpha=1.0, seed=seed)
        drawn.append(values(model))
    generator = np.random.default_rng(5)
    first, second = generator.normal(0, 1 / math.sqrt(3), (2, 3)), generator.normal(0, 1 / 2, (2, 4))
    assert np.array_equal(drawn[0]["first.A"], first)
    assert np.array_equal(drawn[0]["inner.second.A"], second)
    assert not np.array_equal(drawn[1]["first.A"], first)
    assert not np.array_equal(drawn[2]["first.A"], first)
    assert not any(each[name].any() for each in drawn for name in ("first.B", "inner.second.B"))
    model = Pair()
    add_adapters(model, ["first"], rank=2, alpha=1.0)
    assert np.array_equal(values(model)["first.A"], np.random.default_rng(0).normal(0, 1 / math.sqrt(3), (2, 3)))


@pytest.mark.task6_9
@pytest.mark.parametrize("optimizer", [lambda p: SGD(p, lr=0.1), lambda p: Adam(p, lr=0.1, weight_decay=0.5)])
def test_training_all_parameters_changes_adapters_only(optimizer):
    model = small_model()
    old = values(model)
    add_adapters(model, ATTENTION, rank=1, alpha=2.0)
    steps, begin = optimizer(model.parameters()), values(model)
    for _ in range(2):  # in the first step, A has no gradient because B is zero
        cross_entropy(model(tensor(TOKENS)), tensor(TOKENS[:, ::-1].copy())).backward()
        assert {name for name, parameter in model.named_parameters() if parameter.value.grad is not None} <= trained(model)
        steps.step()
    new = values(model)
    assert all(np.array_equal(new[name], old[name]) for name in old)
    assert all(not np.array_equal(new[name], begin[name]) for name in trained(model))


@pytest.mark.task6_9
def test_gradients_from_before_are_dropped():
    model = small_model()
    cross_entropy(model(tensor(TOKENS)), tensor(TOKENS)).backward()
    steps, old = SGD(model.parameters(), lr=0.1), values(model)
    add_adapters(model, ATTENTION, rank=1, alpha=2.0)
    steps.step()
    assert all(np.array_equal(values(model)[name], array) for name, array in old.items())


@pytest.mark.task6_9
def test_a_trained_model_is_the_same_when_it_is_merged_and_learned_something():
    model, targets = small_model(), TOKENS[:, ::-1].copy()
    add_adapters(model, [*ATTENTION, "h.1.mlp.c_fc"], rank=2, alpha=4.0)
    steps, losses = Adam(model.parameters(), lr=0.1), []
    for _ in range(8):
        steps.zero_grad()
        loss = cross_entropy(model(tensor(TOKENS)), tensor(targets))
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.2
    before = model(tensor(TOKENS)).to_numpy()
    for layer in named_layers(model, LoRALinear).values():
        layer.merge()
    np.testing.assert_allclose(model(tensor(TOKENS)).to_numpy(), before, rtol=1e-7, atol=1e-9)
    plain = small_model()
    merged = named_weights(model)
    for name, parameter in plain.named_parameters():
        parameter.update(tensor(merged[name]))
    np.testing.assert_allclose(plain(tensor(TOKENS)).to_numpy(), before, rtol=1e-7, atol=1e-9)


# What is refused


def state(model):
    """Names, values and modes of all parameters, and the classes of all layers."""
    arrays = {name: (array.tobytes(), name in trained(model)) for name, array in values(model).items()}
    return arrays, set(named_layers(model, Linear)), set(named_layers(model, LoRALinear))


@pytest.mark.task6_9
@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["first", "second"], "'second'"),
        (["first", "scale"], "'scale'"),
        (["inner", "first"], "'inner'"),
        (["first", "inner.second.weight", ""], "'inner.second.weight', ''"),
        ([], "none"),
    ],
)
def test_names_that_are_no_linear_layers_are_refused_before_anything_changes(names, found):
    model = Pair()
    before = state(model)
    with raises(ValueError, f"add_adapters expected names of linear layers, got {found}; this model has first, inner.second"):
        add_adapters(model, names, rank=1, alpha=1.0)
    assert state(model) == before


@pytest.mark.task6_9
def test_the_tied_head_of_a_language_model_is_no_layer_to_adapt():
    model = small_model()
    before = state(model)
    for name in ("wte", "lm_head", "ln_f"):
        with pytest.raises(
            ValueError, match=f"expected names of linear layers, got '{name}'; this model has h.0.attn.c_attn, h.0.attn.c_proj"
        ):
            add_adapters(model, [*ATTENTION, name], rank=1, alpha=1.0)
    assert state(model) == before


@pytest.mark.task6_9
def test_other_arguments_are_refused_before_anything_changes():
    model = Pair()
    before = state(model)
    for rank in (0, -1, 1.5, True):
        with raises(ValueError, f"add_adapters expected a whole number of at least 1 as rank, got {rank!r}; try 4"):
            add_adapters(model, ["first"], rank=rank, alpha=1.0)
    for alpha in (0, -2.0, math.inf, math.nan):
        with raises(ValueError, f"add_adapters expected a finite alpha above 0, got {alpha!r}; try the rank, 2"):
            add_adapters(model, ["first"], rank=2, alpha=alpha)
    with raises(ValueError, "add_adapters expected each name once, got 'first' 2 times; leave one out"):
        add_adapters(model, ["first", "inner.second", "first"], rank=1, alpha=1.0)
    with raises(TypeError, "add_adapters expected a list of names, got the string 'first'; pass ['first']"):
        add_adapters(model, "first", rank=1, alpha=1.0)
    assert state(model) == before


@pytest.mark.task6_9
def test_a_layer_that_shares_its_weight_is_refused():
    model = Pair()
    model.again = model.first
    before = state(model)
    with raises(ValueError, "add_adapters expected layers with parameters of their own, got 'first', which shares them; leave it out"):
        add_adapters(model, ["inner.second", "first"], rank=1, alpha=1.0)
    assert state(model) == before


@pytest.mark.task6_9
def test_a_second_call_is_refused_before_it_freezes_the_first_adapters():
    model = Pair()
    add_adapters(model, ["first"], rank=1, alpha=1.0)
    before = state(model)
    with raises(RuntimeError, "add_adapters expected a model without adapters, got one with first; name all layers in one call"):
        add_adapters(model, ["inner.second"], rank=1, alpha=1.0)
    assert state(model) == before
