"""What generation refuses, and its cache on the compiled backend."""

import numpy as np
import pytest

import minitorch
from minitorch import tensor
from minitorch.language.generation import generate, next_probabilities
from minitorch.language.model import GPT2
from tests.errors import raises
from tests.marks import needs_compiler

from .test_model import random_weights


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "next_probabilities expected a temperature of at least 0, got -1.0; try 1"),
        ({"temperature": float("nan")}, "next_probabilities expected a temperature of at least 0, got nan; try 1"),
        ({"top_k": 0}, "next_probabilities expected top_k of at least 1, got 0; pass None to keep all tokens"),
        ({"top_p": 0.0}, "next_probabilities expected top_p above 0 and up to 1, got 0.0; pass None to keep all tokens"),
        ({"top_p": 1.5}, "next_probabilities expected top_p above 0 and up to 1, got 1.5; pass None to keep all tokens"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with raises(ValueError, message):
        next_probabilities(np.zeros(3), **settings)


def test_logits_that_are_not_finite_are_refused():
    message = "next_probabilities expected finite logits, got infinite or NaN; train again with a smaller learning rate"
    for wrong in (np.nan, np.inf, -np.inf):
        with raises(ValueError, message):
            next_probabilities(np.array([0.0, wrong]))


def test_prompts_and_counts_that_cannot_be_are_refused():
    model = GPT2(6, 4, 1, 1, 2)
    with raises(ValueError, "generate expected a prompt and a count of at least 0, got 0 tokens and 3; begin with a token"):
        next(generate(model, [], 3))
    with raises(ValueError, "generate expected a prompt and a count of at least 0, got 1 tokens and -1; begin with a token"):
        next(generate(model, [1], -1))


@needs_compiler
def test_the_text_is_the_same_on_the_compiled_backend():
    texts = []
    for backend in (minitorch.SimpleBackend, tensor([0.0]).to("cpu").backend):
        model = GPT2(6, 8, 2, 2, 4, backend)
        random_weights(model)
        minitorch.manual_seed(1)
        texts.append(list(generate(model, [2, 5], 6, top_k=4)))
    assert texts[0] == texts[1]
