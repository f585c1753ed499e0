"""Working ahead: the same in the same order, errors in their place, and no thread that outlives its loop."""

import signal
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch.data import ArrayDataset, DataLoader, Dataset, RandomSampler
from minitorch.data.prefetch import prefetch
from tests.nn.checks import refuses

WAIT = 60
"""Seconds after which a test that waits has failed."""


def threads():
    """Those that work ahead now."""
    return [thread for thread in threading.enumerate() if thread.name == "minitorch prefetch"]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    assert threads() == []
    yield
    assert threads() == []


class Numbers(Dataset):
    """0 to count - 1; on reading the number `bad` something happens."""

    def __init__(self, count, bad=None, happens=None):
        self.count, self.bad, self.happens, self.read = count, bad, happens, []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.read.append(index)
        if index == self.bad:
            self.happens()
        return (float(index),)


def dealt(loader):
    """The numbers of an epoch, a list for each batch."""
    return [x.to_numpy().tolist() for (x,) in loader]


# The iterator


@given(st.integers(0, 6), st.integers(1, 8))
def test_what_comes_is_the_same_in_the_same_order(length, count):
    assert list(prefetch(lambda left: iter(range(length)), count)) == list(range(length))


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_things_are_prepared_as_were_asked_for_and_no_more(count):
    prepared, full = [], threading.Semaphore(0)

    def things(left):
        for number in range(100):
            prepared.append(number)
            full.release()
            yield number

    loop = prefetch(things, count)
    assert prepared == [], "nothing is done before the first is asked for"
    for taken in range(3):
        assert next(loop) == taken
        for _ in range(1 + count if taken == 0 else 1):
            assert full.acquire(timeout=WAIT)
        assert not full.acquire(timeout=0.05)
        assert prepared == list(range(taken + 1 + count))
    loop.close()


def test_a_loop_that_is_left_tells_the_thread_and_waits_for_it():
    working, told = threading.Event(), threading.Event()

    def things(left):
        yield 1
        working.set()
        assert left.wait(WAIT)
        told.set()
        raise OSError("of no interest to anybody")

    for _ in prefetch(things, 1):
        assert working.wait(WAIT)
        break
    assert told.is_set()


# The loader


def settings():
    """Loaders of all kinds, as (data set, arguments)."""
    arrays = ArrayDataset(np.arange(11) / 1)
    yield arrays, {"batch_size": 3, "shuffle": True, "seed": 0}
    yield arrays, {"batch_size": 4, "seed": 0, "transform": lambda x, generator: x + generator.random(len(x))}
    yield Numbers(11), {"batch_size": 3, "drop_last": True, "dtype": "float32"}
    yield Numbers(11), {"batch_size": 3, "sampler": RandomSampler(range(11), seed=3)}
    yield (
        Numbers(7),
        {"batch_sampler": [[0, 3], [1], [2, 6, 5]], "collate_fn": lambda examples: (np.array(examples)[:, 0],), "dtype": "float64"},
    )


@pytest.mark.parametrize("prefetch", [1, 2, 50])
@pytest.mark.parametrize("kind", range(5))
def test_a_loader_that_works_ahead_gives_the_same_batches(kind, prefetch):
    data, arguments = list(settings())[kind]
    one, other = DataLoader(data, **arguments), DataLoader(data, **arguments, prefetch=prefetch)
    for _ in range(3):
        assert dealt(one) == dealt(other) != []
        assert one.state() == other.state()


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("done", [1, 2, 3])
def test_the_state_counts_the_batches_that_were_given_not_those_prepared(kind, done):
    data, arguments = list(settings())[kind]
    whole, loader, resumed = (DataLoader(data, **arguments, prefetch=prefetch) for prefetch in (0, 5, 5))
    batches = dealt(whole) + dealt(whole)
    for number, _ in enumerate(loader, 1):
        if number == done:
            break
    resumed.restore(loader.state())
    rest = dealt(resumed)
    while done + len(rest) < len(batches):
        rest += dealt(resumed)
    assert rest == batches[done:]


