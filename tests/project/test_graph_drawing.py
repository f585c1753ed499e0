"""The graph in the browser: its numbers against those by hand, wrong ones as they are, the code of its functions, and its layout."""

import functools
import inspect
import math
import re
import tokenize
from itertools import combinations

import numpy as np
import pytest

from minitorch import Scalar, scalar_functions
from minitorch.core.context import Context
from minitorch.scalar_functions import Mul, ScalarFunction
from project.lab.explorers import orders
from project.lab.explorers.graph import forward_only, record
from project.lab.explorers.graph_drawing import RULES, _path, _ranks, _spread, backward_source, drawing, layout
from project.lab.typed.expressions import parse
from tests.project.pages import fill, graph, ignore_saved_files, open_page, open_with, page_text  # noqa: F401  a fixture


def product():
    """v2 = v1 · x and v1 = x · y at (2, 5): its derivatives are 2xy = 20 and x² = 4."""
    x, y = Scalar(2.0, name="x"), Scalar(5.0, name="y")
    return (x * y) * x


def edges(data, what):
    """What each edge has, by the names of its ends."""
    names = [node["name"] for node in data["nodes"]]
    return {f"{names[p]} {names[i]}": edge[what] for edge in data["edges"] for p, i in [edge["ends"]]}


def passed(data, step):
    """What is passed along each edge in one step."""
    ids = {id: ends for ends, id in edges(data, "id").items()}
    return {ids[id]: gradient for id, gradient in data["steps"][step]["passed"].items()}


def test_an_edge_has_its_local_derivative_and_the_gradient_that_flows_along_it():
    data = drawing(record(product()))
    assert edges(data, "local") == {"x v1": "5", "y v1": "2", "v1 v2": "2", "x v2": "10"}
    assert edges(data, "label") == edges(data, "local")
    assert [passed(data, step) for step in range(3)] == [{}, {"v1 v2": "2", "x v2": "10"}, {"x v1": "10", "y v1": "4"}]  # 2·5, 2·2
    assert [step["arrived"] for step in data["steps"]] == ["", "1", "2", "", ""]
    names = [node["name"] for node in data["nodes"]]
    assert [{names[i]: text for i, text in step["gradients"].items()} for step in data["steps"]] == [
        {},
        {"v2": "1", "v1": "2", "x": "10"},
        {"x": "20", "y": "4"},
        {},
        {},
    ]


def test_an_edge_has_the_rule_of_its_function():
    x, y = Scalar(2.0, name="x"), Scalar(0.5, name="y")
    data = drawing(record(-((x**y).sigmoid().log() * 3.0 + x.relu())))
    assert edges(data, "rule") == {
        "x v1": "∂(x ^ y)/∂x = y · x^(y - 1)",
        "y v1": "∂(x ^ y)/∂y = v1 · log(x)",
        "v1 v2": "∂sigmoid(v1)/∂v1 = v2 · (1 - v2)",
        "v2 v3": "∂log(v2)/∂v2 = 1 / (v2 + ε)",
        "v3 v4": "∂(v3 · 3)/∂v3 = 3",
        "3 v4": "∂(v3 · 3)/∂3 = v3",
        "x v5": "∂relu(x)/∂x = 1 if x > 0, else 0",
        "v4 v6": "∂(v4 + v5)/∂v4 = 1",
        "v5 v6": "∂(v4 + v5)/∂v5 = 1",
        "v6 v7": "∂(-v6)/∂v6 = -1",
    }
    assert edges(data, "label")["3 v4"] == ""  # nothing flows into a constant


class Log(ScalarFunction):
    """The logarithm of one number to the base of another one."""

    @staticmethod
    def forward(ctx, a, base):
        return math.log(a, base)

    @staticmethod
    def backward(ctx, d_output):
        return 2 * d_output, 3 * d_output


@pytest.mark.parametrize("count", [1, 3])
def test_a_function_with_another_number_of_operands_than_its_namesake_has_no_rule(monkeypatch, count):
    monkeypatch.setitem(RULES, "Log", ("1",) * count)
    data = drawing(record(Log.apply(Scalar(8.0, name="x"), Scalar(2.0, name="y"))))
    assert edges(data, "rule") == {"x v1": "∂log(x, y)/∂x", "y v1": "∂log(x, y)/∂y"}
    assert edges(data, "label") == {"x v1": "2", "y v1": "3"}


