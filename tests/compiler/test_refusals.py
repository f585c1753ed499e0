"""What cannot be replayed is refused with the line and the remedy, or runs as it is; and nothing is left half done after an error."""

# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false, reportIndexIssue=false, reportArgumentType=false

import copy
import functools
import multiprocessing
import os
import pickle
import random
import re
import types
import warnings

import numpy as np
import pytest

import minitorch
from minitorch import nn, optim
from minitorch.compiler import NotRecordable
from minitorch.core.recording import active
from minitorch.optim.lr_scheduler import StepLR

from .programs import changes, linear, outcome_of_both, refuses, tensor

X = [[1.0, 2.0], [3.0, 4.0]]


def differs(where):
    """The error of a replay that gives other numbers."""
    return refuses(f"its replay differs from the function itself in {where}; it computes with numbers that no recorded kernel wrote")


# Values that Python reads


def use_item(x):
    return x * (x * 2.0).sum().item()


def use_while(x):
    while (x.sum() < 100.0).all():
        x = x * 2.0
    return x


READS = {
    "if": lambda x: x if x.sum() > 0 else x * 2.0,
    "item": use_item,
    "float": lambda x: x * float((x * 2.0).sum()),
    "while": use_while,
    "numpy": lambda x: x + (x * 2.0).numpy().max(),
    "to_numpy": lambda x: x + (x * 2.0).to_numpy().max(),
    "tolist": lambda x: x + (x * 2.0).tolist()[0][0],
    "asarray": lambda x: x + np.asarray(x * 2.0).max(),
    "repr": lambda x: (x, repr(x * 2.0)),
    "str": lambda x: (x, str(x * 2.0)),
    "format": lambda x: (x, f"{(x * 2.0).sum():.3f}"),
    "mask": lambda x: x[x > 2.0],
    "index": lambda x: x[minitorch.argmax(x, 1) > 0],
    "element": lambda x: x * x[0, 1],
    "bits": lambda x: (x, minitorch.bits(x)),
}
"""Functions that read a number, in their first line or in the line after `def`."""


def compare_in_python(x):
    data = x._tensor  # a way that nothing watches
    return max(data.get((0, 0)), data.get((1, 1))) * x


def test_numbers_that_python_reads_unseen_are_found_when_they_change():
    compiled = minitorch.compile(compare_in_python)
    for _ in range(2):
        assert compiled(tensor(X)).tolist() == [[4.0, 8.0], [12.0, 16.0]]
    with differs("the result"):
        compiled(tensor(X) * 2.0)


@pytest.mark.parametrize("fn", READS.values(), ids=READS)
def test_a_number_that_python_reads_is_refused_with_its_line(fn):
    compiled = minitorch.compile(fn)
    line = fn.__code__.co_firstlineno + (fn.__name__ != "<lambda>")
    for _ in range(2):  # and again: the error is not remembered
        with refuses(rf".* cannot be recorded, at test_refusals\.py:{line}; do it outside of the compiled function", fn.__name__):
            compiled(tensor(X))
        assert active.recorder is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager = minitorch.compile(fn, fallback="eager")
        for factor in (1.0, 2.0):
            got, want = eager(tensor(X) * factor), fn(tensor(X) * factor)
            got, want = (got[0], want[0]) if isinstance(got, tuple) else (got, want)
            np.testing.assert_array_equal(got.to_numpy(), want.to_numpy())


def test_an_error_that_the_function_catches_is_not_forgotten():
    def fn(x):
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x

    with pytest.raises(NotRecordable, match=r"item\(\), float\(\) or if, cannot be recorded"):
        minitorch.compile(fn)(tensor(X))


def test_numbers_from_numpys_or_pythons_generator_are_found():
    for fn in (lambda x: x * np.random.rand(), lambda x: x * random.random()):
        compiled = minitorch.compile(fn)
        compiled(tensor(X))
        with differs("the result"):
            compiled(tensor(X))


# Python that changes


class Trainer:
    def __init__(self):
        minitorch.manual_seed(0)
        self.model = linear(2, 1)
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.1)
        self.schedule = StepLR(self.optimizer, 1, 0.5)
        self.count = 0
        self.losses = []
        self.best = {"loss": 0.0}
        self.seen = set()

    def train(self, x):
        self.optimizer.zero_grad()
        loss = (self.model(x) - 1.0).sigmoid().mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def counts(self, x):
        self.count += 1
        return self.train(x)

    def appends(self, x):
        self.losses.append(self.train(x))
        return self.losses[-1]

    def writes(self, x):
        self.best["loss"] = 1.0
        return self.train(x)

    def adds_a_key(self, x):
        self.best["new"] = 1.0
        return self.train(x)

    def adds_to_a_set(self, x):
        self.seen.add(len(self.seen))
        return self.train(x)

    def sets_an_attribute(self, x):
        self.latest = 1
        return self.train(x)

    def schedules(self, x):
        loss = self.train(x)
        self.schedule.step()
        return loss

    def sets_the_rate(self, x):
        self.optimizer.lr = 0.5 * self.optimizer.lr
        return self.train(x)

    def state(self):
        saved = [p.value.to_numpy().tolist() for p in self.model.parameters()]
        saved += [np.asarray(v).tolist() for state in self.optimizer.state_dict()["state"].values() for v in state.values()]
        return saved, self.optimizer.lr, self.schedule.last_epoch, self.count, len(self.losses), self.best, self.seen


