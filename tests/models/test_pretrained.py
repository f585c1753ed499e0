"""Trained models from published files: small random weights in the same layout, and files of other models."""

import json

import numpy as np
import pytest

from minitorch import float64
from minitorch.io.formats import FileFormatError, write_arrays
from minitorch.models import minilm
from tests.errors import raises

from .test_sentence_bert import numpy_vector, random_weights

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s", "sat", "on", "mat", ".", "a", "##a"]
CONFIG = {
    "hidden_act": "gelu", "layer_norm_eps": 1e-12, "vocab_size": 13, "max_position_embeddings": 7, "num_hidden_layers": 2,
    "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 10, "type_vocab_size": 2, "model_type": "bert",
}  # fmt: skip
REMEDY = "copy all files of one model again"


@pytest.fixture
def folder(tmp_path):
    """A sentence encoder in the published layout, with the parts that are not used."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    others = {"embeddings.position_ids": np.arange(7)[None], "pooler.dense.weight": np.ones((8, 8)), "pooler.dense.bias": np.ones(8)}
    write_arrays(tmp_path / "model.safetensors", {**random_weights(), **others})
    return tmp_path


def test_a_sentence_encoder_is_read_from_its_published_files(folder):
    model, tokenizer = minilm(folder, dtype=float64)
    texts = [tokenizer.encode(text, 7) for text in ("The cats sat.", "A mat", "The dog sat on the mat on a cat.")]
    assert texts == [[2, 4, 5, 6, 7, 10, 3], [2, 11, 9, 3], [2, 4, 1, 7, 8, 4, 3]]
    expected = [numpy_vector(random_weights(), text) for text in texts]
    np.testing.assert_allclose(model.embed(texts), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"hidden_act": "relu"}, "hidden_act 'gelu' and layer_norm_eps 1e-12, got hidden_act 'relu'"),
        ({"layer_norm_eps": 1e-5, "hidden_act": None},
         "hidden_act 'gelu' and layer_norm_eps 1e-12, got hidden_act None and layer_norm_eps 1e-05"),
    ],
)  # fmt: skip
def test_another_architecture_is_refused(folder, change, expected):
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    with raises(FileFormatError, f"{folder / 'config.json'} expected {expected}; {REMEDY}"):
        minilm(folder)


def test_files_of_different_models_are_refused(folder):
    less = {name: value for name, value in CONFIG.items() if name != "hidden_size"}
    (folder / "config.json").write_text(json.dumps(less))
    with raises(FileFormatError, f"{folder / 'config.json'} expected the sizes of BERT, got no hidden_size; {REMEDY}"):
        minilm(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": 14}))
    found = f"14 tokens, as in config.json, with [PAD] first, got 13 with [PAD] at 0; {REMEDY}"
    with raises(FileFormatError, f"{folder / 'vocab.txt'} expected {found}"):
        minilm(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_attention_heads": 3}))
    found = f"others (SentenceBERT expected heads that divide width, 8, got 3; try a width of 192); {REMEDY}"
    with raises(FileFormatError, f"{folder / 'model.safetensors'} expected the weights of a model as in config.json, got {found}"):
        minilm(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": 1}))
    with pytest.raises(
        FileFormatError, match=r"(?s)weights of a model as in config\.json, got others \(.*encoder\.layer\.1\..*copy all files"
    ):
        minilm(folder)


def test_a_missing_file_is_named(folder):
    (folder / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"vocab\.txt"):
        minilm(folder)
