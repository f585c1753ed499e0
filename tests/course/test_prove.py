"""Wrong answers, and proofs that the tests catch them: `course.staff.proofs`."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from course.manifest import ROOT, course, load
from course.staff import StaffError, cli
from course.staff.proofs import answers, prove, runs
from course.staff.proofs.answers import WrongAnswer, apply_patch, content_hash, executable_source, graded_files, load_answers
from course.staff.proofs.prove import Verdict, choose, hash_all, in_order, needed_files, without_kernels
from tests.errors import raises

from . import miniature
from .prepared import reference_files

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

RELU = "minitorch.operators:relu"


@pytest.fixture
def repository(tmp_path):
    return miniature.write(tmp_path / "reference")


def append(file, text):
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def wrong_answer(body, task="0.1", name="wrong", target=RELU):
    function = target.split(":")[1].split(".")[-1]
    return WrongAnswer(task, name, "Is wrong.", {target: f"def {function}(x):\n    {body}\n"})


# The files of wrong answers


def test_every_task_has_at_least_eight_wrong_answers_and_every_file_a_task():
    counts = {task.id: len(load_answers(answers.FOLDER, [task])) for task in course().tasks}
    assert {id: count for id, count in counts.items() if count < 8} == {}
    assert {file.stem for file in answers.FOLDER.glob("*.toml")} <= {task.id for task in course().tasks}


def test_every_sixteenth_patch_applies_to_the_reference_and_changes_it():
    check_patches(load_answers(answers.FOLDER, course().tasks)[::16])


def check_patches(patches):
    for answer in patches:
        assert apply_patch(answer, reference_files()) != reference_files(), answer.key


def test_the_kernels_of_a_task_can_be_left_out():
    check_kernels(course().task("3.1"))


def check_kernels(task):
    files = prove.cut_files(reference_files(), course(), max(task.stage, *course().required_stages))
    remaining = without_kernels(files, course(), task)
    kernels = {full.replace(".", "/") + ".py" for full in task.leave_out if ":" not in full}
    assert kernels <= set(files) - set(remaining)
    assert all("/kernels/" in path for path in set(files) - set(remaining))


def test_wrong_answers_are_read_in_order(repository, tmp_path):
    _, manifest = repository
    entry = '[[wrong]]\nname = "{}"\nmistake = "Is wrong."\n[wrong.patch]\n"minitorch.operators:relu" = "def relu(x): return x"\n'
    (tmp_path / "0.1.toml").write_text(entry.format("b") + entry.format("a"), encoding="utf-8")
    (tmp_path / "1.1.toml").write_text(entry.format("c"), encoding="utf-8")
    assert [answer.key for answer in load_answers(tmp_path, manifest.tasks)] == ["0.1/b", "0.1/a", "1.1/c"]


NAMED_A = '[[wrong]]\nname = "a"\nmistake = "Is wrong."\n'
CHANGE = NAMED_A + '{}[wrong.change]\n"{}" = ["{}", "{}"]\n'


@pytest.fixture
def load_text(repository, tmp_path):
    """Reads the wrong answers of the repository from this text of 0.1.toml."""

    def load_text(text):
        (tmp_path / "0.1.toml").write_text(text, encoding="utf-8")
        return load_answers(tmp_path, repository[1].tasks, repository[0])

    return load_text


def test_a_change_applies_to_the_function_of_the_reference(load_text):
    (answer,) = load_text(CHANGE.format("compiled = true\n", RELU, "x > 0 ", "x < 0 "))
    changed = 'def relu(x: float) -> float:\n    """x if x > 0, else 0.0."""\n    return x if x < 0 else 0.0\n'
    assert answer == WrongAnswer("0.1", "a", "Is wrong.", {RELU: changed}, compiled=True)


ONCE = ": 'a' expected the text to change once in minitorch.operators:relu, found it {} times: {}"
UNKNOWN = ": 'a' changes minitorch.{}, but the reference has no such function"
EXPECTED = "expected name, mistake, a patch or a change of at least one function, and perhaps compiled"
PATCH = 'patch = {a = "b"}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CHANGE.format("", RELU, "x >= 0", "y"), ONCE.format(0, "x >= 0")),
        (CHANGE.format("", RELU, "x > 0", "y"), ONCE.format(2, "x > 0")),
        (CHANGE.format("", "minitorch.operators:id", "x", "y"), UNKNOWN.format("operators:id")),
        (CHANGE.format("", "minitorch.operator:relu", "x", "y"), UNKNOWN.format("operator:relu")),
        (NAMED_A, f": entry 'a' has name, mistake; {EXPECTED}"),
        (f'[[wrong]]\nmistake = "b"\n{PATCH}', f": entry None has mistake, patch; {EXPECTED}"),
        (f"{NAMED_A}patch = {{}}\n", f": entry 'a' has name, mistake, patch; {EXPECTED}"),
        (f"{NAMED_A}other = 1\n{PATCH}", f": entry 'a' has name, mistake, other, patch; {EXPECTED}"),
        (2 * (NAMED_A + PATCH), ": two entries are named 'a'; give each its own name"),
        ("[[wrong]\n", " is not valid TOML: Expected ']]' at the end of an array declaration (at line 1, column 8)"),
    ],
)
def test_an_incomplete_file_of_wrong_answers_is_an_error(load_text, tmp_path, text, message):
    with raises(StaffError, f"{tmp_path / '0.1.toml'}{message}"):
        load_text(text)


@pytest.mark.parametrize(
    ("target", "definition", "message"),
    [
        ("minitorch.operators:rule", "def rule(x): return x", "minitorch.operators:rule: expected a function rule, found none"),
        ("minitorch.operator:relu", "def relu(x): return x", "minitorch.operator:relu, but there is no minitorch/operator.py"),
        (RELU, "def rule(x): return x", "minitorch.operators:relu: expected one definition, def relu(…), got: def rule(x): return x"),
    ],
)
def test_a_patch_that_does_not_apply_is_an_error(repository, target, definition, message):
    with raises(StaffError, f"wrong answer 0.1/a patches {message}"):
        apply_patch(WrongAnswer("0.1", "a", "b", {target: definition}), needed_files(*repository))


def test_a_patch_of_a_missing_file_is_reported_before_anything_runs(repository):
    answer = wrong_answer("return x", target="minitorch.operator:relu")
    with raises(StaffError, "wrong answer 0.1/wrong patches minitorch.operator:relu, but there is no minitorch/operator.py"):
        content_hash(answer, repository[0], needed_files(*repository), [])


# Verdicts


def test_wrong_answers_are_killed_survive_or_are_broken(repository):
    doubled = {"minitorch.scalar:Scalar.double": "def double(self): return Scalar(self.data ** 2)"}
    met = [
        wrong_answer("return x"),
        wrong_answer("return x if x >= 0 else 0.0"),
        wrong_answer("return nonsense(x)"),
        wrong_answer('raise NotImplementedError("Need to implement for Task 0.1")'),
        wrong_answer("import os; os._exit(0)"),
        wrong_answer("return -1.0", "0.2"),
        WrongAnswer("1.1", "squares", "2² = 2 + 2.", doubled),
    ]
    done = []
    verdicts = prove.prove(met, repository[1], needed_files(*repository), done.append)
    assert [verdict.answer for verdict in verdicts] == met
    assert sorted(done, key=verdicts.index) == verdicts
    assert [(verdict.state, verdict.by.split("\n")[0]) for verdict in verdicts] == [
        ("killed", "tests/test_operators.py::test_relu"),
        ("survived", ""),
        ("broken", "tests/test_operators.py::test_relu: NameError: name 'nonsense' is not defined"),
        ("broken", "tests/test_operators.py::test_relu: NotImplementedError: Need to implement for Task 0.1"),
        ("broken", "pytest did not finish: "),
        ("killed", "tests/test_operators.py::test_own"),
        ("survived", ""),
    ]


@pytest.mark.parametrize(("gpu", "compiled"), [(False, False), (False, True), (True, False)])
def test_proofs_run_with_the_compiler_off_unless_they_need_it_and_in_the_simulator_without_a_gpu(repository, monkeypatch, gpu, compiled):
    root, manifest = repository
    monkeypatch.setattr("course.runner.gpu.has_gpu", lambda: False)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1" if compiled else "0")
    manifest = replace(manifest, tasks=tuple(replace(task, gpu=gpu) for task in manifest.tasks))
    body = "import os; raise ValueError([os.environ.get(name) for name in ('NUMBA_DISABLE_JIT', 'NUMBA_ENABLE_CUDASIM')])"
    answer = replace(wrong_answer(body), compiled=compiled)
    seen = []
    monkeypatch.setattr(prove, "run_tests", lambda *arguments: seen.append(runs.run_tests(*arguments)) or seen[-1])
    (verdict,) = prove.prove([answer], manifest, needed_files(root, manifest))
    assert verdict.state == "killed"
    assert f"ValueError: {['0' if compiled else '1', '1' if gpu else None]}" in seen[0].output


def test_tests_that_cannot_be_imported_or_do_not_exist_prove_nothing(repository):
    root, manifest = repository
    append(root / "tests" / "test_operators.py", "\nassert relu(-1.0) == 0.0\n")
    file = root / "tests" / "test_scalar.py"
    file.write_text(file.read_text(encoding="utf-8").replace("def test_double", "def check_double"), encoding="utf-8")
    known = [wrong_answer("return x"), wrong_answer("return x", "1.1", target="minitorch.scalar:Scalar.double")]
    broken, missing = prove.prove(known, manifest, needed_files(root, manifest))
    assert (broken.state, missing.state, missing.by) == ("broken", "broken", "no test carries the mark task1_1")
    assert broken.by.startswith("tests/test_operators.py: AssertionError")


def test_an_error_in_one_run_stops_the_others(repository, tmp_path):
    pid = tmp_path / "pid"
    endless = wrong_answer(f"open({str(pid)!r}, 'w').write(str(__import__('os').getpid()))\n    while True: pass")
    hanging = apply_patch(endless, needed_files(*repository))
    timed_out = []

    def run(item):
        if item == "hangs":
            with runs.copy(hanging) as folder:
                timed_out.append(runs.run_tests(folder, ["-m", "task0_1"], limit=30).timed_out)
        while not pid.exists() or not pid.read_text(encoding="utf-8"):
            time.sleep(0.05)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.each(run, ["hangs", "is interrupted"])
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text(encoding="utf-8")), signal.SIGTERM)
    assert timed_out == [False]


def test_a_copied_folder_keeps_compiled_code_and_replaces_changed_files():
    with runs.copy({"a.py": "a", "b.py": "b"}) as warm:
        os.utime(warm / "a.py", (1, 1))
        (warm / "compiled.nbi").write_text("machine code")
        with runs.copy({"a.py": "a", "b.py": "B"}, warm) as folder:
            assert {path.name: path.read_text() for path in folder.iterdir()} == {"a.py": "a", "b.py": "B", "compiled.nbi": "machine code"}
            assert (folder / "a.py").stat().st_mtime == 1
        assert (warm / "b.py").read_text() == "b"


# The ledger

DOCUMENTED = """# a comment
\"\"\"What the module is.

