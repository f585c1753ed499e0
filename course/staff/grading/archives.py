"""Reads archives and git bundles entry by entry, with limits on how much is unpacked."""

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

MAX_SIZE = 64 << 20
"""Maximum size of an archive, in bytes."""

MAX_UNPACKED = 256 << 20
"""Maximum number of bytes to unpack from an archive."""

MAX_READ = 4 << 20
"""Maximum number of bytes per read; this bounds tables of contents and entry names."""

MAX_ENTRIES = 20_000
"""Maximum number of entries in an archive."""

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""Compression formats by the first bytes of a file."""

REMEDY = "hand in submission.zip from course submit"
"""What to do about most refusals."""

READ_ERRORS = (
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
"""Exceptions that Python's readers raise on damaged files."""


class Refusal(Exception):
    """A submission cannot be graded; the message gives the reason and the remedy."""


@dataclass(frozen=True)
class Entry:
    """A file, link or device in a submission.

    Attributes:
        path: The path as the archive spells it.
        kind: "file", "link", or "device" for everything else that is not a folder.
        read: Returns up to the given number of its first bytes; valid until the next entry is requested.
    """

    path: str
    kind: str
    read: Callable[[int], bytes]


@contextmanager
def open_archive(path: Path) -> Iterator[Iterator[Entry]]:
    """Open an archive or a bundle, and yield an iterator over its entries without the folders.

    The format is detected from the content, not from the file name.

    Raises:
        Refusal: If the file is not an archive or a bundle, is damaged, or is too large.
    """
    with ExitStack() as stack:
        try:
            if not path.is_file() or path.is_symlink():
                raise Refusal(f"{path.name} is neither a folder nor a file; {REMEDY}")
            if (size := path.stat().st_size) > MAX_SIZE:
                raise Refusal(f"{path.name} has {size} bytes, more than {MAX_SIZE}; {REMEDY}")
            file = stack.enter_context(path.open("rb"))
            head = file.read(300)
            file.seek(0)
            yield _open_entries(stack, path, file, head)
        except READ_ERRORS as error:
            raise Refusal(f"{path.name} is damaged or truncated: {str(error) or type(error).__name__}; {REMEDY}") from None


def _open_entries(stack: ExitStack, path: Path, file: IO[bytes], head: bytes) -> Iterator[Entry]:
    """The entries of an open file."""
    limited: Any = _LimitedReader(file)  # zipfile and tarfile use only its methods
    if head.startswith(b"PK"):
        return _limit_count(_zip_entries(stack.enter_context(zipfile.ZipFile(limited))))
    if head.startswith((b"# v2 git bundle", b"# v3 git bundle")):
        limited = _LimitedReader(io.BytesIO(_bundle_files(path)))
        return _limit_count(_tar_entries(stack.enter_context(tarfile.open(fileobj=limited, mode="r:"))))
    content = next((_decompress(name, file) for start, name in COMPRESSIONS.items() if head.startswith(start)), file)
    stack.enter_context(content)
    if content is file and head[257:262] != b"ustar":
        raise Refusal(f"{path.name} is not a zip archive, a tar archive or a git bundle; {REMEDY}")
    limited = _LimitedReader(content)
    return _limit_count(_tar_entries(stack.enter_context(tarfile.open(fileobj=limited, mode="r:"))))


def _decompress(name: str, file: IO[bytes]) -> IO[bytes]:
    """Open a compressed file for reading its decompressed content."""
    openers: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    if name not in openers:
        try:
            openers[name] = importlib.import_module("compression.zstd").open
        except ImportError:
            raise Refusal(f"it is compressed with zstd, which requires Python 3.14 or newer; {REMEDY}") from None
    return openers[name](file, "rb")


