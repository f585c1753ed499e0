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


def test_a_folder_is_read(tmp_path, manifest):
    put(tmp_path, FILE, RELU)
    assert read("ann", tmp_path, manifest).files == {FILE: RELU}


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
    two = put(tmp_path, "c.zip", make_zip({f"new/{FILE}": RELU, f"old/{FILE}": RELU}))
    assert refusal(two, manifest) == "it contains more than one workspace, new, old; hand in one"
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


def test_a_folder_of_submissions_is_read_as_each_of_them(tmp_path, manifest):
    put(tmp_path, f"class/ann/{FILE}", RELU)
    put(tmp_path, "class/ben.tar.gz", b"")
    put(tmp_path, "class/cleo.v2.zip", b"")
    put(tmp_path, "class/.DS_Store", b"")
    found = find([tmp_path / "class"], manifest)
    assert {name: path.name for name, path in found.items()} == {"ann": "ann", "ben": "ben.tar.gz", "cleo.v2": "cleo.v2.zip"}


def test_a_submission_found_twice_is_read_once(tmp_path, manifest):
    put(tmp_path, f"class/ann/{FILE}", RELU)
    assert list(find([tmp_path / "class" / "ann", tmp_path / "class"], manifest)) == ["ann"]


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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (make_zip({FILE: RELU, link_in_zip(): b"/etc/passwd"}), "minitorch/scalar.py is a link, not a file; hand in plain files"),
        (make_tar({FILE: RELU, "x": (tarfile.SYMTYPE, "/etc/passwd")}), "x is a link, not a file; hand in plain files"),
        (make_tar({FILE: RELU, "x": (tarfile.LNKTYPE, FILE)}), "x is a link, not a file; hand in plain files"),
        (make_tar({FILE: RELU, "x": (tarfile.CHRTYPE, "")}), "x is a device, not a file; hand in plain files"),
        (make_tar({FILE: RELU, "x": (tarfile.FIFOTYPE, "")}), "x is a device, not a file; hand in plain files"),
        (make_tar({f"../{FILE}": RELU}), f"'../{FILE}' is outside the submission; hand in the files of your workspace"),
        (
            make_zip({f"minitorch/../../{FILE}": RELU}),
            f"'minitorch/../../{FILE}' is outside the submission; hand in the files of your workspace",
        ),
        (make_zip({f"/{FILE}": RELU}), f"'/{FILE}' is outside the submission; hand in the files of your workspace"),
        (make_zip({f"C:/{FILE}": RELU}), f"'C:/{FILE}' is outside the submission; hand in the files of your workspace"),
        (make_zip({"..\\x": RELU}), "'..\\\\x' is outside the submission; hand in the files of your workspace"),
        (make_tar({FILE: RELU, "a\nb": b""}), "'a\\nb' is outside the submission; hand in the files of your workspace"),
        (
            make_zip({FILE: RELU, "minitorch/Operators.py": b""}),
            "minitorch/Operators.py occurs twice, or differs from another name only in upper and lower case; hand in one of them",
        ),
        (make_zip({FILE: RELU}, zipfile.ZIP_LZMA), f"{FILE} uses an unsupported compression method; {REMEDY}"),
        (b"", f"ann is not a zip archive, a tar archive or a git bundle; {REMEDY}"),
        (b"Rar!\x1a\x07", f"ann is not a zip archive, a tar archive or a git bundle; {REMEDY}"),
        (b"\x28\xb5\x2f\xfd", f"it is compressed with zstd, which requires Python 3.14 or newer; {REMEDY}"),
        (make_zip({}), f"it has none of the files in which students write, such as {FILE}; {REMEDY}"),
        (make_zip({"minitorch/other.py": RELU}), f"it has none of the files in which students write, such as {FILE}; {REMEDY}"),
        (make_zip({FILE: b"#" * (LARGEST + 1)}), f"{FILE} has more than 300000 bytes or 5000 lines; hand in what you wrote yourself"),
        (make_zip({FILE: b"\n" * (MOST_LINES + 1)}), f"{FILE} has more than 300000 bytes or 5000 lines; hand in what you wrote yourself"),
    ],
)
def test_an_archive_with_links_or_devices_is_refused(data, message, tmp_path, manifest):
    assert refusal(put(tmp_path, "ann", data), manifest) == message