In two paragraphs.
\"\"\"

"""
CODE = """
NAME = "# no comment"{comment}
TEXT = \"\"\"
# no comment
\"\"\"


class A:{class_docstring}

    def f(self):{docstring}
        return \"\"\"no docstring\"\"\"
def g(): "a docstring in the line of its function"
"""


def test_comments_and_docstrings_are_not_executable_source():
    docstring = '\n        """A method."""\n        # a comment'
    source = DOCUMENTED + CODE.lstrip().format(comment="  # a comment", class_docstring='\n    """A class."""', docstring=docstring)
    assert executable_source(source) == CODE.format(comment="", class_docstring="", docstring="")
    assert executable_source("no Python # at all") == "no Python # at all"


def test_a_proof_stays_valid_when_a_docstring_changes(repository):
    root, _ = repository
    file = root / "minitorch" / "operators.py"
    source = file.read_text(encoding="utf-8")

    def hashed(body="return x"):
        return content_hash(wrong_answer(body), root, needed_files(*repository), ["tests/test_operators.py"])

    first = hashed()
    assert hashed("# why\n    return x") == first
    assert source.startswith('"""')
    file.write_text('"""Another text.\n\n' + source.removeprefix('"""') + "# The end.\n", encoding="utf-8")
    assert hashed() == first
    file.write_text(source + "0\n", encoding="utf-8")
    assert hashed() != first


