"""The journal of grading keeps every result, and workers finish all jobs even if some are killed."""

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course.manifest import ROOT
from course.staff import RequestError, StaffError
from course.staff.grading.journal import Journal
from course.staff.grading.results import Result, read_result
from course.staff.grading.submissions import Submission
from course.staff.grading.workers import Job, run_jobs
from tests.errors import raises

# The journal


def result(name="ann", hash="1"):
    return Result(name, hash, "", (), (), "bubblewrap", 7, 1.0)


def test_the_random_number_is_drawn_once_and_only_its_owner_can_read_it(tmp_path):
    number = Journal(tmp_path / "out").number()
    assert Journal(tmp_path / "out").number() == number
    assert Journal(tmp_path / "other").number() != number
    assert (tmp_path / "out" / "number").stat().st_mode & 0o077 == 0


def test_one_class_uses_one_random_number(tmp_path):
    assert Journal(tmp_path).number(5) == 5
    assert Journal(tmp_path).number(5) == 5
    with raises(RequestError, f"{tmp_path} was started with --seed 5, got 6; omit --seed, or choose another --out"):
        Journal(tmp_path).number(6)
    (tmp_path / "number").write_text("five")
    with raises(StaffError, f"{tmp_path / 'number'} does not contain a number; delete it to grade all submissions again with a new one"):
        Journal(tmp_path).number()


def test_a_result_is_reused_only_under_the_same_conditions(tmp_path):
    journal = Journal(tmp_path)
    ann = Submission("ann", {"a.py": b"1"})
    path = journal.path(ann, ["course", "7"])
    assert path.parent == tmp_path / "results"
    assert path.name.startswith("ann-")
    assert journal.find(path) is None
    journal.save(path, result())
    assert journal.find(journal.path(ann, ["course", "7"])) == result()
    for other in (Submission("ann", {"a.py": b"2"}), Submission("Ann", {"a.py": b"1"}), Submission("ann", {"b.py": b"1"})):
        assert journal.find(journal.path(other, ["course", "7"])) is None
    assert journal.find(journal.path(ann, ["course", "8"])) is None


def test_the_old_result_of_a_changed_submission_is_archived(tmp_path):
    journal = Journal(tmp_path)
    old, new, other = (tmp_path / "results" / f"{name}.json" for name in ("ann-1", "ann-2", "ann-b-1"))
    journal.save(old, result())
    journal.save(other, result("ann-b"))
    journal.save(new, result(hash="2"))
    assert sorted(path.name for path in new.parent.glob("*.json")) == ["ann-2.json", "ann-b-1.json"]
    assert read_result(new.parent / "earlier" / "ann-1.json") == result()


def test_an_unreadable_result_counts_as_none(tmp_path):
    path = tmp_path / "ann-1.json"
    for text in ("{", "[]", json.dumps({"schema": 0})):
        path.write_text(text)
        assert Journal(tmp_path).find(path) is None


def test_only_one_run_at_a_time_grades_into_a_folder(tmp_path):
    busy = raises(RequestError, f"another run is writing to {tmp_path}; wait for it, or stop it")
    with Journal(tmp_path).lock(), busy, Journal(tmp_path).lock():
        pass
    with Journal(tmp_path).lock():
        pass


# Faults


def test_a_full_disk_is_reported_and_loses_no_result(tmp_path, monkeypatch):
    journal, kept, lost = Journal(tmp_path), tmp_path / "results" / "ann-1.json", tmp_path / "results" / "ann-2.json"
    journal.save(kept, result())

    def raise_disk_full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    remedy = "all earlier results are kept: free some space, then run the same command again"
    with raises(StaffError, f"{lost} cannot be written (No space left on device); {remedy}"):
        journal.save(lost, result(hash="2"))
    assert [path.name for path in kept.parent.iterdir()] == ["ann-1.json"]
    assert journal.find(kept) == result()


