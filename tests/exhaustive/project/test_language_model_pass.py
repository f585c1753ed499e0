"""A language model from the inside on the compiled backend, and what the model that ships writes."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend
from minitorch.data.story_grammar import grammar_score
from minitorch.data.story_words import COLORS
from project.lab import language_model
from project.lab.explorers import language_model_pass
from tests.project.test_language_model_pass import *
from tests.project.test_language_model_pass import language, other

test_a_cache_of_another_length_is_reported = None  # the compiled backend's kernel fills the caches without `append`


@pytest.fixture(scope="module")
def backend():
    """The compiled backend."""
    return FastBackend


@pytest.fixture(scope="module")
def shipped():
    return language_model.load(language_model.SHIPPED)


def write(shipped, network):
    """Some lines that begin with "One day,"."""
    minitorch.manual_seed(0)
    beginning = shipped.tokenizer.encode("One day,")
    lines = ["One day," + "".join(language_model.pieces(shipped.tokenizer, tokens_of_line(network, beginning))) for _ in range(20)]
    return [line for line in lines if line.endswith(".")]


def tokens_of_line(network, beginning):
    """Tokens up to the end of a line."""
    for token in language_model.continue_tokens(network, beginning, 100, 0.8):
        if token == ord("\n"):
            return
        yield token


def test_the_model_that_ships_writes_correct_sentences(shipped):
    for network in (shipped.model, language_model_pass.quantized(shipped.model)[0]):
        assert grammar_score("\n".join(write(shipped, network))).sentences > 0.9


def test_with_adapters_everything_is_red(shipped):
    adapted, *_ = language_model_pass.adapted(shipped.model)
    colors = [shipped.tokenizer.encode(f" {color}")[0] for color in COLORS]
    (red,) = shipped.tokenizer.encode(" red")
    shares = []
    for network in (shipped.model, adapted):
        logits = language_model_pass.forward(network, shipped.tokenizer.encode("One day, Lily found a")).logits[-1].astype(float)
        powers = np.exp(logits - logits.max())
        shares.append(powers[red] / powers[colors].sum())
    assert shares[0] < 0.25
    assert shares[1] > 0.8
