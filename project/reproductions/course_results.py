"""Results published by the course itself and by micrograd."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from minitorch import Scalar
from project.lab.training import command_line
from project.reproductions.results import Absent, Row, at_least, at_most, close, reproduction

ROOT = Path(__file__).resolve().parents[2]


def program(*arguments: str) -> str:
    """Run one of the programs and return its output.

    Raises:
        Absent: If data or a device is missing; the message is that of the program.
        RuntimeError: If it fails.
    """
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == command_line.BAD_USE:
        raise Absent(done.stderr.strip())
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout


def right_points(*arguments: str) -> tuple[int, float]:
    """Return how many of 50 points a training program classifies correctly at the end, and its seconds per epoch."""
    said = program(*arguments)
    points = re.search(r"(\d+) of 50 points right", said)
    seconds = re.search(r"([\d.]+) s an epoch", said.splitlines()[-1])
    if not points or not seconds:
        raise RuntimeError(f"{' '.join(arguments)} expected to end with points and seconds, got {said[-200:]!r}")
    return int(points[1]), float(seconds[1])


@reproduction("minitorch-xor", "MiniTorch: XOR with a network of Scalars, 50 points, hidden 10, rate 0.5")
def xor() -> Iterator[Row]:
    """Five hundred epochs with two seeds."""
    for seed in ("0", "1"):
        setting = ("--dataset", "Xor", "--points", "50", "--hidden", "10", "--rate", "0.5", "--epochs", "500", "--seed", seed)
        right, _ = right_points("project/run_scalar.py", *setting)
        yield at_least(f"points right, seed {seed}", "learned", right, 45, " of 50")


@reproduction("minitorch-module3", "MiniTorch, Module 3: hidden 100, less than 2 s an epoch on the CPU (students: 0.10 to 0.36 s)")
def module3() -> Iterator[Row]:
    """The three data sets that the course requires."""
    for dataset in ("Simple", "Split", "Xor"):
        right, seconds = right_points("project/run_fast_tensor.py", "--dataset", dataset, "--hidden", "100")
        yield at_most(f"{dataset}, seconds an epoch", "< 2", seconds, 2.0, " s")
        yield at_least(f"{dataset}, points right", "learned", right, 45, " of 50")


@reproduction("minitorch-module4", "MiniTorch, Module 4: SST-2 above 70 % with all of GloVe, and images", needs="SST-2 and GloVe")
def module4() -> Iterator[Row]:
    """Digits, and sentences with the available word vectors."""
    images = best_share(program("project/run_mnist_multiclass.py", "--epochs", "15"))
    yield at_least("digits, full validation", "16 images shown", images, 97.0, " %")
    reviews = best_share(program("project/run_sentiment.py", "--dataset", "sst2", "--embeddings", "glove", "--epochs", "100"))
    yield at_least("SST-2, best of 100 sentences", "> 70 % (students: 72 %)", reviews, 62.0, " %")


def best_share(said: str) -> float:
    """Return the best validation accuracy that a program printed, in percent."""
    found = re.findall(r"Best[^\n]*?([\d.]+) ?%", said)
    if not found:
        raise RuntimeError(f"expected a best validation accuracy, got {said[-200:]!r}")
    return float(found[-1])


@reproduction("micrograd", "micrograd's README: the values of its worked example")
def micrograd() -> Iterator[Row]:
    """Its expression of two numbers, forward and backward pass."""
    a, b = Scalar(-4.0), Scalar(2.0)
    c, d = a + b, a * b + b**3
    c = c + (c + 1)
    c = c + (1 + c + (-a))
    d = d + (d * 2 + (b + a).relu())
    d = d + (3 * d + (b - a).relu())
    e = c - d
    f = e**2
    g = f * 0.5
    g = g + 10.0 / f
    g.backward()
    assert a.derivative is not None
    assert b.derivative is not None
    yield close("g, ∂g/∂a, ∂g/∂b", [24.7041, 138.8338, 645.5773], [g.data, a.derivative, b.derivative], 4)