def test_a_file_and_its_new_name_are_synced_before_the_next_step(tmp_path, monkeypatch):
    steps = []
    sync, rename = os.fsync, Path.replace

    def record_sync(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def record_rename(path, target):
        steps.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(Path, "replace", record_rename)
    Journal(tmp_path).save(tmp_path / "results" / "ann-1.json", result())
    assert steps == ["file", "rename", "folder"]


def test_a_file_and_a_read_only_folder_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with raises(RequestError, f"{tmp_path / 'file'} is not a folder; choose another --out"):
        Journal(tmp_path / "file")

    def refuse_mkdir(path, *args, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse_mkdir)
    with raises(RequestError, f"{tmp_path / 'out' / 'results'} cannot be created (Read-only file system); choose another --out"):
        Journal(tmp_path / "out")


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_result_is_computed_again(tmp_path, share):
    journal, path = Journal(tmp_path), tmp_path / "results" / "ann-1.json"
    journal.save(path, result())
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert journal.find(path) is None
    journal.save(path, result())
    assert journal.find(path) == result()


def test_a_folder_deleted_during_a_run_is_created_again(tmp_path):
    journal, path = Journal(tmp_path / "out"), tmp_path / "out" / "results" / "ann-1.json"
    shutil.rmtree(tmp_path / "out")
    journal.save(path, result())
    assert journal.find(path) == result()


def test_setting_the_clock_back_changes_nothing(tmp_path, monkeypatch):
    journal, path = Journal(tmp_path), tmp_path / "results" / "ann-1.json"
    journal.save(path, result())
    os.utime(path, (2**33, 2**33))  # a time in the future
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert journal.find(path) == result()
    journal.save(path.with_name("ann-2.json"), result(hash="2"))
    assert sorted(found.name for found in path.parent.glob("*.json")) == ["ann-2.json"]


def test_names_may_contain_any_character_and_invalid_unicode(tmp_path):
    journal = Journal(tmp_path)
    path = journal.path(Submission("../<b>Jürgen\n/x" * 40), [])
    assert path.parent == tmp_path / "results"
    assert path.name.startswith(".._b_Jürgen_x")
    assert len(path.name) < 120
    paths = {journal.path(Submission(name, refused=f"{name} is a link"), ["7"]) for name in ("a\udcff", "a\udcfe", "a")}
    assert len(paths) == 3
    for path in paths:
        journal.save(path, result("a\udcff"))


# Workers


class JobQueue:
    """A job queue whose workers do what each job says, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.news = []

    def job(self, name, *do):
        return Job(name, {"name": name, "do": do, "path": str(self.folder / f"{name}.result")})

    def run(self, *jobs, count=2):
        def record_news(job, news):
            self.news.append((job.name, news["now"]))

        def is_done(job):
            return Path(job.data["path"]).is_file()

        worker, settings = "tests.course.scripted_worker:ScriptedWorker", {"folder": str(self.folder)}
        ended = run_jobs(iter(jobs), count, worker, settings, is_done, record_news, self.folder)
        return {end.job.name: end for end in ended}

    def times(self, name):
        return len((self.folder / f"{name}.times").read_text())


@pytest.fixture
def queue(tmp_path):
    return JobQueue(tmp_path)


def test_every_job_runs_once_and_reports_progress(queue):
    names = ["a", "b", "c", "d", "e"]
    ended = queue.run(*(queue.job(name, "print") for name in names))
    assert sorted(ended) == names
    assert all((end.killed, end.trouble) == (None, "") for end in ended.values())
    assert [queue.times(name) for name in names] == [1] * 5
    assert sorted(queue.news) == [(name, "print") for name in names]


def test_a_job_runs_up_to_three_times_if_its_worker_dies_before_finishing_it_or_the_sandbox_fails_and_the_others_continue(queue):
    jobs = {
        "dies once": ("die", "write"),
        "dies twice": ("die", "die", "write"),
        "always dies": ("die",),
        "raises": ("raise",),
        "finishes and dies": ("write and die",),
        "fails twice": ("sandbox", "sandbox", "write"),
        "always fails": ("sandbox",),
        "writes": ("write",),
    }
    ended = queue.run(*(queue.job(name, *do) for name, do in jobs.items()))
    killed = {"always dies": "it ended with status -9", "raises": "ZeroDivisionError: it is 0"}
    assert {name: end.killed for name, end in ended.items()} == dict.fromkeys(jobs) | killed
    assert {name: end.trouble for name, end in ended.items() if end.trouble} == {"always fails": "there is no sandbox today"}
    assert [queue.times(name) for name in jobs] == [2, 3, 3, 3, 1, 3, 3, 1]


def test_an_inconsistent_repository_ends_the_run(queue):
    with raises(StaffError, "it does not fit"):
        queue.run(queue.job("a", "error"), queue.job("b", "wait"))


def test_workers_end_when_their_parent_process_ends(queue):
    code = (
        "import pathlib\nfrom course.staff.grading.workers import Job, run_jobs\n"
        f"job = Job('a', {{'name': 'a', 'do': ['wait'], 'path': 'none'}})\nfolder = pathlib.Path({str(queue.folder)!r})\n"
        "print_news = lambda job, news: print(news['now'], flush=True)\n"
        "worker, settings = 'tests.course.scripted_worker:ScriptedWorker', {'folder': str(folder)}\n"
        "list(run_jobs(iter([job]), 1, worker, settings, lambda job: False, print_news, folder))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout.readline() == b"wait\n"
    worker = int(subprocess.run(["pgrep", "-P", str(parent.pid)], capture_output=True, text=True, check=True).stdout)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    for _ in range(400):
        if not is_running(worker):
            break
        time.sleep(0.05)
    assert not is_running(worker)


def is_running(pid):
    """Whether a process runs; a zombie does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