@pytest.mark.parametrize("kind", [OSError, ZeroDivisionError, KeyboardInterrupt])
def test_an_error_comes_in_its_turn_with_its_traceback(kind):
    def fail_so():
        raise kind("the disk is on fire")

    loader = DataLoader(Numbers(9, bad=5, happens=fail_so), batch_size=2, prefetch=4)
    loop, given = iter(loader), []
    with pytest.raises(kind, match=r"^the disk is on fire$") as caught:
        given += (x.to_numpy().tolist() for (x,) in loop)
    assert given == [[0, 1], [2, 3]]
    shown = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert shown[0].startswith("test_an_error")
    assert shown[-2:] == ["__getitem__", "fail_so"]
    assert loader.state()["batch"] == 2
    assert list(loop) == [], "the loop is over"


def test_a_loop_may_fail_itself():
    def train():
        for _ in DataLoader(Numbers(9), prefetch=2):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    assert threads() == []


def test_a_batch_that_makes_no_tensor_ends_the_thread_while_its_error_is_dealt_with():
    loader = DataLoader(Numbers(9), collate_fn=lambda examples: np.array(examples, complex), dtype="float64", prefetch=2)
    with pytest.raises(TypeError, match="complex128") as caught:
        next(iter(loader))
    assert threads() == [], f"although {caught.value} still holds the loop by its traceback"


def test_leaving_the_loop_stops_the_reading_in_the_middle_of_a_batch():
    reading, go_on = threading.Event(), threading.Event()

    def wait():
        reading.set()
        assert go_on.wait(WAIT)

    data = Numbers(1000, bad=15, happens=wait)
    loop = iter(DataLoader(data, batch_size=10, prefetch=1))
    next(loop)
    assert reading.wait(WAIT)
    threading.Timer(0.05, go_on.set).start()  # while close waits
    loop.close()
    assert data.read == list(range(16)), "of the second batch, no example after the one that was being read"


def test_two_loops_over_one_loader_do_not_disturb_each_other():
    loader = DataLoader(Numbers(6), batch_size=2, prefetch=2)
    pairs = [(a.to_numpy().tolist(), b.to_numpy().tolist()) for (a,), (b,) in zip(loader, loader, strict=True)]
    assert pairs == [([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4, 5], [4, 5])]


def test_a_loop_that_nobody_holds_any_more_ends_its_thread():
    loop = iter(DataLoader(Numbers(9), prefetch=2))
    next(loop)
    assert len(threads()) == 1
    del loop


def test_a_number_of_batches_that_is_none_is_refused():
    refuses(ValueError, "… expected prefetch >= 0, got -1; give a larger one", DataLoader, Numbers(3), prefetch=-1)
    message = "… expected prefetch as a whole number, got 1.5; leave it out, or give one of at least 0"
    refuses(TypeError, message, DataLoader, Numbers(3), prefetch=1.5)


PROGRAM = """
import sys, threading, time
from minitorch.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        if index == 3:
            print("waiting", flush=True)
        time.sleep(0.01)
        return float(index)

loop = iter(DataLoader(Slow(), batch_size=100_000, prefetch=2))
{body}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no Ctrl-C to one process alone")
def test_ctrl_c_ends_a_loop_that_waits_for_a_batch():
    body = "try:\n    next(loop)\nexcept KeyboardInterrupt:\n    print(threading.active_count(), flush=True)"
    with subprocess.Popen([sys.executable, "-c", PROGRAM.format(body=body)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=WAIT)[0] == "1\n"
        finally:
            process.kill()
    assert process.returncode == 0


def test_a_program_that_ends_within_a_loop_ends():
    body = "inner = iter(DataLoader(Slow(), prefetch=2))\nnext(inner)\nprint('end')"
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(body=body)], capture_output=True, text=True, timeout=WAIT)
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, "end", "")
