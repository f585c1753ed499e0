"""Which tests fail for which wrong answer, and which wrong answer a submission resembles most: `course.staff.grading`."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from course.manifest import ROOT, course
from course.staff import RequestError
from course.staff.grading import nearest, patterns
from course.staff.grading.patterns import collect_patterns, hash_of, hash_of_tests, read_patterns
from course.staff.proofs.answers import FOLDER, load_answers
from course.staff.proofs.prove import needed_files
from tests.course.test_nearest import HERE, IDENTITY, IDS, TESTS, ZERO, env, wrong_answer
from tests.errors import raises


def test_a_pattern_is_the_failing_tests_and_excludes_tests_that_never_run(env):
    count = []
    files = needed_files(env.root, env.manifest)
    found = collect_patterns([IDENTITY, ZERO], env.manifest, env.root, files, env.path, done=lambda: count.append(1))
    assert list(found) == ["0.1"]
    assert found["0.1"].ids == IDS
    assert found["0.1"].failures("identity") == {IDS[1], IDS[3]}
    assert found["0.1"].failures("zero") == {IDS[0]}
    assert len(count) == 2
    assert read_patterns(env.path) == found


def test_a_test_that_hangs_counts_as_failed_and_so_do_those_after_it(env, monkeypatch):
    monkeypatch.setattr(patterns, "TEST_SECONDS", 3)
    found = env.collect(wrong_answer("\n    while x < 0:\n        pass\n    return x", "hangs"))
    assert found["0.1"].failures("hangs") == set(IDS[1:])


def test_wrong_answers_run_compiled_if_the_reference_is_too_slow_uncompiled(env, monkeypatch):
    monkeypatch.setattr(patterns, "TEST_SECONDS", 3)
    training = '@pytest.mark.task0_1\ndef test_training():\n    while os.environ["NUMBA_DISABLE_JIT"] == "1":\n        pass\n'
    (env.root / HERE).write_text(f"import os\n{TESTS}\n\n{training}", encoding="utf-8")
    assert env.collect(ZERO)["0.1"].failures("zero") == {IDS[0]}


def test_an_interrupted_collection_continues_where_it_stopped(env):
    env.stop_at = "zero"
    with pytest.raises(KeyboardInterrupt):
        env.collect(IDENTITY, ZERO)
    assert env.runs == ["identity"]
    env.stop_at = ""
    assert set(env.collect(IDENTITY, ZERO)["0.1"].answers) == {"identity", "zero"}
    assert env.runs == ["zero"]


def test_only_changed_answers_run_again(env):
    own = wrong_answer("return x", "identity", task="0.2")
    env.collect(IDENTITY, ZERO, own)
    assert env.runs == ["identity", "zero", "identity"]
    found = env.collect(wrong_answer("return x + 0", "identity"), ZERO, replace(own, mistake="In other words."))
    assert env.runs == ["identity"]
    assert set(found["0.1"].answers) == {"identity", "zero"}
    env.collect(ZERO)
    assert env.runs == []
    assert set(read_patterns(env.path)["0.1"].answers) == {"zero"}
    assert set(read_patterns(env.path)["0.2"].answers) == {"identity"}
    env.collect(ZERO, again=True)
    assert env.runs == ["zero"]
    tests = env.root / HERE
    tests.write_text(tests.read_text(encoding="utf-8") + "\n# Changed.\n", encoding="utf-8")
    env.collect(ZERO)
    assert env.runs == ["zero"]


def test_the_command_lists_similar_wrong_answers(env, monkeypatch):
    folder = env.root / "wrong_answers"
    folder.mkdir()
    entry = '[[wrong]]\nname = "{}"\nmistake = "Is wrong."\n[wrong.patch]\n"minitorch.operators:relu" = "def relu(x): return {}"\n'
    bodies = {"identity": "x", "zero": "0.0", "neither": "+x"}
    (folder / "0.1.toml").write_text("".join(entry.format(*about) for about in bodies.items()), encoding="utf-8")
    monkeypatch.setattr(nearest, "ROOT", env.root)
    monkeypatch.setattr(nearest, "FOLDER", folder)
    monkeypatch.setattr(nearest, "PATTERNS", env.path)
    monkeypatch.setattr(nearest, "course", lambda: env.manifest)
    out = Console(file=io.StringIO(), width=100)
    assert nearest.run(out, Console(file=io.StringIO()), ["0.1"]) == 0
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue() == (
        "Task 0.1: 3 wrong answers, 4 tests, 1 group with the same failures\n"
        "  identity, neither\n"
        "next: add a test that distinguishes some of them, or remove one of them\n"
    )
    with pytest.raises(RequestError) as error:
        nearest.run(out, out, ["0.1", "7.7"])
    assert str(error.value) == "there is no task 7.7; the tasks are 0.1, 0.2, 1.1"
    assert error.value.next == "course-staff patterns"


def test_the_patterns_of_the_course_are_up_to_date():
    found = read_patterns()
    assert list(found) == [task.id for task in course().tasks]
    for id, of_task in found.items():
        answers = {answer.name: hash_of(answer) for answer in load_answers(FOLDER, [course().task(id)])}
        advice = f"task {id} has changed since; run: course-staff patterns {id}"
        assert hash_of_tests(of_task.tests, ROOT) == of_task.tests, advice
        assert {name: hash for name, (hash, _) in of_task.answers.items()} == answers, advice
        assert all(of_task.failures(name) for name in of_task.answers), f"a wrong answer of task {id} fails nothing"
