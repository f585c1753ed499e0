"""Profiles and memory ledgers: what they count, what they print, and that nothing is left of them when they end."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from minitorch import FastBackend, Function, SimpleBackend, conv1d, nn, no_grad, tensor
from minitorch.autograd import checkpoint, grad, ledger, observer, profile
from minitorch.autograd.profiler import format_bytes, format_seconds
from tests.autograd.conftest import function
from tests.errors import raises
from tests.marks import needs_compiler


def leaf(*shape, backend=SimpleBackend):
    return tensor(np.cos(np.arange(np.prod(shape)) + 1.0).reshape(shape), backend, requires_grad=True)


def counts(p, by_shapes=False):
    """For every entry its name, pass and shapes: its calls and bytes."""
    return {(e.op, "backward" if e.backward else "forward", e.shapes): (e.calls, e.bytes) for e in p.entries(by_shapes)}


# Profiles


def test_calls_shapes_and_bytes_by_op_forward_and_backward_apart():
    x, w = leaf(2, 3), leaf(3, 4)
    with profile() as p:
        y = (x @ w).sigmoid()
        (y @ tensor(np.ones((4, 1)))).sum().backward()
    assert counts(p, by_shapes=True) == {
        ("MatMul", "forward", "2x3 3x4"): (1, 64),
        ("MatMul", "forward", "2x4 4x1"): (1, 16),
        ("Sigmoid", "forward", "2x4"): (1, 64),
        ("View", "forward", "2x1"): (1, 0),
        ("Sum", "forward", "2"): (1, 8),
        ("Sum", "backward", "2"): (1, 0),  # the one number, repeated
        ("View", "backward", "2x1"): (1, 16),
        ("MatMul", "backward", "2x4 4x1"): (1, 64),
        ("Sigmoid", "backward", "2x4"): (1, 64),
        ("MatMul", "backward", "2x3 3x4"): (1, 48 + 96),
        ("Gradient", "backward", "2x3"): (1, 48),
        ("Gradient", "backward", "3x4"): (1, 96),
    }


def test_entries_name_the_shapes_that_took_longest(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(observer, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def forward(ctx, a):
        clock[0] += a.size
        return a * 1

    sleep = function(forward, name="Sleep")
    with profile() as p:
        for size in (1, 3, 1):
            sleep.apply(leaf(size))
    (entry,) = p.entries()
    assert (entry.op, entry.calls, entry.shapes, entry.bytes) == ("Sleep", 3, "3", 40)
    assert entry.seconds == 5.0
    assert [(e.shapes, e.calls, e.seconds) for e in p.entries(by_shapes=True)] == [("3", 1, 3.0), ("1", 2, 2.0)]


def test_what_an_op_calls_is_its_own_work():
    x, y = leaf(2), leaf(2)
    with profile() as p:
        x.where(x > 0, y)  # Where compares and adds
    assert counts(p) == {("LT", "forward", "() 2"): (1, 2), ("Where", "forward", "2 2 2"): (1, 16)}


def test_functions_that_were_bound_before_are_seen_and_those_of_classes_too():
    x, w = leaf(1, 1, 4), leaf(1, 1, 2)
    with profile() as p:
        conv1d(x, w)
        nn.mse_loss(x, x.detach())
    assert {("Conv1dFun", "forward", "1x1x4 1x1x2"), ("SquaredError", "forward", "1x1x4 1x1x4")} <= set(counts(p))


def test_what_backward_hands_on_of_what_was_saved_is_not_written():
    class Scaled(Function):
        def forward(ctx, a, factor):  # without a decorator it works, too
            ctx.save_for_backward(factor)
            return a * factor

        @staticmethod
        def backward(ctx, grad_output):
            (factor,) = ctx.saved_values
            return factor, None

    with profile() as p:
        Scaled.apply(leaf(2), tensor([3.0, 5.0])).sum().backward()
    assert counts(p)["Scaled", "forward", "2 2"] == (1, 16)
    assert counts(p)["Scaled", "backward", "2 2"] == (1, 0)


def test_the_ops_of_a_checkpoint_are_seen_when_it_runs_again():
    with profile() as p:
        checkpoint(lambda a: a.sigmoid(), leaf(2)).sum().backward()
    assert counts(p)["Sigmoid", "forward", "2"] == (2, 32)
    assert counts(p)["Sigmoid", "backward", "2"] == (1, 16)


def test_recorded_gradients_are_seen_as_the_ops_that_they_are():
    x = leaf(2)
    with profile() as p:
        grad(x.exp().sum(), x, create_graph=True)
    assert counts(p)["Mul", "forward", "2 2"] == (1, 16)


def test_only_the_thread_that_entered_is_seen_and_only_while_it_lasts():
    x = leaf(2)
    before = vars(Function)["_backward"]
    with profile() as p:
        assert vars(Function)["_backward"] is not before
        other = threading.Thread(target=lambda: (x * x).sum().backward())
        other.start()
        other.join()
        with no_grad():
            x + x  # what is seen is that it is called
    x * x  # likewise
    assert counts(p) == {("Add", "forward", "2 2"): (1, 16)}
    assert vars(Function)["_backward"] is before
    assert observer._patched_methods == []


def test_an_error_within_ends_it_and_one_in_an_op_is_not_counted():
    def fail(ctx, a):
        raise ZeroDivisionError

    x, fails = leaf(2), function(fail)
    with pytest.raises(ZeroDivisionError), profile() as p:
        fails.apply(x)
    with p:
        x + x  # it goes on counting
    assert (counts(p), observer._patched_methods) == ({("Add", "forward", "2 2"): (1, 16)}, [])


def test_one_within_another_and_not_twice_the_same():
    x = leaf(2)
    with profile() as outer:
        x + x
        with profile() as inner:
            x * x
        with raises(RuntimeError, "this profile is observing already; make another one"), outer:
            pass
        x - x
    assert {key[0] for key in counts(outer)} == {"Add", "Mul", "Neg"}
    assert {key[0] for key in counts(inner)} == {"Mul"}


def test_the_table_fits_80_columns_and_sums_up():
    x, w = leaf(100, 20, 30), leaf(100, 30, 7)
    with profile() as p:
        nn.binary_cross_entropy_with_logits((x @ w)[:, :, :1], tensor(np.ones((100, 20, 1)))).backward()
    lines, entries = p.table().splitlines(), p.entries()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["op", "pass", "calls", "time", "share", "bytes", "shapes"]
    assert len(lines) == len(entries) + 3
    total = lines[-1].split()
    assert (total[:2], total[4]) == (["total", str(sum(e.calls for e in entries))], "100.0%")
    (cut,) = [line for line in lines if line.startswith("BinaryCrossEntropyW… forward ")]
    assert cut.endswith(" 100x20x1 100x20…")
    short = p.table(limit=2).splitlines()
    assert (len(short), short[-1]) == (6, lines[-1])
    assert short[-2].startswith(f"{len(entries) - 2} others")


def test_the_table_of_nothing():
    with profile() as p:
        pass
    assert p.table().splitlines()[-1].split() == ["total", "0", "0", "ns", "0", "B"]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (format_bytes, {0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 3 << 30: "3.0 GiB"}),
        (format_seconds, {0.0: "0 ns", 2e-7: "200 ns", 1e-6: "1.0 µs", 0.0125: "12.5 ms", 2.0: "2.0 s"}),
    ],
)
def test_sizes_and_times_are_printed_with_their_units(text, printed):
    assert {value: text(value) for value in printed} == printed


# Ledgers


def test_results_are_alive_until_they_are_freed_and_views_count_once():
    x = leaf(10)
    with ledger() as book:
        y = x * x
        z = y[2:5]
        assert (book.alive, book.peak) == (80, 80)
        w = z.view(3, 1).expand(3, 4) + 1.0
        assert book.alive == 80 + 96
        del y
        assert book.alive == 80 + 96, "its views hold the storage"
        del z, w
        assert book.alive == 0
    assert (book.peak, book.at_peak, book.holder) == (176, {("Mul", "results"): 80, ("Add", "results"): 96}, "Add")


@needs_compiler
def test_what_is_saved_for_backward_alone_is_told_apart():
    x = leaf(6, 4, backend=FastBackend)
    target = tensor([0, 1, 2, 3, 0, 1], FastBackend, dtype="int64")
    with ledger() as book:
        loss = nn.cross_entropy(x, target)
        assert book.at_peak == {("CrossEntropy", "results"): 8, ("CrossEntropy", "saved"): 6 * 4 * 8 + 6 * 8}
        loss.backward()
    assert book.at_peak["CrossEntropy", "backward"] == 192
    assert book.alive == 8 + 192, "the loss and the gradient of the leaf; what was saved is freed"


def test_what_a_function_keeps_in_its_context_is_found():
    def forward(ctx, a):
        ctx.parts = {"all": [np.zeros(5), a, a * 2]}
        ctx.save_for_backward(a)
        return a * 3

    x, keeps = leaf(2), function(forward, name="Keeps")
    with ledger() as book:
        y = keeps.apply(x)
    assert (book.at_peak, y.size) == ({("Keeps", "results"): 16, ("Keeps", "saved"): 40 + 16}, 2)


def test_the_moments_tell_what_was_alive_after_each_call():
    x = leaf(4)
    with ledger() as book:
        y = x.sin().exp()
        y.sum().backward()
        del y
    forward = [(m.op, m.alive) for m in book.moments if not m.backward]
    assert forward == [("Sin", 32), ("Exp", 64), ("Sum", 72)]
    assert book.moments[-1][:2] == ("Gradient", True)
    assert max(m.alive for m in book.moments) == book.peak
    assert book.alive == 32  # the leaf's gradient


def test_after_the_end_nothing_is_followed_any_more():
    x = leaf(4)
    with ledger() as book:
        y = x * x
    del y
    assert (book.alive, book.peak) == (32, 32)


def test_the_table_of_the_peak_fits_80_columns():
    x = leaf(1000)
    with ledger() as book:
        y = (x * x).exp() + x
        y.sum().backward()
    lines = book.table().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["op", "results", "saved", "backward", "total", "share"]
    assert lines[-1].split()[0] == "peak"
    assert lines[-1].endswith("100.0%")
    assert lines[-1].split()[-3:-1] == format_bytes(book.peak).split()
    assert lines[2].split()[0] == book.holder
    assert book.table(limit=1).splitlines()[3].startswith(f"{len(lines) - 4} others")
    with ledger() as empty:
        pass
    assert (empty.table().splitlines()[-1].split(), empty.holder) == (["peak", *["0", "B"] * 4], "")


def test_an_observer_must_say_what_it_does():
    x = leaf(1)
    with raises(RuntimeError, "Observer does nothing with what it sees; define saw(call) in the subclass"), observer.Observer():
        x + x
    assert observer._patched_methods == []
