"""The training runs that the book quotes: run them, and record in docs/runs.toml what each of them printed.

A record is the command with its seed, the date, the machine, and the lines that are not about a single epoch or step, without times: the
machine may be busy. `docs/_ext/recorded_runs.py` shows records on the book's pages.

    python -m benchmarks.runs digits mnist
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from benchmarks.machine import processor
from course.workspace.atomic_files import write_bytes

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "docs" / "runs.toml"

IMAGES, SENTENCES = "python project/run_mnist_multiclass.py", "python project/run_sentiment.py"

COMMANDS = {
    "digits": f"{IMAGES} --seed 0",
    "mnist": f"{IMAGES} --dataset mnist --epochs 10 --seed 0",
    "sentences": f"{SENTENCES} --seed 0",
    "sst2": f"{SENTENCES} --dataset sst2 --embeddings glove --seed 0",
    "sst2_learned": f"{SENTENCES} --dataset sst2 --train 10000 --valid 0 --embeddings learned --optimizer adam --rate 0.001"
    " --batch 50 --epochs 4 --seed 0",
    "sst2_all": f"{SENTENCES} --dataset sst2 --train 0 --valid 0 --embeddings learned --optimizer adam --rate 0.001 --batch 50"
    " --epochs 3 --seed 0",
    "gpt": "python project/run_gpt.py --seed 0",
    "mixed": "python project/mixed_precision.py --seed 0",
    "mixed_bfloat16": "python project/mixed_precision.py --dtype bfloat16 --scale 1 --seed 0",
}
"""The commands of the runs. Those of MNIST and SST-2 need files: see docs/data.md."""

LOG = re.compile(r"(epoch|step)? +\d")
TIME = re.compile(r" in [\d.]+ s \([^)]*\)| Compiling took [\d.]+ s before\.| +[\d.]+ s(?: a step)?$", re.MULTILINE)


def essence(printed: str) -> str:
    """Return what a program printed before its first empty line, without times and with the last line of the log alone."""
    lines = printed.partition("\n\n")[0].splitlines()
    log = [line for line in lines if LOG.match(line)]
    return TIME.sub("", "\n".join(line for line in lines if line not in log[:-1]))


def run(command: str) -> dict[str, str]:
    """Run a command in the repository, and return its record."""
    _, *arguments = shlex.split(command)
    result = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{command} failed with status {result.returncode}; run it to see more\n{result.stderr}")
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return {"command": command, "date": date.today().isoformat(), "machine": machine, "printed": essence(result.stdout)}


def as_toml(records: Mapping[str, Mapping[str, str]]) -> str:
    """Return the records as TOML; a string of JSON is one of TOML."""
    tables = (
        "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in record.items())])
        for name, record in records.items()
    )
    return "# Written by python -m benchmarks.runs; what the book quotes of these runs is read from here.\n\n" + "\n\n".join(tables) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Run the named runs, or all, and replace their records."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs", description="Record the training runs that the book quotes.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(COMMANDS)}; all if left out")
    chosen = parser.parse_args(arguments).names or [*COMMANDS]
    if unknown := [name for name in chosen if name not in COMMANDS]:
        parser.error(f"expected some of {', '.join(COMMANDS)}, got {', '.join(unknown)}")
    for name in chosen:
        print(COMMANDS[name], file=sys.stderr, flush=True)
        record = run(COMMANDS[name])
        print(record["printed"], flush=True)
        before = tomllib.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}
        records = before | {name: record}
        write_bytes(RECORDS, as_toml({known: records[known] for known in COMMANDS if known in records}).encode())


if __name__ == "__main__":
    main()
