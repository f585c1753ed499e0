"""Fused programs: what they compute is what the function computes, up to rounding."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float64, operators
from minitorch.compiler import compiled, fuse, fused, replayed
from minitorch.compiler.trace import EXTERNAL, TEMPORARY, Buffer, Launch, Node, View
from tests.marks import needs_compiler

from .programs import assert_alike, fused_at_once, train

pytestmark = needs_compiler


def called_twice(fn=lambda x: (x * 2.0 + 1.0).sum(), x=None, **options):
    """A compiled function whose program may be fused, and an argument; without other arguments, its result is 8."""
    f, x = minitorch.compile(fn, **options), minitorch.tensor([1.0, 2.0], backend=FastBackend) if x is None else x
    f(x)
    f(x)
    return f, x


def check_fused(seed, dtype, tolerance, length):
    losses, parameters, _ = train(seed, length, dtype, 6, lambda step: step)
    fused_losses, fused_parameters, step = train(seed, length, dtype, 6, fused_at_once)
    assert step.compiled._latest.program is not None
    np.testing.assert_allclose(fused_losses, losses, rtol=tolerance)
    assert_alike(fused_parameters, parameters, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(6))
def test_a_replayed_program_trains_exactly_like_the_function(seed):
    check_replayed(seed, float64)


def check_replayed(seed, dtype):
    losses, parameters, _ = train(seed, 15, dtype, 4, lambda step: step)
    replayed, replayed_parameters, step = train(seed, 15, dtype, 4, minitorch.compile)
    assert (step.recorded, step.replayed) == (1, 3)
    assert replayed == losses
    assert_alike(replayed_parameters, parameters)


def test_the_backward_pass_of_a_function_is_fused_as_well():
    w = minitorch.tensor([[0.5, -1.0], [2.0, 0.25]], backend=FastBackend, requires_grad=True)
    f = minitorch.compile(lambda x: ((x @ w).relu() * 2.0 + 1.0).sum())
    x = minitorch.tensor([[1.0, 3.0]], backend=FastBackend)
    for call in range(4):
        w.grad = None
        f(x).backward()
        assert w.grad is not None
        np.testing.assert_allclose(w.grad.to_numpy(), [[2.0, 0.0], [6.0, 0.0]])  # columns: 1·0.5 + 3·2 > 0, 1·-1 + 3·0.25 < 0
        if call == 1:
            f.fuse()
    assert f._latest.program is not None


def test_a_program_is_fused_in_the_background_after_many_replays():
    f, x = called_twice()
    for _ in range(200):
        assert f(x).item() == 8.0
        if f._latest and f._latest.program:
            break
        time.sleep(0.05)
    assert f._latest.program is not None


def test_a_child_process_compiles_to_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    f, _ = called_twice()
    monkeypatch.setattr(f._latest, "fuse_if_possible", lambda: None)
    compiled._fuse(f._latest)
    assert f._latest._ready is None
    assert len(list((tmp_path / "programs").glob("fused_*.txt"))) == 1
    assert len(list(tmp_path.rglob("fused_*.nbc"))) == 1


def test_what_a_child_process_cannot_compile_in_time_is_launched_as_before(monkeypatch):
    f, x = called_twice()
    monkeypatch.setattr(f._latest, "fuse", lambda: time.sleep(60))
    monkeypatch.setattr(f._latest, "fuse_if_possible", lambda: pytest.fail("compiled here"))
    monkeypatch.setattr(compiled, "LONGEST_FUSE", 1)
    compiled._fuse(f._latest)
    assert f(x).item() == 8.0


def test_the_children_end_with_the_process(monkeypatch):
    f, _ = called_twice()
    tried = []
    monkeypatch.setattr(f._latest, "fuse", lambda: time.sleep(60))
    monkeypatch.setattr(f._latest, "fuse_if_possible", lambda: tried.append(True))
    thread = threading.Thread(target=compiled._fuse, args=(f._latest,))
    thread.start()
    while not compiled._fusing:
        time.sleep(0.01)
    compiled._end_fusing()
    thread.join(10)
    assert not thread.is_alive()
    assert not compiled._fusing
    assert not tried


KILLED = """
import os, signal, socket, threading, time
import minitorch
from minitorch import FastBackend
from minitorch.compiler import compiled

f = minitorch.compile(lambda x: (x * x).sum())
x = minitorch.ones((2, 3), backend=FastBackend)
f(x), f(x)
f._latest.fuse = lambda: time.sleep(60)
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=compiled._fuse, args=(f._latest,)).start()
while not compiled._fusing:
    time.sleep(0.01)