CHANGES = {
    "counts": r"self\.count, which was 0 and is 1",
    "appends": r"the entries of self\.losses",
    "writes": r"self\.best\['loss'\], which was 0\.0 and is 1\.0",
    "adds_a_key": r"the number of entries of self\.best, which was 1 and is 2",
    "adds_to_a_set": r"the entries of self\.seen",
    "sets_an_attribute": r"self\.latest, which is new",
    "schedules": r"self\.schedule\.last_epoch, which was 0 and is 1",
    "sets_the_rate": r"(a setting of the optimizer, such as its learning rate|self\.optimizer\.lr, which was 0\.1 and is 0\.05)",
}


@pytest.mark.parametrize("name", CHANGES)
def test_python_that_changes_is_refused_and_nothing_is_applied(name):
    trainer = Trainer()
    before = copy.deepcopy(trainer.state())
    text = CHANGES[name].replace(r"self\.", r"(Trainer\.)?")
    with refuses(changes(text), name):
        minitorch.compile(getattr(trainer, name))(tensor(X))
    assert trainer.state() == before
    assert all(p.value.grad is None for p in trainer.model.parameters())


@pytest.mark.parametrize("name", CHANGES)
def test_with_fallback_python_that_changes_runs_as_it_is(name):
    trainer, twin = Trainer(), Trainer()
    compiled, step = minitorch.compile(getattr(trainer, name), fallback="eager"), getattr(twin, name)
    with pytest.warns(RuntimeWarning, match=f"{name} runs as it is, because it cannot be compiled: the function changes") as caught:
        assert compiled(tensor(X)).item() == step(tensor(X)).item()
    assert [each.filename for each in caught] == [__file__]
    for number in range(3):  # warnings are errors
        assert compiled(tensor(np.add(X, number).tolist())).item() == step(tensor(np.add(X, number).tolist())).item()
    assert trainer.state() == twin.state()


def test_a_rate_that_the_function_sets_in_a_way_that_nobody_sees_is_found():
    trainer = Trainer()
    change = functools.partial(setattr, trainer.optimizer, "lr", 0.5)

    def step(x):
        loss = trainer.train(x)
        change()
        return loss

    with refuses(changes("a setting of the optimizer, such as its learning rate")):
        minitorch.compile(step)(tensor(X))
    assert trainer.optimizer.lr == 0.1


def test_a_counter_in_a_closure_or_global_is_refused():
    count = 0
    holder = types.SimpleNamespace(n=[0])

    def fn(x):
        nonlocal count
        count += 1
        return x * 2.0

    with refuses(changes("count, which was 0 and is 1")):
        minitorch.compile(fn)(tensor(X))
    assert count == 0

    def other(x):
        holder.n[0] += 1
        return x * 2.0

    with refuses(changes(r"the entries of holder\.n")):
        minitorch.compile(other)(tensor(X))
    assert holder.n == [0]


def test_with_fallback_random_numbers_go_on_as_if_nothing_had_been_recorded():
    def fn(x):
        y = nn.dropout(x + np.random.rand() + random.random(), 0.5)
        return y * (y.sum().item() + 1.0)

    def run(compile):
        step = compile(fn, fallback="eager")
        for seed in (minitorch.manual_seed, np.random.seed, random.seed):
            seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [step(tensor(X)).tolist() for _ in range(4)]

    outcome_of_both(run)


def test_a_compiled_function_that_runs_as_it_is_says_why():
    compiled = minitorch.compile(use_item, fallback="eager")
    with pytest.warns(RuntimeWarning, match=r"use_item runs as it is, because it cannot be compiled: a number that Python reads"):
        compiled(tensor(X))
    with pytest.raises(RuntimeError, match="use_item has no trace, because it runs as it is: a number that Python reads"):
        compiled.memory  # noqa: B018


# Errors of the function


