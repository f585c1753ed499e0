"""Stage 7 - Trained models from the files in which they are published: the sentence encoder all-MiniLM-L6-v2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitorch.io.formats import FileFormatError, read_arrays
from minitorch.language.token_files import read_object
from minitorch.language.wordpiece import WordPiece
from minitorch.models.sentence_bert import EPS, SentenceBERT

MAX_TOKENS = 256
"""The most tokens of a sentence that all-MiniLM-L6-v2 is published for; it reads no more of a longer text."""

REMEDY = "copy all files of one model again"

BERT_SIZES = {
    "vocab_size": "vocabulary", "max_position_embeddings": "context", "num_hidden_layers": "layers", "num_attention_heads": "heads",
    "hidden_size": "width", "intermediate_size": "inner", "type_vocab_size": "types",
}  # fmt: skip
"""Arguments of `SentenceBERT` by their names in config.json."""


def minilm(folder: str | Path, device: Any = None, dtype: Any = None) -> tuple[SentenceBERT, WordPiece]:
    """Read all-MiniLM-L6-v2, or another model of its architecture, from the files in which it is published.

    Texts are embedded by `model.embed([tokenizer.encode(text, MAX_TOKENS) for text in texts])`.

    Args:
        folder: Contains config.json, model.safetensors and vocab.txt.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Returns:
        The model and its tokenizer.

    Raises:
        FileFormatError: If a file is damaged, or of another model.
        OSError: If a file cannot be read.

    Source: Wang et al. 2020, arXiv:2002.10957, for the small model; Reimers and Gurevych 2019, arXiv:1908.10084, for its training.
    """
    folder = Path(folder)
    config_path, weights_path, vocabulary_path = (folder / name for name in ("config.json", "model.safetensors", "vocab.txt"))
    config, tokenizer = read_object(config_path), WordPiece.load(vocabulary_path)
    kind = {"hidden_act": "gelu", "layer_norm_eps": EPS}
    if wrong := [f"{name} {config.get(name)!r}" for name, value in kind.items() if config.get(name) != value]:
        raise FileFormatError(config_path, f"hidden_act 'gelu' and layer_norm_eps {EPS}", " and ".join(wrong), REMEDY)
    if missing := [name for name in BERT_SIZES if name not in config]:
        raise FileFormatError(config_path, "the sizes of BERT", f"no {missing[0]}", REMEDY)
    sizes = {ours: config[theirs] for theirs, ours in BERT_SIZES.items()}
    if sizes["vocabulary"] != len(tokenizer) or tokenizer.padding:
        found = f"{len(tokenizer)} with [PAD] at {tokenizer.padding}"
        raise FileFormatError(vocabulary_path, f"{sizes['vocabulary']} tokens, as in config.json, with [PAD] first", found, REMEDY)
    arrays, _ = read_arrays(weights_path)
    weights = {name: array for name, array in arrays.items() if not name.startswith("pooler.") and name != "embeddings.position_ids"}
    try:
        model = SentenceBERT(**sizes, device=device, dtype=dtype)
        model.load_state_dict(weights)
    except (ValueError, TypeError) as error:
        raise FileFormatError(weights_path, "the weights of a model as in config.json", f"others ({error})", REMEDY) from None
    return model, tokenizer