@pytest.mark.parametrize(
    "pack", [make_zip, make_tar, lambda entries: gzip.compress(make_tar(entries)), lambda entries: lzma.compress(make_tar(entries))]
)
def test_an_archive_that_is_cut_anywhere_is_refused(pack, tmp_path, manifest):
    whole = pack({"a": os.urandom(3000), FILE: RELU * 500})
    for cut in (5, 300, len(whole) // 2, len(whole) * 3 // 4):
        said = refusal(put(tmp_path, "ann", whole[:cut]), manifest)
        assert said.startswith(("ann is damaged or truncated: ", "ann is not a zip archive"))
        assert said.endswith(f"; {REMEDY}")


def test_a_corrupt_file_in_an_archive_is_detected(tmp_path, manifest):
    whole = bytearray(make_zip({FILE: RELU}, zipfile.ZIP_STORED))
    whole[whole.index(b"return")] ^= 1
    assert refusal(put(tmp_path, "ann", bytes(whole)), manifest) == f"ann is damaged or truncated: Bad CRC-32 for file '{FILE}'; {REMEDY}"


def test_an_encrypted_file_is_refused(tmp_path, manifest):
    whole = bytearray(make_zip({FILE: RELU}))
    whole[6] |= 1  # the length in its own header
    whole[whole.index(b"PK\x01\x02") + 8] |= 1  # the length in the table of contents
    assert refusal(put(tmp_path, "ann", bytes(whole)), manifest) == f"{FILE} is encrypted; {REMEDY}"


def test_a_decompression_bomb_is_read_only_up_to_the_limit(tmp_path, manifest):
    bomb = put(tmp_path, "ann", make_zip({FILE: b"#" * (1 << 26)}))
    assert bomb.stat().st_size < 1 << 17
    assert refusal(bomb, manifest) == f"{FILE} has more than 300000 bytes or 5000 lines; hand in what you wrote yourself"


def test_an_archive_that_unpacks_to_too_many_bytes_is_refused(tmp_path, manifest, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 20)
    path = put(tmp_path, "ann", gzip.compress(make_tar({"zeros": bytes(1 << 21), FILE: RELU})))
    assert refusal(path, manifest) == f"it unpacks to more than {1 << 20} bytes; {REMEDY}"


def test_an_archive_with_too_many_entries_is_refused(tmp_path, manifest, monkeypatch):
    monkeypatch.setattr(archives, "MAX_ENTRIES", 100)
    path = put(tmp_path, "ann", make_zip({FILE: RELU, **{f"f{i}": b"" for i in range(100)}}))
    assert refusal(path, manifest) == f"it has more than 100 entries; {REMEDY}"


def test_a_table_of_contents_that_is_too_long_is_not_read(tmp_path, manifest):
    whole = bytearray(bytes(MAX_READ + 100) + make_zip({FILE: RELU}))
    whole[:2] = b"PK"
    end = whole.rindex(b"PK\x05\x06")
    whole[end + 12 : end + 20] = struct.pack("<LL", MAX_READ + 1, 0)
    message = f"its table of contents or a name in it has {MAX_READ + 1} bytes, more than {MAX_READ}; {REMEDY}"
    assert refusal(put(tmp_path, "ann", bytes(whole)), manifest) == message


def test_a_name_that_is_too_long_is_not_read(tmp_path, manifest):
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, MAX_READ + 1
    data = info.tobuf(tarfile.GNU_FORMAT) + bytes(MAX_READ + 1024)
    size = (MAX_READ // 512 + 1) * 512
    message = f"its table of contents or a name in it has {size} bytes, more than {MAX_READ}; {REMEDY}"
    assert refusal(put(tmp_path, "ann", data), manifest) == message


def test_a_file_that_is_too_large_is_not_opened(tmp_path, manifest):
    path = put(tmp_path, "ann", b"PK")
    os.truncate(path, archives.MAX_SIZE + 1)
    assert refusal(path, manifest) == f"ann has {archives.MAX_SIZE + 1} bytes, more than {archives.MAX_SIZE}; {REMEDY}"


def test_links_in_a_folder_are_refused_and_not_followed(tmp_path, manifest):
    put(tmp_path, f"ann/{FILE}", RELU)
    (tmp_path / "ann" / "tests").symlink_to("/etc")
    assert refusal(tmp_path / "ann", manifest) == "tests is a link, not a file; hand in plain files"
    (tmp_path / "ben").symlink_to(tmp_path / "ann")
    assert refusal(tmp_path / "ben", manifest) == f"ben is neither a folder nor a file; {REMEDY}"


def test_a_device_in_a_folder_is_refused(tmp_path, manifest):
    put(tmp_path, f"ann/{FILE}", RELU)
    os.mkfifo(tmp_path / "ann" / "minitorch" / "scalar.py")
    assert refusal(tmp_path / "ann", manifest) == "minitorch/scalar.py is a device, not a file; hand in plain files"


def test_the_hash_covers_exactly_the_files_that_are_read(tmp_path, manifest):
    first = read("ann", put(tmp_path, "a", make_zip({FILE: RELU, "notes": b"1"})), manifest)
    assert read("ben", put(tmp_path, "b", gzip.compress(make_tar({FILE: RELU}))), manifest).hash == first.hash
    assert read("ann", put(tmp_path, "c", make_zip({FILE: RELU + b"\n"})), manifest).hash != first.hash
    assert read("ann", put(tmp_path, "d", make_zip({"minitorch/scalar.py": RELU})), manifest).hash != first.hash


def test_junk_files_are_ignored(tmp_path, manifest):
    put(tmp_path, f"ann/{FILE}", RELU)
    (tmp_path / "ann" / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "ann" / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    assert read("ann", tmp_path / "ann", manifest).files == {FILE: RELU}
