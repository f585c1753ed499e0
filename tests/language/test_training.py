"""Task 6.7: AdamW, the schedule, clipped and accumulated gradients, and a training that resumes bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from, tuples

import minitorch
from minitorch import tensor
from minitorch.io.files import load, save
from minitorch.language.layers import Embedding
from minitorch.language.model import GPT2
from minitorch.language.training import AdamW, Schedule, Training, accumulate, clip_gradients, decay_groups, learning_rate
from minitorch.language.weights import named_weights
from minitorch.module import Parameter
from minitorch.tensor_ops import SimpleBackend

CLOSE = {"rtol": 1e-9, "atol": 1e-12}

few = settings(max_examples=15, deadline=None)


# AdamW


class NumPyAdamW:
    """The paper's algorithm 2, for one array."""

    def __init__(self, value, rate, betas, eps, decay):
        self.value, self.rate, self.betas, self.eps, self.decay = value.copy(), rate, betas, eps, decay
        self.mean, self.square, self.time = np.zeros_like(value), np.zeros_like(value), 0

    def step(self, gradient):
        self.time += 1
        self.mean += (1 - self.betas[0]) * (gradient - self.mean)
        self.square += (1 - self.betas[1]) * (gradient**2 - self.square)
        mean = self.mean / (1 - self.betas[0] ** self.time)
        square = self.square / (1 - self.betas[1] ** self.time)
        self.value -= self.rate * (mean / (np.sqrt(square) + self.eps) + self.decay * self.value)


def one_step(value, gradient, **given):
    parameter = Parameter(tensor(value))
    parameter.value.grad = tensor(gradient)
    AdamW([parameter], **given).step()
    return parameter.value.tolist()


@pytest.mark.task6_7
def test_the_first_step_is_as_long_as_the_rate_whatever_the_gradient_and_the_decay_is_added():
    assert one_step([1.0, -1.0, 3.0], [2.0, -0.5, 1e-3], lr=0.1, weight_decay=0.0) == pytest.approx([0.9, -0.9, 2.9], abs=1e-5)
    assert one_step([1.0, -1.0, 3.0], [2.0, -0.5, 1e-3], lr=0.1, weight_decay=0.5) == pytest.approx([0.85, -0.85, 2.75], abs=1e-5)


@pytest.mark.task6_7
def test_a_gradient_of_zero_leaves_only_the_decay():
    assert one_step([2.0, -4.0], [0.0, 0.0], lr=0.1, weight_decay=0.5) == pytest.approx([1.9, -3.8])
    assert one_step([2.0, -4.0], [0.0, 0.0], lr=0.1, weight_decay=0.0) == [2.0, -4.0]


@pytest.mark.task6_7
def test_eps_is_added_to_the_corrected_root():
    assert one_step([0.0], [3.0], lr=1.0, eps=1.0, weight_decay=0.0) == pytest.approx([-3 / 4])


@pytest.mark.task6_7
@few
@given(
    seed=integers(0, 100),
    shape=sampled_from([(1,), (3,), (2, 3), (2, 1, 2)]),
    rate=sampled_from([0.0, 1e-3, 0.3]),
    betas=sampled_from([(0.9, 0.999), (0.0, 0.5), (0.7, 0.0), (0.5, 0.95)]),
    eps=sampled_from([1e-8, 0.1]),
    decay=sampled_from([0.0, 0.01, 0.7]),
    count=integers(1, 6),
)
@example(seed=0, shape=(2, 3), rate=0.3, betas=(0.9, 0.999), eps=1e-8, decay=0.7, count=6)
@example(seed=1, shape=(3,), rate=0.3, betas=(0.5, 0.95), eps=0.1, decay=0.0, count=4)
def test_trajectories_are_those_of_the_paper(seed, shape, rate, betas, eps, decay, count):
    draw = np.random.default_rng(seed)
    start = draw.normal(size=shape)
    parameter, expected = Parameter(tensor(start)), NumPyAdamW(start, rate, betas, eps, decay)
    optimizer = AdamW([parameter], rate, betas, eps, decay)
    for gradient in draw.normal(size=(count, *shape)) * 3:
        parameter.value.grad = given_gradient = tensor(gradient)
        optimizer.step()
        expected.step(gradient)
        np.testing.assert_allclose(parameter.value.to_numpy(), expected.value, **CLOSE)
        np.testing.assert_array_equal(given_gradient.to_numpy(), gradient, err_msg="the gradient has changed")
    state = optimizer.state[parameter]
    assert sorted(state) == ["exp_avg", "exp_avg_sq", "step"]
    assert state["step"] == count
    np.testing.assert_allclose(state["exp_avg"].to_numpy(), expected.mean, **CLOSE)
    np.testing.assert_allclose(state["exp_avg_sq"].to_numpy(), expected.square, **CLOSE)