def test_the_hash_depends_only_on_patch_compiler_tests_and_patched_files(repository):
    root, manifest = repository
    tests = graded_files(manifest.task("0.1"), needed_files(root, manifest))
    assert tests == ["tests/test_operators.py"]

    def hashed(body="return x", name="a", compiled=False):
        return content_hash(replace(wrong_answer(body, name=name), compiled=compiled), root, needed_files(root, manifest), tests)

    first = hashed()
    assert hashed(name="other") == first
    assert hashed("return -x") != first
    assert hashed(compiled=True) != first
    matter = ("minitorch/operators.py", "tests/test_operators.py", "tests/strategies.py")
    for path in (*matter, "minitorch/scalar.py", "tests/test_scalar.py", "docs/index.md"):
        before = (root / path).read_bytes()
        (root / path).write_bytes(before + b"\n0\n")
        assert (hashed() != first) == (path in matter), path
        (root / path).write_bytes(before)


def with_stage(root, manifest, title):
    """The manifest with a stage after the last one, with a module `later`."""
    stage = replace(manifest.stages[-1], number=manifest.stages[-1].number + 1, title=title, modules=("later",))
    append(root / "minitorch" / "__init__.py", f"\n# Stage {stage.number} - {title}\nfrom minitorch import later as later\n")
    return replace(manifest, stages=(*manifest.stages, stage)), stage.number