@pytest.mark.parametrize("error", [ValueError("of mine"), KeyboardInterrupt("of mine")])
@pytest.mark.parametrize("call", [0, 1], ids=["while recording", "in the compared call"])
def test_an_error_leaves_everything_as_it_was(call, error):
    trainer, twin, errors = Trainer(), Trainer(), []

    def step(x):
        loss = trainer.train(x)
        for each in errors:
            raise each
        return loss

    compiled = minitorch.compile(step)
    losses = [compiled(tensor(X)).item() for _ in range(call)]
    before, gradients = trainer.state(), [p.value.grad for p in trainer.model.parameters()]
    errors.append(error)
    for _ in range(12):  # it is no recording, and so does not count
        with pytest.raises(type(error), match="of mine"):
            compiled(tensor(X))
    assert active.recorder is None
    assert trainer.state() == before
    assert all(p.value.grad is g for p, g in zip(trainer.model.parameters(), gradients, strict=True))
    errors.clear()
    losses += [compiled(tensor(X)).item() for _ in range(4)]
    assert losses == [twin.train(tensor(X)).item() for _ in losses]
    assert trainer.state() == twin.state()
    assert compiled.recorded == 1


def test_an_error_of_the_library_is_raised_as_it_is():
    compiled = minitorch.compile(lambda x: x @ x)
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        compiled(tensor([[1.0, 2.0, 3.0]] * 2))
    assert compiled(tensor(X)).to_numpy().tolist() == [[7.0, 10.0], [15.0, 22.0]]


# Kernels that are not recorded


def twice(x):
    """Twice a tensor, computed by NumPy without being recorded."""
    return minitorch.Tensor(minitorch.TensorData((x._tensor.array() * 2.0).reshape(-1), x.shape), backend=x.backend)


class Doubled(minitorch.Function):
    forward = staticmethod(lambda ctx, a: twice(a))
    backward = staticmethod(lambda ctx, grad_output: grad_output * 2.0)


class DoubledBack(minitorch.Function):
    forward = staticmethod(lambda ctx, a: a * 2.0)
    backward = staticmethod(lambda ctx, grad_output: twice(grad_output))


def test_the_first_replay_finds_a_kernel_that_is_not_recorded():
    weight = nn.Parameter(tensor([1.0, 2.0]))

    def step(x):
        (Doubled.apply(x * weight.value) * weight.value).sum().backward()

    compiled = minitorch.compile(step)
    compiled(tensor([1.0, 1.0]))
    before = weight.value.grad.to_numpy()
    weight.value.grad = None
    with differs("the gradient of weight"):
        compiled(tensor([5.0, 7.0]))
    assert weight.value.grad is None
    assert before.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("function", [Doubled, DoubledBack])
def test_a_result_with_gradients_and_its_gradients_are_compared(function):
    compiled = minitorch.compile(lambda x: function.apply(x * 3.0) * x)

    def call_with_other_numbers():  # a constant is only found when the argument holds other numbers
        for number in range(3):
            x = tensor([1.0 + number, 2.0], True)
            compiled(x).sum().backward()
            assert x.grad.to_numpy().tolist() == [12.0 + 12.0 * number, 24.0]

    with differs("(the gradient of argument 0|the result)"):
        call_with_other_numbers()


def test_numbers_are_compared_again_when_an_argument_or_a_parameter_changes():
    weight = tensor([2.0])
    doubled = minitorch.compile(lambda x, y: x + Doubled.apply(y) + Doubled.apply(weight), fallback="eager")
    for _ in range(3):
        assert doubled(tensor([1.0]), tensor([3.0])).item() == 11.0
    with pytest.warns(RuntimeWarning, match="runs as it is, because it cannot be compiled: its replay differs from the function itself in"):
        assert doubled(tensor([1.0]), tensor([4.0])).item() == 13.0
    assert doubled(tensor([1.0]), tensor([5.0])).item() == 15.0
    doubled = minitorch.compile(lambda x: x + Doubled.apply(weight), fallback="eager")
    for number in range(3):
        assert doubled(tensor([1.0 + number])).item() == 5.0 + number
    weight[0] = 5.0
    with pytest.warns(RuntimeWarning, match="its replay differs from the function itself in the result"):
        assert doubled(tensor([1.0])).item() == 11.0


def test_check_every_finds_what_changes_later():
    compiled = minitorch.compile(lambda x: x * 2.0, check_every=3, fuse=False)
    for _ in range(4):
        compiled(tensor([1.0]))
    (recording,) = [each for group in compiled._recordings.values() for each in group]
    recording.forward_calls[:] = [(lambda *args: None, ()) for _ in recording.forward_calls]

    def call_three_times():
        for number in range(3):
            compiled(tensor([float(number + 10)]))

    with differs("the result"):
        call_three_times()


def test_without_check_the_first_replay_is_not_compared():
    calls = []
    compiled = minitorch.compile(lambda x: (len(calls), x * 2.0)[1], check=False)
    assert [compiled(tensor([float(n)])).item() for n in range(3)] == [0.0, 2.0, 4.0]
    assert (compiled.recorded, compiled.replayed) == (1, 2)


