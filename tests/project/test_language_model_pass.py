"""A language model from the inside: every stage against NumPy and the model itself, generated tokens, caches, and other weights."""

from datetime import date

import numpy as np
import pytest

import minitorch
from minitorch import SimpleBackend, tensor
from minitorch.io.formats import read_arrays
from minitorch.language import GPT2, add_adapters, generate, generation, lora, model, model_nbytes, quantization, save_adapters
from minitorch.language import attention as student
from project.lab import language_model
from project.lab.cards import WrongResult
from project.lab.explorers import language_model_pass
from project.lab.explorers.language_model_pass import Sampling
from project.lab.language_model import LanguageModel
from project.lab.training import checkpoint
from project.lab.training.text_trainer import Setting
from project.lab.typed.source import Refused
from tests.errors import raises

WIDTH, HEADS, CONTEXT = 8, 2, 12
EPS = 1e-5


@pytest.fixture(scope="module")
def backend():
    """The simple backend, which compiles no kernels."""
    return SimpleBackend


@pytest.fixture(scope="module")
def language(backend):
    """A model of two blocks with random weights, all of them large enough to matter, and tokens of bytes, " t" and "th"."""
    network, random = GPT2(258, CONTEXT, 2, HEADS, WIDTH, backend), np.random.default_rng(0)
    for parameter in network.parameters():
        parameter.update(tensor(random.normal(0, 0.7, parameter.value.shape), backend))
    return LanguageModel(network, language_model.make_tokenizer([(32, 116), (116, 104)]), 3)


@pytest.fixture
def other(language):
    """A copy that a test may change."""
    return language_model_pass.copy.deepcopy(language)


def by_hand(language, tokens):
    """The attention weights, the stages and the function that reads logits, in NumPy."""
    p = {name: parameter.value.to_numpy() for name, parameter in language.model.named_parameters()}

    def norm(x, name):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPS) * p[f"{name}.weight"] + p[f"{name}.bias"]

    T = len(tokens)
    x = p["wte.weight"][tokens] + p["wpe.weight"][:T]
    stages, weights = [x], []
    for h in ("h.0", "h.1"):
        q, k, v = np.split(norm(x, f"{h}.ln_1") @ p[f"{h}.attn.c_attn.weight"] + p[f"{h}.attn.c_attn.bias"], 3, axis=1)
        mixed, found = np.zeros((T, WIDTH)), np.zeros((HEADS, T, T))
        for head in range(HEADS):
            part = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            for i in range(T):
                powers = np.exp([q[i, part] @ k[j, part] / np.sqrt(WIDTH // HEADS) for j in range(i + 1)])
                found[head, i, : i + 1] = powers / powers.sum()
            mixed[:, part] = found[head] @ v[:, part]
        weights.append(found)
        x = x + mixed @ p[f"{h}.attn.c_proj.weight"] + p[f"{h}.attn.c_proj.bias"]
        stages.append(x)
        inner = norm(x, f"{h}.ln_2") @ p[f"{h}.mlp.c_fc.weight"] + p[f"{h}.mlp.c_fc.bias"]
        inner = inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3))) / 2
        x = x + inner @ p[f"{h}.mlp.c_proj.weight"] + p[f"{h}.mlp.c_proj.bias"]
        stages.append(x)
    return weights, np.stack(stages), lambda x: norm(x, "ln_f") @ p["wte.weight"].T


@pytest.mark.parametrize("tokens", [[116], [84, 104, 101], [257, 101, 32, 99, 97, 256]])
def test_weights_stages_and_logits_are_those_of_the_formulas(language, tokens):
    found = language_model_pass.forward(language.model, tokens)
    weights, stages, read = by_hand(language, tokens)
    np.testing.assert_allclose(np.stack(found.weights), np.stack(weights), atol=1e-6)
    np.testing.assert_allclose(found.stages, stages, atol=1e-6)
    np.testing.assert_allclose(found.logits, read(stages[-1]), atol=1e-6)
    position = len(tokens) // 2
    np.testing.assert_allclose(language_model_pass.lens(language.model, found, position), read(stages[:, position]), atol=1e-6)


def test_a_later_token_changes_nothing_before_it(language):
    first, second = (language_model_pass.forward(language.model, [99, 97, 116, token]) for token in (32, 115))
    np.testing.assert_array_equal(first.stages[:, :3], second.stages[:, :3])
    assert not np.allclose(first.stages[:, 3], second.stages[:, 3])


def test_heads_that_are_not_split_are_reported(monkeypatch, language):
    with raises(WrongResult, "split_heads(projected, 2) expected to return queries, keys and values, got NoneType"):
        monkeypatch.setattr(student, "split_heads", lambda *given: None)
        language_model_pass.forward(language.model, [1, 2])


def test_a_mask_of_another_shape_is_reported(monkeypatch, language):
    monkeypatch.setattr(student, "causal_mask", lambda queries, keys, backend: tensor(np.ones((queries, 1)), backend))
    with raises(WrongResult, "causal_mask(2, 2) expected to return a tensor of shape (2, 2), got (2, 1)"):
        language_model_pass.forward(language.model, [1, 2])


def test_a_model_that_does_not_follow_its_parts_is_reported(monkeypatch, language):
    monkeypatch.setattr(model.Block, "forward", lambda self, x, cache=None: x + self.mlp(self.ln_2(x)))
    with raises(WrongResult, "model(tokens) expected the logits of its parts, one after the other, got others"):
        language_model_pass.forward(language.model, [1, 2])


# Tokens


def test_a_text_is_encoded(language):
    assert language_model_pass.encode(language, "the that") == [257, 101, 256, 104, 97, 116]
    assert language_model_pass.names(language)[255:] == ["ff", "␣t", "th"]


