"""Stage 4 - Files of data: in which folder they lie, how they are fetched, and how the compressed ones are opened."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def data_home() -> Path:
    """The folder in which data sets lie, each in a folder of its own: MINITORCH_DATA, else one in the user's cache.

    Raises:
        ModuleNotFoundError: If MINITORCH_DATA is not set and platformdirs, which knows the cache, is not installed.
    """
    named = os.environ.get("MINITORCH_DATA")
    if named:
        return Path(named).expanduser()
    return Path(_import_optional("platformdirs", "find the user's cache folder").user_cache_dir("minitorch", False)) / "data"


def _import_optional(name: str, purpose: str) -> Any:
    """A package that the library works without."""
    try:
        return __import__(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"minitorch.data needs {name} to {purpose}; pip install pooch platformdirs, or put the files into a folder of your own "
            "and name it in the environment variable MINITORCH_DATA"
        ) from None


def download(path: Path, urls: Sequence[str], known_hash: str) -> None:
    """Fetch a file from the first address that has it.

    It is written under a temporary name and gets its own when its checksum is right: whoever finds the file finds all of it.

    Args:
        path: Where it is to lie.
        urls: Addresses of the same file.
        known_hash: Its checksum, as "sha256:…".

    Raises:
        OSError: If none gave the file; the message names them, what went wrong, and what to do by hand.
    """
    pooch = _import_optional("pooch", f"download {path.name}")
    failures = []
    for url in urls:
        fetch = pooch.HTTPDownloader(progressbar=Progress(path.name), timeout=30)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pooch.retrieve(url, known_hash, path.name, path.parent, downloader=fetch)
            return
        except (OSError, ValueError) as error:  # of the network and of the folder; of the checksum
            failures.append(f"{url}: {_describe_error(error)}")
    raise OSError(
        f"{path} expected to be downloaded, got nothing usable:\n  " + "\n  ".join(failures) + "\n"
        "try again with a network connection, or fetch the file by other means and put it there"
    )


def _describe_error(error: Exception) -> str:
    """What went wrong, in a line."""
    if isinstance(error, ValueError) and "hash" in str(error):
        return "the checksum is wrong, the file was cut off or is another one"
    if type(error).__name__ in ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ChunkedEncodingError"):  # of requests
        return "no connection, or it broke off"
    return " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])


class Progress:
    """A line in the terminal that says how much has come; nothing where standard error is no terminal.

    Args:
        name: What is coming.

    Attributes:
        total: How many bytes there will be.
    """

    def __init__(self, name: str) -> None:
        self.name, self.total, self._seen = name, 0, 0
        self._shown = sys.stderr.isatty()

    def update(self, count: int) -> None:
        """So many bytes more."""
        self._seen += count
        if self._shown:
            of_all = f" of {self.total / 1e6:.1f}" if self.total else ""
            sys.stderr.write(f"\r{self.name}: {self._seen / 1e6:.1f}{of_all} MB")
            sys.stderr.flush()

    def reset(self) -> None:
        """Begin to count anew."""
        self._seen = 0

    def close(self) -> None:
        """End the line."""
        if self._shown:
            sys.stderr.write("\n")


def decompress(path: Path) -> bytes:
    """What a file holds, decompressed if it is a gzip file.

    Raises:
        ValueError: If a gzip file is cut off or damaged; the message names it.
        OSError: If it cannot be read.
    """
    content = path.read_bytes()
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except EOFError:
        problem = "one that ends too early"
    except (gzip.BadGzipFile, zlib.error):
        problem = "a damaged one"
    raise ValueError(f"{path} expected a whole gzip file, got {problem}; delete it to have it downloaded, or copy it anew")


def find_file(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these files that is there."""
    return next((folder / name for name in names if (folder / name).is_file()), None)
