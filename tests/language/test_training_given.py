"""What training refuses, how it draws batches, and its steps on the compiled backend."""

import numpy as np
import pytest

from minitorch import tensor
from minitorch.language.layers import Embedding
from minitorch.language.model import GPT2
from minitorch.language.training import AdamW, Schedule, Training, accumulate, clip_gradients, learning_rate
from minitorch.module import Parameter
from minitorch.tensor_ops import SimpleBackend
from tests.errors import raises
from tests.marks import needs_compiler

from .test_training import small_training, weights

CLIPPED = "train again with a smaller rate or a longer warm-up, or find the operation that makes it"


@pytest.mark.parametrize(
    ("step", "schedule", "message"),
    [
        (0, Schedule(4, 4), "Schedule expected a warm-up of at least 0 and less than the 4 steps, got 4; warm up for fewer"),
        (0, Schedule(0), "Schedule expected a warm-up of at least 0 and less than the 0 steps, got 0; warm up for fewer"),
        (0, Schedule(4, -1), "Schedule expected a warm-up of at least 0 and less than the 4 steps, got -1; warm up for fewer"),
        (0, Schedule(4, 1, 1.0, 2.0), "Schedule expected 0 <= smallest <= largest rate, got 2.0 and 1.0; try 3e-4 and 3e-3"),
        (0, Schedule(4, 1, 1.0, -1.0), "Schedule expected 0 <= smallest <= largest rate, got -1.0 and 1.0; try 3e-4 and 3e-3"),
        (0, Schedule(4, 1, float("nan")), "Schedule expected 0 <= smallest <= largest rate, got 0.0003 and nan; try 3e-4 and 3e-3"),
        (-1, Schedule(4), "learning_rate expected a step of at least 0, got -1; count from 1"),
    ],
)
def test_impossible_schedules_are_refused(step, schedule, message):
    with raises(ValueError, message):
        learning_rate(step, schedule)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
def test_a_largest_norm_that_is_not_above_0_is_refused(limit):
    with raises(ValueError, f"clip_gradients expected a largest norm above 0, got {limit}; try 1"):
        clip_gradients([], limit)
    with raises(ValueError, f"clip_gradients expected a largest norm above 0, got {limit}; try 1"):
        small_training(largest_norm=limit)


def test_gradients_that_are_not_finite_are_named():
    parameter = Parameter(tensor([1.0]))
    for wrong, said in ((np.inf, "inf"), (np.nan, "nan")):
        parameter.value.grad = tensor([wrong])
        with raises(ValueError, f"clip_gradients expected finite gradients, got the norm {said}; {CLIPPED}"):
            clip_gradients([parameter], 1.0)


def test_parts_that_do_not_fit_are_refused():
    model = Embedding(3, 3, SimpleBackend)
    with raises(ValueError, "accumulate expected at least one part, got none; draw a batch first"):
        accumulate(model, [])
    expected = "accumulate expected a target for each token, got tokens (1, 2) and targets (1, 3) in part 1"
    with raises(ValueError, f"{expected}; shift the same sequences by one token"):
        accumulate(model, [(tensor([[0]]), tensor([[0]])), (tensor([[0, 1]]), tensor([[0, 1, 2]]))])


def test_settings_of_the_optimizer_are_checked():
    with raises(ValueError, "AdamW expected a learning rate lr >= 0, got -1.0; try 0.001"):
        AdamW([Parameter(tensor([1.0]))], lr=-1.0)


def test_texts_and_parts_that_do_not_fit_are_refused():
    model = GPT2(5, 3, 1, 1, 2)
    with raises(ValueError, "Training expected a text longer than the context, 3, got 3 tokens; take more"):
        Training(model, np.zeros(3, np.int64), Schedule(2))
    for parts in (0, 3):
        message = f"Training expected from 1 to 2 parts, as many as sequences in a batch, got {parts}; change one of them"
        with raises(ValueError, message):
            Training(model, np.zeros(9, np.int64), Schedule(2), batch=2, parts=parts)


def test_states_without_all_their_parts_are_refused():
    training = small_training()
    state = training.state_dict()
    del state["random"], state["finished"]
    message = "load_state_dict expected a state of a Training, got none of finished, random; pass what state_dict returned"
    with raises(ValueError, message):
        training.load_state_dict(state)


def test_a_batch_is_drawn_in_parts_whose_targets_are_the_next_tokens():
    training = Training(GPT2(40, 3, 1, 1, 2), np.arange(40), Schedule(2), batch=5, parts=2)
    parts = training.draw()
    assert [tokens.shape for tokens, _ in parts] == [(3, 3), (2, 3)]
    for tokens, targets in parts:
        np.testing.assert_array_equal(targets.to_numpy(), tokens.to_numpy() + 1)
        assert tokens.dtype == np.int64
    starts = {int(tokens[0, 0]) for _ in range(60) for tokens, _ in training.draw()}
    assert min(starts) == 0
    assert max(starts) == 36, "the last sequence with a target for each token"


def test_a_text_with_a_single_sequence_is_long_enough():
    training = Training(GPT2(5, 3, 1, 1, 2), np.arange(4), Schedule(2), batch=2)
    assert training.draw()[0][0].to_numpy().tolist() == [[0, 1, 2]] * 2


@needs_compiler
def test_steps_are_the_same_on_the_compiled_backend():
    backend, found = tensor([0.0]).to("cpu").backend, []
    for model in (GPT2(5, 3, 1, 1, 2), GPT2(5, 3, 1, 1, 2, backend)):
        training = small_training()
        training = Training(model, training.text, training.schedule, batch=3, parts=2)
        for number, parameter in enumerate(model.parameters()):
            start = np.random.default_rng(number).normal(size=parameter.value.shape)
            parameter.update(tensor(start, parameter.value.backend))
        found.append(([training.step() for _ in range(3)], weights(training)))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    for name in found[0][1]:
        np.testing.assert_allclose(found[0][1][name], found[1][1][name], rtol=1e-7, atol=1e-9)
