"""Stage 4 - Data files: the data directory, downloads with checksums, and decompression."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def data_home() -> Path:
    """Return the data directory: the environment variable MINITORCH_DATA, otherwise a folder in the user's cache.

    Each data set has its own folder in it.

    Raises:
        ModuleNotFoundError: If MINITORCH_DATA is not set and platformdirs, which finds the cache, is not installed.
    """
    named = os.environ.get("MINITORCH_DATA")
    if named:
        return Path(named).expanduser()
    return Path(_import_optional("platformdirs", "find the user's cache folder").user_cache_dir("minitorch", False)) / "data"


def _import_optional(name: str, purpose: str) -> Any:
    """Import a package that is not a requirement of the library."""
    try:
        return __import__(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"minitorch.data needs {name} to {purpose}; pip install pooch platformdirs, or put the files into a folder of your own "
            "and name it in the environment variable MINITORCH_DATA"
        ) from None


def download(path: Path, urls: Sequence[str], known_hash: str) -> None:
    """Download a file from the first URL that provides it.

    The file is written under a temporary name and renamed once its checksum is verified, so that it is never seen incomplete.

    Args:
        path: Path to write.
        urls: URLs of the same file.
        known_hash: Its checksum, as "sha256:…".

    Raises:
        OSError: If no URL provides the file; the message lists the URLs, their errors, and what to do by hand.
    """
    pooch = _import_optional("pooch", f"download {path.name}")
    failures = []
    for url in urls:
        fetch = pooch.HTTPDownloader(progressbar=Progress(path.name), timeout=30)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pooch.retrieve(url, known_hash, path.name, path.parent, downloader=fetch)
            return
        except (OSError, ValueError) as error:  # OSError: network or folder; ValueError: checksum
            failures.append(f"{url}: {_describe_error(error)}")
    raise OSError(
        f"{path} expected to be downloaded, got nothing usable:\n  " + "\n  ".join(failures) + "\n"
        "try again with a network connection, or fetch the file by other means and put it there"
    )


def _describe_error(error: Exception) -> str:
    """Describe an error in one line."""
    if isinstance(error, ValueError) and "hash" in str(error):
        return "the checksum does not match: the file is truncated or a different one"
    if type(error).__name__ in ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ChunkedEncodingError"):  # of requests
        return "no connection, or the connection was lost"
    return " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])


class Progress:
    """A progress line in the terminal; silent if standard error is not a terminal.

    Args:
        name: Name of the file.

    Attributes:
        total: Expected number of bytes.
    """

    def __init__(self, name: str) -> None:
        self.name, self.total, self._seen = name, 0, 0
        self._shown = sys.stderr.isatty()

    def update(self, count: int) -> None:
        """Count more bytes."""
        self._seen += count
        if self._shown:
            of_all = f" of {self.total / 1e6:.1f}" if self.total else ""
            sys.stderr.write(f"\r{self.name}: {self._seen / 1e6:.1f}{of_all} MB")
            sys.stderr.flush()

    def reset(self) -> None:
        """Restart the count."""
        self._seen = 0

    def close(self) -> None:
        """End the line."""
        if self._shown:
            sys.stderr.write("\n")


def decompress(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is a gzip file.

    Raises:
        ValueError: If a gzip file is truncated or damaged; the message names it.
        OSError: If it cannot be read.
    """
    content = path.read_bytes()
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except EOFError:
        problem = "a truncated one"
    except (gzip.BadGzipFile, zlib.error):
        problem = "a damaged one"
    raise ValueError(f"{path} expected a complete gzip file, got {problem}; delete it to download it again, or copy it again")


def find_file(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the path of the first of these files that exists, or None."""
    return next((folder / name for name in names if (folder / name).is_file()), None)