@pytest.mark.task6_7
def test_each_parameter_counts_its_own_steps():
    first, second = Parameter(tensor([1.0])), Parameter(tensor([1.0]))
    optimizer = AdamW([first, second], lr=0.1, weight_decay=0.0)
    for parameters in ([first], [first, second]):
        for parameter in parameters:
            parameter.value.grad = tensor([1.0])
        optimizer.step()
    assert optimizer.state[first]["step"] == 2
    assert optimizer.state[second]["step"] == 1
    assert second.value.tolist() == pytest.approx([0.9])


@pytest.mark.task6_7
def test_the_old_value_is_not_changed_by_new_value():
    value, state = tensor([1.0, 2.0]), {}
    group = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
    found = AdamW([Parameter(tensor([0.0]))]).new_value(value, tensor([1.0, 1.0]), state, group)
    assert value.tolist() == [1.0, 2.0]
    assert found.tolist() == pytest.approx([0.89, 1.88])


@pytest.mark.task6_7
def test_only_matrices_decay():
    model = GPT2(4, 3, 1, 1, 2)
    named = dict(model.named_parameters())
    matrices, vectors = decay_groups(model, 0.3)
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.3, 0.0)
    wide = ["wte", "wpe", "h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_fc", "h.0.mlp.c_proj"]
    assert {id(p) for p in matrices["params"]} == {id(named[f"{name}.weight"]) for name in wide}
    assert len(matrices["params"]) + len(vectors["params"]) == len(named)
    assert {id(p) for p in vectors["params"]} == {id(p) for p in named.values()} - {id(p) for p in matrices["params"]}
    before = {name: array.copy() for name, array in named_weights(model).items()}
    for parameter in model.parameters():
        parameter.value.grad = parameter.value.zeros()
    AdamW(decay_groups(model, 0.3), lr=0.5).step()
    for name, array in named_weights(model).items():
        np.testing.assert_allclose(array, before[name] * (0.85 if array.ndim == 2 else 1), **CLOSE)


@pytest.mark.task6_7
def test_a_group_without_parameters_is_left_out():
    (group,) = decay_groups(Embedding(3, 2, SimpleBackend), 0.1)
    assert group["weight_decay"] == 0.1


# The schedule


@pytest.mark.task6_7
@pytest.mark.parametrize(
    ("step", "expected"),
    [(0, 0), (1, 0.25), (2, 0.5), (4, 1), (6, 0.2 + 0.4 * (1 + math.sqrt(0.5))), (8, 0.6), (12, 0.2), (13, 0.2), (10**6, 0.2)],
)
def test_the_rate_at_the_corners_and_between_them(step, expected):
    assert learning_rate(step, Schedule(12, 4, 1.0, 0.2)) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.task6_7
def test_without_warm_up_the_rate_begins_at_the_largest():
    assert [learning_rate(step, Schedule(2, 0, 3.0, 1.0)) for step in range(4)] == pytest.approx([3.0, 2.0, 1.0, 1.0])
    assert [learning_rate(step, Schedule(1, 0, 3.0, 1.0)) for step in range(3)] == pytest.approx([3.0, 1.0, 1.0])


