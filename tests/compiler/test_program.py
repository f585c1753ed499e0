"""Task 5.1: programs: launches bound to the memory they work on, run in order, and a recorded training step."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import composite, integers, lists, sampled_from

import minitorch
from minitorch import SGD, Parameter, SimpleBackend, tensor
from minitorch.compiler.planner import plan_memory
from minitorch.compiler.program import bind, bind_args, bind_launch, call_with_rest, map_leaves, run
from minitorch.compiler.recorder import Recorder
from minitorch.compiler.trace import EXTERNAL, INPUT, TEMPORARY, Buffer, Launch, Node, Slice
from minitorch.core.recording import call

FLOAT = np.dtype(float)


def buffer(name, numbers, role=TEMPORARY):
    return Buffer(name, np.array(numbers, dtype=float), role)


def part(of, start=0, length=None, step=1):
    """The Slice of a buffer that begins at element `start` and takes every `step`-th one; the whole buffer if nothing is given."""
    length = len(of.array) - start if length is None else length
    return Slice(of, start * FLOAT.itemsize, (length,), (step * FLOAT.itemsize,), FLOAT)


class Pair(NamedTuple):
    """Two arguments in one."""

    first: object
    second: object


def notes():
    """A list, and a function that appends its arguments to it."""
    found = []
    return found, lambda *args: found.append(args)


# Arguments


@pytest.mark.task5_1
def test_a_function_is_applied_to_all_that_is_no_tuple():
    assert map_leaves((1, -2, 3), abs) == (1, 2, 3)
    assert map_leaves((), abs) == ()
    assert map_leaves(([1, 2], "ab"), len) == (2, 2)


@pytest.mark.task5_1
def test_a_function_is_applied_in_tuples_of_any_depth():
    assert map_leaves((1, (2, (3, ()), 4), (5,)), lambda number: number * 10) == (10, (20, (30, ()), 40), (50,))


@pytest.mark.task5_1
def test_a_function_is_applied_once_to_each_argument_in_order():
    found, note = notes()
    assert map_leaves((1, ("a", (2.0,)), Pair(None, 4)), note) == (None, (None, (None,)), (None, None))
    assert found == [(1,), ("a",), (2.0,), (None,), (4,)]


@pytest.mark.task5_1
def test_a_named_tuple_stays_one_and_a_tuple_becomes_none():
    one, pair = map_leaves(((1, Pair(2, 3)), Pair(4, (5, 6))), lambda number: -number)
    assert (one, pair) == ((-1, (-2, -3)), (-4, (-5, -6)))
    assert [type(each) for each in (one, one[1], pair, pair.second)] == [tuple, Pair, Pair, tuple]


@pytest.mark.task5_1
def test_a_slice_of_a_planned_buffer_becomes_an_array_in_the_planned_memory():
    x, memory = buffer("x", [1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    (bound,) = bind_args((part(x),), {x: memory})
    assert bound.tolist() == [10.0, 20.0, 30.0]
    bound[1] = 5.0
    assert memory.tolist() == [10.0, 5.0, 30.0], "a kernel writes into a copy"
    assert x.array.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.task5_1
def test_a_slice_of_a_buffer_without_a_plan_becomes_the_buffers_own_array():
    x, y = buffer("x", [1.0, 2.0]), buffer("y", [0.0, 0.0])
    (bound,) = bind_args((part(x),), {y: np.array([7.0, 8.0])})
    bound[0] = 5.0
    assert x.array.tolist() == [5.0, 2.0]


@pytest.mark.task5_1
def test_a_buffer_is_found_by_its_identity_and_not_by_its_name():
    x, namesake = buffer("t1", [1.0]), buffer("t1", [2.0])
    one, other = bind_args((part(x), part(namesake)), {namesake: np.array([30.0])})
    assert (one.tolist(), other.tolist()) == ([1.0], [30.0])


@pytest.mark.task5_1
@pytest.mark.parametrize(("start", "length", "step", "expected"), [(2, 3, 1, [2, 3, 4]), (1, 3, 2, [1, 3, 5]), (5, 1, 1, [5])])
def test_a_slice_may_be_a_part_of_its_buffer(start, length, step, expected):
    x, memory = buffer("x", [0.0] * 6), np.arange(6.0)
    (bound,) = bind_args((part(x, start, length, step),), {x: memory})
    assert bound.tolist() == expected
    bound[...] = -1.0
    assert np.flatnonzero(memory == -1.0).tolist() == expected


@pytest.mark.task5_1
def test_a_slice_may_have_two_dimensions():
    x = buffer("x", range(6))
    columns = Slice(x, 0, (3, 2), (8, 24), FLOAT)
    (bound,) = bind_args((columns,), {})
    assert bound.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


@pytest.mark.task5_1
def test_all_other_arguments_stay_what_they_are():
    table, settings = np.array([2, 3]), [0.1, 0.2]
    args = (None, 2.5, "add", table, settings, (), (1, 2), True)
    bound = bind_args(args, {})
    assert type(bound) is tuple
    assert bound[:3] == args[:3]
    assert bound[3] is table
    assert bound[4] is settings
    assert bound[5:] == args[5:]
    assert bind_args((), {}) == ()


@pytest.mark.task5_1
def test_slices_are_bound_in_tuples_of_any_depth():
    x, y = buffer("x", [1.0]), buffer("y", [2.0])
    (pair, z) = bind_args(((part(x), (3.0, (part(y),), "b")), part(y)), {y: np.array([20.0])})
    first, (number, (second,), text) = pair
    assert (first.tolist(), number, second.tolist(), text, z.tolist()) == ([1.0], 3.0, [20.0], "b", [20.0])
    assert type(pair) is tuple
    assert type(pair[1]) is tuple


@pytest.mark.task5_1
def test_a_named_tuple_stays_a_named_tuple():
    x, memory = buffer("x", [1.0]), np.array([4.0])
    (bound,) = bind_args((Pair(2.0, (Pair(part(x), "b"), 7)),), {x: memory})
    assert type(bound) is Pair
    assert bound.first == 2.0
    inner, seven = bound.second
    assert type(inner) is Pair
    assert (inner.first.tolist(), inner.second, seven) == ([4.0], "b", 7)


@pytest.mark.task5_1
def test_binding_leaves_the_launch_as_it_is():
    x = buffer("x", [1.0])
    launch = Launch(print, (part(x), (part(x), 2)))
    before = launch.args
    bind_launch(launch, {x: np.array([2.0])})
    assert launch.args is before
    assert isinstance(launch.args[0], Slice)
    assert isinstance(launch.args[1][0], Slice)


# Launches


@pytest.mark.task5_1
def test_a_call_is_a_function_and_its_arguments():
    x, memory = buffer("x", [1.0]), np.array([4.0])
    found, note = notes()
    fn, args = bind_launch(Launch(note, (part(x), "b")), {x: memory})
    assert found == [], "the kernel was called while it was bound"
    fn(*args)
    ((array, text),) = found
    assert (array.tolist(), text) == ([4.0], "b")


@pytest.mark.task5_1
def test_what_changes_from_step_to_step_comes_after_the_arguments():
    found, note = notes()
    call_with_rest(note, (1, 2), lambda: (3, (4, 5)))
    call_with_rest(note, (), lambda: (6,))
    call_with_rest(note, (7,), tuple)
    assert found == [(1, 2, 3, (4, 5)), (6,), (7,)]


@pytest.mark.task5_1
def test_what_changes_from_step_to_step_is_computed_at_every_call():
    x, memory, rates = buffer("x", [1.0]), np.array([4.0]), [0.5]
    found, note = notes()
    calls = [bind_launch(Launch(note, (part(x),), lambda: (rates[-1], len(rates)), (9.0, 9)), {x: memory})]
    for rate in (0.25, 0.125):
        rates.append(rate)
        run(calls)
    assert [(array.tolist(), *rest) for array, *rest in found] == [([4.0], 0.25, 2), ([4.0], 0.125, 3)]


@pytest.mark.task5_1
def test_rest_is_not_called_before_the_program_runs():
    counted, count = notes()
    found, note = notes()

    def rest():
        count()
        return (1,)

    calls = bind([Node("kernel", "note", launches=[Launch(note, (), rest)])], {})
    assert len(counted) == 0
    run(calls)
    assert (len(counted), found) == (1, [(1,)])


# Programs


@pytest.mark.task5_1
def test_launches_are_called_in_the_order_of_their_nodes():
    found, note = notes()
    nodes = [Node("kernel", "k", launches=[Launch(note, (number,)) for number in numbers]) for numbers in ([3, 1], [], [2], [1, 3])]
    calls = bind(nodes, {})
    assert len(calls) == 5
    assert found == [], "the kernels were called while they were bound"
    run(calls)
    assert found == [(3,), (1,), (2,), (1,), (3,)]


@pytest.mark.task5_1
def test_a_program_without_launches_does_nothing():
    assert list(bind([], {})) == []
    assert list(bind([Node("kernel", "nothing")], {})) == []
    run([])


@pytest.mark.task5_1
def test_what_a_kernel_returns_does_not_end_the_program():
    found, note = notes()
    run([(lambda: 7, ()), (note, (1,)), (lambda: StopIteration, ()), (note, (2,))])
    assert found == [(1,), (2,)]


@pytest.mark.task5_1
def test_an_error_in_a_kernel_is_not_hidden():
    def check(array):
        raise ZeroDivisionError("the index is out of range")

    x = buffer("x", [1.0])
    with pytest.raises(ZeroDivisionError, match="the index is out of range"):
        run(bind([Node("kernel", "check", launches=[Launch(check, (part(x),))])], {}))


@pytest.mark.task5_1
def test_a_program_that_runs_again_computes_with_new_inputs():
    x, t, y = buffer("x", [0.0, 0.0], EXTERNAL), buffer("t", [0.0, 0.0]), buffer("y", [0.0, 0.0])
    memory = np.zeros(2)
    nodes = [
        Node("kernel", "add", launches=[Launch(np.add, (part(x), 1.0, part(t)))]),
        Node("kernel", "multiply", launches=[Launch(np.multiply, (part(t), part(t), part(y)))]),
    ]
    calls = bind(nodes, {t: memory})
    for numbers, expected in (([1.0, 2.0], [4.0, 9.0]), ([-1.0, 9.0], [0.0, 100.0])):
        x.array[:] = numbers
        run(calls)
        assert y.array.tolist() == expected
    assert t.array.tolist() == [0.0, 0.0], "the buffer's own array was written, not its planned one"


# Random programs. What they must compute is found by a loop over lists of numbers, kept by the names of the buffers.


class Terms(NamedTuple):
    """The terms of a sum."""

    a: np.ndarray
    b: np.ndarray
    weight: float


def weighted(out, a, b, weight):
    """out = weight · a + b."""
    out[...] = weight * a + b


def weighted_tuple(out, terms):
    weighted(out, *terms)


def weighted_nested(everything):
    (out,), (a, (b, weight)) = everything
    weighted(out, a, b, weight)


class Step(NamedTuple):
    """One launch: out = weight · a + b on `length` elements of each buffer, every second one if `step` is 2.

    Attributes:
        form: How the arguments are passed.
        operands: Buffer and first element of out, a and b.
        length, step: The elements.
        weight: The weight; the form "rest" takes that of the current step instead.
    """

    form: str
    operands: tuple[tuple[str, int], ...]
    length: int
    step: int
    weight: float


SIZE = 6
"""The elements of each buffer."""


@composite
def steps(draw):
    step = draw(sampled_from([1, 1, 2]))
    length = draw(integers(1, 3))
    last = SIZE - 1 - (length - 1) * step
    operands = tuple((draw(sampled_from("xtuv")), draw(integers(0, last))) for _ in range(3))
    return Step(draw(sampled_from(["plain", "tuple", "nested", "named", "rest"])), operands, length, step, draw(sampled_from([-1.0, 2.0])))


def launch_of(step, buffers, settings):
    out, a, b = (part(buffers[name], start, step.length, step.step) for name, start in step.operands)
    match step.form:
        case "plain":
            return Launch(weighted, (out, a, b, step.weight))
        case "tuple":
            return Launch(weighted_tuple, (out, (a, b, step.weight)))
        case "nested":
            return Launch(weighted_nested, (((out,), (a, (b, step.weight))),))
        case "named":
            return Launch(lambda out, terms: weighted(out, terms.a, terms.b, terms.weight), (out, Terms(a, b, step.weight)))  # type: ignore[arg-type]
    return Launch(weighted, (out, a, b), lambda: (settings["weight"],), (settings["weight"],))


def interpret(program, memory, weight):
    """The numbers of all buffers after a program, by name."""
    memory = {name: list(numbers) for name, numbers in memory.items()}
    for step in program:
        factor = weight if step.form == "rest" else step.weight
        (out, first), (a, first_a), (b, first_b) = step.operands
        moves = [number * step.step for number in range(step.length)]
        results = [factor * memory[a][first_a + move] + memory[b][first_b + move] for move in moves]
        for move, result in zip(moves, results, strict=True):
            memory[out][first + move] = result
    return memory


SHIFT = Step("rest", (("t", 1), ("x", 0), ("u", 3)), 3, 1, 2.0)
NAMED = Step("named", (("v", 0), ("t", 1), ("t", 0)), 3, 2, -1.0)


@pytest.mark.task5_1
@given(
    lists(lists(steps(), max_size=3), max_size=4),
    lists(sampled_from("xtuv"), unique=True),
    lists(lists(integers(-4, 4), min_size=SIZE, max_size=SIZE), min_size=2, max_size=3),
)
@example([[SHIFT, NAMED], [NAMED]], ["t", "v"], [[1, 2, 3, 4, 0, -1], [0, 1, 0, 2, 0, 3]])
@example([[NAMED], [], [SHIFT]], [], [[1, 2, 3, 4, 0, -1], [4, 3, 2, 1, 0, 1]])
def test_a_program_computes_what_a_loop_over_its_steps_does(nodes, planned, inputs):
    """Buffers named in `planned` lie in another array than while they were recorded; each of `inputs` is one replay."""
    buffers = {name: buffer(name, [number] * SIZE) for number, name in enumerate("xtuv")}
    recorded = {name: each.array.tolist() for name, each in buffers.items()}
    block = np.full(SIZE * len(planned), 7.0)
    arrays = {buffers[name]: block[number * SIZE : (number + 1) * SIZE] for number, name in enumerate(planned)}
    where = {name: arrays.get(each, each.array) for name, each in buffers.items()}
    settings = {"weight": 0.0}
    launches = [[launch_of(step, buffers, settings) for step in node] for node in nodes]
    calls = bind([Node("kernel", "node", launches=each) for each in launches], arrays)
    memory = {name: array.tolist() for name, array in where.items()}
    for number, numbers in enumerate(inputs):
        settings["weight"] = float(number - 1)
        where["x"][:] = numbers
        memory["x"] = list(map(float, numbers))
        run(calls)
        memory = interpret([step for node in nodes for step in node], memory, settings["weight"])
        assert {name: array.tolist() for name, array in where.items()} == memory
    for name in planned:
        assert buffers[name].array.tolist() == recorded[name], f"{name} lies in planned memory, but its own array was written"


# Recorded functions


def train(compiled, rates):
    """The losses and the final weights of a linear model, trained for a step with each learning rate."""
    w = Parameter(tensor([[0.5], [-1.0]], backend=SimpleBackend), name="w")
    optimizer = SGD([w], lr=1.0)

    def step(x, y):
        error = (x * w.value).sum(0) - y
        loss = (error * error).relu().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = compiled(step)
    losses = []
    for number, rate in enumerate(rates):
        optimizer.lr = rate
        x = tensor([[1.0 + number, 2.0, 3.0], [0.5, -1.0, 1.0 - number]], backend=SimpleBackend)
        losses.append(step(x, tensor([[1.0, -1.0, 0.5]], backend=SimpleBackend)).item())
    return losses, w.value.tolist(), step


@pytest.mark.task5_1
def test_a_recorded_training_step_is_replayed():
    """Trained by replays, a model has the losses and weights that it has when every step is computed as usual."""
    rates = [0.05, 0.02, 0.1, 0.05]
    losses, weights, _ = train(lambda step: step, rates)
    found, trained, step = train(lambda step: minitorch.compile(step, fuse=False), rates)
    assert (step.recorded, step.replayed) == (1, 3)
    assert found == losses
    assert trained == weights


@pytest.mark.task5_1
def test_a_recorded_program_runs_in_the_memory_that_was_planned_for_it():
    """Kernels of NumPy, recorded with one input and replayed with others; three temporary buffers share the memory of two."""
    x, first, second, third = np.array([1.0, 2.0]), np.empty(2), np.empty(2), np.empty(2)
    recorder = Recorder()
    recorder.register(x, "x", INPUT)
    with recorder.listening():
        call(np.add, x, 1.0, first)
        call(np.multiply, first, first, second)
        call(np.negative, second, third)
    result = recorder.buffers[id(third)]
    plan = plan_memory([node.buffers() for node in recorder.nodes], {result})
    _, arrays = plan.allocate()
    assert plan.peak < plan.unshared
    calls = bind(recorder.nodes, arrays)
    for numbers, expected in (([3.0, 4.0], [-16.0, -25.0]), ([-1.0, 0.5], [0.0, -2.25])):
        x[:] = numbers
        run(calls)
        assert arrays[result].tolist() == expected
    assert third.tolist() == [-4.0, -9.0], "the array of the recorded run was written again"
