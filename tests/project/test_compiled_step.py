"""Steps that are recorded if the rest of a run is long enough, and programs that print the same with --eager."""

import copy
import re

import pytest

import minitorch
from course.manifest import ROOT
from course.staff.handout.selection import imports
from minitorch import FastBackend
from project import run_fast_tensor, run_gpt, run_mnist_multiclass, run_sentiment
from project.lab.training import compiled_step
from project.lab.training.compiled_step import TIMED, CompiledStep
from project.lab.training.image_trainer import ImageSetting
from tests.marks import needs_compiler

pytestmark = needs_compiler

PROGRAMS = {
    "run_fast_tensor": (run_fast_tensor, "--points 25 --hidden 3 --epochs 20", 2),  # the last batch of an epoch is smaller
    "run_mnist_multiclass": (run_mnist_multiclass, "--epochs 1", 1),
    "run_sentiment": (run_sentiment, "--epochs 1", 1),
    "run_gpt": (run_gpt, "--steps 14 --batch 2 --context 8 --layers 1 --heads 2 --width 8 --length 5", 1),
}
"""Programs, options with which they end soon, and how many shapes of batches occur often."""


@pytest.fixture
def steps(monkeypatch):
    """Recording pays at once; returns the steps for which that is decided."""
    monkeypatch.setattr(compiled_step, "SECONDS", 0.0)
    monkeypatch.setattr(compiled_step, "CALLS", 0)
    decide, found = CompiledStep._decide, []
    monkeypatch.setattr(CompiledStep, "_decide", lambda step, *args: found.append(step) or decide(step, *args))
    return found


def without_times(output):
    return re.sub(r" +[\d.]+ s\b.*| in [\d.]+ s \([^)]*\)| Compiling took [\d.]+ s before\.", "", output)


def check_program(name, steps, capsys):
    """A program prints the same with --eager, and records each shape of batches once."""
    program, options, shapes = PROGRAMS[name]
    found = []
    for more in ([], ["--eager"]):
        assert program.main([*options.split(), *more]) == 0
        found.append(without_times(capsys.readouterr().out))
    assert found[0] == found[1]
    assert len(set(steps)) == 1
    assert steps[0].compiled.recorded == shapes
    assert steps[0].compiled.replayed > shapes


def numbers(*values):
    return minitorch.tensor(list(values), backend=FastBackend)


def test_a_long_run_is_recorded_after_a_few_calls(steps):
    step = CompiledStep(lambda x: x * 2.0, 100)
    for number in range(20):
        assert step(numbers(number, 2.0)).tolist() == [2.0 * number, 4.0]
        assert (step.compiled is not None) == (number + 1 >= TIMED)
    assert (step.compiled.recorded, step.compiled.replayed) == (1, 20 - TIMED - 1)


@pytest.mark.parametrize("calls", [0, 1, 2, 5, 20, 100])
def test_a_short_run_is_never_recorded(calls):
    step = CompiledStep(lambda x: x * 2.0, calls)
    for _ in range(calls + 3):  # more than announced
        assert step(numbers(1.0)).tolist() == [2.0]
    assert step.compiled is None


@pytest.mark.parametrize(("seconds", "expected", "pays"), [(0.001, 559, False), (0.001, 561, True), (1.0, 60, False), (1.0, 61, True)])
def test_recording_has_to_pay_for_itself(seconds, expected, pays):
    """It takes at most 0.05 s and six calls: as much as a tenth of 560 calls of 1 ms, or of 60.5 calls of 1 s."""
    step = CompiledStep(lambda x: x * 2.0, 1000)
    step._decide("shapes", seconds, expected)
    assert (step.compiled is not None) == pays


@pytest.mark.parametrize(("seconds", "expected", "fuses"), [(0.001, 19_900, False), (0.001, 20_100, True), (0.003, 20_000, False)])
def test_a_long_run_of_small_steps_is_fused(seconds, expected, fuses):
    step = CompiledStep(lambda x: x * 2.0, 30_000)
    step._decide("shapes", seconds, expected)
    assert step.compiled._fuse == fuses


def test_each_shape_is_recorded_once_there_are_enough_calls_of_it(steps):
    step = CompiledStep(lambda x: x.sum(), 1000)
    for number in range(12):
        for size in (3, 3, 3, 2):
            assert step(numbers(*[1.0] * size)).item() == size
        assert (((2,),) in step._replays) == (number + 1 >= TIMED)
    assert step.compiled.recorded == 2


