"""The charts of a language model: tokens, attention weights, probabilities, the residual stream, and caches."""

import numpy as np

from minitorch import SimpleBackend, tensor
from minitorch.language import KeyValueCache
from project.lab.explorers import language_model_charts as charts

WEIGHTS = np.array([[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.2, 0.3]])
NAMES = ["a", "␣b", "c"]


def test_the_tokens_can_be_clicked_and_say_where_they_come_from():
    markup = charts.token_strip(NAMES, 2, 1)
    assert 'class="strip words"' in markup
    found = [
        'aria-label="0 a, typed"',
        'aria-label="1 ␣b, typed; picked"',
        'aria-label="2 c, generated; changes in this step"',
        'data-pick="2"',
    ]
    assert [markup.count(text) for text in found] == [1, 1, 1, 1]


def test_the_heat_map_has_a_cell_for_each_visible_pair_and_a_mask_for_the_others():
    spec = charts.heat_map(WEIGHTS, NAMES, 1, "head 1")
    masked, seen, frame, rows, columns = (layer["data"]["values"] for layer in spec["layer"])
    found = [(cell["y"], cell["x"], cell["weight"]) for cell in seen]
    assert found == [(0, 0, 1.0), (1, 0, 0.25), (1, 1, 0.75), (2, 0, 0.5), (2, 1, 0.2), (2, 2, 0.3)]
    assert seen[1] | {"query": "1 ␣b", "key": "0 a"} == seen[1]
    assert [(box["y"], box["x"], box["x2"]) for box in masked] == [(0, 1, 3), (1, 2, 3)]
    assert [(box["y"], box["x"], box["x2"]) for box in frame] == [(1, 0, 3)]
    assert [name["name"] for name in rows] == [name["name"] for name in columns] == NAMES
    assert spec["layer"][1]["encoding"]["y"]["scale"]["reverse"] is True
    assert "The query 1 '␣b' attends: head 1 most to itself (weight 0.75)." in spec["description"]


def test_a_heat_map_of_many_tokens_fits_a_phone_without_names():
    for count in (1, 23, 24, 64):
        spec = charts.heat_map(np.tri(count), ["␣afternoon"] * count, 0, "")
        assert spec["width"] <= 320
        assert len(spec["layer"][3]["data"]["values"]) == (count if count < 24 else 0)


def test_the_strip_shades_the_text_and_marks_what_is_masked():
    markup = charts.strip(WEIGHTS[1], NAMES, 1, "head 1")
    assert 'data-pick="2"' in markup  # a click goes there
    shaded = ['aria-label="0 a, weight 0.250"', 'aria-label="1 ␣b, weight 0.750"', 'aria-label="2 c, masked; not read"', "--tone: 45%"]
    assert [markup.count(text) for text in shaded] == [1, 1, 1, 1]  # 45 % is 0.75 of 60 %
    assert "<script>" not in charts.strip(np.array([1.0]), "<", 0, "<script>")


def test_each_head_is_described():
    assert charts.attention_in_words(np.stack([WEIGHTS, WEIGHTS[[0, 2, 1]]]), NAMES, 2) == (
        "The query 2 'c' attends: head 1 most to 0 'a', 2 before it (weight 0.50); head 2 most to 1 '␣b', 1 before it (weight 0.75)."
    )


def test_the_bars_are_sorted_and_always_contain_the_target():
    shares = np.array([0.1, 0.6, 0.0, 0.3])
    spec = charts.bars(shares, np.full(4, 0.25), "even", ["a", "b", "a", "d"], 2)
    rows = [(row["token"], row["probability"], row["even"], row["is"]) for row in spec["data"]["values"]]
    assert rows == [("b (1)", 0.6, 0.25, "other"), ("d (3)", 0.3, 0.25, "other"), ("a (0)", 0.1, 0.25, "other"), ("a (2)", 0, 0.25, "next")]
    many = charts.bars(np.linspace(0.1, 0, 20), np.zeros(20), "even", "abcdefghijklmnopqrst", 19)["data"]["values"]
    assert "".join(row["token"][0] for row in many) == "abcdefghijkt"


def test_probabilities_are_described():
    shares, names = np.array([0.1, 0.6, 0.0, 0.3]), list("abcd")
    assert charts.next_in_words(shares, names) == (
        "Most likely next: 'b' 60.0%, 'd' 30.0%, 'a' 10.0%. Probabilities of 3 of 4 tokens are above 0; they sum to 1."
    )
    moved = charts.moved_in_words(shares, np.array([0.1, 0.5, 0.2, 0.2]), names)
    assert moved == "The largest change is that of 'c': 0.00% with float32, 20.00% now."


def test_the_stream_has_a_length_for_each_stage_and_position():
    stages = np.zeros((3, 2, 2))
    stages[2, 1] = 3, 4
    spec = charts.stream(stages, ["a", "a"], 1)
    rows, frame = (layer["data"]["values"] for layer in spec["layer"])
    assert [(row["stage"], row["token"], row["length"]) for row in rows[3:]] == [
        ("attention of block 1", "1 a", 0.0),
        ("network of block 1", "0 a", 0.0),
        ("network of block 1", "1 a", 5.0),
    ]
    assert [row["token"] for row in frame] == ["1 a"] * 3


LENS = np.array([[0.5, -1.0], [1.0, 1.0], [0.0, 3.5]])


def test_the_lens_shows_a_logit_at_each_stage_and_the_likeliest_token_there():
    rows = charts.lens(LENS, ["a", "b"], 1)["data"]["values"]
    assert [(row["stage"], row["logit"], row["at"], row["label"], row["top"]) for row in rows] == [
        ("embedding", -1.0, 0.0, "-1.0", "a"),
        ("attention of block 1", 1.0, 1.0, "1.0", "a"),
        ("network of block 1", 3.5, 3.5, "3.5", "b"),
    ]


def test_the_lens_is_described_up_to_the_probability():
    assert charts.lens_in_words(LENS, 0.97, 0.5, ["a", "b"], 1) == (
        "The embedding gives 'b' the logit -1.00. The network of block 1 changes it most, by +2.50. It ends at 3.50. Divided by the "
        "temperature, 0.5, it gives the probability 0.970 of the bar."
    )
    assert charts.lens_in_words(LENS, 0.0, 0.0, ["a", "b"], 0).endswith(
        "It ends at 0.00. It is not among those that are kept, so its probability is 0."
    )


def test_the_caches_have_a_cell_of_bytes_for_each_block_and_position():
    caches = [KeyValueCache(30) for _ in range(2)]
    for cache in caches:
        cache.append(*[tensor(np.zeros((1, 1, 20, 4)), SimpleBackend)] * 2)
    markup = charts.cache_grid(caches, ["a"] * 20, 1)
    assert markup.count("64 B") == 2 * 10  # 12 columns, two of which are not written yet
    notes = [f"block 2, position {j}" for j in (9, 10, 19, 20, 22)]
    assert [markup.count(f'title="{note}') for note in notes] == [0, 1, 1, 1, 0]
    assert 'title="block 1, position 19 a: key and value, 64 bytes"' in markup
    assert markup.count("changes in this step") == 2
    assert charts.caches_in_words(caches, 20, 1) == (
        "Memory for all 30 positions of the context is taken once: 3,840 bytes, 128 for each position. 20 of them are written, 2,560 "
        "bytes; the last step wrote 128."
    )