@pytest.mark.task6_7
@few
@given(integers(1, 40), integers(0, 39), floats(0, 2), floats(0, 2))
@example(40, 39, 2.0, 0.0)
@example(1, 0, 1.0, 1.0)
def test_the_rate_rises_along_a_line_and_then_never_rises_again(steps, warmup, a, b):
    schedule = Schedule(steps, warmup % steps, max(a, b), min(a, b))
    rates = [learning_rate(step, schedule) for step in range(steps + 3)]
    warmup = schedule.warmup
    np.testing.assert_allclose(rates[: warmup + 1], np.linspace(0, schedule.largest, warmup + 1) if warmup else [schedule.largest])
    assert (np.diff(rates[warmup:]) <= 1e-12).all()
    assert rates[steps:] == [schedule.smallest] * 3
    assert sum(rates[warmup : steps + 1]) == pytest.approx((steps - warmup + 1) * (a + b) / 2), "a cosine is symmetric"


# Clipping


def parameters_of(gradients, dtype="float64"):
    found = []
    for gradient in gradients:
        parameter = Parameter(tensor(np.zeros(1 if gradient is None else np.shape(gradient)), dtype=dtype))
        if gradient is not None:
            parameter.value.grad = tensor(np.array(gradient), dtype=dtype)
        found.append(parameter)
    return found


@pytest.mark.task6_7
def test_the_norm_is_that_of_all_gradients_together():
    parameters = parameters_of([[3.0, 0.0], [[4.0], [12.0]], None])
    assert clip_gradients(parameters, 6.5) == pytest.approx(13)
    assert parameters[0].value.grad.tolist() == pytest.approx([1.5, 0])
    assert parameters[1].value.grad.to_numpy().tolist() == [[pytest.approx(2)], [pytest.approx(6)]]
    assert parameters[2].value.grad is None


@pytest.mark.task6_7
def test_a_norm_that_is_small_enough_changes_nothing():
    for limit in (5.0, 5.1, 1e9):
        parameters = parameters_of([[3.0], [4.0]])
        assert clip_gradients(parameters, limit) == 5
        assert [p.value.grad.tolist() for p in parameters] == [[3.0], [4.0]]


@pytest.mark.task6_7
def test_gradients_of_zero_and_no_gradients_have_norm_0():
    parameters = parameters_of([[0.0, 0.0], [[0.0]]])
    assert clip_gradients(parameters, 1.0) == 0
    assert [p.value.grad.to_numpy().sum() for p in parameters] == [0, 0]
    assert clip_gradients(parameters_of([None]), 1.0) == 0
    assert clip_gradients([], 1.0) == 0


@pytest.mark.task6_7
@few
@given(seed=integers(0, 100), size=sampled_from([1e-6, 1.0, 1e6]), limit=sampled_from([1e-3, 1.0, 50.0]))
@example(seed=0, size=1e6, limit=1e-3)
@example(seed=0, size=1e-6, limit=50.0)
def test_clipping_keeps_the_direction_and_never_enlarges(seed, size, limit):
    draw = np.random.default_rng(seed)
    given_gradients = [draw.normal(size=shape) * size for shape in ((3,), (2, 2), (1, 2, 1))]
    parameters = parameters_of(given_gradients)
    norm = clip_gradients(parameters, limit)
    flat = np.concatenate([g.reshape(-1) for g in given_gradients])
    found = np.concatenate([p.value.grad.to_numpy().reshape(-1) for p in parameters])
    assert norm == pytest.approx(np.linalg.norm(flat))
    assert np.linalg.norm(found) == pytest.approx(min(limit, norm))
    np.testing.assert_allclose(found * norm, flat * np.linalg.norm(found), rtol=1e-9, atol=0)


