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
from minitorch.compiler.planner import ALIGNMENT, Lifetime, lifetimes, plan_memory
from minitorch.compiler.trace import CONSTANT, EXTERNAL, INPUT, TEMPORARY, Buffer

from . import programs
from .programs import linear, tensor


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
