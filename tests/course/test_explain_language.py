"""`course explain` names the wrong function of a language model, and shows what it should return."""

import numpy as np
import pytest

from course.manifest import ROOT
from minitorch import tensor
from minitorch.language import attention, lora, model, training
from minitorch.language.layers import Linear
from tests.course.test_explain_blame import first_wrong_call, named

Q = np.array([[[[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]]])


def right(projected=Q):
    x = tensor(projected)
    allowed = attention.causal_mask(3, 3)
    for given in ((), (allowed,), (tensor(np.array([[False] * 3, [True] * 3, [False, True, False]])),)):
        attention.merge_heads(attention.attention(x, x, x, *given))
    attention.attention(x * 1000, x * 1000, x, attention.causal_mask(3, 3))
    model.cross_entropy(tensor(np.array([[[1.0, 2.0], [-500.0, 600.0]]])), tensor(np.array([[0, 1]])))
    for warmup in (0, 2):
        for step in range(8):
            training.learning_rate(step, training.Schedule(6, warmup, 1.0, 0.2))


def found(test):
    def fail():
        test()
        raise AssertionError

    return first_wrong_call(ROOT, fail)


def test_right_functions_are_not_named():
    assert found(right) is None


@pytest.mark.parametrize(
    ("module", "name", "wrong", "words"),
    [
        (attention, "merge_heads", lambda x: x.contiguous().view(1, 3, 2) * 2, "the numbers of all heads side by side, for each token"),
        (attention, "causal_mask", lambda queries, keys, backend=None: tensor(np.ones((queries, keys), bool)), "the last query belongs"),
        (attention, "attention", lambda query, key, value, mask=None: value, "weighted by softmax; zeros without keys"),
        (model, "cross_entropy", lambda logits, targets: logits.sum(), "the mean of -ln p over all positions"),
        (training, "learning_rate", lambda step, schedule: schedule.largest, "on the line from 0 to the largest rate"),
        (training, "learning_rate", lambda step, schedule: None, "then on half a cosine down to the smallest"),
    ],
)
def test_a_wrong_function_is_named(monkeypatch, module, name, wrong, words):
    monkeypatch.setattr(module, name, named(name, wrong))
    call, difference = found(right)
    assert call.name == name
    assert words in dict(difference.rows)["It should be"]


def adapt():
    layer = lora.LoRALinear(Linear(2, 3, tensor([0.0]).backend), 2, 3.0, np.random.default_rng(0))
    layer.weight.update(tensor(np.arange(6.0).reshape(2, 3)))
    layer.B.update(tensor(np.arange(6.0).reshape(3, 2) - 2))
    layer.delta()
    layer(tensor(Q[0]))
    layer.merge()
    layer(tensor(Q[0]))


def test_right_adapters_are_not_named():
    assert found(adapt) is None


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("forward", lambda self, x: x @ self.weight.value + self.bias.value, "plus that of the adapter unless it is merged"),
        ("delta", lambda self: self.weight.value * 1, "in the shape of weight"),
    ],
)
def test_a_wrong_adapter_is_named(monkeypatch, name, wrong, words):
    monkeypatch.setattr(lora.LoRALinear, name, named(name, wrong))
    call, difference = found(adapt)
    assert call.name == name
    assert words in dict(difference.rows)["It should be"]
