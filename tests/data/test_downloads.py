"""Where data lie, and how they are fetched: from a server of this machine, which now and then does what servers do."""

import gzip
import hashlib
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from minitorch.data.files import Progress, data_home, decompress, download, find_file
from tests.errors import raises

CONTENT = bytes(range(256)) * 400
HASH = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Server(BaseHTTPRequestHandler):
    """/good is the file, /wrong another one, /cut half of it, /slow the half after which nothing comes; all else is missing."""

    def do_GET(self):
        body = {"/good": CONTENT, "/wrong": CONTENT[::-1], "/cut": CONTENT, "/slow": CONTENT}.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path in ("/cut", "/slow") else body or b"")
        if self.path == "/slow":
            self.wfile.flush()
            self.server.half_sent.set()
            self.server.stopped.wait(60)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    served = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    served.half_sent, served.stopped = threading.Event(), threading.Event()
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    yield served
    served.stopped.set()
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.server_port}"


# The data directory


def test_the_data_directory_is_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "platformdirs", None)  # as if it were not installed
    assert data_home() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MINITORCH_DATA", "~/films")
    assert data_home() == tmp_path / "films", "a tilde stands for the home directory"


@pytest.mark.skipif(sys.platform != "linux", reason="the place of the cache differs from system to system; here stands Linux's")
@pytest.mark.parametrize("named", [None, ""])
def test_else_it_lies_in_the_users_cache(monkeypatch, tmp_path, named):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MINITORCH_DATA", raising=False)
    if named is not None:
        monkeypatch.setenv("MINITORCH_DATA", named)
    assert data_home() == tmp_path / "minitorch" / "data"
    assert list(tmp_path.iterdir()) == [], "to ask where it is makes no folder"


@pytest.mark.parametrize(("name", "purpose"), [("platformdirs", "find the user's cache folder"), ("pooch", "download film.txt")])
def test_a_package_that_is_missing_is_named_with_the_remedy(monkeypatch, tmp_path, name, purpose):
    monkeypatch.delenv("MINITORCH_DATA", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    message = (
        f"minitorch.data needs {name} to {purpose}; pip install pooch platformdirs, or put the files into a folder of your own "
        "and name it in the environment variable MINITORCH_DATA"
    )
    with raises(ModuleNotFoundError, message):
        data_home() if name == "platformdirs" else download(tmp_path / "film.txt", [], HASH)


def test_the_first_file_that_is_there_is_found(tmp_path):
    assert find_file(tmp_path, ["a", "b"]) is None
    assert find_file(tmp_path / "no folder", ["a"]) is None
    (tmp_path / "a").mkdir()
    (tmp_path / "b").touch()
    (tmp_path / "c").touch()
    assert find_file(tmp_path, ["a", "b", "c"]) == tmp_path / "b"


# Downloads


@pytest.mark.parametrize("names", [["good"], ["missing", "wrong", "cut", "good"]], ids=["the first", "the next where one fails"])
def test_a_download_is_the_file_and_leaves_nothing_else(url, tmp_path, names):
    path = tmp_path / "new folder" / "film.txt"
    download(path, [f"{url}/{name}" for name in names], HASH)
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


def test_where_all_fail_the_message_says_why_and_what_to_do_and_no_file_is_left(url, tmp_path):
    path, closed = tmp_path / "film.txt", "http://127.0.0.1:9"
    lines = [
        f"{path} expected to be downloaded, got nothing usable:",
        f"  {url}/missing: HTTPError: 404 Client Error: Not Found for url: {url}/missing",
        f"  {url}/wrong: the checksum does not match: the file is truncated or a different one",
        f"  {url}/cut: no connection, or the connection was lost",
        f"  {closed}/good: no connection, or the connection was lost",
        "try again with a network connection, or fetch the file by other means and put it there",
    ]
    with raises(OSError, "\n".join(lines)):
        download(path, [f"{url}/missing", f"{url}/wrong", f"{url}/cut", f"{closed}/good"], HASH)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(url, tmp_path):
    (tmp_path / "taken").touch()
    path = tmp_path / "taken" / "film.txt"
    with pytest.raises(OSError, match=re.escape(f"{path} expected to be downloaded, got nothing usable:\n  {url}/good: FileExistsError:")):
        download(path, [f"{url}/good"], HASH)


def test_a_download_that_is_killed_leaves_no_file_of_that_name(server, url, tmp_path):
    path = tmp_path / "film.txt"
    program = "import sys, pathlib, minitorch.data.files as files\nfiles.download(pathlib.Path(sys.argv[1]), sys.argv[2:3], sys.argv[3])"
    process = subprocess.Popen([sys.executable, "-c", program, path, f"{url}/slow", HASH], stderr=subprocess.DEVNULL)
    assert server.half_sent.wait(60)
    process.kill()
    process.wait()
    assert not path.exists()
    download(path, [f"{url}/good"], HASH)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(("terminal", "shown"), [(True, "\rfilm.txt: 1.0 of 4.0 MB\rfilm.txt: 2.5 of 4.0 MB\n"), (False, "")])
def test_progress_is_shown_in_a_terminal_but_not_in_a_file(monkeypatch, capsys, terminal, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    progress = Progress("film.txt")
    progress.total = 4_000_000
    progress.update(1_000_000)
    progress.reset()
    progress.update(2_500_000)
    progress.close()
    assert capsys.readouterr().err == shown


# Compressed files


def test_a_file_is_unpacked_if_it_is_compressed(tmp_path):
    plain, packed = tmp_path / "a", tmp_path / "b"
    plain.write_bytes(CONTENT)
    packed.write_bytes(gzip.compress(CONTENT))
    assert decompress(plain) == decompress(packed) == CONTENT


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda packed: packed[:-1], "a truncated one"),
        (lambda packed: packed[:2], "a truncated one"),
        (lambda packed: packed[: len(packed) // 2], "a truncated one"),
        (lambda packed: packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:], "a damaged one"),  # the checksum
        (lambda packed: packed[:30] + b"\xff" * 20 + packed[50:], "a damaged one"),
        (lambda packed: packed + b"more", "a damaged one"),
    ],
)
def test_a_damaged_compressed_file_is_refused_by_name(tmp_path, damage, problem):
    path = tmp_path / "film.gz"
    path.write_bytes(damage(gzip.compress(CONTENT, mtime=0)))
    with raises(ValueError, f"{path} expected a complete gzip file, got {problem}; delete it to download it again, or copy it again"):
        decompress(path)
