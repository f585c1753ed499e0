"""Stores the results of a class, one file per submission as soon as it is graded, so that a run can be stopped and resumed at any time."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from course.staff import RequestError, StaffError
from course.staff.grading.results import Result, read_result, write_result
from course.staff.grading.submissions import Submission
from course.workspace.atomic_files import write_bytes

NUMBER = "number"
"""The file with the seed of the probes' inputs. The seed is secret, like the probes."""

RESULTS, EARLIER = "results", "earlier"
"""The folder of the results, and its subfolder for results of earlier versions of submissions."""


class Interrupted(StaffError):
    """Ctrl-C stopped a run.

    Args:
        message: The progress of the run.
        next: The command that resumes it.
    """

    code = 130

    def __init__(self, message: str, next: str) -> None:
        super().__init__(message)
        self.next = next


class Journal:
    """The results folder of a class.

    Args:
        out: The folder; it is created if it does not exist.

    Raises:
        RequestError: If the folder cannot be created.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        if out.exists() and not out.is_dir():
            raise RequestError(f"{out} is not a folder; choose another --out", "course-staff grade --help")
        try:
            (out / RESULTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RequestError(
                f"{out / RESULTS} cannot be created ({error.strerror}); choose another --out", "course-staff grade --help"
            ) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder until the context ends.

        Raises:
            RequestError: If another run has locked it.
        """
        lock = FileLock(self.out / ".lock", blocking=False)
        try:
            lock.acquire()
        except Timeout:
            raise RequestError(f"another run is writing to {self.out}; wait for it, or stop it", "course-staff grade --help") from None
        try:
            yield
        finally:
            lock.release()

    def number(self, seed: int | None = None) -> int:
        """The seed of the class; chosen at random by the first call.

        Args:
            seed: The required seed, or None.

        Raises:
            RequestError: If the class has another seed.
            StaffError: If the file does not contain a number.
        """
        file = self.out / NUMBER
        if not file.exists():
            value = secrets.randbelow(2**31) if seed is None else seed
            write_bytes(file, f"{value}\n".encode(), durable=True)
            file.chmod(0o600)
        try:
            stored = int(file.read_text(encoding="ascii"))
        except ValueError:
            raise StaffError(f"{file} does not contain a number; delete it to grade all submissions again with a new one") from None
        if seed is not None and seed != stored:
            raise RequestError(
                f"{self.out} was started with --seed {stored}, got {seed}; omit --seed, or choose another --out",
                "course-staff grade --help",
            )
        return stored

    def path(self, submission: Submission, conditions: Sequence[str]) -> Path:
        """The path of a submission's result.

        Args:
            submission: The submission.
            conditions: What else determines the result: course, environment, tasks, seed.
        """
        identity = "\0".join([submission.name, submission.hash, *conditions])
        digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]  # a file name may be invalid Unicode
        return self.out / RESULTS / f"{_safe_name(submission.name)}-{digest}.json"

    def find(self, path: Path) -> Result | None:
        """The result in a file; None if there is none, or another version of the course wrote it."""
        try:
            return read_result(path)
        except (StaffError, FileNotFoundError):
            return None

    def save(self, path: Path, result: Result) -> None:
        """Write a result, and move earlier results of the same submission to the subfolder for them."""
        write_result(path, result)
        for other in sorted(path.parent.glob(f"{_safe_name(result.submission)}-*.json")):
            if other != path and (found := self.find(other)) is not None and found.submission == result.submission:
                (path.parent / EARLIER).mkdir(exist_ok=True)
                other.replace(path.parent / EARLIER / other.name)


def _safe_name(name: str) -> str:
    """A name that is safe as part of a file name."""
    return re.sub(r"[^\w.-]+", "_", name)[:80]