@pytest.mark.parametrize("text", ["", "x" * 13])
def test_a_text_that_does_not_fit_is_refused(language, text):
    with raises(Refused, f"expected 1 to 12 tokens, got {len(text)}"):
        language_model_pass.encode(language, text)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (None, "encode('at') expected a list of tokens below 258, got None"),
        ([97, 258], "encode('at') expected a list of tokens below 258, got [97, 258]"),
        ([97, 97], "encode('at') expected the tokens of these bytes, got [97, 97]"),
    ],
)
def test_wrong_tokens_are_reported(monkeypatch, language, tokens, message):
    monkeypatch.setattr(type(language.tokenizer), "encode", lambda self, text: tokens)
    with raises(WrongResult, message):
        language_model_pass.encode(language, "at")


def test_a_text_is_continued_until_the_context_is_full(language):
    minitorch.manual_seed(4)
    expected = list(generate(language.model, [116, 104, 101], 10, 0.9, 20, 0.8))
    assert language_model_pass.continue_text(language, [116, 104, 101], Sampling(0.9, 20, 0.8), 4) == expected
    assert len(language_model_pass.continue_text(language, [116] * CONTEXT, Sampling(), 4)) == 1


@pytest.mark.parametrize(("found", "shown"), [([1], "[1]"), ([1, 258], "[1, 258]")])
def test_tokens_that_are_missing_or_unknown_are_reported(monkeypatch, language, found, shown):
    monkeypatch.setattr(generation, "generate", lambda *given: iter(found))
    with raises(WrongResult, f"generate(model, tokens, 2) expected to yield 2 tokens, got {shown}"):
        language_model_pass.continue_text(language, [116] * 11, Sampling(), 0)


# Caches and weights


def test_the_caches_hold_the_keys_of_all_tokens(language):
    caches = language_model_pass.fill_caches(language.model, [116, 104], [101, 32])
    assert [(cache.length, cache.capacity, cache.nbytes()) for cache in caches] == [(4, 12, 2 * 12 * WIDTH * 8)] * 2
    whole = language_model_pass.fill_caches(language.model, [116, 104, 101, 32], [])
    np.testing.assert_allclose(caches[1].keys.to_numpy()[:, :, :4], whole[1].keys.to_numpy()[:, :, :4], atol=1e-9)


def test_a_cache_of_another_length_is_reported(monkeypatch, language):
    def twice(cache, key, value):
        cache.length += 2 * key.shape[2]
        return key, value

    monkeypatch.setattr(language_model_pass.KeyValueCache, "append", twice)
    with raises(WrongResult, "caches[0].length after 2 tokens expected 2, got 4"):
        language_model_pass.fill_caches(language.model, [1, 2], [])


def test_quantization_changes_a_copy(monkeypatch, language):
    monkeypatch.setattr(quantization, "int_product", quantization._int_product)  # need not be compiled for so few numbers
    before = language_model_pass.forward(language.model, [1, 2]).logits
    copy, old, new = language_model_pass.quantized(language.model)
    weights, outputs = 2 * 12 * WIDTH**2, 2 * 9 * WIDTH  # of the linear layers of two blocks
    assert old - new == 8 * (weights + outputs) - (weights + 8 * outputs)  # a byte; float32 for scales and biases
    assert old == model_nbytes(language.model)
    np.testing.assert_array_equal(language_model_pass.forward(language.model, [1, 2]).logits, before)
    moved = np.abs(language_model_pass.forward(copy, [1, 2]).logits - before).max()
    assert 0 < moved < 1


def test_adapters_of_a_file_are_added_to_a_copy(monkeypatch, tmp_path, language, other):
    add_adapters(other.model, ["h.1.mlp.c_fc"], 2, 3.0)
    layer = getattr(other.model.h, "1").mlp.c_fc
    layer.B.update(layer.B.value + 1)
    save_adapters(other.model, tmp_path / "adapter")
    monkeypatch.setattr(language_model_pass, "ADAPTER", tmp_path / "adapter")
    copy, old, new = language_model_pass.adapted(language.model)
    assert new - old == 8 * 2 * (WIDTH + 4 * WIDTH)
    expected = language_model_pass.forward(other.model, [1, 2]).logits
    np.testing.assert_array_equal(language_model_pass.forward(copy, [1, 2]).logits, expected)
    assert not np.allclose(language_model_pass.forward(language.model, [1, 2]).logits, expected)


def test_the_loss_is_the_mean_of_minus_ln_p():
    logits = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [1, 1, 1]])
    assert language_model_pass.loss(logits, [0, 1, 2]) == pytest.approx(-(np.log(0.25) + np.log(0.8)) / 2)


# What ships


def test_the_files_that_ship_are_small_and_say_what_made_them():
    shipped, adapter = language_model.SHIPPED, language_model.ADAPTER
    assert shipped.stat().st_size + adapter.stat().st_size < 2_000_000
    saved = checkpoint.load(shipped)
    assert {name.partition(".")[0] for name in saved.arrays} == {"model"}
    assert {array.dtype for array in saved.arrays.values()} == {np.dtype("float32")}
    setting = Setting(**saved.about["setting"])
    assert (saved.about["command"], saved.about["step"]) == (setting.command(), setting.steps)
    assert len(saved.about["merges"]) == setting.tokens - 256
    date.fromisoformat(saved.about["date"])
    arrays, notes = read_arrays(adapter)
    assert {name.removeprefix("model.").rpartition(".")[0] for name in saved.arrays} > {name.rpartition(".")[0] for name in arrays}
    assert notes["format"] == lora.FORMAT
