"""The GPT: its logits and gradients beside PyTorch's, what it cannot see, how it draws, and what it refuses."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, SimpleBackend, float64, manual_seed, tensor
from minitorch.models import GPT
from minitorch.nn import cross_entropy
from tests.errors import raises

VOCABULARY, CONTEXT, LAYERS, HEADS, WIDTH = 11, 6, 2, 2, 8


def gpt(**settings):
    manual_seed(0)
    sizes = {"vocabulary": VOCABULARY, "context": CONTEXT, "layers": LAYERS, "heads": HEADS, "width": WIDTH}
    return GPT(**{**sizes, "device": FastBackend, "dtype": float64, **settings})


def tokens(batch=3, length=CONTEXT, seed=0):
    return np.random.default_rng(seed).integers(0, VOCABULARY, (batch, length))


def test_a_gpt_ties_its_first_and_last_weights_and_begins_as_surprised_as_chance():
    model, numbers = gpt(), tokens(6)
    assert model.head.weight is model.tokens.weight
    block = 4 * WIDTH**2 + 4 * WIDTH + 8 * WIDTH**2 + 5 * WIDTH + 4 * WIDTH
    assert sum(p.numel() for p in model.parameters()) == (VOCABULARY + CONTEXT) * WIDTH + LAYERS * block + 2 * WIDTH
    logits = model(tensor(numbers, FastBackend))
    assert logits.shape == (6, CONTEXT, VOCABULARY)
    loss = cross_entropy(logits.view(numbers.size, VOCABULARY), tensor(tokens(6, seed=2).reshape(-1), FastBackend)).item()
    assert loss == pytest.approx(np.log(VOCABULARY), abs=0.1)


# Beside PyTorch


def torch_build(torch):
    """The same architecture of PyTorch's own layers; its parameters have the names of ours."""

    class Build(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(CONTEXT, WIDTH)
            layer = torch.nn.TransformerEncoderLayer
            settings = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
            self.blocks = torch.nn.ModuleList([layer(WIDTH, HEADS, 4 * WIDTH, **settings) for _ in range(LAYERS)])
            self.norm = torch.nn.LayerNorm(WIDTH)
            self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, numbers):
            length = numbers.shape[1]
            x = self.tokens(numbers) + self.positions(torch.arange(length))
            mask = torch.nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)
            for block in self.blocks:
                x = block(x, src_mask=mask, is_causal=True)
            return self.head(self.norm(x))

    return Build().double()


def test_logits_and_gradients_are_those_of_the_same_network_in_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    ours, theirs = gpt(), torch_build(torch)
    random = np.random.default_rng(1)
    state = {name: value.to_numpy() + 0.3 * random.standard_normal(value.shape) for name, value in ours.state_dict().items()}
    state["head.weight"] = state["tokens.weight"]
    ours.load_state_dict({name: tensor(array) for name, array in state.items()})
    theirs.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    numbers, following = tokens(), tokens(seed=2).reshape(-1)
    logits, expected = ours(tensor(numbers, FastBackend)), theirs(torch.from_numpy(numbers))
    np.testing.assert_allclose(logits.to_numpy(), expected.detach().numpy(), rtol=0, atol=1e-10)
    cross_entropy(logits.view(following.size, VOCABULARY), tensor(following, FastBackend)).backward()
    torch.nn.functional.cross_entropy(expected.reshape(-1, VOCABULARY), torch.from_numpy(following)).backward()
    gradients = {name: parameter.grad.numpy() for name, parameter in theirs.named_parameters()}
    found = {name: parameter.value.grad.to_numpy() for name, parameter in ours.named_parameters()}
    assert found.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert np.abs(gradient).max() > 1e-4
        np.testing.assert_allclose(found[name], gradient, rtol=0, atol=1e-10, err_msg=name)


def test_both_backends_give_the_same_logits():
    model, other = gpt(layers=1), gpt(layers=1, device=SimpleBackend)
    other.load_state_dict(model.state_dict())
    numbers = tokens(2, 3)
    fast, simple = model(tensor(numbers, FastBackend)), other(tensor(numbers))
    np.testing.assert_allclose(fast.to_numpy(), simple.to_numpy(), rtol=0, atol=1e-12)


# What it cannot see


def test_a_character_changes_no_logits_before_it_and_all_from_it_on():
    model, numbers = gpt(), tokens(1)
    before = model(tensor(numbers, FastBackend)).to_numpy()
    for place in range(CONTEXT):
        changed = numbers.copy()
        changed[0, place] = (changed[0, place] + 1) % VOCABULARY
        after = model(tensor(changed, FastBackend)).to_numpy()
        np.testing.assert_array_equal(after[0, :place], before[0, :place])
        assert (after[0, place:] != before[0, place:]).any(axis=1).all()


def test_a_shorter_text_gets_the_logits_that_it_has_as_the_beginning_of_a_longer_one():
    model, numbers = gpt(), tokens(1)
    whole = model(tensor(numbers, FastBackend)).to_numpy()
    for length in range(1, CONTEXT + 1):
        part = model(tensor(numbers[:, :length], FastBackend)).to_numpy()
        np.testing.assert_allclose(part, whole[:, :length], rtol=0, atol=1e-12)


