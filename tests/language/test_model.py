"""Task 6.4: the model: its blocks and logits from NumPy, its weights at the start, and its loss."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers

import minitorch
from minitorch import tensor
from minitorch.core.creation import cat
from minitorch.language.model import GPT2, MLP, STD, Block, SelfAttention, cross_entropy, init_weights
from minitorch.language.weights import load_weights, named_weights
from minitorch.optim import Adam
from minitorch.tensor_ops import SimpleBackend

CLOSE = {"rtol": 1e-8, "atol": 1e-10}

few = settings(max_examples=8, deadline=None)


def random_weights(module, seed=0):
    """Weights of a module that are large enough to make a difference; the module has them, too."""
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(0, 0.5, array.shape) for name, array in named_weights(module).items()}
    load_weights(module, weights)
    return weights


# The architecture, by NumPy


def normalize(w, name, x):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(w, name, x):
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def attend(w, name, x, heads):
    batch, length, width = x.shape
    query, key, value = linear(w, f"{name}c_attn", x).reshape(batch, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scores = np.where(np.tri(length, dtype=bool), query @ key.swapaxes(-1, -2) / math.sqrt(width / heads), -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    heads_out = powers / powers.sum(-1, keepdims=True) @ value
    return linear(w, f"{name}c_proj", heads_out.transpose(0, 2, 1, 3).reshape(x.shape))


def feed(w, name, x):
    hidden = linear(w, f"{name}c_fc", x)
    return linear(w, f"{name}c_proj", hidden / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3))))


def block_of(w, name, x, heads):
    x = x + attend(w, f"{name}attn.", normalize(w, f"{name}ln_1", x), heads)
    return x + feed(w, f"{name}mlp.", normalize(w, f"{name}ln_2", x))


def logits_of(w, tokens, layers, heads):
    x = w["wte.weight"][tokens] + w["wpe.weight"][: tokens.shape[1]]
    for number in range(layers):
        x = block_of(w, f"h.{number}.", x, heads)
    return normalize(w, "ln_f", x) @ w["wte.weight"].T


class Appended:
    """A cache that concatenates, and counts its calls."""

    def __init__(self):
        self.parts, self.length, self.calls = None, 0, 0

    def append(self, key, value):
        self.parts = (
            (key, value) if self.parts is None else tuple(cat(list(pair), 2) for pair in zip(self.parts, (key, value), strict=True))
        )
        self.length, self.calls = self.length + key.shape[2], self.calls + 1
        return self.parts


# The parts of a block


@pytest.mark.task6_4
@pytest.mark.parametrize(("batch", "length", "heads"), [(1, 1, 1), (2, 3, 2), (1, 4, 4)])
def test_self_attention_projects_attends_and_projects_again(batch, length, heads):
    module = SelfAttention(4, heads, SimpleBackend)
    w, x = random_weights(module), np.random.default_rng(1).normal(size=(batch, length, 4))
    np.testing.assert_allclose(module(tensor(x)).to_numpy(), attend(w, "", x, heads), **CLOSE)


@pytest.mark.task6_4
def test_self_attention_appends_once_to_a_cache_and_attends_to_all_tokens_in_it():
    module, cache = SelfAttention(4, 2, SimpleBackend), Appended()
    w, x = random_weights(module), np.random.default_rng(2).normal(size=(1, 5, 4))
    expected = attend(w, "", x, 2)
    for start, end in ((0, 2), (2, 3), (3, 5)):
        np.testing.assert_allclose(module(tensor(x[:, start:end]), cache).to_numpy(), expected[:, start:end], **CLOSE)
    assert (cache.calls, cache.length) == (3, 5)


@pytest.mark.task6_4
def test_the_network_of_a_block_has_gelu_between_two_layers():
    module = MLP(3, SimpleBackend)
    w, x = random_weights(module), np.random.default_rng(3).normal(size=(2, 2, 3))
    np.testing.assert_allclose(module(tensor(x)).to_numpy(), feed(w, "", x), **CLOSE)


@pytest.mark.task6_4
def test_a_block_adds_both_parts_to_what_comes_in():
    module = Block(4, 2, SimpleBackend)
    w, x = random_weights(module), np.random.default_rng(4).normal(3, 2, size=(2, 3, 4))
    np.testing.assert_allclose(module(tensor(x)).to_numpy(), block_of(w, "", x, 2), **CLOSE)


@pytest.mark.task6_4
def test_a_block_whose_projections_are_zero_passes_its_input_on():
    module = Block(4, 2, SimpleBackend)
    w = random_weights(module)
    load_weights(module, {name: array * 0 if "c_proj" in name else array for name, array in w.items()})
    x = np.random.default_rng(5).normal(3, 2, size=(1, 3, 4))
    np.testing.assert_array_equal(module(tensor(x)).to_numpy(), x)


@pytest.mark.task6_4
def test_a_block_passes_its_cache_on():
    module, cache = Block(4, 2, SimpleBackend), Appended()
    w, x = random_weights(module), np.random.default_rng(6).normal(size=(1, 3, 4))
    parts = [module(tensor(x[:, :1]), cache).to_numpy(), module(tensor(x[:, 1:]), cache).to_numpy()]
    np.testing.assert_allclose(np.concatenate(parts, 1), block_of(w, "", x, 2), **CLOSE)


# The model


@pytest.mark.task6_4
@few
@given(seed=integers(0, 1000), layers=integers(1, 2), heads=integers(1, 2), length=integers(1, 4))
@example(seed=0, layers=2, heads=2, length=4)  # the whole context
@example(seed=1, layers=1, heads=1, length=1)
def test_logits_are_those_of_numpy(seed, layers, heads, length):
    model = GPT2(5, 4, layers, heads, 4)
    w, tokens = random_weights(model, seed), np.random.default_rng(seed).integers(0, 5, (2, length))
    np.testing.assert_allclose(model(tensor(tokens)).to_numpy(), logits_of(w, tokens, layers, heads), **CLOSE)


@pytest.mark.task6_4
@few
@given(seed=integers(0, 1000), place=integers(1, 3))
@example(seed=0, place=3)
def test_a_later_token_never_changes_an_earlier_logit(seed, place):
    model, rng = GPT2(5, 4, 1, 2, 4), np.random.default_rng(seed)
    random_weights(model, seed)
    tokens = rng.integers(0, 5, (1, 4))
    other = np.concatenate([tokens[:, :place], (tokens[:, place:] + 1) % 5], 1)
    one, two = (model(tensor(each)).to_numpy() for each in (tokens, other))
    np.testing.assert_array_equal(one[:, :place], two[:, :place])
    assert not np.allclose(one[:, place:], two[:, place:])


@pytest.mark.task6_4
def test_with_caches_positions_go_on_where_the_tokens_before_end():
    model, caches = GPT2(5, 6, 2, 2, 4), [Appended(), Appended()]
    w, tokens = random_weights(model), np.array([[4, 0, 2, 2, 1, 3]])
    expected = logits_of(w, tokens, 2, 2)
    for start, end in ((0, 3), (3, 4), (4, 6)):
        np.testing.assert_allclose(model(tensor(tokens[:, start:end]), caches).to_numpy(), expected[:, start:end], **CLOSE)
    assert [cache.calls for cache in caches] == [3, 3]


@pytest.mark.task6_4
@few
@given(vocabulary=integers(1, 9), context=integers(1, 9), layers=integers(1, 3), heads=integers(1, 3), size=integers(1, 3))
@example(vocabulary=7, context=5, layers=2, heads=2, size=2)
def test_the_number_of_parameters_is_that_of_the_formula(vocabulary, context, layers, heads, size):
    width = heads * size
    model = GPT2(vocabulary, context, layers, heads, width)
    count = sum(parameter.value.numel() for parameter in model.parameters())
    assert count == vocabulary * width + context * width + layers * (12 * width**2 + 13 * width) + 2 * width


@pytest.mark.task6_4
def test_the_output_layer_is_the_embedding_of_tokens_and_gives_it_a_gradient():
    model = GPT2(4, 3, 1, 1, 2)
    random_weights(model)
    model(tensor(np.array([[1, 1]]))).sum().backward()
    grad = model.wte.weight.value.grad.to_numpy()
    assert (np.abs(grad[[0, 2, 3]]) > 1e-9).any(), "tokens that were not read are written only by the output layer"
    assert not any("head" in name for name, _ in model.named_parameters())


@pytest.mark.task6_4
def test_every_parameter_receives_a_gradient():
    model = GPT2(5, 3, 2, 2, 4)
    random_weights(model)
    cross_entropy(model(tensor(np.array([[0, 1, 2]]))), tensor(np.array([[1, 2, 3]]))).backward()
    for name, parameter in model.named_parameters():
        assert parameter.value.grad is not None, name
        assert np.abs(parameter.value.grad.to_numpy()).max() > 0, name


# The start


@pytest.mark.task6_4
def test_weights_at_the_start():
    minitorch.manual_seed(1)
    model = GPT2(40, 30, 3, 2, 12)
    for name, array in named_weights(model).items():
        if name.endswith("bias"):
            assert not array.any(), name
        elif "ln_" in name:
            assert (array == 1).all(), name
        else:
            std = STD / math.sqrt(6) if "c_proj" in name else STD
            error = 5 / math.sqrt(array.size)  # 5 standard deviations of the mean; that of the standard deviation is smaller
            assert abs(array.mean()) < std * error, name
            assert abs(array.std() / std - 1) < error, name


@pytest.mark.task6_4
def test_initialization_replaces_trained_weights_and_is_determined_by_the_seed():
    model = GPT2(5, 4, 1, 2, 4)
    random_weights(model)
    minitorch.manual_seed(2)
    init_weights(model, 1)
    first = named_weights(model)
    minitorch.manual_seed(2)
    init_weights(model, 1)
    assert all(np.array_equal(first[name], array) for name, array in named_weights(model).items())
    assert all(parameter.value.requires_grad for parameter in model.parameters())
    assert not np.array_equal(first["h.0.attn.c_attn.weight"][:, :4], first["h.0.attn.c_attn.weight"][:, 4:8])


@pytest.mark.task6_4
@pytest.mark.parametrize("vocabulary", [20, 60])
def test_the_loss_at_the_start_is_the_logarithm_of_the_vocabulary(vocabulary):
    minitorch.manual_seed(3)
    rng = np.random.default_rng(0)
    model = GPT2(vocabulary, 8, 2, 2, 8)
    tokens, targets = (tensor(rng.integers(0, vocabulary, (2, 8))) for _ in range(2))
    assert cross_entropy(model(tokens), targets).item() == pytest.approx(math.log(vocabulary), rel=0.02)


# The loss


@pytest.mark.task6_4
def test_cross_entropy_by_hand():
    # probabilities 1/4, 1/2, 1/4 and 1/10, 1/10, 8/10
    logits = tensor(np.log([[[1, 2, 1], [1, 1, 8]]]))
    loss = cross_entropy(logits, tensor(np.array([[1, 2]])))
    assert loss.numel() == 1
    assert loss.item() == pytest.approx(-(math.log(1 / 2) + math.log(8 / 10)) / 2, rel=1e-9)


@pytest.mark.task6_4
@few
@given(seed=integers(0, 1000), batch=integers(1, 3), length=integers(1, 3), vocabulary=integers(1, 4))
@example(seed=0, batch=2, length=3, vocabulary=4)
def test_cross_entropy_is_that_of_numpy_and_its_gradient_softmax_minus_one_hot(seed, batch, length, vocabulary):
    rng = np.random.default_rng(seed)
    values, targets = rng.normal(0, 3, (batch, length, vocabulary)), rng.integers(0, vocabulary, (batch, length))
    probabilities = np.exp(values) / np.exp(values).sum(-1, keepdims=True)
    picked = np.take_along_axis(probabilities, targets[..., None], -1)
    logits = tensor(values, requires_grad=True)
    loss = cross_entropy(logits, tensor(targets))
    loss.backward()
    np.testing.assert_allclose(loss.item(), -np.log(picked).mean(), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(logits.grad.to_numpy(), (probabilities - np.eye(vocabulary)[targets]) / targets.size, rtol=1e-7, atol=1e-9)


@pytest.mark.task6_4
def test_cross_entropy_of_large_logits_is_finite():
    assert cross_entropy(tensor([[1000.0, 0.0]]), tensor(np.array([1]))).item() == pytest.approx(1000)
    assert cross_entropy(tensor([[1000.0, 0.0]]), tensor(np.array([0]))).item() == pytest.approx(0, abs=1e-9)


@pytest.mark.task6_4
def test_cross_entropy_takes_logits_in_any_layout():
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    targets = np.array([[0, 3, 1], [2, 2, 0]])
    permuted = tensor(values.transpose(2, 0, 1).copy()).permute(1, 2, 0)
    assert cross_entropy(permuted, tensor(targets)).item() == pytest.approx(cross_entropy(tensor(values), tensor(targets)).item())


@pytest.mark.task6_4
def test_one_batch_overfits():
    minitorch.manual_seed(0)
    model = GPT2(6, 4, 1, 2, 8)
    optimizer = Adam(model.parameters(), lr=0.03)
    tokens, targets = tensor(np.array([[0, 1, 2, 3], [4, 5, 0, 2]])), tensor(np.array([[1, 2, 3, 4], [5, 0, 2, 1]]))
    for _ in range(40):
        optimizer.zero_grad()
        loss = cross_entropy(model(tokens), targets)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert np.array_equal(model(tokens).to_numpy().argmax(-1), targets.to_numpy())
