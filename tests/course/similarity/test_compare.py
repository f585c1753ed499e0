"""Similarity scores, computed by hand."""

import numpy as np
import pytest

from course.staff.similarity.compare import FLOOR, Pair, Scores, groups
from course.staff.similarity.evidence import rare_texts
from course.staff.similarity.works import CLASS, EARLIER, PUBLIC, Function, Work

NONE = np.empty(0, np.uint64)


def make_work(name, *runs, kind=CLASS, task="1.4", texts=(), size=100):
    """A work with one function for each run, so that winnowing keeps every run."""
    tokens = np.zeros(size, np.uint64)
    places = np.zeros(size, np.int32)
    functions = [
        Function(task, "a.py", f"f{run}", 1, ("x",), tokens, places, np.array([run], np.uint64), frozenset(texts if i == 0 else ()))
        for i, run in enumerate(runs)
    ]
    return Work(name, kind, tuple(functions))


@pytest.mark.parametrize(
    ("first", "second", "size", "ignored", "score"),
    [
        (range(40), range(20, 100), 100, 0, 20 / 40),
        (range(5), range(5), 100, 0, 5 / FLOOR),
        (range(40), range(40), 29, 0, 0),
        (range(40), range(40), 100, 40, 0),
    ],
    ids=["the share of the smaller work", "a small work scores low", "short functions do not count", "given code does not count"],
)
def test_the_score_of_two_works(first, second, size, ignored, score):
    works = [make_work("a", *first, size=size), make_work("b", *second, size=size)]
    assert Scores(works, np.arange(ignored, dtype=np.uint64)).total[0, 1] == pytest.approx(score)


def test_code_weighs_less_the_more_works_share_it_and_nothing_if_all_do():
    rare, spread, common = range(10), range(100, 130), range(200, 230)
    works = []
    for i in range(20):
        own = range(1000 * (i + 1), 1000 * (i + 1) + 40)
        works.append(make_work(str(i), *(rare if i < 2 else ()), *(spread if i < 5 else ()), *common, *own))
    weight = np.log(20 / 5) / np.log(20 / 2)  # what five of twenty works share
    shared, size = 10 + 30 * weight, 50 + 30 * weight
    assert Scores(works, NONE).total[0, 1] == pytest.approx(shared / size, rel=1e-5)


def test_public_code_counts_only_in_pairs_with_the_public_work_however_many_share_it():
    works = [make_work(str(i), *range(40)) for i in range(20)] + [make_work("web", *range(40), kind=PUBLIC)]
    pairs = Scores(works, NONE).pairs()
    assert [(pair.first, pair.second, pair.score) for pair in pairs] == [(i, 20, 1.0) for i in range(20)]


def test_works_of_earlier_years_are_compared_with_the_class_but_not_with_each_other():
    works = [make_work(str(i), *range(40), kind=EARLIER if i else CLASS) for i in range(3)]
    assert [(pair.first, pair.second) for pair in Scores(works, NONE).pairs()] == [(0, 1), (0, 2)]


def test_a_pair_names_the_tasks_that_reach_the_threshold_largest_first():
    def of(name, *shared):
        parts = [make_work(name, *range(1000 * i, 1000 * i + n), task=f"1.{i}") for i, n in enumerate(shared)]
        return Work(name, CLASS, tuple(function for part in parts for function in part.functions))

    (pair,) = Scores([of("a", 20, 15, 5), of("b", 20, 15, 5)], NONE).pairs(0.5)
    assert pair.tasks == {"1.0": 1.0, "1.1": 0.75}
    assert pair.score == 1.0


def test_shared_comments_and_strings_raise_a_score_and_shared_names_do_not():
    texts = (("comment", "wie im Skript"), ("string", "something odd"), ("name", "accumulatd"))
    works = [make_work("a", *range(8), texts=texts), make_work("b", *range(8), texts=texts), make_work("c", 99, texts=texts[:1])]
    (pair,) = Scores(works, NONE).pairs(0.5)
    assert pair.score == pytest.approx(8 / FLOOR + 0.1)
    assert pair.texts == (("name", "accumulatd"), ("string", "something odd"))


def test_texts_of_public_works_and_typical_answers_do_not_count():
    texts = (("comment", "from the web"), ("comment", "from the book"))
    works = [make_work("a", 1, texts=texts), make_work("b", 1, texts=texts), make_work("web", 1, texts=texts[:1], kind=PUBLIC)]
    assert rare_texts(works, [texts[1]]) == {}
    assert rare_texts(works) == {(0, 1): [texts[1]]}


def test_a_group_is_three_or_more_connected_works_of_the_class():
    works = [make_work(str(i), 1) for i in range(7)] + [make_work("web", 1, kind=PUBLIC)]
    edges = [(0, 1), (2, 3), (3, 4), (4, 5), (5, 7), (6, 7)]
    pairs = [Pair(first, second, 1.0, {}, ()) for first, second in edges]
    assert groups(pairs, works) == [[2, 3, 4, 5]]


def test_scores_do_not_depend_on_the_block_size(monkeypatch):
    works = [make_work(str(i), *range(i, 60 + i)) for i in range(5)]
    whole = Scores(works, NONE).total
    monkeypatch.setattr("course.staff.similarity.compare.BLOCK", 7)
    assert Scores(works, NONE).total == pytest.approx(whole, rel=1e-5)
