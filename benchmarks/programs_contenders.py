"""The programs of `benchmarks.programs`: written for PyTorch, and run with it or, through other imports alone, with our library.

As a program, this is the process of one library. For "gpt 20", it trains that program for 20 steps, from its beginning, and answers with
the seconds of processor time, and the losses.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from course.workspace.library import for_minitorch

FOLDER = Path(__file__).parents[1] / "project" / "torch_programs"

PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "seeded")
"""The names of the programs."""

SETTINGS = {"style_transfer": {"size": 256}}
"""Arguments of a program's `train` that are not its defaults, which suit tests."""


def load(name: str, ours: bool) -> ModuleType:
    """A program as a module, with PyTorch or with our library."""
    path = FOLDER / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(for_minitorch(source) if ours else source, str(path), "exec"), vars(module))
    return module


def train(name: str, steps: int, ours: bool) -> tuple[float, list[float]]:
    """Train a program for some steps; returns the seconds of processor time, and the losses."""
    program = load(name, ours)
    gc.collect()
    with redirect_stdout(io.StringIO()):
        start = time.process_time()
        losses = program.train(steps, **SETTINGS.get(name, {}))
        return time.process_time() - start, losses


def work(ours: bool) -> None:
    """The main loop of one library's process."""
    if not ours:
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    sys.modules["seeded"] = load("seeded", ours)
    print("ready", flush=True)
    for line in sys.stdin:
        name, steps = line.split()
        seconds, losses = train(name, int(steps), ours)
        print(seconds, *losses, flush=True)


if __name__ == "__main__":
    work(sys.argv[1] == "minitorch")
