"""The sentence encoder: its vectors from NumPy and beside PyTorch's layers, padding and batches, and what it refuses."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, float64, manual_seed, tensor
from minitorch.models import SentenceBERT
from tests.errors import raises

SIZES = {"vocabulary": 13, "context": 7, "layers": 2, "heads": 2, "width": 8, "inner": 10, "types": 2}
TEXTS = [[3, 1, 4], [1, 5, 9, 2, 6, 5, 3], [5], [8, 9, 7, 9, 3]]

erf = np.vectorize(math.erf)


def layout(layers=2, vocabulary=13, context=7, width=8, inner=10, types=2):
    """Shapes of the weights by their published names."""
    shapes = {
        "embeddings.word_embeddings.weight": (vocabulary, width),
        "embeddings.position_embeddings.weight": (context, width),
        "embeddings.token_type_embeddings.weight": (types, width),
    }
    linears = {f"attention.self.{name}": (width, width) for name in ("query", "key", "value")}
    linears |= {"attention.output.dense": (width, width), "intermediate.dense": (inner, width), "output.dense": (width, inner)}
    layer = {f"{name}.{kind}": shape[:size] for name, shape in linears.items() for kind, size in (("weight", 2), ("bias", 1))}
    norms = ["embeddings", *(f"encoder.layer.{number}.{part}output" for number in range(layers) for part in ("attention.", ""))]
    shapes |= {f"encoder.layer.{number}.{name}": shape for number in range(layers) for name, shape in layer.items()}
    return shapes | {f"{name}.LayerNorm.{kind}": (width,) for name in norms for kind in ("weight", "bias")}


def random_weights(seed=0, **sizes):
    random = np.random.default_rng(seed)
    return {name: random.normal(0, 0.5, shape) for name, shape in layout(**sizes).items()}


def numpy_vector(w, tokens, layers=2, heads=2):
    """The vector of one text."""

    def norm(name, x):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]

    def linear(name, x):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    tables = (w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    words, positions, types = tables
    x = norm("embeddings", words[tokens] + positions[: len(tokens)] + types[0])
    for number in range(layers):
        name = f"encoder.layer.{number}."
        parts = [np.split(linear(f"{name}attention.self.{part}", x), heads, axis=1) for part in ("query", "key", "value")]
        attended = []
        for query, key, value in zip(*parts, strict=True):
            powers = np.exp(query @ key.T / math.sqrt(key.shape[1]))
            attended.append(powers / powers.sum(1, keepdims=True) @ value)
        x = norm(f"{name}attention.output", x + linear(f"{name}attention.output.dense", np.concatenate(attended, 1)))
        hidden = linear(f"{name}intermediate.dense", x)
        x = norm(f"{name}output", x + linear(f"{name}output.dense", hidden * (1 + erf(hidden / math.sqrt(2))) / 2))
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


@pytest.fixture
def model():
    model = SentenceBERT(**SIZES, device=FastBackend, dtype=float64)
    model.load_state_dict(random_weights())
    return model


def test_parameters_have_the_published_names_and_shapes(model):
    assert {name: tuple(x.shape) for name, x in model.state_dict().items()} == layout()
    published = {"word": (30522, 384), "position": (512, 384), "token_type": (2, 384)}
    manual_seed(0)
    whole = SentenceBERT(layers=1).state_dict()
    assert {name: tuple(whole[f"embeddings.{name}_embeddings.weight"].shape) for name in published} == published
    assert tuple(whole["encoder.layer.0.intermediate.dense.weight"].shape) == (1536, 384)


def test_vectors_are_those_of_the_same_formulas_in_numpy(model):
    expected = np.array([numpy_vector(random_weights(), text) for text in TEXTS])
    np.testing.assert_allclose(model.embed(TEXTS), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(model.embed(TEXTS), axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 2, 3, 9])
def test_batches_and_padding_change_no_vector(model, batch):
    found = model.embed(TEXTS, batch)
    np.testing.assert_allclose(found, model.embed(TEXTS), rtol=0, atol=1e-12)
    padded = tensor(np.array([[3, 1, 4, 0, 0, 0, 0]]), FastBackend)
    np.testing.assert_allclose(model(padded).to_numpy()[0], found[0], rtol=0, atol=1e-12)
    assert model.embed([]).shape == (0, 8)


def test_vectors_and_gradients_are_those_of_layers_of_torch(model):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    nn, F = torch.nn, torch.nn.functional
    w = {name: torch.tensor(array, requires_grad=True) for name, array in random_weights().items()}
    settings = {"dropout": 0.0, "activation": "gelu", "layer_norm_eps": 1e-12, "batch_first": True, "dtype": torch.float64}
    names = {"attention.output.dense": "self_attn.out_proj", "intermediate.dense": "linear1", "output.dense": "linear2"}
    names |= {"attention.output.LayerNorm": "norm1", "output.LayerNorm": "norm2"}
    tokens = torch.tensor([[3, 1, 4, 0, 0], [8, 9, 7, 9, 3]])
    x = sum(
        w[f"embeddings.{name}_embeddings.weight"][of] for name, of in (("word", tokens), ("position", torch.arange(5)), ("token_type", 0))
    )
    x = F.layer_norm(x, (8,), w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], 1e-12)
    for number in range(2):
        name = f"encoder.layer.{number}."
        state = {f"{ours}.{kind}": w[f"{name}{theirs}.{kind}"] for theirs, ours in names.items() for kind in ("weight", "bias")}
        for kind in ("weight", "bias"):
            state[f"self_attn.in_proj_{kind}"] = torch.cat([w[f"{name}attention.self.{part}.{kind}"] for part in ("query", "key", "value")])
        layer = nn.TransformerEncoderLayer(8, 2, 10, **settings)
        x = torch.func.functional_call(layer, state, (x,), {"src_key_padding_mask": tokens == 0})
    known = (tokens != 0)[..., None]
    expected = F.normalize((x * known).sum(1) / known.sum(1), dim=1)
    found = model(tensor(tokens.numpy(), FastBackend))
    np.testing.assert_allclose(found.to_numpy(), expected.detach().numpy(), rtol=0, atol=1e-10)
    weights = np.random.default_rng(1).standard_normal((2, 8))
    (found * tensor(weights, FastBackend)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameter.value.grad.to_numpy(), w[name].grad.numpy(), rtol=0, atol=1e-9, err_msg=name)


SHAPE = "SentenceBERT expected tokens of shape (B, T), got"


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (lambda model: model(tensor(np.array([1, 2]), FastBackend)), ValueError, f"{SHAPE} (2,); add a dimension with view(1, -1)"),
        (lambda model: model(tensor(np.zeros((0, 3), int), FastBackend)), ValueError, f"{SHAPE} (0, 3); add a dimension with view(1, -1)"),
        (lambda model: model.embed([[1] * 8]), ValueError,
         "SentenceBERT expected at most 7 tokens, got 8; encode with max_tokens"),
        (lambda model: model.embed([[1], [0, 0]]), ValueError,
         "SentenceBERT expected sentences with tokens other than 0, got one without; leave it out"),
        (lambda model: model.embed([[1], []]), ValueError,
         "embed expected texts of at least one token, got an empty one among 2; leave it out"),
        (lambda model: model.embed([[1]], 0), ValueError, "embed expected batch of at least 1, got 0"),
        (lambda model: model.embed([[13]]), IndexError, "embedding expected indices from 0 to 12 for a table of 13 rows, got 13"),
        (lambda model: SentenceBERT(**{**SIZES, "heads": 3}), ValueError,
         "SentenceBERT expected heads that divide width, 8, got 3; try a width of 192"),
        (lambda model: SentenceBERT(**{**SIZES, "layers": 0}), ValueError,
         "SentenceBERT expected vocabulary, context, layers, heads, width, inner and types of at least 1, got 13, 7, 0, 2, 8, 10, 2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(model, misuse, error, message):
    with raises(error, message):
        misuse(model)
