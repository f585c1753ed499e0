"""What archives and git bundles hold, entry by entry; whatever is in them, no more is unpacked than is asked for."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from course.staff.sandbox.sandbox import Limits, Sandbox, best_level

LARGEST = 64 << 20
"""Bytes that an archive may have."""

UNPACKED = 256 << 20
"""Bytes that may be unpacked from it."""

AT_ONCE = 4 << 20
"""Bytes that are read from it at a time: a table of contents, or what a header calls a name, may not be longer."""

MOST = 20_000
"""Entries that it may have."""

COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How files begin that are compressed."""

PACKED = "hand in submission.zip of course submit"
"""What to do about most of it."""

DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
)
"""What Python's own readers raise at what is not as it should be."""


class Refusal(Exception):
    """A submission that is not graded; the message says why, and what to do."""


@dataclass(frozen=True)
class Entry:
    """Something in a submission.

    Attributes:
        path: As it is written there.
        kind: "file", "link", or "device" for all else that is no folder.
        read: Gives so many of its first bytes; as long as the next entry is not asked for.
    """

    path: str
    kind: str
    read: Callable[[int], bytes]


@contextmanager
def entries_of(path: Path) -> Iterator[Iterator[Entry]]:
    """What an archive or bundle holds, folders left aside; found out by its content, not by its name.

    Raises:
        Refusal: If it is none, is damaged, or is too large.
    """
    with ExitStack() as stack:
        try:
            if not path.is_file() or path.is_symlink():
                raise Refusal(f"{path.name} is neither a folder nor a file; {PACKED}")
            if (size := path.stat().st_size) > LARGEST:
                raise Refusal(f"{path.name} has {size} bytes, more than {LARGEST}; {PACKED}")
            file = stack.enter_context(path.open("rb"))
            head = file.read(300)
            file.seek(0)
            yield _opened(stack, path, file, head)
        except DAMAGED as error:
            raise Refusal(f"{path.name} is damaged or cut off: {str(error) or type(error).__name__}; {PACKED}") from None


def _opened(stack: ExitStack, path: Path, file: IO[bytes], head: bytes) -> Iterator[Entry]:
    """The entries of an open file."""
    if head.startswith(b"PK"):
        return _counted(_zip(stack.enter_context(zipfile.ZipFile(_Frugal(file)))))  # type: ignore[arg-type]  # it has what is needed
    if head.startswith((b"# v2 git bundle", b"# v3 git bundle")):
        file = io.BytesIO(_checked_out(path))
        return _counted(_tar(stack.enter_context(tarfile.open(fileobj=_Frugal(file), mode="r:"))))  # type: ignore[arg-type]
    unpacked = next((_unpacking(name, file) for start, name in COMPRESSED.items() if head.startswith(start)), file)
    stack.enter_context(unpacked)
    if unpacked is file and head[257:262] != b"ustar":
        raise Refusal(f"{path.name} is no zip or tar archive and no git bundle; {PACKED}")
    return _counted(_tar(stack.enter_context(tarfile.open(fileobj=_Frugal(unpacked), mode="r:"))))  # type: ignore[arg-type]


def _unpacking(name: str, file: IO[bytes]) -> IO[bytes]:
    """A compressed file as it was before."""
    openers: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    if name not in openers:
        try:
            openers[name] = importlib.import_module("compression.zstd").open
        except ImportError:
            raise Refusal(f"it is compressed by zstd, which Python reads from 3.14 on; {PACKED}") from None
    return openers[name](file, "rb")


def _counted(entries: Iterator[Entry]) -> Iterator[Entry]:
    for number, entry in enumerate(entries):
        if number >= MOST:
            raise Refusal(f"it has more than {MOST} entries; {PACKED}")
        yield entry


def _zip(archive: zipfile.ZipFile) -> Iterator[Entry]:
    def read(info: zipfile.ZipInfo, most: int) -> bytes:
        if info.flag_bits & 1:
            raise Refusal(f"{info.filename} is encrypted; {PACKED}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refusal(f"{info.filename} is compressed in a way that is not read; {PACKED}")
        try:
            with archive.open(info) as member:
                return member.read(most)
        except NotImplementedError as error:
            raise Refusal(f"{info.filename} cannot be read: {error}; {PACKED}") from None

    for info in archive.infolist():
        kind = {0: "file", 0o10: "file", 0o12: "link"}.get(info.external_attr >> 28, "device") if info.create_system == 3 else "file"
        if not info.is_dir():
            yield Entry(info.orig_filename, kind, lambda most, info=info: read(info, most))


def _tar(archive: tarfile.TarFile) -> Iterator[Entry]:
    def read(info: tarfile.TarInfo, most: int) -> bytes:
        member = archive.extractfile(info)
        assert member is not None  # it is a file
        content = member.read(most)
        if len(content) < min(most, info.size):
            raise EOFError(f"{info.name} ends too early")
        return content

    for info in archive:
        if not info.isdir():
            kind = "file" if info.isfile() else "link" if info.issym() or info.islnk() else "device"
            yield Entry(info.name, kind, lambda most, info=info: read(info, most))


def _checked_out(bundle: Path) -> bytes:
    """The files of the branch that a git bundle has checked out, or of its first one, as a tar archive.

    git runs in the sandbox: it unpacks what a stranger has packed. Nothing is checked out, so no hook and no filter runs.
    """
    script = (
        "git clone --quiet --bare --template= {files}/bundle {tmp}/repository && cd {tmp}/repository && "
        "branch=$(git rev-parse --quiet --verify HEAD || git for-each-ref --count=1 --format='%(objectname)' refs/heads) && "
        "git archive --format=tar --output={tmp}/files.tar $branch"
    )
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    limits = Limits(seconds=60, disk=UNPACKED, file_size=UNPACKED, collected=LARGEST)
    sandbox = Sandbox("bubblewrap" if best_level().level == "bubblewrap" else "none")  # Landlock lets no program start another
    with tempfile.TemporaryDirectory(prefix="course-staff-") as folder:
        target = Path(folder) / "bundle"
        shutil.copyfile(bundle, target)
        target.chmod(0o644)
        ended = sandbox.run(["/bin/sh", "-c", script], files=Path(folder), limits=limits, environment=environment, collect="files.tar")
    if ended.collected is None or ended.status:
        said = (ended.output.strip().splitlines() or [f"it ended for its {ended.reason}"])[-1]
        raise Refusal(f"git cannot read {bundle.name}: {said}; git bundle create {bundle.name} HEAD main")
    return ended.collected


class _Frugal:
    """A file that is read only in small pieces, and not beyond a place: what an archive says of its own sizes is not believed.

    Args:
        file: The file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or up to the end.

        Raises:
            Refusal: If that is too much.
        """
        if size > AT_ONCE:
            raise Refusal(f"its table of contents or a name in it has {size} bytes, more than {AT_ONCE}; {PACKED}")
        content = self._file.read(AT_ONCE + 1 if size < 0 else size)
        if len(content) > AT_ONCE:
            raise Refusal(f"it has more than {AT_ONCE} bytes where a table of contents must end; {PACKED}")
        self._check(self._file.tell())
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        if whence == 0:
            self._check(offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Whether places can be gone to."""
        return True

    def close(self) -> None:
        """Its owner closes the file."""

    def _check(self, place: int) -> None:
        if place > UNPACKED:
            raise Refusal(f"it unpacks to more than {UNPACKED} bytes; {PACKED}")