def hashes_of_versions(root, manifest, known, versions):
    """The hashes of these wrong answers with each version of minitorch/later.py."""
    for text in versions:
        (root / "minitorch" / "later.py").write_text(text, encoding="utf-8")
        yield hash_all(known, manifest, root, needed_files(root, manifest))


def test_a_change_in_any_module_but_those_after_the_last_task_invalidates_proofs(repository):
    root, manifest = repository[0], with_stage(*repository, "After the course")[0]
    first, second = hashes_of_versions(root, manifest, [wrong_answer("return x")], ('"""Later."""\n', '"""Later still."""\n'))
    assert first == second
    append(root / "minitorch" / "scalar.py", "\n")
    assert hash_all([wrong_answer("return x")], manifest, root, needed_files(root, manifest)) != second


def test_a_stage_of_extra_tasks_invalidates_no_proof_but_those_of_its_own(repository):
    root, original = repository
    manifest, number = with_stage(*repository, "Extra")
    earlier = [wrong_answer("return x"), wrong_answer("return x", "1.1")]
    before = hash_all(earlier, original, root, needed_files(root, original))
    task = replace(manifest.task("0.1"), id=f"{number}.1", mark=f"task{number}_1", write=("minitorch.later:two",), extra=True)
    own = wrong_answer("return 3", task.id, target="minitorch.later:two")
    manifest = replace(manifest, tasks=(*manifest.tasks, task))
    versions = [f"def two(x):\n    return {value}\n" for value in (2, 4)]
    first, second = hashes_of_versions(root, manifest, [*earlier, own], versions)
    for answer in earlier:
        assert first[answer.key] == second[answer.key] == before[answer.key]
    assert first[own.key] != second[own.key]


def test_changed_answers_and_a_fiftieth_of_the_others_are_proved_again():
    known = [wrong_answer("return x", name=str(i)) for i in range(61)]
    ledger = {answer.key: {"hash": "same", "killed_by": "t"} for answer in known[1:]}
    hashes = {answer.key: "same" for answer in known} | {known[5].key: "new"}
    changed, sample = choose(known, hashes, ledger, seed=3)
    assert changed == [known[0], known[5]]
    assert len(sample) == 2  # of 59, rounded up
    assert not {answer.key for answer in sample} & {answer.key for answer in changed}
    assert choose(known, hashes, ledger, seed=3) == (changed, sample)
    assert any(choose(known, hashes, ledger, seed)[1] != sample for seed in range(9))


def test_the_ledger_is_in_task_order_and_round_trips(repository, tmp_path):
    entries = {key: {"hash": key, "killed_by": "t"} for key in ("1.1/a", "0.1/b", "0.1/a")}
    answers.write_ledger(tmp_path / "ledger.json", entries, repository[1])
    found = answers.read_ledger(tmp_path / "ledger.json")
    assert (found, list(found)) == (entries, ["0.1/a", "0.1/b", "1.1/a"])
    assert [name for name in os.listdir(tmp_path) if name != "reference"] == ["ledger.json"]


def test_a_test_and_not_only_the_time_limit_caught_every_wrong_answer_of_the_course():
    entries = answers.read_ledger(answers.LEDGER)
    assert len(entries) >= 799
    assert [key for key, entry in entries.items() if "::" not in entry["killed_by"]] == []


