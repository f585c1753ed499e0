"""Running untrusted programs: `course.staff.sandbox` with its modules `enter`, `filesystem`, `line_protocol`, `monitor` and `seccomp`."""

import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import rich

from course.manifest import ROOT
from course.staff.sandbox import filesystem as box
from course.staff.sandbox import sandbox, seccomp
from course.staff.sandbox.monitor import OVERHEAD
from course.staff.sandbox.sandbox import PYTHON, BestLevel, Limits, NoReply, Sandbox, SandboxError, fill_cache
from course.staff.sandbox.seccomp import seccomp_filter
from tests.errors import raises

LEVELS = ("bubblewrap", "landlock", "none")

INSIDE = [PYTHON, "-P", "-s", "-c"]
"""A command that runs a line of Python in the sandbox."""

LONG = 120.0
"""A time limit in seconds that no test reaches, even on a busy machine."""

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator gives each program a user of its own")


def box_of(level):
    """A sandbox of this level, if this machine supports it."""
    if level != "none" and (reason := sandbox.missing_reason(level)):
        pytest.skip(f"no {level} on this machine: {reason}")
    return Sandbox(level)


@pytest.fixture(params=LEVELS)
def any_box(request):
    return box_of(request.param)


@pytest.fixture(params=LEVELS[:2])
def real_box(request):
    return box_of(request.param)


@pytest.fixture
def bubblewrap():
    return box_of("bubblewrap")


@pytest.fixture
def files(tmp_path):
    """A submission in a folder that other users cannot read, like temporary folders."""
    folder = tmp_path / "submission"
    folder.mkdir(mode=0o700)
    (folder / "answer.txt").write_text("42", encoding="utf-8")
    return folder


def run(sandbox, code, files, *args, seconds=LONG, **options):
    limits = options.pop("limits", Limits(seconds=seconds))
    return sandbox.run([*INSIDE, code, *args], files=files, limits=limits, **options)


