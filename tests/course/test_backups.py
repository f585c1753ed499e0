"""Replacing several files at once: nothing is lost, and a kill in between leaves either all changes or none."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from course.cli.problem import Problem
from course.manifest import ROOT
from course.workspace import backups
from tests.errors import raises

BEFORE: dict[str, bytes | None] = {"a.py": b"a\r\n", "b/c.py": b"\xff", "new/d.py": None}
AFTER: dict[str, bytes | None] = {"a.py": b"A", "b/c.py": None, "new/d.py": b"D"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "mein Ördner"
    (root / "b").mkdir(parents=True)
    (root / "a.py").write_bytes(b"a\r\n")
    (root / "b" / "c.py").write_bytes(b"\xff")
    return root


def contents(root: Path) -> dict[str, bytes | None]:
    return {path: backups.content(root, path) for path in BEFORE}


def test_files_are_replaced_removed_and_created_and_can_be_restored(root: Path) -> None:
    name = backups.apply(root, AFTER, "a word")
    assert contents(root) == AFTER
    assert name is not None
    assert name.endswith("-a_word")
    assert backups.read(root, name).files == BEFORE
    again = backups.restore(root, name)
    assert contents(root) == BEFORE
    assert again is not None
    assert backups.read(root, again).files == AFTER
    assert backups.names(root) == sorted([name, again], reverse=True)
    assert not (root / backups.JOURNAL).exists()


def test_a_change_without_effect_makes_no_backup(root: Path) -> None:
    assert backups.apply(root, BEFORE, "nothing") is None
    assert backups.names(root) == []
    name = backups.apply(root, {**BEFORE, "a.py": b"A"}, "one")
    assert backups.read(root, str(name)).files == {"a.py": b"a\r\n"}


def test_the_newest_backups_are_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "MAX_BACKUPS", 3)
    made = [backups.apply(root, {"a.py": bytes([number])}, f"{number}") for number in range(5)]
    assert backups.names(root) == sorted((str(name) for name in made[2:]), reverse=True)


def test_the_mode_of_a_file_is_kept(root: Path) -> None:
    (root / "a.py").chmod(0o444)
    backups.apply(root, AFTER, "mode")
    assert (root / "a.py").read_bytes() == b"A"
    assert (root / "a.py").stat().st_mode & 0o777 == 0o444


@pytest.mark.parametrize("failing", range(3))
def test_a_file_that_cannot_be_replaced_undoes_the_whole_change(root: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    calls = iter(range(100))
    replace, unlink = Path.replace, Path.unlink

    def refuse_replace(self: Path, target: Path) -> Path:
        if self.parent.name == "journal" and next(calls) == failing:
            raise PermissionError(13, "Permission denied", str(self), None, str(target))
        return replace(self, target)

    def refuse_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.name == "c.py" and next(calls) == failing:
            raise PermissionError(13, "Permission denied", str(self))
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "replace", refuse_replace)
    monkeypatch.setattr(Path, "unlink", refuse_unlink)
    message = (
        f"{root / list(AFTER)[failing]} cannot be replaced (Permission denied), so all files are as they were; "
        "close what holds it open or make it writable, and run this command again"
    )
    with raises(Problem, message):
        backups.apply(root, AFTER, "refused")
    monkeypatch.undo()
    assert contents(root) == BEFORE
    assert not (root / backups.JOURNAL).exists()


def test_a_full_disk_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_disk_full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", raise_disk_full)
    with raises(
        Problem, "the new files cannot be written ([Errno 28] No space left on device), so nothing was changed; run: course doctor"
    ):
        backups.apply(root, AFTER, "full")
    assert contents(root) == BEFORE
    assert backups.names(root) == []
    assert list((root / backups.FOLDER).iterdir()) == []


class Killed(BaseException):
    """An exception that no code catches."""


def kill_after(original: Callable[..., Any], left: Iterator[int]) -> Callable[..., Any]:
    """A version of the function that raises Killed after a number of calls."""

    def wrapper(*arguments: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise Killed
        return original(*arguments, **options)

    return wrapper


def test_after_a_kill_at_any_step_the_next_command_completes_or_undoes_the_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process the kill is an exception that no code catches; another test below kills a real process."""
    outcomes = []
    originals = {name: getattr(Path, name) for name in ("write_bytes", "rename", "replace", "unlink", "mkdir")}
    for step in range(1, 60):
        left = iter(range(step - 1))
        with monkeypatch.context() as patch:
            for name, original in originals.items():
                patch.setattr(Path, name, kill_after(original, left))
            patch.setattr(backups.shutil, "rmtree", lambda *arguments, **options: None)
            try:
                backups.apply(root, AFTER, f"step{step}")
                killed = False
            except Killed:
                killed = True
        with backups.exclusive_access(root):
            pass
        assert contents(root) in (BEFORE, AFTER)
        outcomes.append(contents(root) == AFTER)
        backups.apply(root, BEFORE, "again")
        assert contents(root) == BEFORE
        if not killed:
            break
    assert not killed
    assert outcomes == sorted(outcomes)  # before the journal is renamed nothing happens, afterwards everything does
    assert {False, True} == set(outcomes)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_killed_process_leaves_no_lock_and_its_change_is_finished(root: Path) -> None:
    program = "import os, signal, sys; from pathlib import Path; from course.workspace import backups\n"
    program += "def kill(root): os.kill(os.getpid(), signal.SIGKILL)\nbackups._apply_journal = kill\n"
    program += "backups.apply(Path(sys.argv[1]), {'a.py': b'A'}, 'killed')"
    done = subprocess.run([sys.executable, "-c", program, str(root)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (root / "a.py").read_bytes() == b"a\r\n"
    assert backups.apply(root, {}, "nothing") is None
    assert (root / "a.py").read_bytes() == b"A"
    assert not (root / backups.JOURNAL).exists()


def test_edits_after_a_kill_are_backed_up_before_the_change_is_finished(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(backups, "_apply_journal", kill_after(backups._apply_journal, iter(())))
        with pytest.raises(Killed):
            backups.apply(root, AFTER, "killed")
    (root / "a.py").write_bytes(b"edited")
    backups.apply(root, {}, "nothing")
    assert contents(root) == AFTER
    newest = next(name for name in backups.names(root) if name.endswith("edited-in-between"))
    assert backups.read(root, newest).files == {"a.py": b"edited"}


def test_concurrent_commands_do_not_interfere(root: Path) -> None:
    program = "import sys; from pathlib import Path; from course.workspace import backups\n"
    program += "with backups.exclusive_access(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program, str(root)], cwd=ROOT, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with raises(Problem, "another command is changing files of this workspace; wait for it, and run this one again"):
            backups.apply(root, AFTER, "second")
        assert contents(root) == BEFORE
        other.communicate()
    assert backups.apply(root, AFTER, "second") is not None


OUTSIDE = "expected a path inside the workspace, got {!r}; run: course doctor"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        *((path, OUTSIDE.format(path)) for path in ("../out.py", "/etc/passwd", "")),
        ("b", "b is a folder, where a file belongs; move it away, and run this command again"),
    ],
)
def test_no_file_outside_the_workspace_is_written(root: Path, path: str, message: str) -> None:
    with raises(Problem, message):
        backups.apply(root, {path: b"x"}, "out")


def test_a_link_that_leaves_the_workspace_is_refused_and_one_inside_is_followed(root: Path) -> None:
    (root.parent / "outside.py").write_bytes(b"mine")
    (root / "link.py").symlink_to(root.parent / "outside.py")
    with pytest.raises(Problem, match=r"^link\.py is a link that leads out of the workspace, to .*; put the file itself there$"):
        backups.apply(root, {"link.py": b"x"}, "link")
    (root / "loop.py").symlink_to("loop.py")
    with pytest.raises(Problem, match=r"^loop\.py (is a link that leads nowhere; put the file itself there$|cannot be read)"):
        backups.apply(root, {"loop.py": b"x"}, "link")
    (root / "inside.py").symlink_to("a.py")
    backups.apply(root, {"inside.py": b"new"}, "link")
    assert (root / "inside.py").is_symlink()
    assert (root / "a.py").read_bytes() == b"new"
    assert (root.parent / "outside.py").read_bytes() == b"mine"


def test_a_modified_or_missing_backup_is_refused(root: Path) -> None:
    name = str(backups.apply(root, AFTER, "x"))
    (root / backups.FOLDER / name / "files" / "a.py").write_bytes(b"other")
    with raises(Problem, f"the backup {name} is damaged: a.py was changed in it; run: course reset --list"):
        backups.restore(root, name)
    with raises(Problem, "there is no backup '../x'; run: course reset --list"):
        backups.restore(root, "../x")


def test_a_damaged_lock_or_journal_says_what_to_delete(root: Path) -> None:
    (root / ".course").mkdir()
    (root / backups.LOCK).write_bytes(b"not a database" * 200)
    with pytest.raises(Problem, match=r"^\.course/lock is damaged; delete it, and run this command again$"):
        backups.apply(root, AFTER, "x")
    (root / backups.LOCK).unlink()
    (root / backups.JOURNAL).mkdir()
    (root / backups.JOURNAL / "plan.json").write_text(json.dumps([]), encoding="utf-8")
    with pytest.raises(Problem, match=r"^an earlier command was interrupted and cannot be finished .* delete \.course/journal, and"):
        backups.apply(root, AFTER, "x")
    assert contents(root) == BEFORE
