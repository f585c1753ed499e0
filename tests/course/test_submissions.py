"""Reading submissions: all supported ways to pack them, and archives and files that are refused."""

import bz2
import gzip
import io
import lzma
import os
import struct
import subprocess
import tarfile
import zipfile

import pytest

from course.staff import RequestError
from course.staff.grading import archives
from course.staff.grading.archives import MAX_READ
from course.staff.grading.submissions import LARGEST, MOST_LINES, find, read, stem

from .miniature import write as write_miniature

RELU = b"def relu(x):\n    return x\n"
FILE = "minitorch/operators.py"
REMEDY = "hand in submission.zip from course submit"


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """The miniature course's: students write in minitorch/operators.py, minitorch/scalar.py and tests/test_operators.py."""
    return write_miniature(tmp_path_factory.mktemp("miniature"))[1]


def make_zip(entries, method=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content, method)
    return data.getvalue()


def make_tar(entries, format=tarfile.GNU_FORMAT):
    """A tar archive; content of the form (type, target) makes an entry of another type."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=format) as archive:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, tuple):
                info.type, info.linkname = content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def refusal(path, manifest):
    """The reason why a submission is refused; none of its files are read."""
    submission = read(stem(path), path, manifest)
    assert submission.files == {}
    assert submission.refused
    return submission.refused


# Supported ways to pack


@pytest.mark.parametrize(
    "pack",
    [
        lambda data: make_zip({FILE: data}),
        lambda data: make_zip({FILE: data}, zipfile.ZIP_STORED),
        lambda data: make_tar({FILE: data}),
        lambda data: make_tar({FILE: data}, tarfile.PAX_FORMAT),
        lambda data: gzip.compress(make_tar({FILE: data})),
        lambda data: bz2.compress(make_tar({FILE: data})),
        lambda data: lzma.compress(make_tar({FILE: data})),
    ],
    ids=["zip", "stored zip", "tar", "pax", "tar.gz", "tar.bz2", "tar.xz"],
)
def test_an_archive_is_read_whatever_its_name(pack, tmp_path, manifest):
    submission = read("ann", put(tmp_path, "ann", pack(RELU)), manifest)
    assert submission.refused == ""
    assert submission.files == {FILE: RELU}


def test_a_folder_is_read_without_its_junk(tmp_path, manifest):
    put(tmp_path, FILE, RELU)
    assert read("ann", tmp_path, manifest).files == {FILE: RELU}
    put(tmp_path, f"ann/{FILE}", RELU)
    (tmp_path / "ann" / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "ann" / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    assert read("ann", tmp_path / "ann", manifest).files == {FILE: RELU}


def test_a_git_bundle_is_read_with_or_without_head(tmp_path, manifest):
    work = tmp_path / "work"
    put(work, FILE, RELU)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words):
        options = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *options, *words], cwd=work, env=environment, check=True, capture_output=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "done")
    git("bundle", "create", "../ann.bundle", "HEAD", "main")
    git("bundle", "create", "../ben.bundle", "main")
    assert read("ann", tmp_path / "ann.bundle", manifest).files == {FILE: RELU}
    assert read("ben", tmp_path / "ben.bundle", manifest).files == {FILE: RELU}
    whole = (tmp_path / "ann.bundle").read_bytes()
    message = refusal(put(tmp_path, "cut.bundle", whole[:-30]), manifest)
    assert message.startswith("git cannot read cut.bundle: ")
    assert message.endswith("; git bundle create cut.bundle HEAD main")
    (work / "minitorch" / "scalar.py").symlink_to("/etc/passwd")
    git("add", ".")
    git("commit", "--quiet", "-m", "linked")
    git("bundle", "create", "../eve.bundle", "main")
    assert refusal(tmp_path / "eve.bundle", manifest) == "minitorch/scalar.py is a link, not a file; hand in plain files"


def test_a_submission_may_be_inside_one_folder(tmp_path, manifest):
    assert read("ann", put(tmp_path, "a.zip", make_zip({f"work/{FILE}": RELU})), manifest).files == {FILE: RELU}
    deep = put(tmp_path, "b.zip", make_zip({f"new/ann/{FILE}": RELU, f"new/ann/old/{FILE}": b"old"}))
    assert read("ann", deep, manifest).files == {FILE: RELU}
    both = put(tmp_path, "d.zip", make_zip({FILE: RELU, f"old/{FILE}": b"old"}))
    assert read("ann", both, manifest).files == {FILE: RELU}
    assert read("ann", both, manifest).left_out == (f"old/{FILE}",)


def test_only_files_that_students_write_in_are_read_and_the_others_are_named(tmp_path, manifest):
    entries = {FILE: RELU, "course/tasks.toml": b"", "minitorch/__init__.py": b"", "reports/training/log.txt": b"", ".DS_Store": b""}
    path = put(tmp_path, "a.zip", make_zip({**entries, ".venv/lib/x.py": b"", "__MACOSX/._x": b"", "minitorch/": b""}))
    submission = read("ann", path, manifest)
    assert submission.files == {FILE: RELU}
    assert submission.left_out == ("course/tasks.toml", "minitorch/__init__.py")
    many = put(tmp_path, "b.zip", make_zip({FILE: RELU, **{f"n{i:02}": b"" for i in range(25)}}))
    assert read("ann", many, manifest).left_out == (*(f"n{i:02}" for i in range(20)), "and 5 more")


# Which files are the submissions


def test_a_folder_of_submissions_is_read_as_each_of_them_and_none_twice(tmp_path, manifest):
    put(tmp_path, f"class/ann/{FILE}", RELU)
    put(tmp_path, "class/ben.tar.gz", b"")
    put(tmp_path, "class/cleo.v2.zip", b"")
    put(tmp_path, "class/.DS_Store", b"")
    found = find([tmp_path / "class"], manifest)
    assert {name: path.name for name, path in found.items()} == {"ann": "ann", "ben": "ben.tar.gz", "cleo.v2": "cleo.v2.zip"}
    assert list(find([tmp_path / "class" / "ann", tmp_path / "class"], manifest)) == ["ann", "ben", "cleo.v2"]


def test_submissions_have_unique_names(tmp_path, manifest):
    for path in ("a/ann.zip", "a/ann.tar", "b/ann.zip", "b/Ann.tar"):
        put(tmp_path, path, b"")
    assert list(find([tmp_path / "a", tmp_path / "b"], manifest)) == ["ann", "ann.zip", "Ann.tar", "b/ann.zip"]


def test_missing_and_empty_paths_are_named(tmp_path, manifest):
    for path, message in (
        (tmp_path / "none", f"there is no {tmp_path / 'none'}; pass folders, archives, or a folder of them"),
        (tmp_path, f"{tmp_path} is empty; pass folders, archives, or a folder of them"),
    ):
        with pytest.raises(RequestError) as error:
            find([path], manifest)
        assert str(error.value) == message
        assert error.value.next == "course-staff grade --help"


# Archives and files that are refused


def link_in_zip():
    info = zipfile.ZipInfo("minitorch/scalar.py")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


def a_corrupt_file():
    whole = bytearray(make_zip({FILE: RELU}, zipfile.ZIP_STORED))
    whole[whole.index(b"return")] ^= 1
    return whole


def an_encrypted_file():
    whole = bytearray(make_zip({FILE: RELU}))
    whole[6] |= 1  # the length in its own header
    whole[whole.index(b"PK\x01\x02") + 8] |= 1  # the length in the table of contents
    return whole


def a_decompression_bomb():
    bomb = make_zip({FILE: b"#" * (1 << 26)})
    assert len(bomb) < 1 << 17
    return bomb


def a_long_table_of_contents():
    whole = bytearray(bytes(MAX_READ + 100) + make_zip({FILE: RELU}))
    whole[:2] = b"PK"
    end = whole.rindex(b"PK\x05\x06")
    whole[end + 12 : end + 20] = struct.pack("<LL", MAX_READ + 1, 0)
    return whole


def a_long_name():
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, MAX_READ + 1
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(MAX_READ + 1024)


UP, ODD_CASE = f"minitorch/../../{FILE}", "minitorch/Operators.py"
LINK, DEVICE = (f"is a {kind}, not a file; hand in plain files" for kind in ("link", "device"))
OUTSIDE = "is outside the submission; hand in the files of your workspace"
TWICE = "occurs twice, or differs from another name only in upper and lower case; hand in one of them"
NO_ARCHIVE = f"ann is not a zip archive, a tar archive or a git bundle; {REMEDY}"
NOTHING = f"it has none of the files in which students write, such as {FILE}; {REMEDY}"
TOO_LONG = f"{FILE} has more than 300000 bytes or 5000 lines; hand in what you wrote yourself"
NOT_READ = f"its table of contents or a name in it has {{}} bytes, more than {MAX_READ}; {REMEDY}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (make_zip({FILE: RELU, link_in_zip(): b"/etc/passwd"}), f"minitorch/scalar.py {LINK}"),
        (make_tar({FILE: RELU, "x": (tarfile.SYMTYPE, "/etc/passwd")}), f"x {LINK}"),
        (make_tar({FILE: RELU, "x": (tarfile.LNKTYPE, FILE)}), f"x {LINK}"),
        (make_tar({FILE: RELU, "x": (tarfile.CHRTYPE, "")}), f"x {DEVICE}"),
        (make_tar({FILE: RELU, "x": (tarfile.FIFOTYPE, "")}), f"x {DEVICE}"),
        (make_tar({f"../{FILE}": RELU}), f"'../{FILE}' {OUTSIDE}"),
        (make_zip({UP: RELU}), f"'{UP}' {OUTSIDE}"),
        (make_zip({f"/{FILE}": RELU}), f"'/{FILE}' {OUTSIDE}"),
        (make_zip({f"C:/{FILE}": RELU}), f"'C:/{FILE}' {OUTSIDE}"),
        (make_zip({"..\\x": RELU}), f"'..\\\\x' {OUTSIDE}"),
        (make_tar({FILE: RELU, "a\nb": b""}), f"'a\\nb' {OUTSIDE}"),
        (make_zip({FILE: RELU, ODD_CASE: b""}), f"{ODD_CASE} {TWICE}"),
        (make_zip({FILE: RELU}, zipfile.ZIP_LZMA), f"{FILE} uses an unsupported compression method; {REMEDY}"),
        (b"", NO_ARCHIVE),
        (b"Rar!\x1a\x07", NO_ARCHIVE),
        (b"\x28\xb5\x2f\xfd", f"it is compressed with zstd, which requires Python 3.14 or newer; {REMEDY}"),
        (make_zip({}), NOTHING),
        (make_zip({"minitorch/other.py": RELU}), NOTHING),
        (make_zip({f"new/{FILE}": RELU, f"old/{FILE}": RELU}), "it contains more than one workspace, new, old; hand in one"),
        (make_zip({FILE: b"#" * (LARGEST + 1)}), TOO_LONG),
        (make_zip({FILE: b"\n" * (MOST_LINES + 1)}), TOO_LONG),
        (a_decompression_bomb, TOO_LONG),
        (a_corrupt_file, f"ann is damaged or truncated: Bad CRC-32 for file '{FILE}'; {REMEDY}"),
        (an_encrypted_file, f"{FILE} is encrypted; {REMEDY}"),
        (a_long_table_of_contents, NOT_READ.format(MAX_READ + 1)),
        (a_long_name, NOT_READ.format((MAX_READ // 512 + 1) * 512)),
    ],
)
def test_an_archive_that_cannot_be_read_safely_is_refused(data, message, tmp_path, manifest):
    assert refusal(put(tmp_path, "ann", data() if callable(data) else data), manifest) == message


@pytest.mark.parametrize(
    "pack", [make_zip, make_tar, lambda entries: gzip.compress(make_tar(entries)), lambda entries: lzma.compress(make_tar(entries))]
)
def test_an_archive_that_is_cut_anywhere_is_refused(pack, tmp_path, manifest):
    whole = pack({"a": os.urandom(3000), FILE: RELU * 500})
    for cut in (5, 300, len(whole) // 2, len(whole) * 3 // 4):
        said = refusal(put(tmp_path, "ann", whole[:cut]), manifest)
        assert said.startswith(("ann is damaged or truncated: ", "ann is not a zip archive"))
        assert said.endswith(f"; {REMEDY}")


@pytest.mark.parametrize(
    ("limit", "value", "data", "message"),
    [
        ("MAX_UNPACKED", 1 << 20, gzip.compress(make_tar({"zeros": bytes(1 << 21), FILE: RELU})), "it unpacks to more than 1048576 bytes"),
        ("MAX_ENTRIES", 100, make_zip({FILE: RELU, **{f"f{i}": b"" for i in range(100)}}), "it has more than 100 entries"),
        ("MAX_SIZE", 9, b"PK 23456789", "ann has 11 bytes, more than 9"),
    ],
    ids=["unpacked", "entries", "size"],
)
def test_an_archive_that_is_too_large_is_refused(limit, value, data, message, tmp_path, manifest, monkeypatch):
    monkeypatch.setattr(archives, limit, value)
    assert refusal(put(tmp_path, "ann", data), manifest) == f"{message}; {REMEDY}"


def test_links_and_devices_in_a_folder_are_refused(tmp_path, manifest):
    put(tmp_path, f"ann/{FILE}", RELU)
    (tmp_path / "ann" / "tests").symlink_to("/etc")
    assert refusal(tmp_path / "ann", manifest) == f"tests {LINK}"
    (tmp_path / "ben").symlink_to(tmp_path / "ann")
    assert refusal(tmp_path / "ben", manifest) == f"ben is neither a folder nor a file; {REMEDY}"
    (tmp_path / "ann" / "tests").unlink()
    os.mkfifo(tmp_path / "ann" / "minitorch" / "scalar.py")
    assert refusal(tmp_path / "ann", manifest) == f"minitorch/scalar.py {DEVICE}"


def test_the_hash_covers_exactly_the_files_that_are_read(tmp_path, manifest):
    first = read("ann", put(tmp_path, "a", make_zip({FILE: RELU, "notes": b"1"})), manifest)
    assert read("ben", put(tmp_path, "b", gzip.compress(make_tar({FILE: RELU}))), manifest).hash == first.hash
    assert read("ann", put(tmp_path, "c", make_zip({FILE: RELU + b"\n"})), manifest).hash != first.hash
    assert read("ann", put(tmp_path, "d", make_zip({"minitorch/scalar.py": RELU})), manifest).hash != first.hash