def numeric(function, values, k):
    """The central difference of the forward pass of a function with respect to its k-th operand."""
    above, below = ([value + step * (i == k) for i, value in enumerate(values)] for step in (1e-6, -1e-6))
    return (function.forward(Context(), *above) - function.forward(Context(), *below)) / 2e-6


@pytest.mark.parametrize("name", [name for name in RULES if hasattr(scalar_functions, name)])
def test_each_rule_is_the_derivative_of_its_function(name):
    function, rules = getattr(scalar_functions, name), RULES[name]
    python = {"·": "*", "²": "**2", "^": "**", ", else": " else", "ε": "0"}
    for a in (0.7,) if name in ("Pow", "Log", "Sqrt") else (0.7, -0.7):
        values = (a, 1.3)[: len(rules)]
        names = vars(math) | {"a": a, "b": 1.3, "y": function.forward(Context(), *values), "sign": np.sign}
        for k, rule in enumerate(rules):
            text = rule.format("a", "b", y="y")
            for sign, code in python.items():
                text = text.replace(sign, code)
            assert eval(text, names) == pytest.approx(numeric(function, values, k), abs=1e-5), (text, a)


@pytest.mark.parametrize(
    ("body", "local", "flows"),
    [
        ("return d_output * ctx.saved_values[0], d_output * ctx.saved_values[1]", ["2", "5"], ["-2", "-5"]),  # the factors are swapped
        ("return ctx.saved_values[1], ctx.saved_values[0]", ["5", "2"], ["5", "2"]),  # d_output, which is -1, is forgotten
    ],
)
def test_a_wrong_derivative_is_shown_as_it_is_beside_the_right_rule(monkeypatch, body, local, flows):
    query = {"f": "-(x * y)", "x": "2.0", "y": "5.0", "moment": "2"}
    app = open_with(monkeypatch, "m1_graph", "minitorch.scalar_functions.Mul.backward", body, parameters="ctx, d_output", **query)
    data, step = graph(app)
    assert list(edges(data, "local").values()) == [*local, "-1"]
    assert list(edges(data, "rule").values())[:2] == ["∂(x · y)/∂x = y", "∂(x · y)/∂y = x"]
    assert (step["arrived"], list(step["passed"].values())) == ("-1", flows)
    rows = app.table[0].value.to_dict("records")
    assert [(row["backward()"], row["central difference"]) for row in rows] == [(flows[0], "-5"), (flows[1], "-2")]


def test_a_backward_that_fails_for_1_only_is_shown_with_its_rule(monkeypatch):
    monkeypatch.setattr(Mul, "backward", staticmethod(lambda ctx, d_output: (1 / (d_output - 1), 0.0)))
    x, y = Scalar(2.0, name="x"), Scalar(5.0, name="y")
    data = drawing(record(-(x * y)))
    assert edges(data, "label") == {"x v1": "y", "y v1": "x", "v1 v2": "-1"}
    assert passed(data, 2) == {"x v1": "-0.5", "y v1": "0"}


def test_the_local_derivatives_of_a_node_are_computed_once(monkeypatch):
    calls = []
    monkeypatch.setattr(Mul, "backward", staticmethod(lambda ctx, d_output: calls.append(d_output) or (d_output, d_output)))
    x, y = Scalar(2.0, name="x"), Scalar(3.0, name="y")
    shared = x * y
    orders.record_in(orders.RECURSION, shared + shared + shared)
    assert calls == [1.0] * 4  # three visits of one node


def test_the_quiz_does_not_show_the_derivatives_that_it_asks_for():
    data, _ = graph(open_page("m1_graph", f="x * y", x="2.0", y="5.0", quiz="true"))
    assert edges(data, "label") == {"x v1": "y", "y v1": "x"}
    assert set(edges(data, "local").values()) == {""}


def test_a_factor_that_is_used_twice_has_two_edges():
    x = Scalar(3.0, name="x")
    data = drawing(record(x * x))
    assert [(edge["id"], edge["label"]) for edge in data["edges"]] == [("1.0", "3"), ("1.1", "3")]
    assert data["steps"][1]["passed"] == {"1.0": "3", "1.1": "3"}


