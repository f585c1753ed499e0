"""Stage 6 - GPT-2 from the files in which its weights are published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minitorch.io.formats import FileFormatError, read_arrays
from minitorch.language.model import GPT2
from minitorch.language.token_files import read_object
from minitorch.language.tokenizer import Tokenizer
from minitorch.language.weights import load_weights
from minitorch.tensor import tensor
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.tensor_ops import TensorBackend

SIZES = {"vocab_size": "vocabulary", "n_positions": "context", "n_layer": "layers", "n_head": "heads", "n_embd": "width"}
"""Arguments of `GPT2` by their names in config.json."""

KIND = {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
"""What `GPT2` computes, by the names in config.json; "gelu_new" is the one with tanh."""

REMEDY = "copy all files of one model again"


def gpt2(folder: str | Path, backend: TensorBackend = SimpleBackend) -> tuple[GPT2, Tokenizer]:
    """Read a GPT-2 of any size from the files in which it is published. Its weights keep their dtype.

    Args:
        folder: Contains config.json, model.safetensors, vocab.json and merges.txt. Names of weights may begin with "transformer."; an
            output layer of its own, "lm_head.weight", must be the embedding of tokens.
        backend: The backend that computes.

    Returns:
        The model and its tokenizer.

    Raises:
        FileFormatError: If a file is damaged, or of another model.
        OSError: If a file cannot be read.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
    """
    folder = Path(folder)
    config_path, weights_path, vocabulary_path = (folder / name for name in ("config.json", "model.safetensors", "vocab.json"))
    sizes = _read_sizes(config_path)
    tokenizer = Tokenizer.load_gpt2(vocabulary_path, folder / "merges.txt")
    if len(tokenizer) != sizes["vocabulary"]:
        raise FileFormatError(vocabulary_path, f"{sizes['vocabulary']} tokens, as in config.json", f"{len(tokenizer)}", REMEDY)
    weights = {name.removeprefix("transformer."): array for name, array in read_arrays(weights_path)[0].items()}
    head = weights.pop("lm_head.weight", None)
    if head is not None and not np.array_equal(head, weights.get("wte.weight", ())):
        raise FileFormatError(weights_path, "an lm_head.weight equal to wte.weight", "another one", "choose a model with tied weights")
    try:
        model = GPT2(**sizes, backend=backend)
        for parameter in model.parameters():
            parameter.update(tensor(parameter.value.to_numpy(), backend, dtype=weights["wte.weight"].dtype))
        load_weights(model, weights)
    except (ValueError, TypeError, KeyError) as error:
        raise FileFormatError(weights_path, "the weights of a model as in config.json", f"others ({error})", REMEDY) from None
    return model, tokenizer


def _read_sizes(path: Path) -> dict[str, int]:
    """Read the arguments of `GPT2` from a config.json, and check that it is of such a model."""
    config = read_object(path)
    if wrong := [f"{name} {config.get(name)!r}" for name, value in KIND.items() if config.get(name) != value]:
        raise FileFormatError(path, "activation_function 'gelu_new' and layer_norm_epsilon 1e-05", " and ".join(wrong), REMEDY)
    if missing := [name for name in SIZES if type(config.get(name)) is not int]:
        raise FileFormatError(path, "the sizes of GPT-2", f"no {missing[0]}", REMEDY)
    return {ours: config[theirs] for theirs, ours in SIZES.items()}
