"""A language model from the inside: tokens, attention weights, the residual stream, caches, and copies with other weights."""

from __future__ import annotations

import copy
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minitorch
from minitorch import no_grad
from minitorch.language import KeyValueCache, generation, lora, model_nbytes, quantization
from minitorch.language import attention as student
from minitorch.tensor import Tensor, tensor
from project.lab.cards import WrongResult
from project.lab.explorers.network_functions import to_numpy
from project.lab.explorers.tensor_sandbox import apply
from project.lab.explorers.tokens import printable
from project.lab.language_model import ADAPTER, LanguageModel, load_adapter
from project.lab.typed.source import Refused

ROOT = Path(__file__).resolve().parents[3]
"""The folder that contains minitorch/ and project/."""

MOST_TOKENS = 32
"""The largest number of tokens of a typed text, and of generated ones."""

CLOSE = 1e-3
"""How far logits may differ because of rounding; they are about 10."""


class Sampling(NamedTuple):
    """How the next token is chosen; see `minitorch.language.next_probabilities`."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


class Pass(NamedTuple):
    """What a model computes for T tokens.

    Attributes:
        weights: For each block, the attention weights of its heads, shape (heads, T, T): row i has the weights of query i.
        stages: The residual stream, shape (S, T, width): after the embedding, and after attention and the network of each block.
        logits: Those of the model, shape (T, V).
    """

    weights: list[np.ndarray]
    stages: np.ndarray
    logits: np.ndarray


# Tokens


def encode(language: LanguageModel, text: str) -> list[int]:
    """Return the tokens of a text.

    Raises:
        Refused: If they are too few or too many.
        WrongResult: If decoding them does not give the text.
    """
    tokens: Any = language.tokenizer.encode(text)
    if not isinstance(tokens, list) or not all(type(token) is int and 0 <= token < len(language.tokenizer) for token in tokens):
        raise WrongResult(f"encode({text!r:.40}) expected a list of tokens below {len(language.tokenizer)}, got {tokens!r:.60}")
    if b"".join(language.tokenizer.tokens[token] for token in tokens) != text.encode():
        raise WrongResult(f"encode({text!r:.40}) expected the tokens of these bytes, got {tokens!r:.60}")
    most = min(MOST_TOKENS, language.model.context)
    if not 1 <= len(tokens) <= most:
        raise Refused(f"expected 1 to {most} tokens, got {len(tokens)}")
    return tokens


def names(language: LanguageModel) -> list[str]:
    """Return all tokens as charts show them."""
    return [printable(token) for token in language.tokenizer.tokens]


def continue_text(language: LanguageModel, tokens: list[int], sampling: Sampling, seed: int) -> list[int]:
    """Return the tokens that the model generates after these, until the context is full, or there are as many as the page shows.

    Raises:
        WrongResult: If one is not a token, or there are too few.
    """
    count = min(MOST_TOKENS, language.model.context + 1 - len(tokens))
    minitorch.manual_seed(seed)
    found: list[Any] = list(islice(generation.generate(language.model, tokens, count, *sampling), count))
    if len(found) < count or not all(0 <= token < len(language.tokenizer) for token in found):
        raise WrongResult(f"generate(model, tokens, {count}) expected to yield {count} tokens, got {found!r:.60}")
    return [int(token) for token in found]


# The forward pass


def forward(model: Any, tokens: list[int]) -> Pass:
    """Run a model part by part, and keep what it discards.

    Raises:
        WrongResult: If a part returns something of another shape, or the model does not compute what its parts do.
    """
    count, (vocabulary, width) = len(tokens), model.wte.weight.value.shape
    shape, weights = (1, count, width), []
    with no_grad():
        given, positions = _tensor(model, [tokens]), _tensor(model, range(count))
        x = _part(model.wte(given) + model.wpe(positions), "wte(tokens) + wpe(positions)", shape)
        stages = [x.to_numpy()[0]]
        for block in model.h.modules():
            weights.append(attend(block, x))
            x = _part(x + block.attn(block.ln_1(x)), "x + attn(ln_1(x))", shape)
            stages.append(x.to_numpy()[0])
            x = _part(x + block.mlp(block.ln_2(x)), "x + mlp(ln_2(x))", shape)
            stages.append(x.to_numpy()[0])
        logits = _part(model(given), "model(tokens)", (1, count, vocabulary)).to_numpy()[0]
    found = Pass(weights, np.stack(stages), logits)
    if not np.allclose(lens(model, found, count - 1)[-1], logits[-1], rtol=CLOSE, atol=CLOSE):
        raise WrongResult("model(tokens) expected the logits of its parts, one after the other, got others")
    return found


def lens(model: Any, found: Pass, position: int) -> np.ndarray:
    """Return the logits that the last normalization and the embedding of tokens read from each stage at a position, shape (S, V).

    Raises:
        WrongResult: If they have another shape.
    """
    stages, weight = found.stages[:, position], model.wte.weight.value
    x = tensor(stages[None], weight.backend, dtype=weight.dtype)
    with no_grad():
        out = model.ln_f(x) @ weight.transpose(0, 1)
        return _part(out, "ln_f(x) @ wteᵀ", (1, len(stages), weight.shape[0])).to_numpy()[0]


def attend(block: Any, x: Tensor) -> np.ndarray:
    """Return the attention weights of a block's heads, shape (heads, T, T), for what comes into the block, shape (1, T, width).

    Raises:
        WrongResult: If queries, keys or the mask have another shape.
    """
    heads, count, width = block.attn.heads, x.shape[1], x.shape[2]
    projected = _part(block.attn.c_attn(block.ln_1(x)), "c_attn(ln_1(x))", (1, count, 3 * width))
    found: Any = student.split_heads(projected, heads)
    if not isinstance(found, tuple) or len(found) != 3:
        raise WrongResult(f"split_heads(projected, {heads}) expected to return queries, keys and values, got {type(found).__name__}")
    call, shape = f"split_heads(projected, {heads})", (1, heads, count, width // heads)
    query, key = (_part(part, call, shape).to_numpy()[0].astype(float) for part in found[:2])
    mask = student.causal_mask(count, count, x.backend)
    allowed = _part(mask, f"causal_mask({count}, {count})", (count, count)).to_numpy() > 0
    scores = np.where(allowed, query @ key.transpose(0, 2, 1) / np.sqrt(width // heads), -np.inf)
    powers = np.where(allowed, np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30)), 0)
    return powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30)


def fill_caches(model: Any, prompt: list[int], generated: list[int]) -> list[KeyValueCache]:
    """Return the cache of each block after the model has read a prompt at once, and then the generated tokens one by one.

    Raises:
        WrongResult: If a cache has another length.
    """
    caches = list(map(KeyValueCache, [model.context] * model.layers))
    count, vocabulary = len(prompt) + len(generated), model.wte.weight.value.shape[0]
    with no_grad():
        for tokens in (prompt, *([token] for token in generated)):
            _part(model(_tensor(model, [tokens]), caches), "model(tokens, caches)", (1, len(tokens), vocabulary))
    for number, cache in enumerate(caches):
        if cache.length != count:
            raise WrongResult(f"caches[{number}].length after {count} tokens expected {count}, got {cache.length!r:.40}")
    return caches


def _tensor(model: Any, numbers: Any) -> Tensor:
    """Return a tensor on the backend of a model."""
    return tensor(np.array(numbers), model.wte.weight.value.backend)


def _part(out: Any, call: str, shape: tuple[int, ...]) -> Tensor:
    """Return the result of a call.

    Raises:
        WrongResult: If it is not a tensor of this shape.
    """
    to_numpy(apply(lambda: out, call), shape, call)
    return out


# Other weights


def quantized(model: Any) -> tuple[Any, int, int]:
    """Return a copy with weights of 8 bits in its linear layers, and the number of bytes before and after."""
    other = copy.deepcopy(model)
    return other, *quantization.quantize(other)


def adapted(model: Any) -> tuple[Any, int, int]:
    """Return a copy of the model that ships, with its adapters, and the number of bytes before and after."""
    other = copy.deepcopy(model)
    load_adapter(other, ADAPTER)
    return other, model_nbytes(model), model_nbytes(other)


def adapted_and_quantized(model: Any) -> tuple[Any, int, int]:
    """Return a copy of the model that ships whose 8-bit weights contain its adapters, and the number of bytes before and after."""
    other, *_ = adapted(model)
    lora.merge_adapters(other)
    return other, *quantization.quantize(other)


def loss(logits: np.ndarray, tokens: list[int]) -> float:
    """Return the mean of -ln p over the tokens of a text after the first, which the model has predicted with these logits, shape (T, V)."""
    x = logits[:-1].astype(np.float64)
    largest = x.max(1)
    return float(np.mean(np.log(np.exp(x - largest[:, None]).sum(1)) + largest - x[np.arange(len(x)), tokens[1:]]))