def test_the_tests_of_a_changed_module_come_first():
    tests = ["tests/project/test_run_a.py", "tests/test_b.py", "tests/test_b_more.py"]
    assert in_order(tests, WrongAnswer("0.1", "x", "", {"minitorch.b:f": ""})) == [tests[1], tests[0], tests[2]]
    assert in_order(tests, WrongAnswer("0.1", "x", "", {"minitorch.c:f": ""})) == tests


@pytest.mark.parametrize("text", [None, "{", '{"schema": 0, "answers": {"0.1/a": {}}}'])
def test_an_unreadable_ledger_counts_as_empty(tmp_path, text):
    if text is not None:
        (tmp_path / "ledger.json").write_text(text, encoding="utf-8")
    assert answers.read_ledger(tmp_path / "ledger.json") == {}


# The command


class ProveCommand:
    """The command on the miniature repository, with verdicts that the test chooses."""

    def __init__(self, root, manifest, monkeypatch):
        self.folder = root / "wrong_answers"
        self.folder.mkdir()
        self.survivors = set()
        self.interrupted = None
        self.proved = []
        monkeypatch.setattr(cli, "ROOT", root)
        monkeypatch.setattr(cli, "course", lambda: manifest)
        monkeypatch.setattr(answers, "FOLDER", self.folder)
        monkeypatch.setattr(answers, "LEDGER", self.folder / "ledger.json")
        monkeypatch.setattr(prove, "prove", self.prove)

    def write(self, task, **bodies):
        entry = '[[wrong]]\nname = "{}"\nmistake = "Is wrong."\n[wrong.patch]\n"minitorch.operators:relu" = "def relu(x): return {}"\n'
        text = "".join(entry.format(name, body) for name, body in bodies.items())
        (self.folder / f"{task}.toml").write_text(text, encoding="utf-8")

    def prove(self, todo, *_, done):
        self.proved = [answer.key for answer in todo]
        verdicts = []
        for a in todo:
            if a.key == self.interrupted:
                raise KeyboardInterrupt
            verdicts.append(Verdict(a, *(("survived", "") if a.key in self.survivors else ("killed", "tests/t.py::test"))))
            done(verdicts[-1])
        return verdicts

    def run(self, *arguments, code=0):
        result = CliRunner().invoke(cli.app, ["prove", *arguments])
        assert result.exit_code == code, result.output
        return result.output

    def ledger(self):
        return list(answers.read_ledger(self.folder / "ledger.json"))


@pytest.fixture
def command(repository, monkeypatch):
    return ProveCommand(*repository, monkeypatch)


def test_an_interrupted_run_goes_on_where_it_was(command):
    command.write("0.1", a="x", b="-x", c="0")
    command.interrupted = "0.1/c"
    command.run(code=130)
    assert command.ledger() == ["0.1/a", "0.1/b"]
    command.interrupted = None
    assert "3 wrong answers: 1 new or changed, 1 of the others at random" in command.run()
    assert command.ledger() == ["0.1/a", "0.1/b", "0.1/c"]


def test_prove_adds_new_entries_to_the_ledger_and_proving_one_task_keeps_the_others(command):
    command.write("0.1", a="x", b="-x")
    command.write("1.1", c="x")
    assert "3 wrong answers: 3 new or changed, 0 of the others at random" in command.run()
    assert command.ledger() == ["0.1/a", "0.1/b", "1.1/c"]
    entry = json.loads((command.folder / "ledger.json").read_text(encoding="utf-8"))["answers"]["0.1/a"]
    assert entry["killed_by"] == "tests/t.py::test"
    command.write("0.1", a="x", b="-x * 2")
    assert "3 wrong answers: 1 new or changed, 1 of the others at random (--seed 4)" in command.run("--seed", "4")
    assert "0.1/b" in command.proved
    assert len(command.proved) == 2
    command.run("--all")
    assert command.proved == ["0.1/a", "0.1/b", "1.1/c"]
    command.write("1.1", d="x")
    command.run("1.1")
    assert command.proved == ["1.1/d"]
    assert command.ledger() == ["0.1/a", "0.1/b", "1.1/d"]