def test_a_shape_is_expected_as_often_as_so_far(monkeypatch):
    found = []
    monkeypatch.setattr(CompiledStep, "_decide", lambda step, shapes, seconds, expected: found.append((shapes, expected)))
    step = CompiledStep(lambda x: x.sum(), 100)
    for size in (3, 3, 3, 2) * 5:
        step(numbers(*[1.0] * size))
    assert found == [(((3,),), 94 * 5 / 6), (((2,),), 80 * 5 / 20)]  # after 6 calls, of which 5, and after 20, of which 5


def test_a_model_keeps_its_attributes_and_can_be_copied():
    model = minitorch.nn.Linear(2, 1)
    step = copy.copy(CompiledStep(model, 100))
    assert step.weight is model.weight
    with pytest.raises(AttributeError, match=r"^function$"):
        CompiledStep.__new__(CompiledStep).function  # noqa: B018
    assert not hasattr(step, "bias_of")


def test_further_shapes_run_as_they_are(steps):
    step = CompiledStep(lambda x: x.sum(), 1000)
    for size in range(1, 8):
        for _ in range(TIMED + 2):
            assert step(numbers(*[1.0] * size)).item() == size
    assert step.compiled.recorded == len(step._replays) == compiled_step.MOST


def branch(x):
    return x * 2.0 if x.sum().item() > 0 else x


def read_without_a_kernel(x):
    return x * float(x._tensor._storage[0])


class Fails:
    """A function that raises in the calls with these numbers, counted from 1."""

    def __init__(self, *numbers):
        self.numbers, self.number = numbers, [0]

    def __call__(self, x):
        self.number[0] += 1
        if self.number[0] in self.numbers:
            raise ZeroDivisionError(f"call {self.number[0]}")
        return x * 2.0


@pytest.mark.parametrize(
    ("function", "expected"), [(branch, 2), (read_without_a_kernel, 1), (Fails(TIMED + 1), 2)], ids=["branch", "numbers", "error"]
)
def test_what_cannot_be_recorded_runs_as_it_is_without_a_word(function, expected, steps, capsys):
    step = CompiledStep(function, 100)
    for number in range(1, 12):  # read_without_a_kernel computes the square
        assert step(numbers(number)).item() == number * (number if expected == 1 else 2)
    assert step.left == 0
    assert capsys.readouterr() == ("", "")


def test_an_error_of_the_function_itself_is_raised(steps):
    step = CompiledStep(Fails(*range(TIMED + 1, 100)), 100)
    for _ in range(TIMED):
        step(numbers(1.0))
    with pytest.raises(ZeroDivisionError, match=f"call {TIMED + 2}") as caught:
        step(numbers(1.0))
    assert caught.value.__context__ is None


def test_dropout_and_the_optimizer_continue_as_without_recording(steps):
    found = []
    for calls in (0, 100):
        minitorch.manual_seed(3)
        weight = minitorch.Parameter(numbers(*[1.0] * 8))
        optimizer = minitorch.SGD([weight], 0.1, 0.9)

        def learn(x, weight=weight, optimizer=optimizer):
            loss = (minitorch.dropout(weight.value * x, 0.5) * x).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = CompiledStep(learn, calls)
        losses = [step(numbers(*[0.1 * number] * 8)).item() for number in range(15)]
        found.append((losses, weight.value.tolist(), minitorch.rand((2,)).tolist()))
    assert step.compiled.replayed > 0
    assert found[0] == found[1]


def test_a_package_without_compile_runs_the_function(steps, monkeypatch):
    monkeypatch.setattr(minitorch, "compile", None)
    step = CompiledStep(lambda x: x * 2.0, 100)
    assert [step(numbers(1.0)).item() for _ in range(2 * TIMED)] == [2.0] * 2 * TIMED
    assert not steps


def test_the_programs_need_no_module_of_the_compiler():
    """Otherwise the workspaces of Modules 3 and 4, which end before it, would lack the programs."""
    names = imports(ROOT, "project/lab/training/compiled_step.py", later=True)
    assert {name for name in names if name.startswith("minitorch")} == {"minitorch"}


def test_the_command_of_a_setting_has_the_flag():
    assert ImageSetting(eager=True).command().endswith(" --eager --momentum 0.0 --dtype float32")
    assert "--eager" not in ImageSetting().command()
    with pytest.raises(ValueError, match=r"^eager expected True or False, got 1$"):
        ImageSetting(eager=1)