def test_in_a_recursion_an_edge_carries_what_is_passed_in_each_visit():
    x, y = Scalar(2.0, name="x"), Scalar(3.0, name="y")
    shared = x * y
    data = drawing(orders.record_in(orders.RECURSION, shared + shared * y))  # visits: v3, v1, x, y, v2, v1, x, y, y
    visits = [list(passed(data, step).values()) for step in (2, 6)]
    assert visits == [["3", "2"], ["9", "6"]]
    assert [data["steps"][step]["arrived"] for step in (2, 6)] == ["1", "3"]


def test_a_node_that_is_never_visited_keeps_what_it_has_saved():
    out = product()
    data = drawing(record(out, order=[out]))  # steps 0 and 1
    found = {node["name"]: (node["place"], node["visited"], node["freed"]) for node in data["nodes"]}
    never = ("never visited", 2, 2)
    assert found == {"x": never, "y": never, "v1": never, "v2": ("visit 1", 1, 1)}


def test_without_a_backward_pass_an_edge_has_its_rule_only():
    data = drawing(forward_only(product()))
    assert {node["place"] for node in data["nodes"]} == {""}
    assert edges(data, "label")["x v1"] == "y"
    assert set(edges(data, "local").values()) == {""}


def test_the_source_of_backward_is_shown_with_the_lines_that_return():
    found = backward_source(Mul)
    lines, first = inspect.getsourcelines(Mul)
    assert found["lines"][0] == "@staticmethod"
    assert [found["lines"][number] for number in found["returned"]] == ["    return d_output * b, d_output * a"]
    path, line = re.fullmatch(r"(.+), line (\d+)", found["where"]).groups()
    assert path == "minitorch/scalar_functions.py"
    assert first < int(line) < first + len(lines)


class Both:
    """A function with two returns, one of them over two lines, and a function with a third one."""

    @staticmethod
    def backward(ctx, d_output):
        def inner():
            return 1.0

        if d_output > inner():
            return 0.0
        return (
            d_output)  # fmt: skip


@pytest.mark.parametrize(
    "product",
    [
        type("Inherited", (Mul,), {"__module__": "project.lab"}),
        type("Decorated", (), {"backward": staticmethod(functools.wraps(Mul.backward)(lambda ctx, d_output: None))}),
    ],
)
def test_a_backward_that_is_inherited_or_decorated_is_shown_as_it_was_written(product):
    assert backward_source(product) == backward_source(Mul)


def test_every_line_of_every_return_is_marked():
    assert backward_source(Both)["returned"] == [6, 7, 8]
    assert backward_source(type("Typed", (), {"backward": eval("lambda ctx, d_output: d_output")})) is None


def test_a_file_that_is_half_saved_has_no_source(monkeypatch):
    def fail(function):
        raise tokenize.TokenError("EOF in multi-line statement", (2, 0))

    monkeypatch.setattr(inspect, "getsourcelines", fail)
    assert backward_source(Mul) is None


# Layout


def boxes(data):
    """Left, right, top and bottom of all that has a size."""
    return [(x - w / 2, x + w / 2, y - h / 2, y + h / 2) for x, y, w, h in (each["box"] for each in data["nodes"] + data["edges"]) if w]


def overlaps(data):
    """The pairs of nodes and labels that overlap, and the edges that cross a node; at the edge of a node, one pixel is allowed."""
    found = [
        (a, b) for a, b in combinations(boxes(data), 2) if min(a[1], b[1]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[2], b[2]) > 1
    ]
    for edge in data["edges"]:
        points = [float(number) for number in re.findall(r"[\d.]+", edge["path"].replace("H", " H"))]
        assert min(points) >= 0
        for start, y, end in re.findall(r"([\d.]+) ([\d.]+)H([\d.]+)", edge["path"]):
            for left, right, top, bottom in boxes({"nodes": data["nodes"], "edges": []}):
                if min(float(end), right) - max(float(start), left) > 1 and top + 1 < float(y) < bottom - 1:
                    found.append((edge["id"], left))
    return found


def test_what_would_overlap_is_moved_apart_and_the_rest_stays():
    assert _spread([0, 0], [10, 30]) == [-15, 15]  # (10 + 30) / 2 and a gap of 10
    assert _spread([100, 200], [10, 10]) == [100, 200]


