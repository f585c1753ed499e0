"""Stories: what is generated is right, by the grammar and by checks written out once more, and the two splits share nothing."""

import re
import subprocess
import sys
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.manifest import ROOT
from minitorch.data import Stories, grammar_score, stories, story_words
from tests.errors import raises

NAMES = {*story_words.GIRLS, *story_words.BOYS}
NOUNS = story_words.OBJECTS | story_words.FOOD | story_words.ANIMALS
SINGULAR = {plural: singular for singular, plural in NOUNS.items()} | {singular: singular for singular in NOUNS}


@pytest.fixture(scope="module")
def train():
    return Stories(6000)


@pytest.fixture(scope="module")
def validation():
    return Stories(6000, "validation", seed=1)


def is_sum(story):
    return re.search(r"\d", story) is not None and len(re.findall(r"[a-z]+", story)) < 12


def premises(story):
    """The hero and the thing of a story, and the numbers of a sum, read from the text."""
    found = {tuple(sorted(map(int, pair))) for pair in re.findall(r"(\d+) (?:\+|plus) (\d+)", story)}
    if not is_sum(story):
        hero = next(word for word in re.findall(r"\w+", story) if word in NAMES)
        thing = next(SINGULAR[word] for word in re.findall(r"\w+", story) if word in SINGULAR)
        found.add((hero, thing))
    return found


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from(["train", "validation"]), st.sampled_from([0.0, 0.2, 1.0]))
def test_every_text_is_right(seed, split, sums):
    score = grammar_score(Stories(20, split, seed, sums).text)
    assert score.mistakes == []
    assert score[:3] == (1.0, 1.0, 1.0)
    assert score.counts[0] >= 20


def test_stories_have_four_to_eight_sentences_and_one_or_two_persons(train):
    lengths, persons = set(), set()
    for story in train:
        if not is_sum(story):
            lengths.add(len(re.findall(r'[.!?]+"?(?= [A-Z"]|$)', story)))
            persons.add(len(NAMES & set(re.findall(r"\w+", story))))
    assert lengths <= {4, 5, 6, 7, 8}
    assert len(lengths) >= 4
    assert persons == {1, 2}


def test_a_fifth_are_sums_up_to_99_and_99(train):
    assert 0.18 < sum(map(is_sum, train)) / len(train) < 0.22
    assert not any(map(is_sum, Stories(200, sums=0)))
    assert all(map(is_sum, Stories(200, sums=1)))
    found = {int(number) for story in Stories(3000, sums=1) for pair in re.findall(r"(\d+) (?:\+|plus) (\d+)", story) for number in pair}
    assert found == set(range(100))


def test_sentences_are_varied_and_their_words_few(train):
    sentences = [part for story in train if not is_sum(story) for part in re.split(r'(?<=[.!?]) |(?<=[.!?]") ', story)]
    words = {word.lower() for word in re.findall("[A-Za-z]+", train.text)}
    assert 280 <= len(words) <= 350
    assert len(set(sentences)) > 0.5 * len(sentences) > 15_000
    assert len(set(train)) > 0.97 * len(train)


def test_the_splits_have_no_story_and_no_premise_in_common(train, validation):
    assert not set(train) & set(validation)
    ours = {premise for story in train for premise in premises(story)}
    theirs = {premise for story in validation for premise in premises(story)}
    assert not ours & theirs
    assert len(ours) > 1500
    assert len(theirs) > 300


@given(st.integers(), st.integers())
@settings(max_examples=10)
def test_other_seeds_share_nothing_either(one, other):
    assert not set(Stories(30, "train", one)) & set(Stories(30, "validation", other))


def test_a_tenth_of_all_premises_is_for_validation():
    found = [stories.split_of(f"{name} {thing}") for name in NAMES for thing in NOUNS]
    assert 0.08 < found.count("validation") / len(found) < 0.12


def test_equal_seeds_give_equal_stories_and_fewer_are_the_first_of_more(train):
    assert Stories(100).stories == train.stories[:100]
    assert Stories(100, seed=1).stories != train.stories[:100]
    assert Stories(5, seed=1).text.count("\n") == 5


def test_stories_do_not_depend_on_the_hash_seed():
    program = "import zlib; from minitorch.data import Stories; print(zlib.crc32(Stories(300, seed=5).text.encode()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{zlib.crc32(Stories(300, seed=5).text.encode())}\n"}


def test_a_megabyte_takes_seconds():
    start = time.process_time()
    assert len(Stories(6000, seed=2).text) > 1_000_000
    assert len(Stories(600, "validation").text) > 100_000
    assert time.process_time() - start < 3


def test_it_is_a_data_set(train):
    assert len(train) == 6000
    assert train[0] == train.stories[0]
    assert train.text == "".join(f"{story}\n" for story in train)
    first, second = Stories(10).split(0.8)
    assert (len(first), len(second)) == (8, 2)
    assert repr(Stories(3, "validation")) == "Stories(3 synthetic stories and sums, validation)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "Stories expected a whole number of stories from 1 on, got 0; try 1000"),
        ({"count": 2.0}, "Stories expected a whole number of stories from 1 on, got 2.0; try 1000"),
        ({"split": "test"}, "Stories expected the split 'train' or 'validation', got 'test'; choose one of them"),
        ({"sums": 1.5}, "Stories expected a fraction of sums from 0 to 1, got 1.5; try 0.2"),
        ({"sums": float("nan")}, "Stories expected a fraction of sums from 0 to 1, got nan; try 0.2"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments, message):
    with raises(ValueError, message):
        Stories(**arguments)