def processes_with(mark):
    """The processes with this mark in their arguments."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = path.read_bytes().split(b"\0")
            if mark.encode() in arguments:
                found[path.parent.name] = arguments
    return found


# The view of a program


def test_a_program_receives_its_files_arguments_and_input(any_box, files):
    code = "import os, sys; print(os.listdir('.'), open(sys.argv[1] + '/answer.txt').read(), sys.stdin.read()); sys.exit(7)"
    ended = run(any_box, code, files, "{files}", stdin=b"typed")
    assert (ended.status, ended.reason, ended.output) == (7, "ended", "['answer.txt'] 42 typed\n")


def test_output_and_errors_are_captured_together_in_order(any_box, files):
    code = "import sys; print(1, flush=True); print(2, file=sys.stderr, flush=True); print('\\udc80'.encode(errors='replace'))"
    assert run(any_box, code, files).output == "1\n2\nb'?'\n"
    assert run(any_box, "import os; os.write(1, b'a\\xff')", files).output == "a\N{REPLACEMENT CHARACTER}", "undecodable bytes are escaped"


def test_the_environment_is_not_inherited(any_box, files, monkeypatch):
    monkeypatch.setenv("GRADER_TOKEN", "secret")
    code = "import os; print(sorted(os.environ.items() - {('LC_CTYPE', 'C.UTF-8')}))"
    ended = run(any_box, code, files, environment={"PLACE": "{files}/x", "HOME": "/nowhere"})
    found = dict(eval(ended.output))
    keys = {"HOME", "LANG", "NUMBA_CACHE_DIR", "PATH", "PLACE", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "TMPDIR"}
    assert set(found) - {"PWD"} == keys  # the shell adds PWD
    assert found["HOME"] == "/nowhere"
    assert found["PLACE"] == ("/submission/x" if any_box.level == "bubblewrap" else f"{files}/x")


def test_a_program_has_only_the_three_standard_descriptors_and_the_installed_packages(any_box, files):
    code = "import os\nfor n in range(3, 200):\n    try: os.fstat(n); print(n)\n    except OSError: pass"
    assert run(any_box, code, files).output == ""
    ended = run(any_box, "import rich, sys; print(rich.__file__, sys.prefix)", files)
    assert ended.output.split() == [rich.__file__, sys.prefix]


def test_files_cannot_be_written(real_box, files):
    ended = run(real_box, "open('answer.txt', 'w')", files)
    assert re.search(r"(Read-only file system|Permission denied): 'answer.txt'", ended.output)
    assert (files / "answer.txt").read_text(encoding="utf-8") == "42"


def test_other_folders_can_be_read_under_their_own_names(real_box, files, tmp_path):
    other, closed = tmp_path / "other", tmp_path / "closed"
    for folder in (other, closed):
        folder.mkdir()
        (folder / "x").write_text("read", encoding="utf-8")
    code = "import sys\nfor path in sys.argv[1:]:\n    try: print(open(path).read())\n    except OSError: print('no')"
    assert run(real_box, code, files, f"{other}/x", f"{closed}/x", reads=[other]).output == "read\nno\n"


def test_the_repository_stays_hidden_inside_a_readable_folder(files, tmp_path, bubblewrap, monkeypatch):
    (tmp_path / "around" / "project" / "course").mkdir(parents=True)
    (tmp_path / "around" / "project" / "course" / "probes.py").touch()
    (tmp_path / "around" / "other").touch()
    monkeypatch.setattr(box, "ROOT", tmp_path / "around" / "project")
    code = "import os, sys; print(sorted(os.listdir(sys.argv[1])), os.listdir(sys.argv[1] + '/project/course'))"
    assert run(bubblewrap, code, files, f"{tmp_path}/around", reads=[tmp_path / "around"]).output == "['other', 'project'] []\n"


def test_landlock_refuses_a_readable_folder_that_contains_the_repository(files, tmp_path, monkeypatch):
    landlock = box_of("landlock")
    (tmp_path / "around" / "course").mkdir(parents=True)
    monkeypatch.setattr(box, "ROOT", tmp_path / "around")
    hidden = tmp_path / "around" / "course"
    with raises(SandboxError, f"Landlock cannot hide {hidden} among the installed packages; install the project with pip install -e ."):
        run(landlock, "pass", files, reads=[tmp_path])


@root_only
def test_concurrent_programs_have_separate_users(real_box, files):
    code = "import os, time; print(os.getuid(), flush=True); time.sleep(1)"
    with ThreadPoolExecutor(2) as executor:
        users = {ended.output.strip() for ended in executor.map(lambda _: run(real_box, code, files), range(2))}
    assert len(users) == 2
    assert all(60706 <= int(user) < 61184 for user in users)


def test_numba_works_and_reuses_code_that_the_reference_compiled(bubblewrap, files, tmp_path):
    (files / "kernel.py").write_text(
        "import numpy, numba\n"
        "@numba.njit(parallel=True, cache=True)\n"
        "def double(x):\n"
        "    for i in numba.prange(len(x)): x[i] *= 2\n"
        "x = numpy.ones(3)\n"
        "double(x)\n"
        "print(x.tolist(), sum(double.stats.cache_hits.values()), numba.get_num_threads())\n",
        encoding="utf-8",
    )
    os.utime(files / "kernel.py", (1e9, 1e9))
    command, environment, cache = [PYTHON, "-P", "-s", "{files}/kernel.py"], {"NUMBA_NUM_THREADS": "2"}, tmp_path / "cache"
    fill_cache(bubblewrap, command, files, cache)
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    ended = bubblewrap.run(command, files=files, limits=Limits(seconds=LONG), environment=environment, cache=cache)
    assert ended.output == "[2.0, 2.0, 2.0] 1 2\n"
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*")} == before


# Results and files of a program


def test_a_file_from_the_private_folder_is_collected_if_it_exists_and_is_not_too_large(any_box, files):
    ended = run(any_box, "import sys; open(sys.argv[1], 'wb').write(b'\\0\\xff')", files, "{tmp}/report.json", collect="report.json")
    assert ended.collected == b"\0\xff"
    code = "import sys; open(sys.argv[1], 'wb').write(b'x' * 200_000)"
    limits = Limits(seconds=LONG, collected=100_000)
    assert run(any_box, code, files, "{tmp}/report.json", collect="report.json", limits=limits).collected is None
    assert run(any_box, code, files, "{tmp}/other", collect="report.json").collected is None


def test_the_signal_that_killed_a_program_and_its_peak_memory_are_known(any_box, files):
    assert run(any_box, "import ctypes; ctypes.string_at(0)", files).status == -signal.SIGSEGV
    ended = run(any_box, "import time; x = b'x' * (100 << 20); time.sleep(0.5)", files)
    assert 100 << 20 < ended.memory < 200 << 20


MEMORY = "import mmap, time; a = [mmap.mmap(-1, 1 << 20) for _ in range(80)]\nfor m in a: m[:] = bytes(1 << 20)\ntime.sleep(90)"
FILES = "import os, sys, time\nfor n in range(5000): os.close(os.open(f'{sys.argv[1]}/{n}', os.O_CREAT))\ntime.sleep(90)"
THREAD = "threading.Thread(target=time.sleep, args=(90,), daemon=True).start()"


@pytest.mark.parametrize(
    ("code", "limits", "reason"),
    [
        ("while True: pass", Limits(seconds=0.5), "time"),
        ("while True: print('x' * 1000)", Limits(seconds=LONG, output=5_000), "output"),
        (MEMORY, Limits(seconds=LONG, memory=60 << 20, mapped=4 << 30), "memory"),
        (FILES, Limits(seconds=LONG, files=1000), "files"),
        (f"import threading, time\nfor _ in range(40): {THREAD}\ntime.sleep(90)", Limits(seconds=LONG, processes=20), "processes"),
    ],
)
def test_a_program_that_exceeds_a_limit_is_ended(any_box, files, code, limits, reason):
    ended = run(any_box, code, files, "{tmp}", limits=limits)
    if "can't start new thread" in ended.output:  # the kernel counts, too
        return
    assert (ended.status, ended.reason) == (-signal.SIGKILL, reason)
    assert len(ended.output) <= limits.output


def test_a_program_runs_under_its_limits(any_box, files):
    code = "import resource as r; print([r.getrlimit(n)[1] for n in (r.RLIMIT_AS, r.RLIMIT_FSIZE, r.RLIMIT_CORE, r.RLIMIT_NPROC)])"
    found = eval(run(any_box, code, files, limits=Limits(seconds=LONG, memory=1 << 30, file_size=1 << 20, processes=30)).output)
    assert found[:3] == [1 << 30, 1 << 20, 1]  # with 0, a crash handler would still receive the memory of a crashed program
    if any_box.level == "bubblewrap" or (any_box.level == "landlock" and os.geteuid() == 0):
        assert found[3] <= 30 + OVERHEAD


def test_a_program_runs_out_of_memory_before_the_grader_does(bubblewrap, files):
    assert run(bubblewrap, "print(open('/proc/self/oom_score_adj').read())", files).output.strip() == "500"


def test_a_program_that_closes_its_output_keeps_running(any_box, files):
    code = "import os, sys, time\nos.close(1); os.close(2); time.sleep(0.5)\nopen(sys.argv[1], 'w').write('done'); os._exit(3)"
    ended = run(any_box, code, files, "{tmp}/report.json", collect="report.json")
    assert (ended.status, ended.reason, ended.collected) == (3, "ended", b"done")


def test_deleted_files_that_are_still_open_count_as_disk_usage(any_box, files):
    code = (
        "import os, sys, time\nheld = []\nfor n in range(40):\n    held.append(open(sys.argv[1], 'wb')); os.unlink(sys.argv[1])\n"
        "    held[-1].write(b'x' * (1 << 20)); held[-1].flush()\ntime.sleep(90)"
    )
    ended = run(any_box, code, files, "{tmp}/x", limits=Limits(seconds=LONG, disk=8 << 20))
    assert ended.reason == "files" or "No space left on device" in ended.output


@pytest.mark.parametrize(("name", "reason"), [("d", "ended"), ("d" * 100, "files")])
def test_a_very_deep_folder_is_removed(any_box, files, tmp_path, monkeypatch, name, reason):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(sandbox.tempfile, "tempdir", str(scratch))
    code = (
        "import os, sys, time\nos.chdir(sys.argv[1])\nfor _ in range(1500): os.mkdir(sys.argv[2]); os.chdir(sys.argv[2])\n"
        "os.chmod('..', 0)\ntime.sleep(1)"
    )
    ended = run(any_box, code, files, "{tmp}", name)
    assert ended.reason == ("ended" if any_box.level == "bubblewrap" else reason), ended.output
    assert list(scratch.iterdir()) == []


# Programs that answer

ECHO = "import os\nrequests, replies = os.fdopen(3), os.fdopen(4, 'w', buffering=1)\nfor line in requests: replies.write(line.upper())"


def test_a_program_answers_line_by_line(any_box, files):
    with any_box.start([*INSIDE, ECHO], files=files, limits=Limits(seconds=LONG, output=300_000)) as child:
        assert [child.ask(line, LONG) for line in (b"one", b"", b"x" * 200_000)] == [b"ONE", b"", b"X" * 200_000]
    assert (child.ended.status, child.ended.reason) == (-signal.SIGKILL, "stopped")


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        ("1 / 0", "ended", "ZeroDivisionError: division by zero"),
        ("print('bye')", "ended", "bye"),
        ("import time; time.sleep(90)", "time", ""),
        ("import os\nwhile True: os.write(4, b'x' * 1000)", "output", ""),
        ("while True: print('x' * 1000)", "output", "xxx"),
    ],
)
def test_a_program_that_does_not_answer_is_ended_with_the_reason(any_box, files, code, reason, text):
    limits = Limits(seconds=LONG, output=100_000)
    with any_box.start([*INSIDE, "import os; os.read(3, 1)\n" + code], files=files, limits=limits) as child:
        with pytest.raises(NoReply) as error:
            child.ask(b"1", 1.5 if reason == "time" else LONG)
        assert (error.value.reason, str(error.value)) == (reason, f"the program did not reply: {reason}")
        assert text in child.output
        with pytest.raises(NoReply):
            child.ask(b"2", LONG)


def test_an_answer_before_the_question_is_rejected(any_box, files):
    code = "import os; os.read(3, 10); os.write(4, b'1\\n2\\n'); os.read(3, 10)"
    with any_box.start([*INSIDE, code], files=files) as child:
        assert child.ask(b"q", LONG) == b"1"
        with pytest.raises(NoReply) as error:
            child.ask(b"q", LONG)
    assert error.value.reason == "babble"


def test_a_program_that_reads_no_input_is_ended_in_time(any_box, files):
    with any_box.start([*INSIDE, "import time; time.sleep(90)"], files=files) as child, pytest.raises(NoReply) as error:
        child.ask(b"x" * (1 << 20), 1.0)
    assert error.value.reason == "time"


def test_the_total_time_of_a_program_is_limited(any_box, files):
    box = any_box.start([*INSIDE, "import time; time.sleep(90)"], files=files, limits=Limits(seconds=1))
    with box as child, pytest.raises(NoReply) as error:
        child.ask(b"q", LONG)
    assert error.value.reason == "time"
    assert child.ended.seconds < LONG


def test_an_answering_program_may_run_longer_than_a_plain_run(files, monkeypatch):
    given = []
    monkeypatch.setattr(sandbox, "direct_config", lambda job, *rest, **options: given.append(job.limits.seconds) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Sandbox("none").run([*INSIDE, "pass"], files=files)
    with pytest.raises(ZeroDivisionError), Sandbox("none").start([*INSIDE, ECHO], files=files):
        pass
    assert given == [10, 600]


def test_a_question_must_be_one_line(files):
    with Sandbox("none").start([*INSIDE, ECHO], files=files) as child:
        with raises(ValueError, "a request expected one line, got a newline in it; encode it as JSON"):
            child.ask(b"a\nb", LONG)
        assert child.ask(b"a", LONG) == b"A"


# Ending programs

GRADER = """
import sys
from pathlib import Path
from course.staff.sandbox.sandbox import *
code = 'import time; time.sleep(90)'
Sandbox(sys.argv[1]).run([PYTHON, '-c', code, sys.argv[3]], files=Path(sys.argv[2]), limits=Limits(seconds=90))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_no_program_survives_a_killed_grader(any_box, files, number):
    mark = f"mark-{os.getpid()}-{any_box.level}-{number}"
    command = [sys.executable, "-c", GRADER, any_box.level, str(files), mark]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE)
    started = [b"-c", b"import time; time.sleep(90)", mark.encode()]
    end = time.monotonic() + LONG
    while time.monotonic() < end and not any(arguments[1:4] == started for arguments in processes_with(mark).values()):
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=LONG)
    assert process.returncode == -number
    assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    while processes_with(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert processes_with(mark) == {}


# When the sandbox itself fails


def test_a_machine_without_a_sandbox_gets_instructions(monkeypatch):
    monkeypatch.setattr(sandbox, "best_level", lambda: BestLevel("none", {"bubblewrap": "is not installed", "landlock": "is too old"}))
    with pytest.raises(SandboxError) as error:
        Sandbox()
    assert str(error.value) == (
        "there is no sandbox on this machine (bubblewrap: is not installed; landlock: is too old); "
        "install bubblewrap, or allow --no-sandbox"
    )
    assert (error.value.code, error.value.next) == (3, "course-staff grade-doctor")
    assert Sandbox(no_sandbox=True).level == "none"
    assert Sandbox(no_sandbox=True).warning.startswith("there is no sandbox")


def test_an_unknown_level_is_refused():
    with raises(ValueError, "the sandbox expected one of the levels bubblewrap, landlock, none, got docker; omit it for the best one"):
        Sandbox("docker")


@pytest.fixture
def bwrap(tmp_path, monkeypatch):
    """Replaces bubblewrap by a script; with an empty text, bubblewrap is missing."""
    script = tmp_path / "bwrap"

    def install(text):
        script.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setattr(box, "SYSTEM", (*box.SYSTEM, str(script)))  # so that another user can run it
        monkeypatch.setattr(box.shutil, "which", lambda name, path=None: str(script) if text else None)

    for cached in (box._bubblewrap, sandbox.missing_reason):
        cached.cache_clear()
    yield install
    for cached in (box._bubblewrap, sandbox.missing_reason):
        cached.cache_clear()


def test_without_bubblewrap_the_next_level_is_used_and_the_reason_given(bwrap):
    box_of("landlock")
    sandbox.missing_reason.cache_clear()
    bwrap("")
    assert sandbox.best_level() == BestLevel("landlock", {"bubblewrap": "bubblewrap is not installed; apt-get install bubblewrap"})


def test_an_outdated_bubblewrap_is_not_used(bwrap, files):
    bwrap("echo bubblewrap 0.6.1")
    with raises(SandboxError, "expected bubblewrap 0.8 or newer, got bubblewrap 0.6.1; install a newer one"):
        Sandbox("bubblewrap").run([*INSIDE, "pass"], files=files)


def test_a_failure_of_bubblewrap_is_not_blamed_on_the_program(bwrap, files):
    bwrap("[ $1 = --version ] && echo bubblewrap 0.9.0 && exit\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    with raises(SandboxError, "the sandbox could not be set up: bwrap: setting up uid map: Permission denied"):
        Sandbox("bubblewrap").run([*INSIDE, "pass"], files=files)
    with pytest.raises(SandboxError), Sandbox("bubblewrap").start([*INSIDE, ECHO], files=files) as child:
        child.ask(b"q", LONG)


def test_a_missing_command_is_distinguished_from_a_failing_one(any_box, files):
    if any_box.level == "bubblewrap":
        ended = any_box.run(["no-such-program"], files=files)
        assert (ended.status, ended.reason) == (127, "ended")
        return
    with raises(SandboxError, "the sandbox could not be set up: FileNotFoundError: [Errno 2] No such file or directory: 'no-such-program'"):
        any_box.run(["no-such-program"], files=files)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            lambda files: {"files": files / "answer.txt"},
            SandboxError,
            "the files of a program must be a folder, got {}/answer.txt; unpack it first",
        ),
        (lambda files: {"reads": [files / "lost"]}, SandboxError, "{}/lost should be readable in the sandbox, but does not exist"),
        (lambda files: {"collect": "../x"}, ValueError, "collect expected the name of a file in the private folder, got '../x'"),
    ],
    ids=["a file as the folder", "a missing folder", "a path to collect"],
)
def test_arguments_that_make_no_sense_are_refused(files, options, error, message):
    with raises(error, message.format(files)):
        Sandbox("none").run([*INSIDE, "pass"], **{"files": files, **options(files)})