def test_a_node_and_an_edge_are_wide_enough_for_their_gradients():
    data = drawing(record(Scalar(2.0, name="x") * 1.23456e-5))
    widths = {node["name"]: node["box"][2] for node in data["nodes"]} | {ends: box[2] for ends, box in edges(data, "box").items()}
    assert (widths["x"], widths["x v1"]) == (6 * len("gradient 1.2346e-05") + 14, 6 * len("← 1.2346e-05") + 14)


def test_branches_are_straight_and_their_sum_is_halfway_between_them():
    x, y = Scalar(2.0, name="x"), Scalar(3.0, name="y")
    data = drawing(record(x.sigmoid().log() + y.sigmoid().log()))
    heights = [y for _, y, _, _ in sorted(node["box"] for node in data["nodes"])]  # from left to right
    assert heights == [*heights[:2] * 3, sum(heights[:2]) / 2]


def test_the_same_graph_is_placed_once():
    layout.cache_clear()
    assert drawing(record(product())) == drawing(record(product()))
    assert (layout.cache_info().misses, layout.cache_info().hits) == (1, 1)


def test_an_input_is_before_the_first_node_that_uses_it():
    assert _ranks(5, ((0, 3), (3, 4), (1, 4), (2, 3), (2, 4))) == [0, 2, 0, 2, 4]


@pytest.mark.parametrize("x", [10, 1_234_560])
def test_the_edges_of_a_node_end_side_by_side(x):
    placed = [[x, 20, 10, 10], [x, 60, 10, 10], [x + 45, 40, 11, 10]]
    spans = [(x - 5, x + 5), (x - 5, x + 5), (x + 40, x + 50)]
    chains = [[0, 2], [1, 2]]
    ends = [re.search(r" ([\d.]+)H([\d.]+)$", _path(chain, placed, spans, chains)).groups() for chain in chains]
    assert [(float(y), float(end)) for y, end in ends] == [(34, x + 39.5), (46, x + 39.5)]  # 12 apart


EXPRESSIONS = [
    "x * x + y * sigmoid(x * z)",
    "relu(x * 0.5 + y * -1.5 + 2)",
    "-log(sigmoid(x * z + y))",
    "(x < y) * z",
    "x",
    "-" * 99 + "x",
    "x * (y + x * (y + x * (y + x * (z + x))))",
    " * ".join(["(x + y + z)"] * 12),
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_nothing_overlaps_and_edges_lead_from_left_to_right(text):
    expression = parse(text, ("x", "y", "z"))
    values = [Scalar(each, name=name) for name, each in zip(expression.names, (1.25, -0.3, 700.0), strict=False)]
    data = drawing(record(expression.function(expression.names, lambda value: Scalar(value, None))(*values)))
    assert overlaps(data) == []
    width, height = data["size"]
    assert all(left >= -1 and right <= width + 1 and top >= -1 and bottom <= height + 1 for left, right, top, bottom in boxes(data))
    columns = [
        (data["nodes"][p]["box"][0], edge["box"][0], data["nodes"][i]["box"][0]) for edge in data["edges"] for p, i in [edge["ends"]]
    ]
    assert all(left < label < right for left, label, right in columns)


def test_the_examples_fit_a_laptop():
    for page, key in (("m1_graph", "example"), ("m2_graph", "tensor_example")):
        app = open_page(page)
        for name in app.selectbox(key=key).options:
            data, _ = graph(fill(app, **{key: name}))
            assert overlaps(data) == [], name
            assert 0.72 * (data["size"][0] + 4) <= 1068, name  # graph.py has the same smallest scale


def test_a_graph_that_is_too_large_is_not_drawn():
    largest = "+".join(["x*x"] * 75)  # 75 products, 74 sums and x
    app = open_page("m1_graph", f=largest)
    assert len(graph(app)[0]["nodes"]) == 150
    lines = page_text(fill(app, f=f"{largest}+x")).splitlines()
    assert lines[-2:] == ["Enter a shorter expression.", "expected a graph of at most 150 nodes, got 151"]
    assert not app.get("bidi_component")


def test_an_infinite_seed_in_the_address_is_like_one_out_of_range():
    assert open_page("m2_graph", graph_seed="1e400").number_input(key="graph_seed").value == 9999