def test_a_survivor_is_shown_with_its_patch_and_only_the_others_enter_the_ledger(command):
    command.write("0.1", a="x", b="-x")
    command.survivors = {"0.1/b"}
    output = command.run(code=1)
    assert "1 of 2 wrong answers were not caught; the others are in the ledger" in output
    assert "SURVIVED 0.1/b: Is wrong." in output
    assert "def relu(x): return -x" in output
    assert "next: fix the tests or the patch, then course-staff prove 0.1" in output
    assert command.ledger() == ["0.1/a"]


def test_a_reference_that_fails_without_its_kernels_proves_nothing(repository, monkeypatch):
    root, _ = repository
    (root / "minitorch" / "kernels.py").write_text('"""Kernels."""\n', encoding="utf-8")
    tasks = root / "course" / "tasks.toml"
    text = tasks.read_text(encoding="utf-8").replace('["operators"]', '["operators", "kernels"]')
    text = text.replace('write = ["minitorch.operators', 'leave_out = ["minitorch.kernels"]\nwrite = ["minitorch.operators')
    tasks.write_text(text, encoding="utf-8")
    command = ProveCommand(root, load(tasks), monkeypatch)
    command.write("0.1", a="x")
    result = CliRunner().invoke(cli.app, ["prove"])
    assert isinstance(result.exception, StaffError)
    assert str(result.exception) == (
        "the published functions of Task 0.1 fail its tests without the optimized kernels, "
        "so its wrong answers prove nothing: tests/t.py::test; fix the functions"
    )
    assert command.ledger() == []
    command.survivors = {"0.1/textbook solution"}
    command.run()
    assert command.ledger() == ["0.1/a"]


def test_the_textbook_solution_runs_once_per_task_with_kernels_and_compiler_setting():
    bank = [WrongAnswer(task, name, "", {}, name == "c") for task, name in (("3.2", "a"), ("3.2", "b"), ("3.2", "c"), ("0.1", "d"))]
    found = [(answer.key, answer.patch, answer.compiled) for answer in prove.textbook_solutions(bank, course())]
    assert found == [("3.2/textbook solution", {}, False), ("3.2/textbook solution", {}, True)]


def test_check_fails_on_an_outdated_ledger_and_writes_nothing(command):
    command.write("0.1", a="x")
    assert "the ledger is not up to date" in command.run("--check", code=1)
    assert command.ledger() == []
    command.run()
    command.run("--check")
    command.write("0.1", a="-x")
    assert "next: course-staff prove, and commit course/staff/wrong_answers/ledger.json" in command.run("--check", code=1)
    command.write("0.1")  # it has been deleted
    command.run("--check", code=1)
    assert command.ledger() == ["0.1/a"]


def test_an_inconsistent_repository_ends_with_code_3(command, monkeypatch, capsys):
    (command.folder / "0.1.toml").write_text("[[wrong]\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["course-staff", "prove"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 3
    assert capsys.readouterr().err.splitlines()[-1] == "next: fix it, and run the command again"


def test_a_package_that_only_teachers_need_is_named_with_what_installs_it():
    code = "import sys; sys.modules['libcst'] = None; sys.argv[1:] = ['handout', 'folder']; from course.staff.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    install = f"{sys.executable} -m pip install -c constraints.txt -r requirements.dev.txt"
    assert done.stderr == f"error: this command needs libcst, which {sys.executable} does not have\nnext: {install}\n"


def test_another_package_that_is_missing_is_not_said_to_be_one_that_only_teachers_need(monkeypatch):
    monkeypatch.setattr("sys.argv", ["course-staff", "handout", "folder"])
    monkeypatch.setitem(sys.modules, "course.staff.handout.generate", None)
    with pytest.raises(ModuleNotFoundError, match=r"course\.staff\.handout\.generate"):
        cli.main()


def test_handout_says_what_it_wrote_and_what_to_do_next(command, tmp_path, monkeypatch):
    monkeypatch.setattr("course.staff.handout.generate.leaks_of", lambda *files: [])  # the search takes most of the time
    result = CliRunner().invoke(cli.app, ["handout", "--modules", "0", str(tmp_path / "h 1")])
    files = sum(file.is_file() and ".git" not in file.parts for file in (tmp_path / "h 1").rglob("*"))
    assert result.output.splitlines() == [
        f"{tmp_path}/h 1: {files} files, 2 functions to write, one commit",
        f"next: cd '{tmp_path}/h 1' && make course",
    ]
