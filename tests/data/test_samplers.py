"""Samplers: which numbers they give, how often, and that two processes never share one."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.torch as torch
from minitorch.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from minitorch.data.samplers import describe_sampler
from tests.errors import raises
from tests.nn.checks import refuses

DRAWING = {
    "random": lambda seed: RandomSampler(range(20), seed=seed),
    "with replacement": lambda seed: RandomSampler(range(20), replacement=True, seed=seed),
    "subset": lambda seed: SubsetRandomSampler(range(30, 50), seed=seed),
    "weighted": lambda seed: WeightedRandomSampler(np.arange(20), 15, seed=seed),
    "weighted, each once": lambda seed: WeightedRandomSampler(np.arange(20), 15, replacement=False, seed=seed),
    "distributed": lambda seed: DistributedSampler(range(40), 2, 1, seed=seed),
    "batches": lambda seed: BatchSampler(RandomSampler(range(20), seed=seed), 3, False),
}


def epochs(sampler, count=3):
    """What the sampler gives in the first epochs."""
    found = []
    for epoch in range(count):
        sampler.set_epoch(epoch)
        found.append(list(sampler))
    return found


@pytest.mark.parametrize("make", DRAWING.values(), ids=DRAWING)
def test_the_seed_and_the_epoch_decide_the_order_and_nothing_else_does(make):
    sampler = make(5)
    assert list(sampler) == list(sampler)
    first, second, third = epochs(sampler)
    assert epochs(make(5)) == [first, second, third]
    assert first != second != third != first
    assert all(one != other for one, other in zip(epochs(make(6)), [first, second, third], strict=True))
    sampler.set_epoch(1)
    assert list(sampler) == second


@pytest.mark.parametrize("make", [*DRAWING.values(), lambda seed: SequentialSampler(range(3))])
def test_a_sampler_gives_as_many_numbers_as_its_length_and_pythons_own(make):
    given = list(make(0))
    assert len(make(0)) == len(given)
    assert {type(number) for entry in given for number in (entry if isinstance(entry, list) else [entry])} == {int}


def test_all_examples_come_once_in_their_order_or_in_another():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    numbers = list(RandomSampler(range(50)))
    assert sorted(numbers) == list(range(50)) != numbers
    assert list(SequentialSampler("")) == list(RandomSampler("")) == list(RandomSampler([], replacement=True)) == []


@given(st.integers(1, 8), st.integers(1, 20))
@example(count=4, wanted=4)
@example(count=4, wanted=5)
@example(count=4, wanted=8)
def test_without_replacement_no_example_comes_again_before_all_have_come(count, wanted):
    numbers = list(RandomSampler(range(count), num_samples=wanted))
    assert len(numbers) == wanted
    for at in range(0, wanted, count):
        part = numbers[at : at + count]
        assert len(set(part)) == len(part)
        assert set(part) <= set(range(count))


def test_with_replacement_every_example_is_as_likely_at_every_place():
    numbers = list(RandomSampler(range(4), replacement=True, num_samples=4000, seed=0))
    assert np.bincount(numbers).tolist() == pytest.approx([1000] * 4, abs=110)  # four standard deviations
    assert numbers[:100] != numbers[100:200]


def test_a_subset_comes_whole_and_keeps_to_itself():
    assert sorted(SubsetRandomSampler([7, 3, 3, 9])) == [3, 3, 7, 9]
    assert list(SubsetRandomSampler([])) == []


def test_without_a_seed_the_order_comes_from_a_generator():
    def orders():
        generator = torch.Generator().manual_seed(3)
        made = (RandomSampler(range(20), generator=generator), SubsetRandomSampler(torch.arange(30, 50), generator))
        made += (WeightedRandomSampler(torch.arange(20), 15, generator=generator),)
        return [list(sampler) for sampler in made for _ in range(2)]

    first = orders()
    assert first == orders()
    assert all(one != other for one, other in zip(first[::2], first[1::2], strict=True))
    minitorch.manual_seed(1)
    order = list(RandomSampler(range(20)))
    minitorch.manual_seed(1)
    assert order == list(RandomSampler(range(20))) != list(RandomSampler(range(20)))


def test_a_sampler_without_a_length_can_be_listed():
    class Three(Sampler[int]):
        def __iter__(self):
            return iter(range(3))

    assert list(Three(None)) == [0, 1, 2]


def test_the_samplers_of_both_packages_are_the_same():
    for name in ("Sampler", "SequentialSampler", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "BatchSampler"):
        assert getattr(torch.utils.data, name) is getattr(torch.utils.data.sampler, name) is globals()[name]


# Weights


def test_examples_come_in_proportion_to_their_weights():
    counts = np.bincount(list(WeightedRandomSampler([1, 0, 3, 6], 5000, seed=0)), minlength=4)
    assert counts[1] == 0
    assert counts[[0, 2, 3]].tolist() == pytest.approx([500, 1500, 3000], abs=130)


def test_without_replacement_the_first_comes_in_proportion_and_the_second_in_that_of_the_rest():
    """Of weights 1, 2, 5 the pair (2, 1) has the probability 5/8 · 2/3, and so on."""
    weights = [1, 2, 5, 0]
    sampler = WeightedRandomSampler(weights, 2, replacement=False, seed=0)
    pairs = [tuple(pair) for pair in epochs(sampler, 2000)]
    expected = {(a, b): weights[a] / 8 * weights[b] / (8 - weights[a]) for a in range(3) for b in range(3) if a != b}
    assert set(pairs) == set(expected)
    for pair, share in expected.items():
        assert pairs.count(pair) / 2000 == pytest.approx(share, abs=0.045)


def test_weights_of_any_size_are_drawn_by():
    assert set(WeightedRandomSampler([1e308, 1e308, 1e308], 50)) == {0, 1, 2}
    assert set(WeightedRandomSampler([5e-324, 0], 5)) == {0}
    assert sorted(WeightedRandomSampler([1e308, 1e-308], 2, replacement=False)) == [0, 1]


# Several processes


@settings(max_examples=40)
@given(st.integers(1, 30), st.integers(1, 9), st.booleans(), st.booleans(), st.integers(0, 3))
@example(count=12, replicas=4, shuffle=True, drop=False, epoch=0)
@example(count=13, replicas=4, shuffle=True, drop=False, epoch=0)
@example(count=13, replicas=4, shuffle=True, drop=True, epoch=0)
@example(count=2, replicas=5, shuffle=False, drop=False, epoch=0)
@example(count=2, replicas=5, shuffle=False, drop=True, epoch=0)
def test_the_processes_share_all_examples_and_each_has_as_many(count, replicas, shuffle, drop, epoch):
    shares = []
    for rank in range(replicas):
        sampler = DistributedSampler(range(count), replicas, rank, shuffle, drop_last=drop)
        sampler.set_epoch(epoch)
        shares.append(list(sampler))
        assert len(sampler) == len(shares[-1])
    numbers = [number for share in shares for number in share]
    assert {len(share) for share in shares} == {count // replicas if drop else -(-count // replicas)}
    if drop:
        assert len(set(numbers)) == len(numbers)
    else:
        assert set(numbers) == set(range(count))
        assert len(numbers) - count < replicas, "no more come again than are needed to share out evenly"
        times = [numbers.count(number) for number in range(count)]
        assert max(times) - min(times) <= 1


def test_the_processes_take_turns_in_one_order():
    assert [list(DistributedSampler(range(7), 3, rank, shuffle=False)) for rank in range(3)] == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    shares = [list(DistributedSampler(range(6), 2, rank, seed=4)) for rank in range(2)]
    assert [number for pair in zip(*shares, strict=True) for number in pair] == list(RandomSampler(range(6), seed=4))


def test_the_processes_share_as_those_of_pytorch_do():
    pytorch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for count, replicas, drop in [(12, 4, 0), (13, 4, 0), (13, 4, 1), (15, 4, 1), (2, 5, 0), (2, 5, 1), (3, 10, 0)]:
        for rank in range(replicas):
            arguments = (range(count), replicas, rank, False, 0, bool(drop))
            theirs = pytorch.utils.data.DistributedSampler(*arguments)
            assert list(DistributedSampler(*arguments)) == list(theirs)
            assert len(DistributedSampler(*arguments)) == len(theirs)


# Batches


@pytest.mark.parametrize(
    ("count", "drop", "batches"),
    [
        (7, False, [[0, 1, 2], [3, 4, 5], [6]]),
        (7, True, [[0, 1, 2], [3, 4, 5]]),
        (6, False, [[0, 1, 2], [3, 4, 5]]),
        (6, True, [[0, 1, 2], [3, 4, 5]]),
        (2, True, []),
        (0, False, []),
    ],
)
def test_numbers_come_in_batches(count, drop, batches):
    sampler = BatchSampler(SequentialSampler(range(count)), 3, drop)
    assert list(sampler) == batches
    assert len(sampler) == len(batches)


def test_any_numbers_can_be_put_into_batches():
    assert list(BatchSampler([5, 1, 8], 2, False)) == [[5, 1], [8]]
    endless = type("Endless", (), {"__iter__": lambda self: iter(int, 1)})()
    assert next(iter(BatchSampler(endless, 2, False))) == [0, 0]
    with raises(TypeError, "expected a sampler with a length, got Endless without one; define __len__(self) in its class"):
        len(BatchSampler(endless, 2, False))


# What is given wrongly


@pytest.mark.parametrize(
    ("make", "name", "least"),
    [
        (lambda value: RandomSampler("ab", num_samples=value), "RandomSampler expected num_samples", 1),
        (lambda value: RandomSampler("ab", seed=value), "RandomSampler expected seed", 0),
        (lambda value: SubsetRandomSampler([1], seed=value), "SubsetRandomSampler expected seed", 0),
        (lambda value: WeightedRandomSampler([1], value), "WeightedRandomSampler expected num_samples", 1),
        (lambda value: DistributedSampler("ab", value, 0), "DistributedSampler expected num_replicas", 1),
        (lambda value: DistributedSampler("ab", 2, value), "DistributedSampler expected rank", 0),
        (lambda value: BatchSampler("ab", value, False), "BatchSampler expected batch_size", 1),
        (lambda value: SequentialSampler("ab").set_epoch(value), "SequentialSampler.set_epoch expected the epoch", 0),
    ],
)
def test_numbers_that_are_none_or_too_small_are_refused(make, name, least):
    make(least)
    refuses(ValueError, f"{name} >= {least}, got {least - 1}; give a larger one", make, least - 1)
    kind = ValueError if name.endswith(("num_samples", "batch_size")) else TypeError  # PyTorch's
    for value in (1.0, "1", True):
        refuses(kind, f"{name} as a whole number, got {value!r}; leave it out, or give one of at least {least}", make, value)


NO_NUMBERS = "SubsetRandomSampler expected a list of integers, got {!r}; for a mask, pass np.flatnonzero(mask)"
WEIGHT = "WeightedRandomSampler expected weights >= 0, got {} at 1; an example that must not come has 0"
TABLE = "WeightedRandomSampler expected a weight for each example, shape (N,), got (1, 2); flatten them"
RANK = "DistributedSampler expected a rank from 0 to 2, got {}; ranks count from 0"
EMPTY = "{} expected examples to {}, got none; give it a data set that is not empty"
BOTH = "RandomSampler expected generator or seed, got both; leave one out"
WEIGHTS = "WeightedRandomSampler expected at least {} weights > 0, got {}; draw with replacement=True, or fewer with num_samples"


@pytest.mark.parametrize(
    ("error", "make", "message"),
    [
        *[(TypeError, lambda n=n: SubsetRandomSampler(n), NO_NUMBERS.format(n)) for n in ([0.5], [True, False], [[0]], "ab")],
        *[
            (ValueError, lambda weight=weight: WeightedRandomSampler([1, weight, weight], 1), WEIGHT.format(shown))
            for weight, shown in [(-1, "-1.0"), (np.nan, "nan"), (np.inf, "inf")]
        ],
        (ValueError, lambda: WeightedRandomSampler([0, 0], 3), WEIGHTS.format(1, 0)),
        (ValueError, lambda: WeightedRandomSampler([], 3), WEIGHTS.format(1, 0)),
        (ValueError, lambda: WeightedRandomSampler([1, 2, 0], 3, False), WEIGHTS.format(3, 2)),
        (ValueError, lambda: WeightedRandomSampler([[1, 2]], 1), TABLE),
        *[(ValueError, lambda rank=rank: DistributedSampler(range(9), 3, rank), RANK.format(rank)) for rank in (3, 4)],
        (ValueError, lambda: RandomSampler("ab", generator=torch.Generator(), seed=0), BOTH),
        (TypeError, lambda: SubsetRandomSampler([1], 3), "SubsetRandomSampler expected a Generator, got 3; pass seed=3"),
        (ValueError, lambda: DistributedSampler([], 2, 0), EMPTY.format("DistributedSampler", "share out")),
        (ValueError, lambda: list(RandomSampler([], num_samples=3)), EMPTY.format("RandomSampler", "draw 3 from")),
        (NotImplementedError, lambda: iter(Sampler()), "Sampler gives no numbers; define __iter__(self) in the subclass"),
        (TypeError, lambda: len(Sampler()), "Sampler has no length; define __len__(self) in the subclass"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(error, make, message):
    with raises(error, message):
        make()


# What a loader remembers of a sampler


def test_a_sampler_is_shown_with_what_its_order_depends_on():
    assert repr(SequentialSampler("abc")) == "SequentialSampler(examples=3)"
    assert repr(RandomSampler("abc", seed=4)) == "RandomSampler(examples=3, replacement=False, num_samples=3, seed=4)"
    assert repr(DistributedSampler("abc", 2, 1)) == (
        "DistributedSampler(examples=3, num_replicas=2, rank=1, shuffle=True, seed=0, drop_last=False)"
    )
    assert repr(BatchSampler(SequentialSampler("abc"), 2, True)) == (
        "BatchSampler(sampler='SequentialSampler(examples=3)', batch_size=2, drop_last=True)"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SubsetRandomSampler([1, 2]), SubsetRandomSampler([1, 3])),
        (WeightedRandomSampler([1, 2], 1), WeightedRandomSampler([1, 3], 1)),
        ([1, 2], [1, 3]),
        (np.array([1, 2]), np.array([1, 3])),
        (range(3), range(1, 4)),
        ([[1], [2, 3]], [[1, 2], [3]]),
    ],
)
def test_samplers_of_other_numbers_are_told_apart(one, other):
    assert describe_sampler(one) == describe_sampler(one)
    assert describe_sampler(one) != describe_sampler(other)
