"""Hidden probes: what they ask and how they judge; the reference passes them, and wrong answers and forgers do not."""

from dataclasses import replace

import pytest

from course.manifest import ROOT, course
from course.staff.probes import plain_launcher, probes_of, run_probes
from course.staff.probes.bank import UNSEEN, answers_in_code, probe_answers
from course.staff.proofs.answers import FOLDER, load_answers
from course.staff.proofs.prove import needed_files
from tests.course.test_probes import EARLY, TASKS, check_reference, forgers, hangs, ids, probe, submission, task_with_probes


def test_a_submission_that_hangs_repeatedly_gets_less_time(submission):
    with task_with_probes(*[replace(probe(hangs, seconds=1.0), says=says) for says in "abc"]) as task:
        outcomes = run_probes(task, plain_launcher(submission))
    assert [outcome.reason.removeprefix("hangs(): it gave no answer within ") for outcome in outcomes] == ["1 s", "1 s", "0.2 s"]


@pytest.mark.parametrize("task", TASKS, ids=ids(TASKS))
def test_the_reference_passes_all_probes(task):
    check_reference(task, plain_launcher(ROOT))


@pytest.fixture(scope="module")
def files():
    return needed_files(ROOT, course())


def sample(answers, count):
    """The first, the last, and evenly spaced ones in between."""
    return [answers[i * (len(answers) - 1) // (count - 1)] for i in range(count)]


def test_wrong_answers_fail_the_probes_of_their_task(files):
    """One of each task of the first three modules; for all of them see `course.staff.probes.bank.probe_answers`."""
    answers = [answer for task in EARLY for answer in sample(detectable_answers(task), 2)[1:]]
    assert [met.answer.key for met in probe_answers(answers, course(), files) if not met.failed_probe] == []


def detectable_answers(task):
    """The wrong answers of a task whose mistake is visible from outside."""
    return [answer for answer in answers_in_code(load_answers(FOLDER, [task])) if answer.key not in UNSEEN]


def test_index_functions_that_module_3_cannot_compile_fail_a_probe(files):
    answers = [answer for task in ("2.1", "2.2") for answer in load_answers(FOLDER, [course().task(task)])]
    compiled = [replace(answer, compiled=True) for answer in answers if UNSEEN.get(answer.key) == "compiled kernels detect it"]
    failed = [(met.answer.task, met.failed_probe) for met in probe_answers(compiled, course(), files)]
    assert failed == [("2.1", "Module 3 can compile index_to_position and to_index")] * 2 + [
        ("2.2", "Module 3 can compile broadcast_index")
    ]


def test_no_forger_gets_unearned_marks(files):
    """Forgers that write no real code, and are not right by chance, fail every probe of their task."""
    whole = [forger for forger in forgers() if forger.task in ("1.1", "1.3") and forger.name != "is_right_by_chance"]
    assert len(whole) >= 17
    for met in probe_answers(whole, course(), files, stop=False):
        assert met.failed_probe == probes_of(met.answer.task)[0].says, met.answer.key
        assert met.share == 0, met.answer.key
