"""What the doctor finds, and the one fix that it names for each problem."""

import os
import shutil
import subprocess
import sys
import time
import webbrowser
from pathlib import Path

import pytest

from course.cli import doctor
from course.cli.doctor import Check
from course.workspace import pristine

from .releases import Student, write


@pytest.fixture
def student(tmp_path: Path) -> Student:
    student = Student(tmp_path / "mein Ördner")
    write(student.root, {"pyproject.toml": b'[project]\nrequires-python = ">=3.11"\n', "requirements.txt": b"pytest>=1\n"})
    return student


def test_every_check_prints_a_line_and_the_exit_code_is_that_of_the_worst(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    fine, warned = Check("Disk", "ok", "9 GB free"), Check("git", "warning", "is not installed", "install git")
    wrong = Check("Python", "wrong", "2.7, expected >=3.11", "install a newer Python")
    monkeypatch.setattr(doctor, "CHECKS", (lambda root: fine, lambda root: warned))
    assert doctor.run(student.root, student.console) == 0
    assert student.output == "✓ Disk       9 GB free\n! git        is not installed\n             install git\nReady. Next: course status\n"
    monkeypatch.setattr(doctor, "CHECKS", (lambda root: fine, lambda root: wrong))
    assert doctor.run(student.root, student.console) == 3
    assert student.output.splitlines()[1:] == [
        "✗ Python     2.7, expected >=3.11",
        "             install a newer Python",
        "1 of 2 checks failed; fix the first one first.",
    ]


def test_missing_and_outdated_packages_are_named_together(student: Student) -> None:
    wanted = b"# of the course\npytest>=999\nno-such-package-of-this-course>=1\nrich[all]>=1,<999  # why\n"
    write(student.root, {"requirements.txt": wanted})
    found = doctor.packages(student.root)
    assert found.state == "wrong"
    assert found.says.endswith(", expected >=999; no-such-package-of-this-course is missing")
    assert found.fix == f"run: {sys.executable} -m pip install -r requirements.txt -r requirements.extra.txt"


def test_where_only_the_packages_of_the_first_tests_are_installed_the_others_are_no_fault(
    student: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(student.root, {"requirements.txt": b"pytest>=1\nno-such-package-of-this-course>=1\n"})
    monkeypatch.setattr(sys, "prefix", str(student.root))
    assert doctor.packages(student.root).state == "wrong"
    write(student.root, {".course": b""})  # by make course
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    missing = "no-such-package-of-this-course is missing"
    assert doctor.packages(student.root) == Check("Packages", "warning", missing, "run: make app")
    absent = "is not installed; the tests of Module 2 and later need it"
    assert doctor.numba(student.root) == Check("numba", "warning", absent, "run: make app")
    write(student.root, {"requirements.extra.txt": b"pytest>=999\n"})
    assert doctor.packages(student.root).state == "wrong"
    write(student.root, {"requirements.extra.txt": b"", ".app": b""})  # make app has installed them
    monkeypatch.setattr(doctor, "COMPILE", "raise SystemExit('no llvm')")
    assert (doctor.packages(student.root).state, doctor.numba(student.root).state) == ("wrong", "wrong")


@pytest.mark.parametrize(
    ("wanted", "fitting", "others"),
    [
        (">=2.2", ["2.2"], ["2.1.9"]),
        (">=2.9", ["2.10.1"], []),
        (">=1.67,<1.70", ["1.69.9"], ["1.70.0"]),
        ("==0.30.*", ["0.30.2"], ["0.31"]),
        (">=3", ["3.0rc1"], []),
        ("!=3.1", [], ["3.1"]),
        ("~=3.1", ["3.2"], ["4.0"]),
        ("", ["4.0"], []),
    ],
)
def test_versions_are_compared_number_by_number(wanted: str, fitting: list[str], others: list[str]) -> None:
    assert [version for version in (*fitting, *others) if doctor.fits(version, wanted)] == fitting


def test_an_old_python_and_one_outside_an_environment_are_reported(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    write(student.root, {"pyproject.toml": b'[project]\nrequires-python = ">=9.1"\n'})
    here = ".".join(map(str, sys.version_info[:3]))
    fix = "install a newer Python, delete .venv and run: make app"
    assert doctor.python(student.root) == Check("Python", "wrong", f"{here}, expected >=9.1", fix)
    (student.root / "pyproject.toml").unlink()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert doctor.python(student.root).says == f"{here} without a virtual environment"


def test_a_numba_that_fails_hangs_or_computes_wrong_results_is_reported(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    again = f"run: {sys.executable} -m pip install --force-reinstall numba"
    monkeypatch.setattr(doctor, "COMPILE", "raise SystemExit('no llvm')")
    assert doctor.numba(student.root) == Check("numba", "wrong", "does not run: no llvm", again)
    monkeypatch.setattr(doctor, "COMPILE", """print('{"right": false, "threads": 2, "seconds": 1, "version": "9.9"}')""")
    assert doctor.numba(student.root) == Check("numba", "wrong", "9.9 computes wrong results", again)
    monkeypatch.setattr(doctor, "COMPILE", """print('{"right": true, "threads": 1, "seconds": 1, "version": "9.9"}')""")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert doctor.numba(student.root).fix == "unset NUMBA_NUM_THREADS, so that the loops of Module 3 run in parallel"
    monkeypatch.setattr(doctor, "COMPILE", "import time; time.sleep(60)")
    monkeypatch.setattr(doctor, "PATIENCE", 0.1)
    assert doctor.numba(student.root).says == "compiling a function took more than 0.1 s"


def test_a_read_only_folder_is_reported(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.folders(student.root).state == "ok"
    monkeypatch.setattr(doctor, "_writable", lambda folder: folder.name != "minitorch")
    folder = student.root / "minitorch"
    fix = f"make it writable: chmod u+w {folder}"
    assert doctor.folders(student.root) == Check("Folders", "wrong", f"{folder} cannot be written to", fix)


def test_an_incomplete_workspace_is_reported(student: Student) -> None:
    assert doctor.workspace(student.root) == Check("Workspace", "ok", "all 6 files of the course are there")
    (student.root / "minitorch/other.py").unlink()
    fix = "run: git checkout --"
    missing = Check("Workspace", "warning", "minitorch/other.py missing", f"{fix} minitorch/other.py")
    assert doctor.workspace(student.root) == missing
    (student.root / pristine.PATH).unlink()
    says = "course/pristine.zip is missing, which records what was handed out"
    assert doctor.workspace(student.root) == Check("Workspace", "wrong", says, f"{fix} course/pristine.zip")
    (student.root / ".course/journal").mkdir(parents=True)
    assert doctor.workspace(student.root).says == "a command was interrupted"


def test_gpu_browser_disk_git_and_terminal_are_checked(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_browser() -> None:
        raise webbrowser.Error("none")

    monkeypatch.setattr(webbrowser, "get", no_browser)
    assert doctor.browser(student.root).fix == "run: make app, and open the address that it prints in a browser"
    monkeypatch.setattr(doctor, "has_gpu", lambda: False)
    assert doctor.gpu(student.root) == Check("GPU", "ok", "none; the tasks that need one run in numba's simulator")
    monkeypatch.setattr(doctor, "has_gpu", lambda: True)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor.gpu(student.root).fix == "read docs/module3/gpu_machines.md"
    for free, state in ((10**7, "wrong"), (10**9, "warning"), (10**10, "ok")):
        monkeypatch.setattr(shutil, "disk_usage", lambda root, free=free: shutil._ntuple_diskusage(free, 0, free))  # type: ignore[attr-defined]
        assert doctor.disk(student.root).state == state
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert doctor.git(student.root) == Check("git", "warning", "is not installed", "install git from https://git-scm.com")
    monkeypatch.setattr(sys, "stdout", type("Stream", (), {"encoding": "ascii"})())
    fix = "set PYTHONUTF8=1 in the environment"
    assert doctor.terminal(student.root) == Check("Terminal", "warning", "ascii lacks characters such as ✓", fix)


def test_a_workspace_without_a_git_history_is_reported(student: Student) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    assert doctor.git(student.root).fix == "run: git init && git add . && git commit -m Workspace"
    subprocess.run(["git", "init", "--quiet"], cwd=student.root, check=True)
    assert doctor.git(student.root).state == "ok"


def test_a_wrong_clock_and_files_from_the_future_are_reported(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time() + 3600
    os.utime(student.root / "minitorch/sums.py", (later, later))
    says, fix = "minitorch/sums.py was saved in the future; 1 such files", "save it again, or: touch minitorch/sums.py"
    assert doctor.clock(student.root) == Check("Clock", "warning", says, fix)
    now = time.time()
    monkeypatch.setattr(doctor.time, "time", lambda: now - 100)
    found = doctor.clock(student.root)
    assert found.state == "warning"
    assert found.says in ("a new file's time is 100 s ahead", "a new file's time is 101 s ahead")