@pytest.mark.task6_7
@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan])
def test_a_norm_that_is_not_finite_is_refused_before_anything_changes(wrong):
    parameters = parameters_of([[30.0], [wrong, 1.0]])
    with pytest.raises(ValueError, match="expected finite gradients, got the norm"):
        clip_gradients(parameters, 1.0)
    assert parameters[0].value.grad.tolist() == [30.0]
    np.testing.assert_array_equal(parameters[1].value.grad.to_numpy(), [wrong, 1.0])


@pytest.mark.task6_7
def test_large_gradients_of_float32_have_a_finite_norm():
    parameters = parameters_of([[3e25, 4e25]], "float32")
    assert clip_gradients(parameters, 10.0) == pytest.approx(5e25)
    np.testing.assert_allclose(parameters[0].value.grad.to_numpy(), [6.0, 8.0], rtol=1e-6)
    assert parameters[0].value.grad.dtype == np.float32


# Accumulated gradients


def table_model(seed=0, vocabulary=4):
    """A table of logits, one row for each token: its loss and gradient are easily computed."""
    model = Embedding(vocabulary, vocabulary, SimpleBackend)
    model.weight.update(tensor(np.random.default_rng(seed).normal(size=(vocabulary, vocabulary))))
    return model


def table_loss(table, tokens, targets):
    """The mean loss of the table and its gradient."""
    rows = table[tokens]
    chances = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    places = np.arange(len(tokens))
    loss = -np.log(chances[places, targets]).mean()
    chances[places, targets] -= 1
    gradient = np.zeros_like(table)
    np.add.at(gradient, tokens, chances / len(tokens))
    return loss, gradient


def some_parts(shapes, seed=0, vocabulary=4):
    draw = np.random.default_rng(seed)
    return [tuple(draw.integers(0, vocabulary, (2, *shape))) for shape in shapes]


@pytest.mark.task6_7
@few
@given(shapes=lists(tuples(integers(1, 3), integers(1, 4)), min_size=1, max_size=4), seed=integers(0, 50))
@example(shapes=[(2, 3)], seed=0)
@example(shapes=[(3, 4), (1, 1)], seed=0)
@example(shapes=[(1, 2), (1, 2), (1, 2)], seed=0)
def test_the_gradients_are_those_of_the_mean_over_all_tokens(shapes, seed):
    model, parts = table_model(), some_parts(shapes, seed)
    table = model.weight.value.to_numpy().copy()
    expected, gradient = table_loss(table, *(np.concatenate([part[at].reshape(-1) for part in parts]) for at in (0, 1)))
    loss = accumulate(model, [(tensor(tokens), tensor(targets)) for tokens, targets in parts])
    assert isinstance(loss, float)
    assert loss == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(model.weight.value.grad.to_numpy(), gradient, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.weight.value.to_numpy(), table, err_msg="the weights have changed")


@pytest.mark.task6_7
@pytest.mark.parametrize("cuts", [[1], [2], [1, 2], [1, 2, 3]])
def test_parts_of_a_batch_give_a_model_the_gradients_of_the_batch(cuts):
    minitorch.manual_seed(1)
    model = GPT2(5, 3, 1, 1, 2)
    tokens, targets = np.random.default_rng(0).integers(0, 5, (2, 4, 3))
    accumulate(model, [(tensor(tokens), tensor(targets))])
    whole = {name: p.value.grad.to_numpy().copy() for name, p in model.named_parameters()}
    accumulate(model, [(tensor(a), tensor(b)) for a, b in zip(np.split(tokens, cuts), np.split(targets, cuts), strict=True)])
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameter.value.grad.to_numpy(), whole[name], rtol=1e-6, atol=1e-9)


