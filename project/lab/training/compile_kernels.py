"""Compile what the training pages need, in the background: one epoch of each program, with the lowest priority.

Compiled kernels are on disk afterwards. The process ends when its standard input ends, and so with the app, or after LIMIT seconds: a
kernel of a student may not return.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import threading
from contextlib import suppress

from course.manifest import ROOT

PROGRAMS = (
    ("run_fast_tensor", "--points", "20"),
    ("run_mnist_multiclass", "--json"),
    ("run_sentiment", "--json"),
)
"""The programs of the pages that train with compiled kernels, with options that change nothing about the kernels."""

LIMIT = 600.0
"""Seconds for everything, which takes one or two minutes on an idle machine."""


def end_with_input() -> None:
    """End this process when its standard input has ended."""
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """Run one epoch of each program; one that is not written yet ends with an error, and the next one begins."""
    threading.Thread(target=end_with_input, daemon=True).start()
    limit = threading.Timer(LIMIT, os._exit, (1,))
    limit.daemon = True
    limit.start()
    if hasattr(os, "nice"):
        os.nice(19)
    os.environ["MINITORCH_RUNS"] = tempfile.mkdtemp(prefix="minitorch-compile-")  # these are no runs of a student
    for program, *options in PROGRAMS:
        path = ROOT / "project" / f"{program}.py"
        sys.argv[:], sys.path[0] = [str(path), "--epochs", "1", *options], str(path.parent)
        with suppress(Exception, SystemExit):
            runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