@root_only
def test_files_that_the_program_s_user_cannot_read_are_refused(real_box, files):
    (files / "answer.txt").chmod(0o600)
    with raises(SandboxError, f"{files / 'answer.txt'} cannot be read by other users; chmod -R a+rX {files}"):
        run(real_box, "pass", files)


# The filter of system calls

REFUSED = seccomp.FAIL | errno.EPERM


def decide(program, code, number, *arguments):
    """What the kernel would do with a call: executes the filter's instructions as seccomp(2) and bpf(4) describe them."""
    data = struct.pack("<iIQ6Q", number if number < 1 << 31 else number - (1 << 32), code, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        operation, yes, no, operand = steps[at]
        at += 1
        if operation == 0x06:
            return operand
        if operation == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
            at += yes if holds else no


X86, ARM = 0xC000003E, 0xC00000B7
each_machine = pytest.mark.parametrize(
    ("machine", "code", "calls"),
    [
        ("x86_64", X86, {"ptrace": 101, "read": 0, "clone": 56, "ioctl": 16, "fcntl": 72, "setrlimit": 160, "prlimit": 302}),
        ("aarch64", ARM, {"ptrace": 117, "read": 63, "clone": 220, "ioctl": 29, "fcntl": 25, "setrlimit": 164, "prlimit": 261}),
    ],
    ids=["x86_64", "aarch64"],
)


@each_machine
def test_the_filter_blocks_dangerous_calls_and_permits_the_others(machine, code, calls):
    program = seccomp_filter(machine)
    assert decide(program, code, calls["ptrace"]) == REFUSED
    assert decide(program, code, calls["read"]) == seccomp.ALLOW
    assert decide(program, 0x40000003, calls["read"]) == seccomp.KILL  # a process of 32 bits
    assert decide(program, code, 435) == seccomp.FAIL | errno.ENOSYS


@each_machine
def test_processes_and_threads_may_be_created_but_not_namespaces(machine, code, calls):
    free, strict = seccomp_filter(machine), seccomp_filter(machine, strict=True)
    process, thread = 17, 0x3D0F00  # SIGCHLD; the flags of pthread_create
    assert [decide(program, code, calls["clone"], thread) for program in (free, strict)] == [seccomp.ALLOW] * 2
    assert [decide(program, code, calls["clone"], process) for program in (free, strict)] == [seccomp.ALLOW, REFUSED]
    for bit in (17, 25, 26, 27, 28, 29, 30):  # mounts, control groups, names, memory, users, processes, network
        assert decide(free, code, calls["clone"], 1 << bit | process) == REFUSED


REFUSED_WITH = [
    *(("ioctl", 0, number) for number in (0x5412, 0x541C)),  # what is typed into a terminal
    ("prlimit", 1234),  # the limits of another process
    *(("fcntl", 0, number) for number in (1024, 1026)),  # leases of files
    ("setrlimit", 4),  # the size of a core dump
    *(("prlimit", 0, 4, number) for number in (1, 1 << 32)),
]
ALLOWED_WITH = [
    ("ioctl", 0, 0x5401),  # TCGETS, of isatty
    ("prlimit", 0),
    ("fcntl", 0, 1030),  # F_DUPFD_CLOEXEC
    *(("setrlimit", 9), ("prlimit", 0, 9, 1)),  # RLIMIT_AS
    ("prlimit", 0, 4, 0),  # it only asks
]


@each_machine
def test_some_calls_are_refused_with_dangerous_arguments_only(machine, code, calls):
    program = seccomp_filter(machine)
    for verdict, cases in ((REFUSED, REFUSED_WITH), (seccomp.ALLOW, ALLOWED_WITH)):
        for name, *arguments in cases:
            assert decide(program, code, calls[name], *arguments) == verdict, (name, arguments)


def test_calls_of_another_architecture_end_the_program():
    assert decide(seccomp_filter("x86_64"), X86, 0x40000000) == seccomp.KILL


@pytest.mark.parametrize("calls", [seccomp.CALLS, seccomp.STRICT_CALLS])
def test_system_call_numbers_equal_those_of_the_system_s_headers(calls):
    headers = [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm-generic/unistd.h")]
    for column, header in enumerate(headers):
        if not header.exists():
            pytest.skip(f"{header} is not here; apt-get install linux-libc-dev")
        text = header.read_text(encoding="utf-8")
        numbers = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
        known = {name: both[column] for name, both in calls.items() if name in numbers}
        assert {name: number for name, number in known.items() if number != numbers[name]} == {}
        assert len(known) > len([both for both in calls.values() if both[column] is not None]) - 8  # old headers lack the newest calls


def test_an_unsupported_processor_is_refused():
    with raises(ValueError, "the seccomp filter expected x86_64 or aarch64, got riscv64; grade on one of these"):
        seccomp_filter("riscv64")
