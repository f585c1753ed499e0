"""Probes of Module 6: training, compared with AdamW, a schedule and a table of logits in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis.strategies import sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, check_raises
from course.staff.probes.module2 import rng
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

TRAINING = "minitorch.language.training"

CLOSE = 1e-6


class Averages:
    """AdamW of one array."""

    def __init__(self, value: np.ndarray) -> None:
        self.value, self.mean, self.square, self.steps = value.copy(), np.zeros_like(value), np.zeros_like(value), 0

    def step(self, gradient: np.ndarray, rate: float, betas: tuple[float, float], eps: float, decay: float) -> np.ndarray:
        """Return the new value."""
        self.steps += 1
        self.mean = betas[0] * self.mean + (1 - betas[0]) * gradient
        self.square = betas[1] * self.square + (1 - betas[1]) * gradient**2
        corrected = self.mean / (1 - betas[0] ** self.steps), self.square / (1 - betas[1] ** self.steps)
        self.value = self.value - rate * decay * self.value - rate * corrected[0] / (np.sqrt(corrected[1]) + eps)
        return self.value


def parameter(p: Program, x: np.ndarray, gradient: np.ndarray | None = None) -> Value:
    """A parameter in the child, with a gradient."""
    made = p.find("minitorch.module:Parameter")(tensor(p, x))
    if gradient is not None:
        p.find("builtins:setattr")(made.value, "grad", tensor(p, gradient))
    return made


def item(p: Program, x: Value, key: int | str) -> Value:
    """An element in the child."""
    return p.find("operator:getitem")(x, key)


# The optimizer


@probe(
    "6.7",
    "new_value takes the steps of AdamW, and keeps both averages",
    weight=4,
    seed=seeds,
    rate=sampled_from([0.01, 0.3]),
    betas=sampled_from([(0.9, 0.999), (0.5, 0.75), (0.0, 0.5)]),
    eps=sampled_from([1e-8, 0.5]),
    decay=sampled_from([0.0, 0.1, 0.6]),
    examples=[(1, 0.3, (0.9, 0.999), 0.5, 0.6), (2, 0.3, (0.5, 0.75), 1e-8, 0.1)],
)
def updates(p: Program, seed: int, rate: float, betas: tuple[float, float], eps: float, decay: float) -> Check:
    """Three steps with the same state."""
    draw = rng(seed)
    start, gradients = numbers((2, 3), draw), [numbers((2, 3), draw) for _ in range(3)]
    optimizer, state = p.find(f"{TRAINING}:AdamW")([parameter(p, np.ones(1))]), p.find("builtins:dict")()
    group = p.find("builtins:dict")(lr=rate, betas=betas, eps=eps, weight_decay=decay)
    value, given, seen = tensor(p, start), [tensor(p, gradient) for gradient in gradients], []
    for gradient in given:
        value = optimizer.new_value(value, gradient, state, group)
        seen.append(value)
    got = yield [*seen, *(item(p, state, name) for name in ("step", "exp_avg", "exp_avg_sq")), given[0]]
    expected = Averages(start)
    for number, gradient in enumerate(gradients):
        check_equal(got[number], expected.step(gradient, rate, betas, eps, decay), CLOSE, of=f"step {number + 1}")
    check_equal(got[3], 3, of='state["step"]')
    check_equal(got[4], expected.mean, CLOSE, of='state["exp_avg"]')
    check_equal(got[5], expected.square, CLOSE, of='state["exp_avg_sq"]')
    check_equal(got[6], gradients[0], EXACT, of="the gradient")


@probe("6.7", "new_value changes neither the value nor the count of another parameter", weight=1)
def is_pure(p: Program) -> Check:
    """Two parameters, one after the other."""
    optimizer = p.find(f"{TRAINING}:AdamW")([parameter(p, np.ones(1))])
    group = p.find("builtins:dict")(lr=0.5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.5)
    value, states = tensor(p, np.array([2.0])), [p.find("builtins:dict")() for _ in range(2)]
    seen = [optimizer.new_value(value, tensor(p, np.array([1.0])), state, group) for state in states]
    first, second, kept, count = yield [*seen, value, item(p, states[1], "step")]
    check_equal(kept, np.array([2.0]), EXACT, of="the value")
    check_equal([first, second, count], [np.array([1.0]), np.array([1.0]), 1], CLOSE)


@probe("6.7", "decay_groups gives weight decay to matrices only", weight=1)
def groups(p: Program) -> Check:
    """Of a model, and of one without vectors."""
    count = p.find("builtins:len")
    made = p.find(f"{TRAINING}:decay_groups")(p.find("minitorch.language.model:GPT2")(5, 3, 1, 1, 2), 0.3)
    alone = p.find(f"{TRAINING}:decay_groups")(table_model(p, np.zeros((2, 2))), 0.5)
    both = [item(p, made, number) for number in range(2)]
    params = [item(p, group, "params") for group in both]
    shapes = [item(p, params[0], number).value.shape for number in range(6)]
    asked = [*map(count, params), *(item(p, group, "weight_decay") for group in both), count(alone), *shapes]
    got = yield [*asked, item(p, item(p, alone, 0), "weight_decay")]
    check_equal(got[:2], [6, 10], of="the numbers of parameters with and without decay")
    check_equal(got[2:4], [0.3, 0.0], of="weight_decay")
    check_equal([got[4], got[-1]], [1, 0.5], of="a model without vectors")
    check_equal(got[5:-1], [(5, 2), (3, 2), (2, 6), (2, 2), (2, 8), (8, 2)], of="the shapes of the matrices")


# The schedule


def rate_of(step: int, steps: int, warmup: int, largest: float, smallest: float) -> float:
    """The rate of a step."""
    if step < warmup:
        return largest / warmup * step
    angle = math.pi * min((step - warmup) / (steps - warmup), 1)
    return (largest + smallest) / 2 + (largest - smallest) / 2 * math.cos(angle)


@probe("6.7", "learning_rate rises along a line, and falls along half a cosine", weight=3, seed=seeds, warmup=sampled_from([0, 1, 3, 7]))
def schedules(p: Program, seed: int, warmup: int) -> Check:
    """At all steps, and after the last."""
    steps = warmup + 1 + seed % 6
    schedule = p.find(f"{TRAINING}:Schedule")(steps, warmup, 2.0, 0.5)
    get = p.find(f"{TRAINING}:learning_rate")
    got = yield [get(step, schedule) for step in range(steps + 4)]
    for step, found in enumerate(got):
        check_equal(found, rate_of(step, steps, warmup, 2.0, 0.5), EXACT, of=f"step {step} of {steps}, {warmup} of warm-up")


# Gradients


@probe(
    "6.7",
    "clip_gradients makes the norm of all gradients together no larger than the limit",
    weight=3,
    seed=seeds,
    limit=sampled_from([0.5, 3.0, 1e6]),
)
def clips(p: Program, seed: int, limit: float) -> Check:
    """One parameter has no gradient, and once all gradients are 0."""
    draw = rng(seed)
    gradients = [numbers((3,), draw) * (seed % 5 > 0), numbers((2, 2), draw) * (seed % 5 > 0)]
    made = [parameter(p, g, g) for g in gradients]
    norm = p.find(f"{TRAINING}:clip_gradients")([*made, parameter(p, np.ones(2))], limit)
    got, *found = yield [norm, *(each.value.grad for each in made)]
    expected = math.sqrt(sum(float((g**2).sum()) for g in gradients))
    check_equal(got, expected, EXACT, of="the norm")
    for gradient, one in zip(gradients, found, strict=True):
        check_equal(one, gradient * min(1, limit / (expected or 1)), EXACT, of="a gradient")


@probe("6.7", "the norm of large gradients of float32 is computed in float64", weight=1)
def is_wide(p: Program) -> Check:
    """The square of 3e25 is too large for float32."""
    made = parameter(p, np.ones(2, np.float32))
    p.find("builtins:setattr")(made.value, "grad", tensor(p, np.array([3e25, 4e25], np.float32)))
    norm = p.find(f"{TRAINING}:clip_gradients")([made], 10.0)
    got, gradient = yield [norm, made.value.grad.sum().item()]
    check_equal(got / 5e25, 1.0, 1e-4, of="the norm, divided by 5e25")
    check_equal(gradient, 14.0, 1e-4, of="the sum of the clipped gradient")


@probe("6.7", "clip_gradients refuses a norm that is not finite", weight=1, examples=[(math.inf,), (math.nan,)])
def refuses(p: Program, wrong: float) -> Check:
    """With a ValueError."""
    made = parameter(p, np.ones(2), np.array([wrong, 1.0]))
    yield from check_raises(p.find(f"{TRAINING}:clip_gradients")([made], 1.0), "ValueError")


@probe("6.7", "a norm that is not finite is refused before anything changes", weight=1)
def refuses_first(p: Program) -> Check:
    """The error is caught in the child."""
    made = [parameter(p, np.ones(1), np.array([30.0])), parameter(p, np.ones(1), np.array([math.inf]))]
    catch = p.find("unittest:TestCase")().assertRaises
    catch(p.find("builtins:ValueError"), p.find(f"{TRAINING}:clip_gradients"), made, 1.0)
    (got,) = yield [made[0].value.grad]
    check_equal(got, np.array([30.0]), EXACT, of="the other gradient")


def table_model(p: Program, table: np.ndarray) -> Value:
    """A model that looks up its logits, with a context of 2 tokens."""
    made = p.find("minitorch.language.layers:Embedding")(*table.shape, p.find("minitorch:SimpleBackend"))
    made.weight.update(tensor(p, table))
    p.find("builtins:setattr")(made, "context", 2)
    return made


def table_loss(table: np.ndarray, tokens: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean loss of such a model, and its gradient."""
    chance = np.exp(table[tokens])
    chance /= chance.sum(-1, keepdims=True)
    hot = np.eye(table.shape[1])[targets]
    gradient = np.zeros_like(table)
    np.add.at(gradient, tokens, (chance - hot) / len(tokens))
    return float(-np.log((chance * hot).sum(-1)).mean()), gradient