# Options


class Slots:
    __slots__ = ()

    @minitorch.compile
    def apply(self, x):
        return x


INTEGER = "compile expected {}, an integer of at least {}, got {}"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: minitorch.compile(abs, fallback="none"), ValueError, """compile expected fallback="error" or "eager", got 'none'"""),
        (lambda: minitorch.compile(abs, check_every=-1), ValueError, INTEGER.format("check_every", 0, -1)),
        (lambda: minitorch.compile(abs, check_every=1.5), ValueError, INTEGER.format("check_every", 0, 1.5)),
        (lambda: minitorch.compile(abs, max_recordings=0), ValueError, INTEGER.format("max_recordings", 1, 0)),
        (lambda: minitorch.compile(abs, max_recordings=True), ValueError, INTEGER.format("max_recordings", 1, True)),
        (lambda: minitorch.compile(abs, unknown=1), TypeError, "unexpected keyword argument 'unknown'"),
        (
            lambda: minitorch.compile(tensor([1.0])), TypeError,
            "compile expected a function or a Module, got Tensor; pass the function itself, not its result",
        ),
        (
            lambda: Slots().apply(tensor([1.0])), TypeError,
            "a compiled method expected an object with attributes, but Slots has __slots__; compile(Slots().apply)",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_a_decorator_takes_options():
    @minitorch.compile(max_recordings=2)
    def doubled(x):
        """Twice x."""
        return x * 2.0

    assert (doubled.__name__, doubled.__doc__, repr(doubled)[:18]) == ("doubled", "Twice x.", "compile(<function ")
    assert doubled(tensor([2.0])).item() == 4.0


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    @minitorch.compile
    def __call__(self, x):
        return x * self.scale

    @minitorch.compile
    def apply(self, x):
        return x + self.scale


def test_a_compiled_method_knows_its_object():
    one, two = Scaled(2.0), Scaled(3.0)
    for _ in range(3):
        assert [one.apply(tensor([1.0])).item(), two.apply(tensor([1.0])).item()] == [3.0, 4.0]
        assert [one(tensor([5.0])).item(), two(tensor([5.0])).item()] == [10.0, 15.0]
    one.scale = 7.0
    assert one.apply(tensor([1.0])).item() == 8.0
    assert one.apply is one.apply
    assert one.apply.recorded == 2
    assert pickle.loads(pickle.dumps(one)).apply(tensor([1.0])).item() == 8.0
    assert copy.deepcopy(one).apply(tensor([1.0])).item() == 8.0


# Copies, pickles, forks


@minitorch.compile
def module_level(x):
    return x * 2.0


def test_a_compiled_function_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.deepcopy(module_level) is module_level


def test_a_compiled_module_is_copied_and_pickled_without_its_recordings():
    model = linear(2, 2)
    compiled = minitorch.compile(model, max_recordings=3)
    with minitorch.no_grad():
        want = compiled(tensor(X)).to_numpy()
        for made in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
            assert made.fn is not model
            assert made.recorded == 0
            for _ in range(3):
                np.testing.assert_array_equal(made(tensor(X)).to_numpy(), want)
            made.weight.value[...] = 0.0
            made(tensor(X))
            np.testing.assert_array_equal(compiled(tensor(X)).to_numpy(), want)


def test_a_module_is_copied_after_its_step_was_compiled():
    trainer = Trainer()
    compiled = minitorch.compile(trainer.train)
    for _ in range(2):
        compiled(tensor(X))
    other = copy.deepcopy(trainer)
    again = minitorch.compile(other.train)
    assert [compiled(tensor(X)).item() for _ in range(3)] == [again(tensor(X)).item() for _ in range(3)]
    assert pickle.loads(pickle.dumps(trainer.model)).weight.value.to_numpy().tolist() == trainer.model.weight.value.to_numpy().tolist()


def in_child(connection, compiled, x):
    try:
        connection.send([compiled(tensor(x)).item() for _ in range(3)])
    except BaseException as error:
        connection.send(repr(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_goes_on():
    trainer = Trainer()
    compiled = minitorch.compile(trainer.train)
    for _ in range(2):
        compiled(tensor(X))
    (recording,) = [each for group in compiled._recordings.values() for each in group]
    here, there = multiprocessing.Pipe()
    with recording.lock, compiled._lock:  # as if another thread were in the middle of a call
        child = multiprocessing.get_context("fork").Process(target=in_child, args=(there, compiled, X))
        child.start()
    assert here.poll(60)
    losses = here.recv()
    child.join(10)
    assert losses == [compiled(tensor(X)).item() for _ in range(3)]
