"""A worker for the tests of the job queue; it does what each job says."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from course.staff import StaffError
from course.staff.sandbox.monitor import SandboxError


class ScriptedWorker:
    """Does the first item of a job's "do" on its first run, the second on its second run, and the last on every later run.

    Args:
        settings: "folder": the folder for notes about finished runs.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.folder = Path(settings["folder"])

    def __call__(self, job: Mapping[str, Any], tell: Callable[..., object]) -> None:
        """Run a job."""
        notes = self.folder / f"{job['name']}.times"
        times = len(notes.read_text()) if notes.exists() else 0
        notes.write_text("x" * (times + 1))
        what = job["do"][min(times, len(job["do"]) - 1)]
        tell("news", now=what)
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "raise":
            raise ZeroDivisionError("it is 0")
        elif what == "write":
            Path(job["path"]).write_text("done")
        elif what == "write and die":
            Path(job["path"]).write_text("done")
            os._exit(1)
        elif what == "wait":
            time.sleep(600)
        elif what == "sandbox":
            raise SandboxError("there is no sandbox today")
        elif what == "error":
            raise StaffError("it does not fit")
        elif what == "print":
            print("{not JSON")
            Path(job["path"]).write_text("done")