def _limit_count(entries: Iterator[Entry]) -> Iterator[Entry]:
    for number, entry in enumerate(entries):
        if number >= MAX_ENTRIES:
            raise Refusal(f"it has more than {MAX_ENTRIES} entries; {REMEDY}")
        yield entry


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[Entry]:
    def read(info: zipfile.ZipInfo, size: int) -> bytes:
        if info.flag_bits & 1:
            raise Refusal(f"{info.filename} is encrypted; {REMEDY}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refusal(f"{info.filename} uses an unsupported compression method; {REMEDY}")
        try:
            with archive.open(info) as member:
                return member.read(size)
        except NotImplementedError as error:
            raise Refusal(f"{info.filename} cannot be read: {error}; {REMEDY}") from None

    for info in archive.infolist():
        kind = {0: "file", 0o10: "file", 0o12: "link"}.get(info.external_attr >> 28, "device") if info.create_system == 3 else "file"
        if not info.is_dir():
            yield Entry(info.orig_filename, kind, lambda size, info=info: read(info, size))


def _tar_entries(archive: tarfile.TarFile) -> Iterator[Entry]:
    def read(info: tarfile.TarInfo, size: int) -> bytes:
        member = archive.extractfile(info)
        assert member is not None  # it is a file
        content = member.read(size)
        if len(content) < min(size, info.size):
            raise EOFError(f"{info.name} is truncated")
        return content

    for info in archive:
        if not info.isdir():
            kind = "file" if info.isfile() else "link" if info.issym() or info.islnk() else "device"
            yield Entry(info.name, kind, lambda size, info=info: read(info, size))


def _bundle_files(bundle: Path) -> bytes:
    """The files of the branch that HEAD of a git bundle points to, or of its first branch, as a tar archive.

    git runs in the sandbox because the bundle is untrusted. Nothing is checked out, so no hook and no filter runs.
    """
    script = (
        "git clone --quiet --bare --template= {files}/bundle {tmp}/repository && cd {tmp}/repository && "
        "branch=$(git rev-parse --quiet --verify HEAD || git for-each-ref --count=1 --format='%(objectname)' refs/heads) && "
        "git archive --format=tar --output={tmp}/files.tar $branch"
    )
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    limits = Limits(seconds=60, disk=MAX_UNPACKED, file_size=MAX_UNPACKED, collected=MAX_SIZE)
    sandbox = Sandbox("bubblewrap" if best_level().level == "bubblewrap" else "none")  # Landlock does not allow child processes
    with tempfile.TemporaryDirectory(prefix="course-staff-") as folder:
        target = Path(folder) / "bundle"
        shutil.copyfile(bundle, target)
        target.chmod(0o644)
        run = sandbox.run(["/bin/sh", "-c", script], files=Path(folder), limits=limits, environment=environment, collect="files.tar")
    if run.collected is None or run.status:
        message = (run.output.strip().splitlines() or [f"it stopped with the reason {run.reason}"])[-1]
        raise Refusal(f"git cannot read {bundle.name}: {message}; git bundle create {bundle.name} HEAD main")
    return run.collected


class _LimitedReader:
    """A file that rejects large reads and positions past a limit, because the sizes that an archive declares are not trusted.

    Args:
        file: The file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes, or the rest of the file.

        Raises:
            Refusal: If that exceeds `MAX_READ` or `MAX_UNPACKED`.
        """
        if size > MAX_READ:
            raise Refusal(f"its table of contents or a name in it has {size} bytes, more than {MAX_READ}; {REMEDY}")
        content = self._file.read(MAX_READ + 1 if size < 0 else size)
        if len(content) > MAX_READ:
            raise Refusal(f"it has more than {MAX_READ} bytes in its table of contents; {REMEDY}")
        self._check(self._file.tell())
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Change the position; returns the new one.

        Raises:
            Refusal: If the position is past `MAX_UNPACKED`.
        """
        if whence == 0:
            self._check(offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The position."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Always True."""
        return True

    def close(self) -> None:
        """Do nothing; the owner closes the file."""

    def _check(self, position: int) -> None:
        if position > MAX_UNPACKED:
            raise Refusal(f"it unpacks to more than {MAX_UNPACKED} bytes; {REMEDY}")
