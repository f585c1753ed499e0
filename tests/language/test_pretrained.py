"""GPT-2 from files in the published layout, with small random weights: its logits, its tokenizer, and what is refused."""

import json

import numpy as np
import pytest

from minitorch import tensor
from minitorch.io.formats import FileFormatError, read_arrays, write_arrays
from minitorch.language import GPT2, Tokenizer, gpt2
from tests.errors import raises

from .test_model import logits_of, random_weights
from .test_model_against_torch import torch_logits

SIZES = {"vocab_size": 260, "n_positions": 6, "n_layer": 2, "n_head": 2, "n_embd": 4}
CONFIG = SIZES | {"model_type": "gpt2", "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "n_ctx": 6}
TEXT = "the cat sat on the mat, the end"
TOKENS = np.array([[0, 3, 259, 4], [2, 2, 0, 1]])


@pytest.fixture
def folder(tmp_path):
    """The files of a model."""
    weights = random_weights(GPT2(260, 6, 2, 2, 4))
    masks = {f"h.{number}.attn.bias": np.ones((1, 1, 6, 6), np.float32) for number in range(2)}
    write_arrays(tmp_path / "model.safetensors", {name: array.astype(np.float32) for name, array in weights.items()} | masks)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    Tokenizer.train(TEXT, 260, ["<|endoftext|>"]).save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    return tmp_path


def rewrite(folder, change):
    """Change the arrays of a model's file."""
    arrays = read_arrays(folder / "model.safetensors")[0]
    write_arrays(folder / "model.safetensors", change(arrays))


def test_the_model_has_the_published_weights_in_their_dtype_and_its_tokenizer(folder):
    model, tokenizer = gpt2(folder)
    weights = read_arrays(folder / "model.safetensors")[0]
    logits = model(tensor(TOKENS))
    assert logits.dtype.name == "float32"
    np.testing.assert_allclose(logits.to_numpy(), logits_of(weights, TOKENS, 2, 2), rtol=1e-4, atol=1e-5)
    assert tokenizer == Tokenizer.train(TEXT, 260, ["<|endoftext|>"])
    assert tokenizer.special_tokens == {"<|endoftext|>": 259}


def test_the_logits_are_those_of_torch(folder):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    weights = {name: torch.tensor(array) for name, array in read_arrays(folder / "model.safetensors")[0].items()}
    expected = torch_logits(torch, weights, torch.tensor(TOKENS), 2, 2)
    np.testing.assert_allclose(gpt2(folder)[0](tensor(TOKENS)).to_numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_names_may_begin_with_transformer_and_the_tied_output_layer_may_be_written_too(folder):
    before = gpt2(folder)[0](tensor(TOKENS)).to_numpy()
    rewrite(
        folder, lambda arrays: {f"transformer.{name}": array for name, array in arrays.items()} | {"lm_head.weight": arrays["wte.weight"]}
    )
    np.testing.assert_array_equal(gpt2(folder)[0](tensor(TOKENS)).to_numpy(), before)
    rewrite(folder, lambda arrays: arrays | {"lm_head.weight": arrays["lm_head.weight"] + 1})
    path = folder / "model.safetensors"
    message = f"{path} expected an lm_head.weight equal to wte.weight, got another one; choose a model with tied weights"
    with raises(FileFormatError, message):
        gpt2(folder)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"activation_function": "relu"}, "activation_function 'gelu_new' and layer_norm_epsilon 1e-05, got activation_function 'relu'"),
        ({"layer_norm_epsilon": 1e-12}, "activation_function 'gelu_new' and layer_norm_epsilon 1e-05, got layer_norm_epsilon 1e-12"),
        ({"n_head": None}, "the sizes of GPT-2, got no n_head"),
    ],
)
def test_another_model_is_refused(folder, change, found):
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    with raises(FileFormatError, f"{folder / 'config.json'} expected {found}; copy all files of one model again"):
        gpt2(folder)


def test_files_of_several_models_are_refused(folder):
    path, expected = folder / "model.safetensors", "expected the weights of a model as in config.json, got others"
    rewrite(folder, lambda arrays: arrays | {"ln_f.bias": np.zeros(5, np.float32)})
    weights = "load_weights expected the 28 weights of the model, got ln_f.bias of shape (5,) instead of (4,); build it with the same sizes"
    with raises(FileFormatError, f"{path} {expected} ({weights}); copy all files of one model again"):
        gpt2(folder)
    rewrite(folder, lambda arrays: {name: array for name, array in arrays.items() if name != "wte.weight"})
    with raises(FileFormatError, f"{path} {expected} ('wte.weight'); copy all files of one model again"):
        gpt2(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": 50257}))
    message = f"{folder / 'vocab.json'} expected 50257 tokens, as in config.json, got 260; copy all files of one model again"
    with raises(FileFormatError, message):
        gpt2(folder)
