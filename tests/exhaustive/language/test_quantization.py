"""Quantization of a model that has been trained for longer than the quick tests allow."""

import minitorch
from minitorch.language.quantization import quantize

from ...language.test_quantization import perplexity, train_model


def test_the_perplexity_of_a_larger_model_changes_by_at_most_a_hundredth():
    model, texts = train_model(minitorch.FastBackend, width=16, count=32, length=16, steps=100)
    before = perplexity(model, texts)
    assert before < 2.5
    quantize(model)
    assert abs(perplexity(model, texts) / before - 1) <= 0.01
