"""The planner: when buffers live, and where they lie."""

# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false, reportIndexIssue=false, reportArgumentType=false

import gc
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import nn, optim
from minitorch.compiler.planner import ALIGNMENT, Lifetime, lifetimes, plan_memory, update_early
from minitorch.compiler.trace import CONSTANT, EXTERNAL, INPUT, TEMPORARY, Buffer, Launch, Node, Slice, View

from . import programs
from .programs import array_bytes, linear, tensor


def buffer(size, role=TEMPORARY, pinned=False, dtype=np.uint8):
    return Buffer(f"{role}{size}", np.zeros(size, dtype), role, pinned)


def test_a_buffer_lives_from_the_first_step_that_touches_it_to_the_last():
    a, b, c, d = (buffer(10) for _ in range(4))
    found = lifetimes([[a], [a, b], [], [b, c], [c]], {b, d})
    assert found == {a: Lifetime(0, 1), b: Lifetime(1, 5), c: Lifetime(3, 4)}


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [((0, 1), (1, 2), True), ((0, 1), (2, 3), False), ((2, 3), (0, 1), False), ((0, 9), (3, 4), True), ((1, 1), (1, 1), True)],
)
def test_two_lifetimes_overlap_if_they_share_a_step(one, other, overlap):
    assert Lifetime(*one).overlaps(Lifetime(*other)) is overlap


def test_only_temporary_buffers_that_nothing_else_refers_to_are_planned():
    kept = [buffer(100, role) for role in (INPUT, EXTERNAL, CONSTANT)] + [buffer(100, pinned=True)]
    own = buffer(100)
    plan = plan_memory([[*kept, own]], set())
    assert plan.positions == {own: 0}
    assert (plan.peak, plan.unshared) == (128, 128)


def test_the_lowest_gap_that_is_large_enough_is_used():
    large, small, middle, late = buffer(300), buffer(64), buffer(128), buffer(100)
    plan = plan_memory([[large], [large, small], [small, middle], [middle, late]], set())
    assert plan.positions == {large: 0, middle: 0, late: 128, small: 320}
    assert plan.peak == 384
    assert plan.unshared == 320 + 64 + 128 + 128


def test_memory_is_not_a_number_until_it_is_written():
    numbers, index = buffer(4, dtype=np.float64), buffer(4, dtype=np.int64)
    block, arrays = plan_memory([[numbers, index]], set()).allocate()
    assert np.isnan(arrays[numbers]).all()
    assert not arrays[index].any()
    assert block.ctypes.data % ALIGNMENT == 0


PROGRAMS = st.lists(st.lists(st.integers(0, 11), max_size=5), min_size=1, max_size=14)


