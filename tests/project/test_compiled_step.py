"""--compile of the training programs: the same results as without, and the gain."""

import re

import pytest

import minitorch
from project import run_fast_tensor, run_gpt, run_mnist_multiclass, run_sentiment, run_tensor
from project.lab.training.compiled_step import EAGER_STEPS, CompiledStep
from project.lab.training.image_trainer import ImageSetting
from tests.marks import needs_compiler

pytestmark = needs_compiler

PROGRAMS = {
    "run_tensor": (run_tensor, "--points 6 --hidden 3 --epochs 20"),
    "run_fast_tensor": (run_fast_tensor, "--points 25 --hidden 3 --epochs 20"),
    "run_mnist_multiclass": (run_mnist_multiclass, "--epochs 1"),
    "run_sentiment": (run_sentiment, "--epochs 1"),
    "run_gpt": (run_gpt, "--steps 14 --batch 2 --context 8 --layers 1 --heads 2 --width 8 --length 5"),
}
"""Programs, and options with which they end soon."""


def results(output):
    """The losses and accuracies of the log, without times."""
    return re.findall(r"(?:loss|train|valid|correct|training|validation):?\s+([\d.]+)", output)


SLOW = PROGRAMS.keys() - {"run_tensor"}
"""Programs that compile many kernels first."""


def check_program(name, capsys):
    program, options = PROGRAMS[name]
    found = []
    for more in ([], ["--compile"]):
        assert program.main([*options.split(), *more]) == 0
        found.append(capsys.readouterr().out)
    plain, compiled = map(results, found)
    assert plain
    assert compiled == plain
    assert "Compiled" not in found[0]
    (line,) = [line for line in found[1].splitlines() if line.startswith("Compiled: ")]
    replayed, steps = (int(word) for word in line.split()[1:4] if word.isdigit())
    assert 0 < replayed < steps


def test_a_program_learns_the_same_with_compile(capsys):
    check_program("run_tensor", capsys)


def test_the_gain_is_told_once_there_are_enough_steps():
    step = CompiledStep(lambda x: x * 2.0, True)
    x = minitorch.tensor([1.0, 2.0], backend=minitorch.FastBackend)
    for number in range(3 * EAGER_STEPS):
        assert step(x).tolist() == [2.0, 4.0]
        assert bool(step.gain()) == (number + 1 >= 2 * EAGER_STEPS)
    assert step.gain().startswith(f"Compiled: {2 * EAGER_STEPS - 1} of {3 * EAGER_STEPS} steps were replayed; a step takes ")


def test_a_package_without_compile_says_so(monkeypatch):
    monkeypatch.setattr(minitorch, "compile", None)
    with pytest.raises(RuntimeError, match=r"--compile needs minitorch\.compile, which comes after the course; leave out --compile"):
        CompiledStep(len, True)
    assert CompiledStep(len, False)([1, 2]) == 2


def test_the_command_of_a_setting_has_the_flag():
    assert " --compile " in ImageSetting(compile=True).command()
    assert "--compile" not in ImageSetting().command()
    with pytest.raises(ValueError, match="compile expected True or False, got 1"):
        ImageSetting(compile=1)
