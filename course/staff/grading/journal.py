"""What of a class has been graded: one file a submission, written when it is done, so that a run may end at any moment and be continued."""

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
"""The file with the number that the inputs of the probes follow from: a secret, like the probes."""

RESULTS, EARLIER = "results", "earlier"
"""The folder of the results, and the one in it for those of submissions that have changed since."""


class Interrupted(StaffError):
    """A run that was stopped by Ctrl-C.

    Args:
        message: How far it came.
        next: The command that continues.
    """

    code = 130

    def __init__(self, message: str, next: str) -> None:
        super().__init__(message)
        self.next = next


class Journal:
    """The folder of a class.

    Args:
        out: The folder; made if it is not there.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        if out.exists() and not out.is_dir():
            raise RequestError(f"{out} is not a folder; name one for the results", "course-staff grade --help")
        try:
            (out / RESULTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RequestError(
                f"{out / RESULTS} cannot be made ({error.strerror}); choose another --out", "course-staff grade --help"
            ) from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the folder, as long as the context lasts.

        Raises:
            RequestError: If another run is at work in it.
        """
        lock = FileLock(self.out / ".lock", blocking=False)
        try:
            lock.acquire()
        except Timeout:
            raise RequestError(f"another run grades into {self.out}; wait for it, or end it", "course-staff grade --help") from None
        try:
            yield
        finally:
            lock.release()

    def number(self, seed: int | None = None) -> int:
        """The number of the class, drawn the first time.

        Args:
            seed: What it must be, if that matters.

        Raises:
            RequestError: If the class has another one.
            StaffError: If the file does not hold one.
        """
        file = self.out / NUMBER
        if not file.exists():
            drawn = secrets.randbelow(2**31) if seed is None else seed
            write_bytes(file, f"{drawn}\n".encode(), durable=True)
            file.chmod(0o600)
        try:
            kept = int(file.read_text(encoding="ascii"))
        except ValueError:
            raise StaffError(f"{file} holds no number; delete it, and all are graded again with a new one") from None
        if seed is not None and seed != kept:
            raise RequestError(
                f"{self.out} was begun with --seed {kept}, got {seed}; a class has one: leave it out, or choose another --out",
                "course-staff grade --help",
            )
        return kept

    def path(self, submission: Submission, conditions: Sequence[str]) -> Path:
        """Where the result of a submission belongs.

        Args:
            submission: The submission.
            conditions: What else decides the result: course, environment, tasks, number.
        """
        about = "\0".join([submission.name, submission.hash, *conditions])
        digest = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:12]  # a file's name may be no valid Unicode
        return self.out / RESULTS / f"{_plain(submission.name)}-{digest}.json"

    def find(self, path: Path) -> Result | None:
        """The result that lies there; None if there is none, or one that an older version wrote."""
        try:
            return read_result(path)
        except (StaffError, FileNotFoundError):
            return None

    def keep(self, path: Path, result: Result) -> None:
        """Write a result, and put away what was written of the same submission before."""
        write_result(path, result)
        for other in sorted(path.parent.glob(f"{_plain(result.submission)}-*.json")):
            if other != path and (found := self.find(other)) is not None and found.submission == result.submission:
                (path.parent / EARLIER).mkdir(exist_ok=True)
                other.replace(path.parent / EARLIER / other.name)


def _plain(name: str) -> str:
    """A name as a part of a file's."""
    return re.sub(r"[^\w.-]+", "_", name)[:80]