@given(PROGRAMS, st.lists(st.integers(0, 3000), min_size=12, max_size=12), st.sets(st.integers(0, 11)))
@example([[0], [0, 1], [1]], [64] * 12, {0})
@example([[0, 1]], [0] * 12, set())
@settings(max_examples=150, deadline=None)
def test_no_two_living_buffers_overlap(program, sizes, kept):
    buffers = [buffer(size) for size in sizes]
    steps = [[buffers[number] for number in step] for step in program]
    plan = plan_memory(steps, {buffers[number] for number in kept})
    assert set(plan.positions) == {each for step in steps for each in step}
    block, arrays = plan.allocate()
    for number, array in enumerate(arrays.values()):
        assert array.shape == list(arrays)[number].array.shape
    for time in range(len(steps) + 1):  # write a number of its own into every living buffer; none is overwritten
        alive = []
        for number, each in enumerate(buffers):
            touched = [i for i, step in enumerate(steps) if each in step]
            if touched and min(touched) <= time and (number in kept or time <= max(touched)):
                alive.append(each)
                arrays[each][...] = number
        assert all((arrays[each] == buffers.index(each)).all() for each in alive)
    used = [-(-each.array.nbytes // ALIGNMENT) * ALIGNMENT for each in arrays]
    assert max(used, default=0) <= plan.peak <= plan.unshared == sum(used)
    assert len(block) == plan.peak


@pytest.fixture
def step(monkeypatch):
    monkeypatch.setattr(programs, "BACKEND", minitorch.FastBackend)
    minitorch.manual_seed(0)
    model = nn.Sequential(linear(3, 4), nn.ReLU(), nn.Dropout(0.2), linear(4, 1))
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    @minitorch.compile(fuse=False)
    def train(x):
        loss = (model(x) * model(x)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return train


def test_replays_of_a_training_step_do_not_grow(step):
    x = tensor(np.ones((2, 3)))
    for _ in range(5):
        step(x)
    gc.collect()
    tracemalloc.start()
    try:
        step(x)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100):
            step(x)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 4096


def test_a_replay_makes_no_array_but_its_result(step, monkeypatch):
    x = tensor(np.ones((2, 3)))
    for _ in range(3):
        step(x)
    made = []
    for name in ("empty", "zeros", "full", "array"):
        original = getattr(np, name)
        monkeypatch.setattr(np, name, lambda *args, original=original, **kwargs: made.append(args) or original(*args, **kwargs))
    for _ in range(3):
        step(x)
    assert len(made) <= 3
    plan = step._latest.plan
    assert step.memory == (plan.peak, plan.unshared)
    assert 0 < plan.peak < plan.unshared


def update(parameter, gradient, phase="optimizer", args=True):
    views = tuple(View(each, each.array.shape, each.array.strides) for each in (parameter, gradient))
    slices = tuple(Slice(each, 0, each.array.shape, each.array.strides, each.array.dtype) for each in (parameter, gradient))
    return Node("kernel", "plain", inputs=views, launches=[Launch(max, slices if args else ())], phase=phase)


def test_an_update_of_a_large_parameter_follows_its_gradient():
    w, v, small = buffer(40_000, EXTERNAL), buffer(40_000, EXTERNAL), buffer(8, EXTERNAL)
    grad_w, grad_v, grad_small = buffer(40_000), buffer(40_000), buffer(8)
    x, y, z = update(grad_small, small, "backward"), *(update(grad, w, "backward") for grad in (grad_w, grad_v))
    updates = [update(small, grad_small), update(w, grad_w), update(v, grad_v)]
    assert update_early([x, y, z, *updates]) == [x, y, z, updates[2], updates[1], updates[0]], "z reads w"
    y, z = (update(grad, v, "backward") for grad in (grad_w, grad_v))
    assert update_early([y, x, z, *updates]) == [y, updates[1], x, z, updates[2], updates[0]]
    python = update(grad_small, grad_small, "backward", args=False)
    assert update_early([y, x, python, z, *updates]) == [y, x, python, updates[1], z, updates[2], updates[0]]
    forward = update(w, grad_w, "forward")
    assert update_early([y, z, forward]) == [y, z, forward]


@pytest.fixture
def chain(monkeypatch):
    """Forty operations, of which each needs only the result of the one before: 2 arrays of 80,000 bytes at once, and the input."""
    monkeypatch.setattr(programs, "BACKEND", minitorch.FastBackend)

    x, half = tensor(np.full((100, 100), 3.0)), tensor(np.full((100, 100), 0.5))

    @minitorch.compile(fuse=False)
    def chain(x):
        for _ in range(20):
            x = (x * half) + 1.0
        return x

    chain.fn(x)  # compiles, or loads from disk
    return chain, x


def test_a_recorded_run_takes_no_more_arrays_than_any_other(chain):
    chain, x = chain
    tracemalloc.start()
    try:
        result = chain(x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(result.to_numpy(), np.full((100, 100), 2 + 0.5**20), rtol=1e-12)
    assert peak < 15 * 80_000, "of the 42 arrays that are made"


def test_after_recording_only_the_plan_and_the_copies_of_arguments_are_kept(chain):
    chain, x = chain
    tracemalloc.start()
    try:
        chain(x)
        recorded = array_bytes()
        chain(x)
        chain(x)
        replayed = array_bytes()
    finally:
        tracemalloc.stop()
    shared, apart = chain.memory
    assert 2 * 80_000 <= shared <= 2 * 80_064, "a large array begins at a cache line"
    assert apart >= 40 * 80_000
    assert max(recorded, replayed) < shared + 80_000 + 20_000


def test_results_of_constants_keep_their_numbers(monkeypatch):
    monkeypatch.setattr(programs, "BACKEND", minitorch.FastBackend)
    f = minitorch.compile(lambda x: x * -tensor([2.0, 3.0]), fuse=False)
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(f(tensor([scale, 5.0])).to_numpy(), [-2.0 * scale, -15.0])
    assert [node.name for node in f._latest.nodes] == ["mul"], "the negation is folded"