@pytest.mark.task6_7
def test_gradients_of_an_earlier_batch_are_forgotten():
    model = table_model()
    (tokens, targets), other = some_parts([(2, 2), (3, 1)])
    accumulate(model, [tuple(map(tensor, other))])
    accumulate(model, [(tensor(tokens), tensor(targets))])
    _, gradient = table_loss(model.weight.value.to_numpy(), tokens.reshape(-1), targets.reshape(-1))
    np.testing.assert_allclose(model.weight.value.grad.to_numpy(), gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.task6_7
def test_a_part_is_read_after_the_backward_pass_of_the_one_before():
    table, seen = table_model(), []

    class Watched:
        parameters = table.parameters

        def __call__(self, tokens):
            grad = table.weight.value.grad
            seen.append(None if grad is None else int(np.abs(grad.to_numpy()).any(1).sum()))
            return table(tokens)

    parts = [(tensor(np.array([[token]])), tensor(np.array([[3]]))) for token in (0, 1, 2)]
    table.weight.value.grad = tensor(np.ones((4, 4)))
    accumulate(Watched(), parts)
    assert seen == [None, 1, 2]


# The training


def small_training(seed=0, **given):
    minitorch.manual_seed(seed)
    schedule = given.pop("schedule", Schedule(8, 3, 0.05, 0.01))
    text = np.random.default_rng(7).integers(0, 5, 40)
    return Training(GPT2(5, 3, 1, 1, 2), text, schedule, **{"batch": 3, "parts": 2, "seed": seed} | given)


def weights(training):
    return {name: array.copy() for name, array in named_weights(training.model).items()}


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.mark.task6_7
def test_a_step_updates_with_clipped_gradients_at_the_rate_of_the_schedule():
    training, twin = small_training(largest_norm=0.01), small_training(largest_norm=0.01)
    arrays = {name: NumPyAdamW(x, 0, (0.9, 0.999), 1e-8, 0.1 if x.ndim == 2 else 0) for name, x in weights(twin).items()}
    for step in range(1, 5):
        loss = accumulate(twin.model, twin.draw())
        gradients = {name: p.value.grad.to_numpy().copy() for name, p in twin.model.named_parameters()}
        norm = math.sqrt(sum((g**2).sum() for g in gradients.values()))
        assert norm > 0.01
        report = training.step()
        rate = 0.05 * step / 3 if step < 3 else 0.01 + 0.02 * (1 + math.cos(math.pi * (step - 3) / 5))
        assert report == pytest.approx((loss, norm, rate))
        assert training.finished == step
        for name, found in weights(training).items():
            arrays[name].rate = rate
            arrays[name].step(gradients[name] * 0.01 / norm)
            np.testing.assert_allclose(found, arrays[name].value, rtol=1e-7, atol=1e-9, err_msg=name)
        for name, parameter in twin.model.named_parameters():
            parameter.update(tensor(arrays[name].value))


@pytest.mark.task6_7
def test_a_step_that_fails_changes_no_parameter_and_does_not_count():
    training = small_training()
    training.step()
    training.model.wte.weight.update(tensor(np.full((5, 2), np.nan)))
    before = weights(training)
    with pytest.raises(ValueError, match="expected finite gradients"):
        training.step()
    assert training.finished == 1
    assert_same(weights(training), before)


@pytest.mark.task6_7
@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_training_that_was_saved_and_resumed_is_the_same_bit_for_bit(stop, tmp_path):
    whole, stopped, resumed = small_training(), small_training(), small_training(seed=5)
    reports = [whole.step() for _ in range(6)]
    assert [stopped.step() for _ in range(stop)] == reports[:stop]
    save(stopped.state_dict(), tmp_path / "state")
    stopped.step()
    resumed.step()
    resumed.load_state_dict(load(tmp_path / "state"))
    assert resumed.finished == stop
    assert [resumed.step() for _ in range(stop, 6)] == reports[stop:]
    assert_same(weights(resumed), weights(whole))


@pytest.mark.task6_7
def test_a_state_does_not_change_with_later_steps():
    training, expected = small_training(), small_training()
    training.step()
    expected.step()
    state = training.state_dict()
    assert sorted(state) == ["finished", "model", "optimizer", "random"]
    training.step()
    training.step()
    training.load_state_dict(state)
    assert training.step() == expected.step()
    training.load_state_dict(state)
    training.step()
    assert_same(weights(training), weights(expected))
