"""The page of Task 6.9: what is trained, losses, the text with and without adapters, and wrong functions."""

import numpy as np
import pytest

from minitorch.language import lora
from project.lab.cards import WrongResult
from project.lab.explorers import language_lora

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture


def trained_base():
    base = language_lora.NextWord(0)
    language_lora.learn(base, language_lora.OLD, 20, 0.1)
    return base


def test_the_page_shows_what_is_trained_and_the_text_with_and_without_adapters():
    app = open_page("m6_lora")
    assert not app.error
    assert [row["numbers"] for row in app.table[0].value.to_dict("records")] == ["139", "32"]
    assert "with adapters: *the cat ran* and *the dog sat*" in page_text(app)
    app.toggle(key="lora_on").set_value(False).run()
    assert "without adapters: *the cat sat* and *the dog ran*" in page_text(app)


def test_the_rank_determines_what_is_trained():
    app = open_page("m6_lora", lora_rank="6")
    assert [row["numbers"] for row in app.table[0].value.to_dict("records")] == ["139", "192"]


def test_adapters_learn_the_new_text_and_leave_the_network_as_it_is():
    base = trained_base()
    before = language_lora.arrays(base)
    adapted, losses = language_lora.adapt(base, 1, 4.0, 30, 0.1, 0)
    assert losses[-1][1] < 0.5 < losses[0][1]
    assert all(np.array_equal(language_lora.arrays(base)[name], array) for name, array in before.items())
    merged, changes = language_lora.merge(adapted)
    assert np.linalg.matrix_rank(changes["second"]) == 1
    assert language_lora.continued(merged, ("the", "cat"), 1) == ["the", "cat", "ran"]


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("add_adapters", lambda *given: None, "add_adapters(model, names) expected to make model.first a LoRALinear, got Linear"),
        ("LoRALinear.forward", lambda self, x: x @ self.weight.value, "model(x) with new adapters expected"),
        ("LoRALinear.delta", lambda self: self.weight.value, "model.first.delta() expected"),
        ("LoRALinear.merge", lambda self: self.weight.update(self.weight.value * 2), "model(x) after merge expected"),
    ],
)
def test_wrong_results_are_reported(monkeypatch, name, wrong, message):
    owner, _, attribute = name.rpartition(".")
    monkeypatch.setattr(getattr(lora, owner) if owner else lora, attribute, wrong)
    with pytest.raises(WrongResult) as found:
        language_lora.merge(language_lora.adapt(trained_base(), 1, 4.0, 1, 0.1, 0)[0])
    assert str(found.value).startswith(message)


def test_training_of_the_network_itself_is_reported(monkeypatch):
    right = lora.add_adapters

    def thaws(model, *given):
        right(model, *given)
        model.first.bias.value.requires_grad_(True)

    monkeypatch.setattr(lora, "add_adapters", thaws)
    with pytest.raises(WrongResult, match=r"^first\.bias after training adapters expected"):
        language_lora.adapt(trained_base(), 1, 4.0, 2, 0.1, 0)


def test_losses_that_are_not_finite_are_reported():
    base = language_lora.NextWord(0)
    base.second.bias.update(base.second.bias.value.detach() + float("nan"))
    with raises(WrongResult, "the loss after 0 steps expected to be finite, got nan"):
        language_lora.learn(base, language_lora.OLD, 1, 0.1)
