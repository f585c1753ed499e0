"""Exam questions on Module 1: numerical derivatives, computational graphs, the chain rule, backpropagation, gradient descent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

from course.staff.exam.markdown import code, number, parts, signed, table
from course.staff.exam.question import COMPUTE, EXPLAIN, MISTAKE, PREDICT, Exercise, Module, Rng, exercise

MODULE = Module(1)


@MODULE.question("1.1", COMPUTE, 4)
def differences(rng: Rng) -> Exercise:
    """A central and a one-sided difference, and their errors."""
    a, x, h = rng.integer(2, 5), rng.integer(1, 3), rng.choice([0.1, 0.5])
    exact = 3 * a * x**2
    central, one_sided = exact + a * h**2, exact + 3 * a * x * h + a * h**2
    return exercise(
        [
            f"Let f(x) = {a}x³. Approximate f'({x}) with a step of ε = {h}:",
            parts(
                "by the central difference, (f(x + ε) - f(x - ε)) / 2ε,",
                "by the one-sided difference, (f(x + ε) - f(x)) / ε.",
                "Give both errors. Both formulas evaluate f twice; why is the central one so much better? How does each error change if ε "
                "is a tenth of its size?",
            ),
        ],
        parts(
            f"({number(a * (x + h) ** 3)} - {number(a * (x - h) ** 3)}) / {number(2 * h)} = {number(central)}",
            f"({number(a * (x + h) ** 3)} - {number(a * x**3)}) / {h} = {number(one_sided)}",
            f"The exact derivative is {exact}, so the errors are {number(central - exact)} and {number(one_sided - exact)}. The curvature "
            "of f adds the same to f(x + ε) and f(x - ε), so it cancels in the central difference. The central error falls with ε², to "
            "about a hundredth; the one-sided one with ε, to about a tenth.",
        ),
        [(2, "both values"), (1, "the curvature cancels"), (1, "ε² and ε")],
        {"a": a, "x": x, "epsilon": h},
        {"central": central, "one-sided": one_sided},
    )


CENTRAL = """def central_difference(f, *vals, arg=0, epsilon=1e-6):
    above, below = list(vals), list(vals)
    above[arg] += epsilon
    below[arg] -= epsilon
    return (f(*above) - f(*below)) / (2 * epsilon)"""

CENTRAL_MISTAKES = {
    "it divides by ε, although the points are 2ε apart, so every result is twice too large": ("/ (2 * epsilon)", "/ epsilon"),
    "it moves every argument, so the result is the sum of all partial derivatives": (
        "above[arg] += epsilon\n    below[arg] -= epsilon",
        "above = [v + epsilon for v in above]\n    below = [v - epsilon for v in below]",
    ),
    "both names stand for one list, so both calls get the same point and every result is 0": (
        "above, below = list(vals), list(vals)",
        "above = below = list(vals)",
    ),
}
"""Mistakes, each with a part of CENTRAL and what replaces it."""


@MODULE.question("1.1", MISTAKE, 3)
def wrong_difference(rng: Rng) -> Exercise:
    """A central difference with a mistake."""
    mistake = rng.choice(list(CENTRAL_MISTAKES))
    x, y = rng.sample(range(2, 8), 2)
    place, source = list(CENTRAL_MISTAKES).index(mistake), CENTRAL.replace(*CENTRAL_MISTAKES[mistake])
    got, right = [2 * y, x + y, 0][place], y
    return exercise(
        [
            code(source),
            f"For f(x, y) = x · y, what does `central_difference(f, {x}.0, {y}.0, arg=0)` return, up to rounding, and what should it "
            "return? Find the mistake. For which function would this mistake go unnoticed in a test?",
        ],
        [
            f"It returns {got}; right is ∂f/∂x = y = {right}. The mistake: {mistake}.",
            "A constant function hides it, since its derivative is 0 either way."
            + (" So does any function of one argument." if place == 1 else ""),
        ],
        [(1, "both values"), (1, "the mistake"), (1, "a function that hides it")],
        {"source": source, "at": (x, y)},
        {"got": got, "right": right},
    )


@MODULE.question("1.1", EXPLAIN, 3)
def step_size(rng: Rng) -> Exercise:
    """Why the smallest step is not the best one."""
    small = rng.integer(12, 14)
    return exercise(
        "The error of a central difference of e^x at 1 is about 5 · 10^-3 for ε = 10^-1 and about 5 · 10^-7 for ε = 10^-3. For ε = "
        f"10^-{small} it is larger than for ε = 10^-6. Name the two sources of error, say how each depends on ε, and explain why a "
        "relative precision of 16 digits makes 10^-5 to 10^-6 a good choice.",
        [
            "The formula itself has an error proportional to ε²: it falls to a hundredth with every tenth of ε.",
            "Rounding has an error of about 10^-16 / ε. The two values of f agree in most of their digits, the subtraction removes these, "
            f"and the division by 2ε enlarges what rounding left in the last ones. For ε = 10^-{small} only {16 - small} to {17 - small} "
            "digits remain.",
            "The sum of ε² and 10^-16 / ε is smallest where they are about equal, that is ε³ = 10^-16, or ε between 10^-5 and 10^-6.",
        ],
        [
            (1, "the error of the formula, of order ε²"),
            (1, "rounding, of order 10^-16 / ε, by cancellation"),
            (1, "the two balance near 10^-5"),
        ],
        {"small": 10.0**-small},
        {"order of errors": (5e-3, 5e-7)},
    )


@MODULE.question("1.1 1.4", COMPUTE, 3)
def kink(rng: Rng) -> Exercise:
    """What a central difference returns at a kink and at a jump."""
    a, k = rng.integer(3, 9), rng.integer(2, 4)
    return exercise(
        [
            f"Let f(x) = {a} · relu(x), and let g(x) be 1 where x > 0 and 0 elsewhere. A central difference with ε = 10^-{k} is taken at "
            "x = 0.",
            parts(
                "What does it return for f, what for g?",
                "Backpropagation gives 0 for f at x = 0, so a derivative check fails there. Which of the two is wrong?",
            ),
        ],
        parts(
            f"For f: {a}ε / 2ε = {number(a / 2)}, the mean of the slopes 0 and {a}. For g: 1 / 2ε = {number(10**k / 2)}.",
            "Neither: f has no derivative at its kink, and both are conventions. The check must use points away from kinks and jumps.",
        ),
        [(2, "both values"), (1, "no derivative exists there; check elsewhere")],
        {"a": a, "epsilon": 10.0**-k},
        {"f": a / 2, "g": 10**k / 2},
    )


@MODULE.question("1.2 1.5", MISTAKE, 3)
def cut_graph(rng: Rng) -> Exercise:
    """An operator whose result has no history."""
    a, b = rng.sample(range(2, 10), 2)
    body = "return Scalar(self.data + b.data)"
    return exercise(
        [
            code(f"class Scalar:\n    def __add__(self, b):\n        {body}"),
            f"With `x = Scalar({a}.0)` and `y = Scalar({b}.0)`, `z = (x + y) * x` is computed, and `z.backward()` called.",
            parts(
                "What are `z.data`, `x.derivative` and `y.derivative`, and what should they be?",
                "Why do all tests of forward values pass, and how would the mistake show while a network trains?",
            ),
        ],
        parts(
            f"`z.data` is {(a + b) * a}, which is right. `x.derivative` is {a + b}, the part through the product; right is {2 * a + b}. "
            f"`y.derivative` is `None`; right is {a}. The sum is a new leaf, so no derivative flows on from it.",
            "The value is computed correctly; only the history is missing. Parameters that reach the loss only through sums get no "
            "derivative: they never change, and the loss stays high. The method must call `Add.apply(self, b)`.",
        ),
        [(2, "the values, with None for y"), (1, "the value is right, the history is missing; parameters do not move")],
        {"a": a, "b": b},
        {"wrong": (float(a + b), None), "right": (float(2 * a + b), float(a))},
    )


@MODULE.question("1.3", COMPUTE, 4)
def chain_rule(rng: Rng) -> Exercise:
    """The pairs that chain_rule returns."""
    x, y, d, c = rng.choice([2, 4, 5]), rng.integer(3, 9), rng.integer(2, 6), rng.integer(10, 20)
    rows = {
        "x * y": [("x", d * y), ("y", d * x)],
        "x * x": [("x", d * x), ("x", d * x)],
        f"y * {c}": [("y", d * c), (f"constant {c}", d * y)],
        "x.relu()": [("x", d)],
    }
    lines = [[f"`{text}`", ", ".join(f"({name}, {value})" for name, value in pairs)] for text, pairs in rows.items()]
    return exercise(
        f"x is {x} and y is {y}. For each of {', '.join(f'`{text}`' for text in rows)}: which pairs does `chain_rule({d})` return? Say "
        "whose task it is to add up the pairs of `x * x`, whose to drop the pair of a constant, and why `chain_rule` does neither.",
        [
            table(["Scalar", "pairs"], lines),
            "Both are done by `backpropagate`. `chain_rule` knows one function and no graph: each derivative is right for one use of an "
            "input, and a missing pair would assign all others to the wrong input.",
        ],
        [(3, "the pairs; one point less for each wrong line"), (1, "backpropagate adds and drops, chain_rule is local")],
        {"x": x, "y": y, "d": d, "expressions": list(rows)},
        {"derivatives": [[value for _, value in pairs] for pairs in rows.values()]},
    )


@MODULE.question("1.4", COMPUTE, 6)
def backward_pass(rng: Rng) -> Exercise:
    """A backward pass by hand, with values that are used twice."""
    x, y, k = rng.integer(2, 5), rng.integer(2, 5), rng.integer(2, 4)
    a = x * y
    b = a + k * x
    loss = b * b
    to_x, to_y = 2 * b * (y + k), 2 * b * x
    rows = [
        ["L", "1", f"b: {b}, b: {b}"],
        ["b", f"{b} + {b} = {2 * b}", f"a: {2 * b}, c: {2 * b}"],
        ["c", 2 * b, f"x: {2 * b * k}"],
        ["a", 2 * b, f"x: {2 * b * y}, y: {2 * b * x}"],
        ["x", f"{2 * b * k} + {2 * b * y} = {to_x}", "leaf"],
        ["y", to_y, "leaf"],
    ]
    return exercise(
        [
            f"a = x · y, c = {k} · x, b = a + c, L = b · b, with x = {x} and y = {y}.",
            parts(
                "Draw the computational graph and write the value of each node.",
                "Go backward from L: make a table with what each node has received in total and what it passes to which input.",
                "Check ∂L/∂x with a formula for L.",
            ),
        ],
        parts(
            f"a = {a}, c = {k * x}, b = {b}, L = {loss}. Two edges lead from x (to a and c), and two from b to L.",
            "Each node in an order in which everything computed from it comes first:\n\n" + table(["node", "received", "passes on"], rows),
            f"L = (xy + {k}x)², so ∂L/∂x = 2(xy + {k}x)(y + {k}) = 2 · {b} · {y + k} = {to_x}.",
        ),
        [(1, "graph and values"), (4, "the table; one point less for each wrong total"), (1, "the formula")],
        {"x": x, "y": y, "k": k},
        {"L": loss, "x": to_x, "y": to_y},
    )


Graph = Mapping[str, Sequence[str]]

GRAPHS: tuple[Graph, ...] = (
    {"L": ["c", "d"], "c": ["a", "b"], "d": ["b"], "b": ["a"], "a": []},
    {"L": ["d", "b"], "d": ["c"], "c": ["a"], "b": ["a"], "a": []},
    {"L": ["b", "c"], "b": ["a"], "c": ["a", "d"], "d": [], "a": []},
)
"""For each node the inputs that it was computed from."""


def is_order(graph: Graph, order: Sequence[str]) -> bool:
    """Whether each node comes before all its inputs."""
    return all(order.index(node) < order.index(source) for node, sources in graph.items() for source in sources)


@MODULE.question("1.4", COMPUTE, 4)
def orders(rng: Rng) -> Exercise:
    """Which orders of a graph are topological."""
    graph = rng.choice(GRAPHS)
    others = list(permutations(sorted(set(graph) - {"L"})))
    good = [("L", *order) for order in others if is_order(graph, ("L", *order))]
    bad = [("L", *order) for order in others if not is_order(graph, ("L", *order))]
    shown = rng.shuffle([*rng.sample(good, 2), *rng.sample(bad, 2)])
    valid = [is_order(graph, order) for order in shown]
    wrong = [
        next(
            f"{source} comes before {node}"
            for node, sources in graph.items()
            for source in sources
            if order.index(source) < order.index(node)
        )
        for order in shown
        if not is_order(graph, order)
    ]
    return exercise(
        [
            table(["node", "computed from"], [[node, ", ".join(sources) or "leaf"] for node, sources in graph.items()]),
            "In which of these orders may backpropagation visit the nodes? For each wrong one, name two nodes that show it. "
            "What goes wrong if a node is visited too early?",
            parts(*(", ".join(order) for order in shown)),
        ],
        [
            parts(*("right" if good else f"wrong: {wrong.pop(0)}, which was computed from it" for good in valid)),
            "A node that is visited too early passes on a derivative that is not complete: what it receives later never reaches its "
            "inputs.",
        ],
        [(3, "right and wrong orders, with the pairs; one point less for each mistake"), (1, "an incomplete derivative is passed on")],
        {"graph": graph, "orders": shown},
        {"valid": valid},
    )


def recurse(graph: Mapping[str, Sequence[tuple[str, float]]], again: bool) -> float:
    """The derivative that plain recursion from y finds for x: each node is visited once, or again whenever it is reached."""
    gradient = dict.fromkeys(graph, 0.0) | {"y": 1.0}
    met: list[str] = []

    def visit(node: str) -> None:
        met.append(node)
        for source, slope in graph[node]:
            gradient[source] += gradient[node] * slope
            if again or source not in met:
                visit(source)

    visit("y")
    return gradient["x"]


@MODULE.question("1.4", PREDICT, 5)
def plain_recursion(rng: Rng) -> Exercise:
    """What two wrong traversals return."""
    x, k, c = rng.integer(2, 4), rng.integer(2, 5), rng.integer(1, 4)
    a, b = k * x, k * x + c
    graph = {"y": [("a", b), ("b", a)], "b": [("a", 1.0)], "a": [("x", k)], "x": []}
    once, again, right = recurse(graph, False), recurse(graph, True), k * (a + b)
    return exercise(
        [
            f"a = {k}x, b = a + {c}, y = a · b at x = {x}. A program goes from y by plain recursion: each node adds to the derivative of "
            "its inputs, left to right, and at once continues with each of them.",
            parts(
                "Which derivative of x does it find if a node that was visited before is not visited again?",
                "Which if it is visited again, and passes on all that it has received so far?",
                "What is right? State the rule that both traversals break.",
            ),
        ],
        parts(
            f"{number(once)}: y passes {b} to a, and a at once {b} · {k} to x. The {a} that reaches a through b comes too late.",
            f"{number(again)}: on the second visit a passes on {a + b} · {k}, in addition to the {b} · {k} of the first, which is counted "
            "twice.",
            f"{right} = {k} · ({b} + {a}). A node may pass on its derivative only after all nodes computed from it have passed theirs on "
            "to it.",
        ),
        [(1, "the value of (a)"), (2, "the value of (b)"), (2, "the right value, and the rule")],
        {"x": x, "k": k, "c": c},
        {"once": once, "again": again, "right": float(right)},
    )


@MODULE.question("1.4 1.5", PREDICT, 3)
def accumulation(rng: Rng) -> Exercise:
    """Derivatives of two backward passes add up."""
    a, k, c = rng.integer(2, 6), rng.integer(2, 5), rng.integer(10, 19)
    source = f"x = minitorch.Scalar({a}.0)\n(x * x * {k}).backward()\nprint(x.derivative)\n(x * {c}).backward()\nprint(x.derivative)"
    printed = [str(float(2 * k * a)), str(float(2 * k * a + c))]
    return exercise(
        [
            code(source),
            "What is printed? Give a case in which this behavior is what one wants, and the mistake in a training loop that it causes.",
        ],
        [
            code("\n".join(printed), "text"),
            f"The first derivative is 2 · {k} · {a}; the second backward pass adds {c}. It is right where two losses, or two points, "
            "share a parameter: their derivatives add up. A training loop that does not call `zero_grad` before each step keeps following "
            "old derivatives.",
        ],
        [(1, "both numbers"), (1, "shared parameters"), (1, "missing zero_grad")],
        {"source": source},
        {"printed": printed},
    )


@MODULE.question("1.5", COMPUTE, 5)
def gradient_step(rng: Rng) -> Exercise:
    """One step of gradient descent for a sigmoid and a cross-entropy."""
    x, w, label = rng.integer(2, 5), rng.choice([-2, -1, 1, 2]), rng.below(2)
    b, rate = -w * x, rng.choice([0.1, 0.2, 0.5])
    to_w, to_b = (0.5 - label) * x, 0.5 - label
    return exercise(
        [
            f"p = sigmoid(w · x + b) with x = {x}, w = {w}, b = {b} is the probability of label 1. The label is {label}. The loss is -ln "
            "of the probability of the label.",
            parts(
                "Compute p and the loss (ln 2 = 0.6931).",
                "The derivative of this loss with respect to the input of the sigmoid is p - label. Compute ∂L/∂w and ∂L/∂b.",
                f"Take one step of gradient descent with a learning rate of {rate}. Does p move toward the label?",
            ),
        ],
        parts(
            f"w · x + b = 0, so p = 0.5, and the loss is {number(math.log(2))}.",
            f"(0.5 - {label}) · {x} = {number(to_w)}, and {number(to_b)}.",
            f"w = {w}{signed(-rate * to_w)} = {number(w - rate * to_w)}, b = {b}{signed(-rate * to_b)} = {number(b - rate * to_b)}. The "
            f"input of the sigmoid is now {number((w - rate * to_w) * x + b - rate * to_b)}, so p {'rises' if label else 'falls'} toward "
            f"{label}.",
        ),
        [(1, "p and the loss"), (2, "both derivatives, with signs"), (2, "both new values, and the direction")],
        {"x": x, "w": w, "b": b, "label": label, "rate": rate},
        {"loss": math.log(2), "w": w - rate * to_w, "b": b - rate * to_b, "derivatives": (to_w, to_b)},
    )


@MODULE.question("1.4", COMPUTE, 3)
def modes(rng: Rng) -> Exercise:
    """Paths, visits, and passes of forward and reverse mode."""
    n, inputs, outputs = rng.integer(6, 12), rng.integer(20, 90) * 100, rng.integer(1, 3)
    return exercise(
        [
            f"x_0 is a leaf, and x_(i+1) = x_i + x_i, up to x_{n}.",
            parts(
                f"How many paths lead from x_{n} to x_0? How many nodes does backpropagation visit in topological order? What is the "
                f"derivative of x_{n} with respect to x_0?",
                f"A function has {inputs} inputs and {outputs} output{'s' if outputs > 1 else ''}. How many passes do forward mode and "
                "reverse mode need for all derivatives?",
                "What does reverse mode need memory for that forward mode does not?",
            ),
        ],
        parts(
            f"2^{n} = {2**n} paths, {n + 1} nodes, derivative {2**n}.",
            f"Forward mode {inputs}, one for each input; reverse mode {outputs}, one for each output.",
            "It keeps the values of the forward pass until the backward pass returns to them.",
        ),
        [(1, "paths, visits and derivative"), (1, "both counts"), (1, "saved values")],
        {"n": n, "inputs": inputs, "outputs": outputs},
        {"paths": 2**n, "visits": n + 1, "derivative": float(2**n)},
    )