@probe("6.7", "accumulate computes the gradients and the loss of all tokens of unequal parts", weight=4, seed=seeds, count=12)
def accumulates(p: Program, seed: int) -> Check:
    """One to three parts, after another batch."""
    draw = rng(seed)
    table = numbers((4, 4), draw) / 2
    shapes = [tuple(draw.integers(1, 4, 2)) for _ in range(1 + seed % 3)]
    parts = [draw.integers(0, 4, (2, *shape)) for shape in shapes]
    model, get = table_model(p, table), p.find(f"{TRAINING}:accumulate")
    get(model, [(tensor(p, np.array([[0, 1]])), tensor(p, np.array([[2, 2]])))])
    loss = get(model, [(tensor(p, tokens), tensor(p, targets)) for tokens, targets in parts])
    got, gradient = yield [loss, model.weight.value.grad]
    expected = table_loss(table, *(np.concatenate([part[at].reshape(-1) for part in parts]) for at in (0, 1)))
    check_equal(got, expected[0], CLOSE, of="the loss")
    check_equal(gradient, expected[1], CLOSE, of="the gradient")


# The training

TEXT = np.array([0, 1, 3, 2, 0, 2, 1, 1, 3, 0, 3, 2])


def training(p: Program, table: np.ndarray, seed: int, parts: int = 2, limit: float = 0.2) -> Value:
    """A training of a table in the child."""
    schedule = p.find(f"{TRAINING}:Schedule")(6, 2, 0.5, 0.1)
    text = p.find("numpy:array")(TEXT.tolist())
    return p.find(f"{TRAINING}:Training")(table_model(p, table), text, schedule, 3, parts, limit, 0.1, seed)


