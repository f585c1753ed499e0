"""Grading a class of the real course: worker processes, a journal, and recovery when processes are killed."""

import contextlib
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from course.manifest import ROOT
from course.staff import RequestError
from course.staff.grading.grade import grade
from tests.errors import raises

OPERATORS = "minitorch/operators.py"

PATIENCE = 120.0
"""Seconds until a cluster must be available."""

RELU = "    return x if x > 0 else 0.0\n"


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of four: one is right, one forges, one hangs, and one submits a broken archive."""
    folder = tmp_path_factory.mktemp("class")
    text = (ROOT / OPERATORS).read_text(encoding="utf-8")
    assert text.count(RELU) == 1
    bodies = {"forges": "    import os\n    os._exit(0)\n", "hangs": "    while True:\n        pass\n", "right": RELU}
    for name, body in bodies.items():
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(OPERATORS, text.replace(RELU, body))
    (folder / "broken.zip").write_bytes(b"PK")
    return folder


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask cluster of two nodes on this machine: its address and the nodes."""
    contact = folder / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    where = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(contact)]
    with contextlib.ExitStack() as stack:

        def start(what: str, *options: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *where, *options]
            with (folder / f"{what}.log").open("ab") as log:
                process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        start("scheduler", "--port", "0")
        end = time.monotonic() + PATIENCE
        while not contact.exists():
            assert time.monotonic() < end, (folder / "scheduler.log").read_text(encoding="utf-8")
            time.sleep(0.05)
        nodes = [start("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
        while (folder / "worker.log").read_text(encoding="utf-8").count("Registered to:") < 2:
            assert time.monotonic() < end, (folder / "worker.log").read_text(encoding="utf-8")
            time.sleep(0.05)
        yield json.loads(contact.read_text(encoding="utf-8"))["address"].replace("tcp://", "dask://"), nodes


def test_missing_tasks_and_clusters_are_reported(class_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"^there is no task 9\.9; the tasks are 0\.1, 0\.2, "):
        grade([class_folder], tmp_path, tasks=["9.9"])
    with raises(RequestError, "--workers expected at least 1, got 0"):
        grade([class_folder], tmp_path, workers=0)
