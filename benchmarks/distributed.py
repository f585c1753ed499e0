"""Data-parallel training predicted on a network of given latency and bandwidth, and checked against one and two processes here.

    python -m benchmarks.distributed
    python -m benchmarks.distributed --latency 5e-6 --bandwidth 12.5e9 --only gpt

A ring of p processes needs 2 (p - 1) messages of n / p bytes for the sum of n bytes: 2 (p - 1) · latency + 2 (p - 1) / p · n / bandwidth
seconds. A step in one process takes a fixed time and a time per example, which are measured here on a whole batch and on half of one.
Source: Patarasuk, Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations.

Every process has one thread. The check predicts what averaging adds to a step in two processes of this machine, from the latency and the
bandwidth between them and from steps that both take at once without averaging: they share caches and memory, which machines of a cluster do
not. Beyond two processes the figures are predictions for a network of `--latency` and `--bandwidth`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.distributed_contenders import LARGE, NETWORKS, SMALL, parameters
from benchmarks.machine import processor

PROCESSES = [2**exponent for exponent in range(11)]
"""The numbers of processes in the tables: 1 to 1,024."""

TOLERANCE = 0.5
"""Largest relative error of the predicted time of a step with two processes."""

PROGRAM = Path(__file__).with_name("distributed_contenders.py")


class Link(NamedTuple):
    """A network between processes.

    Attributes:
        latency: Seconds that a message takes at least.
        bandwidth: Bytes per second.
    """

    latency: float
    bandwidth: float

    def ring(self, processes: int, size: float) -> float:
        """Seconds that a ring needs for the sum of `size` bytes over the processes."""
        return 2 * (processes - 1) * self.latency + 2 * (processes - 1) / processes * size / self.bandwidth


class Work(NamedTuple):
    """The time of a training step in one process.

    Attributes:
        fixed: Seconds that do not depend on the batch.
        per_example: Seconds per example.
        size: Bytes of the gradients.
        batch: Examples of the whole batch.
    """

    fixed: float
    per_example: float
    size: int
    batch: int

    def step(self, processes: int, link: Link, growing: bool = False) -> float:
        """Seconds of a step whose gradients are sent after backward, as one bucket is.

        Args:
            processes: Number of processes.
            link: The network.
            growing: Whether each process computes a whole batch (weak scaling), or they share one (strong scaling).
        """
        examples = self.batch if growing else self.batch / processes
        return self.fixed + self.per_example * examples + link.ring(processes, self.size)


def fit(seconds: dict[str, float], size: int) -> Work:
    """The work whose step takes these seconds, given by the examples in a batch."""
    (half, short), (whole, long) = sorted((int(count), time) for count, time in seconds.items())
    per_example = max(long - short, 0.0) / (whole - half)
    return Work(max(long - per_example * whole, 0.0), per_example, size, whole)


def measured_link(small: float, large: float) -> Link:
    """The link over which two processes need these seconds for a small and a large sum.

    A sum of `all_reduce` takes two messages, its check and its numbers, so that half of the small one is a ring's 2 · latency.
    """
    return Link(small / 4, LARGE / max(large - small, 1e-9))


def measure(processes: int, repeats: int, names: Sequence[str]) -> dict[str, Any]:
    """Run `distributed_contenders` in some processes and return what it prints."""
    line = [sys.executable, "-m", "minitorch.distributed.run", "--nproc-per-node", str(processes), str(PROGRAM), str(repeats), *names]
    root = str(Path(__file__).parents[1])
    one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(line, cwd=root, env=os.environ | one, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1].removeprefix("[rank 0] "))


def table(names: Sequence[str], works: dict[str, Work], link: Link, growing: bool) -> list[str]:
    """The lines of a table: for each number of processes, how many times the examples per second of one process."""
    lines = [f"{'processes':>9}" + "".join(f"{name:>12}" for name in names)]
    for processes in PROCESSES:
        gains = []
        for name in names:
            work = works[name]
            gain = work.step(1, link) / work.step(processes, link, growing) * (processes if growing else 1)
            gains.append(f"{gain:12.1f}")
        lines.append(f"{processes:9,}" + "".join(gains))
    return lines


def check(name: str, work: Work, link: Link, two: dict[str, float]) -> tuple[str, bool]:
    """Compare the prediction for two processes with the measurement; returns a line and whether both errors are tolerable.

    Args:
        name: Name of the network.
        work: Its step without averaging, while the other process takes one too.
        link: The measured network between two processes.
        two: Seconds of a step in each of two processes, by the examples of each.
    """
    parts, good = [], True
    for growing, label in ((True, "whole batch each"), (False, "half a batch each")):
        found, predicted = two[str(work.batch if growing else work.batch // 2)], work.step(2, link, growing)
        error = predicted / found - 1
        good &= abs(error) <= TOLERANCE
        parts.append(f"{label}: predicted {predicted * 1e3:.2f} ms, measured {found * 1e3:.2f} ms ({error:+.0%})")
    return f"{name:10} {'; '.join(parts)}  {'good' if good else 'OFF'}", good


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, check and predict; returns 0 if every prediction for two processes is within TOLERANCE."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--latency", type=float, default=30e-6, help="seconds of a message; 30e-6 by default")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes per second; 1.25e9 by default, a link of 10 Gbit/s")
    parser.add_argument("--repeats", type=int, default=30, help="measurements of which the least counts; 30 by default")
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NETWORK", help=f"of {', '.join(NETWORKS)}")
    options = parser.parse_args(arguments)
    if not (options.latency >= 0 and options.bandwidth > 0 and options.repeats > 0):
        parser.error("expected latency >= 0, bandwidth > 0 and repeats > 0; leave them out for a link of 10 Gbit/s")
    print(f"{date.today()}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, one thread per process\n")
    one, two = measure(1, options.repeats, options.only), measure(2, options.repeats, options.only)
    here = measured_link(two[str(SMALL)], two[str(LARGE)])
    works = {name: fit(one[name], 4 * parameters(name)) for name in options.only}
    print(f"Between two processes here: latency {here.latency * 1e6:.1f} µs, bandwidth {here.bandwidth / 1e9:.2f} GB/s")
    verdicts = [check(name, fit(two[name], works[name].size), here, two[f"{name} averaged"]) for name in options.only]
    print("\n".join(line for line, _ in verdicts))
    link = Link(options.latency, options.bandwidth)
    for growing, heading in ((False, "a batch shared by all"), (True, "a batch for each")):
        print(f"\nPredicted speed-up, {heading}, latency {link.latency * 1e6:g} µs, bandwidth {link.bandwidth / 1e9:g} GB/s")
        print("\n".join(table(options.only, works, link, growing)))
    return 0 if all(good for _, good in verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