def test_only_the_last_tokens_of_a_long_text_are_seen():
    model, long = gpt(), tokens(1, 20)[0].tolist()
    assert model.generate(long, 3, 0)[20:] == model.generate(long[-CONTEXT:], 3, 0)[CONTEXT:]


# How it draws


@pytest.fixture
def model(monkeypatch):
    """A GPT that finds five tokens as likely as LOGITS says, whatever comes before."""
    monkeypatch.setattr(GPT, "forward", lambda model, seen: tensor(np.tile(LOGITS, (1, seen.shape[1], 1)), FastBackend))
    return gpt(vocabulary=5)


LOGITS = np.array([0.5, -1.0, 2.0, 1.5, 0.0])


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_tokens_are_drawn_as_likely_as_softmax_of_the_logits_by_temperature(model, temperature):
    manual_seed(7)
    drawn = model.generate([0], 1000, temperature)[1:]
    chances = np.exp(LOGITS / temperature) / np.exp(LOGITS / temperature).sum()
    shares = np.bincount(drawn, minlength=5) / 1000
    np.testing.assert_allclose(shares, chances, rtol=0, atol=4 * np.sqrt(0.25 / 1000))
    places = np.random.default_rng(7).random(50)
    assert drawn[:50] == np.searchsorted(np.cumsum(chances), places, side="right").tolist()


@pytest.mark.parametrize("temperature", [0, 1e-9, 5e-324])
def test_without_temperature_and_with_next_to_none_the_likeliest_is_taken(model, temperature):
    assert model.generate([0, 1], 4, temperature) == [0, 1, 2, 2, 2, 2]


def test_with_endless_temperature_all_are_equally_likely(model):
    manual_seed(0)
    assert sorted(set(model.generate([0], 100, float("inf"))[1:])) == [0, 1, 2, 3, 4]


def test_the_same_seed_draws_the_same_and_a_network_in_training_stays_so():
    model = gpt(dropout=0.5)
    texts = []
    for seed in (1, 1, 2):
        manual_seed(seed)
        texts.append(model.generate([3], 6, 3.0))
    assert texts[0] == texts[1] != texts[2]
    assert model.training
    assert model.eval().generate([3], 0) == [3]
    assert not model.training


# What it refuses


SHAPE = "GPT expected tokens of shape (B, T), with T of at least 1, got"
DRAW = "generate expected a prompt and a temperature >= 0, got"
SIZES = "GPT expected vocabulary, context, layers, heads and width of at least 1, got"


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (lambda model: model(tensor(tokens()[0], FastBackend)), ValueError, f"{SHAPE} (6,); add a dimension with view"),
        (lambda model: model(tensor(np.zeros((2, 0), np.int64), FastBackend)), ValueError, f"{SHAPE} (2, 0); add a dimension with view"),
        (lambda model: model(tensor(np.zeros((1, 7), np.int64), FastBackend)), ValueError,
         "GPT expected at most 6 tokens, its context, got 7; shorten the text"),
        (lambda model: model.generate([11], 1), IndexError, "embedding expected indices from 0 to 10 for a table of 11 rows, got 11"),
        (lambda model: model.generate([], 1), ValueError, f"{DRAW} 0 tokens and 1.0"),
        (lambda model: model.generate([1], 1, -0.1), ValueError, f"{DRAW} 1 tokens and -0.1"),
        (lambda model: model.generate([1], 1, float("nan")), ValueError, f"{DRAW} 1 tokens and nan"),
        (lambda model: model.generate([1], -1), ValueError, "generate expected count >= 0, got -1"),
        (lambda model: gpt(layers=0), ValueError, f"{SIZES} 11, 6, 0, 2, 8"),
        (lambda model: gpt(vocabulary=0), ValueError, f"{SIZES} 0, 6, 2, 2, 8"),
        (lambda model: gpt(heads=3), ValueError, "MultiheadAttention expected num_heads that divides embed_dim, 8, got 3"),
    ],
)  # fmt: skip
def test_what_a_gpt_cannot_take_is_refused(misuse, error, message):
    with raises(error, message):
        misuse(gpt())


def test_logits_that_are_not_finite_are_refused_and_the_network_stays_in_training():
    model = gpt()
    model.norm.bias.update(model.norm.bias.value * float("nan"))
    with raises(ValueError, "generate expected finite logits, got infinite or NaN; train again with a smaller learning rate"):
        model.generate([1], 1)
    assert model.training


def test_weights_begin_small_and_smaller_where_they_lead_back():
    model = gpt(vocabulary=50, width=64, layers=8, context=50)
    state = {name: value.to_numpy() for name, value in model.state_dict().items()}
    for name, array in state.items():
        if name.endswith("bias"):
            assert not array.any()
        elif "norm" in name:
            assert (array == 1).all()
        elif "in_proj" not in name:
            expected = 0.02 / 4 if name.endswith(("out_proj.weight", "linear2.weight")) else 0.02
            assert array.std() == pytest.approx(expected, rel=0.05), name
    assert minitorch.models.GPT is GPT