time.sleep(0.3)
print(*compiled._fusing, server.getsockname()[1], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_child_of_a_killed_process_ends_and_has_none_of_its_files():
    done = subprocess.run([sys.executable, "-c", KILLED], text=True, capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    child, port = done.stdout.split()
    state = Path("/proc", child, "stat")
    end = time.monotonic() + 10
    while state.exists() and state.read_text().split()[2] != "Z" and time.monotonic() < end:
        time.sleep(0.05)
    assert not state.exists() or state.read_text().split()[2] == "Z"  # nobody may have waited for it
    socket.create_server(("127.0.0.1", int(port))).close()


def test_where_no_process_can_be_started_a_program_is_fused_here(monkeypatch):
    f, _ = called_twice()
    monkeypatch.setattr(os, "fork", lambda: raise_error(OSError(12, "Cannot allocate memory")))
    compiled._fuse(f._latest)
    assert f._latest.program is not None or f._latest._ready is not None


def test_a_program_whose_child_somebody_else_waited_for_is_fused_here(monkeypatch):
    f, _ = called_twice()
    tried = []
    monkeypatch.setattr(f._latest, "fuse", lambda: None)
    monkeypatch.setattr(f._latest, "fuse_if_possible", lambda: tried.append(True))
    waitpid = os.waitpid
    monkeypatch.setattr(os, "waitpid", lambda process, options: waitpid(process, options) and raise_error(ChildProcessError()))
    compiled._fuse(f._latest)
    assert tried == [True]
    assert not compiled._fusing


def raise_error(error):
    raise error


def test_a_fused_program_is_compared_up_to_rounding():
    w, x = minitorch.rand((30, 20), backend=FastBackend), minitorch.rand((40, 30), backend=FastBackend)
    f, _ = called_twice(lambda x: (x @ w).sigmoid().sum(), x, check_every=2)
    f.fuse()
    for factor in (1.0, 1.0, 1.0, 1.0, 2.0, 3.0):  # other numbers are compared at once
        y = x * factor
        expected = (1 / (1 + np.exp(-(y.to_numpy() @ w.to_numpy())))).sum()
        np.testing.assert_allclose(f(y).item(), expected, rtol=1e-12)
    assert f._latest.program is not None


def test_fuse_false_leaves_the_launches():
    f, x = called_twice(fuse=False)
    assert {f(x).item() for _ in range(80)} == {8.0}
    assert f._latest.program is None
    assert f._latest._ready is None


def test_a_fused_program_that_differs_is_not_used(monkeypatch):
    f, x = called_twice()
    write = fused.Writer.source
    monkeypatch.setattr(fused.Writer, "source", lambda self, name: write(self, name).replace("float64(2.0)", "float64(2.0001)"))
    assert "2.0001" in f.fuse()
    with pytest.warns(RuntimeWarning, match="the fused program of <lambda> differs in the result; its kernels are launched one by one"):
        assert f(x).item() == 8.0
    assert f(x).item() == 8.0
    assert f._latest.program is None


def test_what_cannot_be_compiled_is_launched_as_before(monkeypatch):
    f, x = called_twice()
    monkeypatch.setattr(replayed, "fuse", lambda *args: 1 / 0)
    with pytest.warns(RuntimeWarning, match="could not be fused, its kernels are launched one by one: ZeroDivisionError"):
        f._latest.fuse_if_possible()
    assert f(x).item() == 8.0


# Which nodes share a loop


def buffer(name, size, role=TEMPORARY):
    return Buffer(name, np.zeros(size), role)


def flat_kernel():
    raise AssertionError


flat_kernel.py_func = flat_kernel


def node(kind, fn, out, inputs, **attrs):
    return Node(kind, fn.__name__, fn, out, tuple(inputs), attrs, [Launch(flat_kernel, ())])


def view(buffer, *shape, strides=None, offset=0):
    steps, step = [], 1
    for size in reversed(shape):
        steps.insert(0, step)
        step *= size
    return View(buffer, shape, tuple(steps) if strides is None else strides, offset)


def test_a_chain_and_the_sum_that_ends_it_are_one_loop():
    x, b = buffer("x", 12, EXTERNAL), buffer("b", 4, EXTERNAL)
    t1, t2, t3 = buffer("t1", 12), buffer("t2", 12), buffer("t3", 4)
    nodes = [
        node("zip", operators.add, view(t1, 3, 4), [view(x, 3, 4), view(b, 4)]),
        node("map", operators.relu, view(t2, 3, 4), [view(t1, 3, 4)]),
        node("reduce", operators.add, view(t3, 1, 4), [view(t2, 3, 4)], dims=0, start=0.0),
    ]
    (group,) = fuse.group_nodes(nodes, {t3})
    assert group.stored == {t3}
    assert group.space == (3, 4)


@pytest.mark.parametrize(
    ("out", "in_", "options"),
    [((4, 3), (4, 3), {}), ((3, 4), (3, 4), {"strides": (1, 3)}), ((3, 4), (1, 4), {"offset": 4})],
    ids=["another shape", "the first result transposed", "a row of the first result"],
)
def test_nodes_that_read_other_elements_than_were_just_written_are_loops_of_their_own(out, in_, options):
    x, t1, t2 = buffer("x", 12, EXTERNAL), buffer("t1", 12), buffer("t2", 12)
    first = node("map", operators.neg, view(t1, 3, 4), [view(x, 3, 4)])
    second = node("map", operators.relu, view(t2, *out), [view(t1, *in_, **options)])
    groups = fuse.group_nodes([first, second], {t2})
    assert [len(group.nodes) for group in groups] == [1, 1]
    assert groups[0].stored == {t1}


def test_what_reads_a_sum_waits_until_the_loop_has_ended():
    x, t1, t2 = buffer("x", 4, EXTERNAL), buffer("t1", 1), buffer("t2", 4)
    total = node("reduce", operators.add, view(t1, 1), [view(x, 4)], dims=0, start=0.0)
    assert len(fuse.group_nodes([total, node("zip", operators.mul, view(t2, 4), [view(x, 4), view(t1, 1)])], {t2})) == 2


def test_no_loop_crosses_the_beginning_of_the_backward_pass():
    x, t1, t2 = buffer("x", 4, EXTERNAL), buffer("t1", 4), buffer("t2", 4)
    nodes = [node("map", operators.neg, view(t1, 4), [view(x, 4)]), node("map", operators.neg, view(t2, 4), [view(t1, 4)])]
    assert len(fuse.group_nodes(nodes, {t2})) == 1
    assert len(fuse.group_nodes(nodes, {t2}, nodes[1])) == 2
