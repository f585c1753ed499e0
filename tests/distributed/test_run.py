"""The launcher and the worker."""

import io
import os
import sys

import pytest

from minitorch.distributed import run, worker

from .jobs import needs_mpi, run_job


@needs_mpi
def test_every_line_names_its_rank_and_the_program_gets_its_arguments(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\nimport neighbor\nprint(*sys.argv[1:])\nprint()\nprint('no line break', end='')\nsys.stderr.write('a\\nb\\n')\n"
    )
    (tmp_path / "neighbor.py").write_text("")  # a program's folder is on its path
    job = run_job(2, program, "--option", "two words")
    assert job.status == 0
    assert [job.lines(rank) for rank in range(2)] == [["--option two words", "", "no line break"]] * 2
    assert [job.errors(rank) for rank in range(2)] == ["a\nb"] * 2
    assert len((job.out + job.err).splitlines()) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nproc-per-node", "0", "x.py"], "argument --nproc-per-node: expected a number of processes of at least 1, got '0'"),
        (["--nproc-per-node", "two", "x.py"], "argument --nproc-per-node: expected a number of processes of at least 1, got 'two'"),
        (["no/such/program.py"], "expected the path of a program, got 'no/such/program.py', which is no file"),
    ],
)
def test_wrong_arguments_end_the_launcher_with_a_message(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(arguments)
    assert capsys.readouterr().err.splitlines()[-1] == f"python -m minitorch.distributed.run: error: {message}"


def test_a_missing_mpiexec_is_an_error_with_the_remedy(monkeypatch, capsys):
    monkeypatch.setattr(run.shutil, "which", lambda *args, **kwargs: None)
    with pytest.raises(SystemExit, match="2"):
        run.main([__file__])
    assert capsys.readouterr().err.splitlines()[-1] == (
        "python -m minitorch.distributed.run: error: expected mpiexec, got none; install it: pip install -r requirements.distributed.txt, "
        "or the MPI of your system"
    )


def test_the_mpiexec_of_pythons_own_environment_comes_first(tmp_path, monkeypatch):
    for folder in ("environment", "system"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mpiexec").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "environment" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    assert run.find_mpiexec() == str(tmp_path / "environment" / "mpiexec")
    (tmp_path / "environment" / "mpiexec").unlink()
    assert run.find_mpiexec() == str(tmp_path / "system" / "mpiexec")


def test_processes_share_the_cores_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    for processes, threads in ((1, "8"), (3, "2"), (8, "1"), (100, "1")):
        assert run.environment(processes)["NUMBA_NUM_THREADS"] == threads
        assert run.environment(processes)["OMP_NUM_THREADS"] == "5"


def test_hosts_get_the_processes_of_each(monkeypatch):
    found = []
    monkeypatch.setattr(run, "_run", lambda line, variables: found.append(line) or 0)
    monkeypatch.setattr(run, "find_mpiexec", lambda: "mpiexec")
    assert run.main(["--nproc-per-node", "2", "--hosts", "a,b,c", __file__, "--lr", "1"]) == 0
    assert found[0][:7] == ["mpiexec", "-hosts", "a,b,c", "-ppn", "2", "-n", "6"]
    assert found[0][-3:] == [__file__, "--lr", "1"]


def test_the_banner_of_mpich_becomes_one_line():
    killed = [
        "= rank 0 has PID 11", "= rank 1 has PID 12", "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "=   PID 12 RUNNING AT host", "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",
    ]  # fmt: skip
    other = ["=====", "", "[mpiexec@host] Sending Ctrl-C to processes as requested", "Abort(1) on node 1 (rank 1 in comm 0): x"]
    assert all(run.NOISE.fullmatch(line) for line in killed + other)
    for line in ("[rank 0] = 5", "[rank 0] ", "a = 5", "warning: [mpiexec] is old"):
        assert not run.NOISE.fullmatch(line)
    assert run._ending(killed, 11) == "run: signal 11 (Segmentation fault) ended rank 1; all processes have ended"
    assert run._ending(killed[2:], 11) == "run: signal 11 (Segmentation fault) ended a process; all processes have ended"
    assert run._ending([], 3) == "run: a process failed with exit status 3, see its output above; all processes have ended"
    assert run._ending([], 130) == "run: stopped; all processes have ended"


def test_a_stream_writes_whole_lines():
    target = io.StringIO()
    stream = worker.RankPrefix(target, "[rank 3] ")
    assert stream.write("one ") == 4
    assert target.getvalue() == ""
    stream.write("line\ntwo\n\nthr")
    assert target.getvalue() == "[rank 3] one line\n[rank 3] two\n[rank 3] \n"
    stream.finish()
    stream.finish()
    assert target.getvalue().endswith("\n[rank 3] thr\n")
    assert stream.writable()
    assert not stream.isatty()


def test_a_process_names_its_pid_in_one_write(monkeypatch, tmp_path):
    """Between two writes, the line of another process would get into this one."""
    writes = []

    class Stream(io.StringIO):
        def write(self, text):
            writes.append(text)
            return len(text)

    for name, value in {"stdout": io.StringIO(), "stderr": Stream(), "argv": [], "path": [*sys.path]}.items():
        monkeypatch.setattr(sys, name, value)
    monkeypatch.setenv("PMI_RANK", "3")
    (tmp_path / "program.py").write_text("")
    assert worker.main(str(tmp_path / "program.py")) == 0
    assert writes == [f"= rank 3 has PID {os.getpid()}\n"]