def simulate(table: np.ndarray, seed: int, count: int, limit: float = 0.2) -> tuple[list[list[float]], np.ndarray]:
    """The reports of the first steps, and the table after them."""
    draw, averages, reports = np.random.default_rng(seed), Averages(table), list[list[float]]()
    for step in range(1, count + 1):
        starts = draw.integers(0, len(TEXT) - 2, 3)
        pieces = TEXT[starts[:, None] + np.arange(3)]
        loss, gradient = table_loss(averages.value, pieces[:, :-1].reshape(-1), pieces[:, 1:].reshape(-1))
        norm, rate = float(np.linalg.norm(gradient)), rate_of(step, 6, 2, 0.5, 0.1)
        averages.step(gradient * min(1, limit / norm), rate, (0.9, 0.999), 1e-8, 0.1)
        reports.append([loss, norm, rate])
    return reports, averages.value


def check_reports(got: Sequence[object], expected: list[list[float]], first: int = 1) -> None:
    """Compare the reports of steps."""
    for number, (found, right) in enumerate(zip(got, expected, strict=True), first):
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise Wrong("expected step to return a StepReport")
        check_equal(list(found), right, CLOSE, of=f"loss, norm and rate of step {number}")


@probe("6.7", "a step accumulates, clips, sets the rate and updates", weight=4, seed=seeds, count=6, limit=sampled_from([0.2, 50.0]))
def steps(p: Program, seed: int, limit: float) -> Check:
    """Four steps."""
    table = numbers((4, 4), rng(seed))
    made = training(p, table, seed, limit=limit)
    reports = [p.find("builtins:list")(made.step()) for _ in range(4)]
    *got, finished, found = yield [*reports, made.finished, made.model.weight.value]
    expected, after = simulate(table, seed, 4, limit)
    check_reports(got, expected)
    check_equal(finished, 4, of="finished")
    check_equal(found, after, CLOSE, of="the table")


@probe("6.7", "a step that fails does not count", weight=1)
def fails(p: Program) -> Check:
    """The error is caught in the child."""
    made = training(p, np.full((4, 4), math.nan), 0)
    catch = p.find("unittest:TestCase")().assertRaises
    catch(p.find("builtins:ValueError"), made.step)
    (got,) = yield [made.finished]
    check_equal(got, 0, of="finished")


@probe("6.7", "a training resumes from a state as if nothing had happened", weight=4, seed=seeds, count=6, stop=sampled_from([0, 2, 3]))
def resumes(p: Program, seed: int, stop: int) -> Check:
    """The first training goes on; another one, with other weights and another seed, loads the state."""
    table = numbers((4, 4), rng(seed))
    made, other = training(p, table, seed), training(p, np.ones((4, 4)), seed + 1)
    for _ in range(stop):
        made.step()
    state = made.state_dict()
    made.step()
    other.step()
    other.load_state_dict(state)
    reports = [p.find("builtins:list")(other.step()) for _ in range(2)]
    *got, finished, found = yield [*reports, other.finished, other.model.weight.value]
    expected, after = simulate(table, seed, stop + 2)
    check_reports(got, expected[stop:], stop + 1)
    check_equal(finished, stop + 2, of="finished")
    check_equal(found, after, CLOSE, of="the table")
