"""The six data sets: seeds, ranges, and labels by independently written rules."""

import math
import sys

import numpy as np
import pytest

import minitorch
from minitorch import Graph, datasets
from minitorch.datasets import make_pts

from .errors import raises

RULES = {
    "Simple": lambda x, y: x < 0.5,
    "Diag": lambda x, y: x + y < 0.5,
    "Split": lambda x, y: x < 0.2 or x > 0.8,
    "Xor": lambda x, y: (x < 0.5 and y >= 0.5) or (x >= 0.5 and y < 0.5),
    "Circle": lambda x, y: math.hypot(x - 0.5, y - 0.5) > math.sqrt(0.1),
}
NEAR = 1e-9  # next to an edge
EDGES = {  # a point just on the side of label 1, and one just on the side of label 0
    "Simple": [((0.5 - NEAR, 0.9), (0.5, 0.9))],
    "Diag": [((0.25 - NEAR, 0.25), (0.25, 0.25))],
    "Split": [((0.2 - NEAR, 0.5), (0.2, 0.5)), ((0.8 + NEAR, 0.5), (0.8, 0.5))],
    "Xor": [((0.5 - NEAR, 0.5), (0.5 - NEAR, 0.5 - NEAR)), ((0.5, 0.5 - NEAR), (0.5, 0.5))],
    "Circle": [((0.5 + math.sqrt(0.1) + NEAR, 0.5), (0.5 + math.sqrt(0.1) - NEAR, 0.5)), ((0.9, 0.9), (0.5, 0.5))],
}


def test_the_six_data_sets_have_the_names_of_the_menu():
    assert list(datasets) == ["Simple", "Diag", "Split", "Xor", "Circle", "Spiral"]
    assert minitorch.datasets is datasets


@pytest.mark.parametrize("name", datasets)
@pytest.mark.parametrize("N", [1, 2, 7, 50])
def test_a_data_set_has_n_points_in_the_unit_square_and_n_labels(name, N):
    graph = datasets[name](N)
    assert isinstance(graph, Graph)
    assert (graph.N, len(graph.X), len(graph.y)) == (N, N, N)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in graph.X)
    assert all(type(label) is int and label in (0, 1) for label in graph.y)


@pytest.mark.parametrize("name", datasets)
def test_the_seed_determines_the_points(name):
    assert datasets[name](20, seed=3) == datasets[name](20, seed=3)
    assert datasets[name](20, seed=3).X != datasets[name](20, seed=4).X
    assert datasets[name](np.int64(20)) == datasets[name](20, seed=0)


@pytest.mark.parametrize("name", RULES)
def test_labels_follow_the_rule(name):
    graph = datasets[name](500, seed=1)
    assert graph.y == [int(RULES[name](x, y)) for x, y in graph.X]
    assert set(graph.y) == {0, 1}


@pytest.mark.parametrize("name", EDGES)
def test_labels_follow_the_rule_next_to_an_edge(name, monkeypatch):
    for inside, outside in EDGES[name]:
        monkeypatch.setattr(sys.modules["minitorch.datasets"], "make_pts", lambda N, seed, points=(inside, outside): list(points))
        assert datasets[name](2).y == [1, 0]


def test_points_cover_the_square():
    xs, ys = zip(*make_pts(1000), strict=True)
    for coordinates in (xs, ys):
        assert min(coordinates) < 0.01
        assert max(coordinates) > 0.99
        assert sum(coordinates) / 1000 == pytest.approx(0.5, abs=0.05)


def test_the_second_spiral_is_the_first_rotated_by_half_a_turn_around_the_middle():
    graph = datasets["Spiral"](40, seed=2)
    first, second = (sorted(x for x, y in zip(graph.X, graph.y, strict=True) if y == label) for label in (0, 1))
    assert [len(first), len(second)] == [20, 20]
    assert second == [(pytest.approx(1 - x), pytest.approx(1 - y)) for x, y in reversed(first)]


def test_an_arm_winds_outward_by_one_and_a_half_turns():
    graph = datasets["Spiral"](60)
    arm = [(x - 0.5, y - 0.5) for (x, y), label in zip(graph.X, graph.y, strict=True) if label == 0]
    arm.sort(key=lambda point: math.hypot(*point))
    for i, (x, y) in enumerate(arm):
        part = (i + 1) / 30  # at this fraction of the arm
        assert math.hypot(x, y) == pytest.approx(part / 2)
        assert math.cos(math.atan2(y, x) - part * 3 * math.pi) == pytest.approx(1)


@pytest.mark.parametrize(("N", "ones"), [(1, 0), (7, 3), (51, 25)])
def test_the_arms_of_an_odd_spiral_differ_by_one_point(N, ones):
    assert sum(datasets["Spiral"](N).y) == ones


def test_the_seed_only_shuffles_the_spiral():
    a, b = datasets["Spiral"](20, seed=0), datasets["Spiral"](20, seed=1)
    assert sorted(zip(a.X, a.y, strict=True)) == sorted(zip(b.X, b.y, strict=True))


@pytest.mark.parametrize("name", datasets)
@pytest.mark.parametrize("N", [0, -1, 2.0, True, "50", None])
def test_a_wrong_number_of_points_is_refused(name, N):
    with raises(ValueError, f"a data set expected a whole number of points, at least 1, got {N!r}; try 50"):
        datasets[name](N)
