"""Exam questions on Module 0: operators, property tests, higher-order functions, modules, a linear classifier."""

from __future__ import annotations

from itertools import product

from course.staff.exam.markdown import code, number, parts, signed, table
from course.staff.exam.question import COMPUTE, EXPLAIN, MISTAKE, PREDICT, Exercise, Module, Rng, exercise

MODULE = Module(0)


@MODULE.question("0.1", EXPLAIN, 4)
def sigmoid(rng: Rng) -> Exercise:
    """Two forms of the sigmoid, and which of them overflows where."""
    x = rng.integer(75, 200) * 10
    return exercise(
        [
            "On paper, 1 / (1 + e^-x) and e^x / (1 + e^x) are the same number.",
            parts(
                f"Which of the two forms raises `OverflowError` for x = {x}, which for x = -{x}? A float64 cannot represent e^710.",
                "Describe a sigmoid that raises no error for any float, and say why.",
            ),
        ],
        parts(
            f"The second form fails for x = {x}: it computes e^{x}. The first form fails for x = -{x}: e^-x is then e^{x}.",
            "Use the first form where x >= 0 and the second where x < 0. The exponent of e is then never positive, so the power is at "
            "most 1. A large negative exponent gives 0, which is no error, and the denominator is at least 1.",
        ),
        [(2, "one form for each input, with the power that overflows"), (2, "two cases by the sign of x, with the reason")],
        {"x": x},
        {"at x": 1.0, "at -x": 0.0},
    )


@MODULE.question("0.1", COMPUTE, 4)
def backward_operators(rng: Rng) -> Exercise:
    """Values of inv_back and relu_back."""
    x, d = rng.choice([2, 4, 5, 10]), rng.choice([-6, -3, 3, 5, 7])
    y, e = rng.integer(2, 9), rng.integer(2, 9)
    calls = [("inv_back", x, d), ("relu_back", -y, e), ("relu_back", y, e), ("relu_back", 0, e)]
    values = [-d / x**2, 0, e, 0]
    shown = [f"{name}({at}, {factor})" for name, at, factor in calls]
    return exercise(
        [
            "The functions `f_back(x, d)` of the course return d · f'(x). Compute these values, and say what the last one depends on.",
            parts(*(f"`{call}`" for call in shown)),
        ],
        parts(
            f"The derivative of 1/x is -1/x². At {x} it is -1/{x**2}, and {d} · (-1/{x**2}) = {number(values[0])}.",
            "0: to the left of 0, relu is constant.",
            f"{e}: to the right of 0, the derivative is 1.",
            "0: relu has no derivative at 0. The course takes 0; another number from 0 to 1 would do if it were used everywhere.",
        ),
        [
            (1, "inv_back, with its sign"),
            (1, "both values of relu_back away from 0"),
            (1, "0 at the kink"),
            (1, "the value at 0 is a convention"),
        ],
        {"calls": calls},
        {"values": values},
    )


@MODULE.question("0.1", MISTAKE, 3)
def close(rng: Rng) -> Exercise:
    """A comparison of floats that forgets a sign."""
    x, near, far = rng.integer(1, 9), rng.choice([0.003, 0.004, 0.006, 0.008]), rng.choice([0.02, 0.5, 3, 40])
    pairs = [(x, x + near), (x, x + far), (x + far, x)]
    got = [a - b < 1e-2 for a, b in pairs]
    right = [abs(a - b) < 1e-2 for a, b in pairs]
    rows = [[f"{number(a)}, {number(b)}", one, other] for (a, b), one, other in zip(pairs, got, right, strict=True)]
    return exercise(
        [
            "Two numbers are close if they are less than 0.01 apart. Somebody writes:",
            code("def is_close(x, y):\n    return x - y < 1e-2"),
            f"What does this function return for {', '.join(f'({number(a)}, {number(b)})' for a, b in pairs)}, and what should it return? "
            "For which pairs of numbers is it wrong? Fix it without `abs`.",
        ],
        [
            table(["x, y", "returns", "right"], rows),
            "It is wrong for every pair in which y exceeds x by 0.01 or more: x - y is then negative, and so below any tolerance.",
            code("return x - y < 1e-2 and y - x < 1e-2"),
        ],
        [(1, "the three results"), (1, "wrong whenever y is larger than x by at least 0.01"), (1, "a fix that is symmetric in x and y")],
        {"pairs": pairs},
        {"got": got, "right": right},
    )


@MODULE.question("0.1", PREDICT, 3)
def exact_equality(rng: Rng) -> Exercise:
    """Which sums of floats are exact."""
    a, b = rng.sample([0.5, 0.25, 0.125, 0.75, 0.375], 2)
    c, d = rng.choice([(0.1, 0.2), (0.1, 0.7), (0.2, 0.7), (0.3, 0.6)])
    total = round(c + d, 1)
    return exercise(
        [
            f"`operators.eq(0.1 + 0.4, 0.5)` is 1.0, which is luck. `operators.eq({c} + {d}, {total})` is 0.0.",
            parts(
                f"What is `operators.eq({a} + {b}, {a + b})`? Say why no luck is needed here.",
                f"Why is {c} + {d} not {total}?",
                "Which function of the course should a test call instead, and why is `eq` exact all the same?",
            ),
        ],
        parts(
            f"1.0. {a}, {b} and their sum are whole multiples of 1/8, so float64 represents all three exactly and the addition rounds "
            "nothing.",
            f"{c}, {d} and {total} have no finite binary form. Each is rounded, and the rounding errors of the left side do not add up to "
            "that of the right.",
            "`is_close`. `eq` tells whether two floats are the same number; its result is part of formulas.",
        ),
        [
            (1, "1.0, because fractions of a power of two are exact"),
            (1, "decimal fractions are rounded"),
            (1, "is_close, and the purpose of eq"),
        ],
        {"exact": (a, b), "inexact": (c, d)},
        {"exact": 1.0, "inexact": float(c + d == total)},
    )


WRONG_MAXIMA = {
    "return x": lambda x, y: x,
    "return y": lambda x, y: y,
    "return x + y": lambda x, y: x + y,
    "return x if x < y else y": lambda x, y: min(x, y),
    "return abs(x) + abs(y)": lambda x, y: abs(x) + abs(y),
    "return x if x >= y else y + 1": lambda x, y: x if x >= y else y + 1,
    "return x if x > 0 else y": lambda x, y: x if x > 0 else y,
}


@MODULE.question("0.2", COMPUTE, 4)
def wrong_functions(rng: Rng) -> Exercise:
    """Which wrong functions two properties of a maximum catch."""
    bodies = rng.sample(list(WRONG_MAXIMA), 4)
    inputs = list(product(range(-2, 3), repeat=2))
    low = {body: any(WRONG_MAXIMA[body](x, y) < max(x, y) for x, y in inputs) for body in bodies}
    other = {body: any(WRONG_MAXIMA[body](x, y) not in (x, y) for x, y in inputs) for body in bodies}
    rows = [[f"`{body}`", "caught" if low[body] else "passes", "caught" if other[body] else "passes"] for body in bodies]
    return exercise(
        [
            "Two properties of the maximum m of x and y, tested with x and y from -100 to 100:",
            "- **A**: m >= x and m >= y\n- **B**: m equals x or m equals y",
            "Which of the following wrong bodies of `max(x, y)` does A catch, which B? Give an input for each that is caught by both or "
            "by one only. Which of the two properties is enough alone?",
            "\n".join(f"- `{body}`" for body in bodies),
        ],
        [
            table(["body", "property A", "property B"], rows),
            "Neither is enough alone. Without B, anything large passes; without A, either argument does. A function with both properties "
            "returns one of its arguments, and none below the other: that is the maximum.",
        ],
        [(2, "the table; half a point for each body"), (1, "an input for each catch"), (1, "neither is enough, with the reason")],
        {"bodies": bodies},
        {"A": low, "B": other},
    )


@MODULE.question("0.2", COMPUTE, 3)
def smallest_input(rng: Rng) -> Exercise:
    """What Hypothesis reports after it has shrunk a list."""
    limit = rng.choice([20, 50, 100])
    bound = limit * rng.integer(1, 3) + rng.integer(1, limit)
    length = next(n for n in range(1, 10) if n * limit >= bound)
    return exercise(
        [
            f"A test draws lists of integers from -{limit} to {limit} and asserts that their sum is below {bound}. Random search finds a "
            "list of 23 numbers for which it fails. Hypothesis then shrinks it.",
            parts(
                "How many numbers does the reported list have, and what is their sum?",
                "What does the reported list tell about the mistake that the first list does not?",
            ),
        ],
        parts(
            f"{length} numbers with the sum {bound}. With {length - 1} the sum is at most {(length - 1) * limit}, and every sum of "
            f"{bound} or more fails. Shrinking removes numbers and makes them smaller as long as the test still fails.",
            f"Everything irrelevant is gone. It shows that {length} numbers are needed, and that the boundary is exactly {bound}.",
        ),
        [(2, "the number of elements and the sum, one point each"), (1, "the smallest input shows the boundary")],
        {"limit": limit, "bound": bound},
        {"length": length, "sum": bound},
    )


@MODULE.question("0.2", MISTAKE, 4)
def boundary(rng: Rng) -> Exercise:
    """A boundary that random search misses."""
    limit = rng.choice([120, 150, 180, 240])
    x = rng.integer(40, 80)
    return exercise(
        [
            f"Two people of x and y kg may ride an elevator if x + y <= {limit}. The function and its test:",
            code(
                f"def may_ride(x, y):\n    return 1.0 if x + y < {limit} else 0.0\n\n"
                f"@given(st.floats(30, {limit}), st.floats(30, {limit}))\ndef test_may_ride(x, y):\n"
                f"    if x + y <= {limit}:\n        assert may_ride(x, y) == 1.0"
            ),
            parts(
                "The test passes in nearly every run. Which inputs does the function get wrong, and why does random search hardly ever "
                "draw one?",
                f"Add one line to the test so that every run catches the mistake. Use x = {x}.",
                "The test has a second weakness: a function that always returns 1.0 passes it. Say what is missing.",
            ),
        ],
        parts(
            f"Those with x + y exactly {limit}. For one x, hardly any of the many floats that may be drawn for y gives that sum.",
            f"`@example({x}.0, {limit - x}.0)`, as a further decorator.",
            f"It asserts nothing where x + y > {limit}. An `else` branch must assert that `may_ride(x, y) == 0.0`.",
        ),
        [(2, "the sum equals the limit; few floats among many"), (1, "an @example on the boundary"), (1, "the other branch is not tested")],
        {"limit": limit, "x": x},
        {"wrong": 0.0, "right": 1.0, "y": limit - x},
    )


@MODULE.question("0.3", COMPUTE, 4)
def reduce_order(rng: Rng) -> Exercise:
    """A reduction from the left with a function that is not symmetric."""
    start, ls, factor = rng.integer(1, 5), rng.integers(3, 1, 5), rng.choice([2, 3])
    steps = [start]
    for x in ls:
        steps.append(factor * steps[-1] - x)
    return exercise(
        [
            code(f"fn = lambda so_far, x: {factor} * so_far - x\nresult = operators.reduce(fn, {start})"),
            parts(
                f"Compute `result({ls})` step by step.",
                "What is `result([])`, and why must `reduce` get a start value at all?",
                "`sum` and `prod` are reductions. From which numbers do they start, and by which rule?",
            ),
        ],
        parts(
            "; ".join(f"{factor} · {steps[i]} - {ls[i]} = {steps[i + 1]}" for i in range(3)) + f". The result is {steps[-1]}.",
            f"{start}. An empty list has no first element to start from, and the start value decides the result.",
            "0 and 1: the number that leaves every element unchanged, 0 + x = x and 1 · x = x.",
        ),
        [(2, "the three steps, from the left"), (1, "the start value, with the reason"), (1, "0 and 1, the identity elements")],
        {"start": start, "ls": ls, "factor": factor},
        {"left": steps[-1], "empty": start},
    )


@MODULE.question("0.3", PREDICT, 3)
def generator(rng: Rng) -> Exercise:
    """A generator that is reduced three times."""
    ls = rng.integers(3, 2, 9)
    source = (
        f"numbers = (float(n) for n in {ls})\nprint(operators.sum(numbers))\nprint(operators.sum(numbers))\nprint(operators.prod(numbers))"
    )
    printed = [f"{float(sum(ls))}", "0.0", "1.0"]
    return exercise(
        ["What does this print? Explain each line.", code(source)],
        [
            code("\n".join(printed), "text"),
            "A generator can be iterated over once. The first sum uses it up. After that it is like an empty list, whose sum is the start "
            "value 0.0 and whose product is the start value 1.0.",
        ],
        [(1, "the first line"), (1, "0.0 and 1.0"), (1, "a generator is used up; the start value remains")],
        {"source": source},
        {"printed": printed},
    )


@MODULE.question("0.4", COMPUTE, 4)
def parameter_names(rng: Rng) -> Exercise:
    """The names of all parameters of a tree of modules."""
    leaf, inner = rng.sample(["weight", "bias", "scale", "shift"], 2), rng.choice(["left", "first", "query"])
    other, own = rng.choice(["right", "second", "key"]), rng.choice(["gain", "rate", "offset"])
    source = f"""import minitorch

class Unit(minitorch.Module):
    def __init__(self):
        super().__init__()
        self.{leaf[0]} = minitorch.Parameter(1.0)
        self.{leaf[1]} = minitorch.Parameter(2.0)

class Block(minitorch.Module):
    def __init__(self):
        super().__init__()
        self.{inner} = Unit()
        self.{own} = minitorch.Parameter(3.0)
        self.{other} = Unit()
        self.extra = [Unit()]

class Network(minitorch.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.out = Unit()"""
    names = [f"block.{own}", *(f"block.{child}.{name}" for child in (inner, other) for name in leaf), *(f"out.{name}" for name in leaf)]
    return exercise(
        ["List the names of `Network().named_parameters()` in order. Which Unit is missing, and what follows for training?", code(source)],
        [
            code("\n".join(names), "text"),
            "A module's own parameters come first, then those of its children, in the order of assignment. The Unit in `extra` is in a "
            "list, and a list is an ordinary attribute: nothing registers it, the optimizer never sees its parameters, and they keep "
            "their initial values.",
        ],
        [(2, "all seven names; one point if the order or one name is wrong"), (1, "own parameters before those of children"),
         (1, "the Unit in a list is not registered, so it is not trained")],
        {"source": source},
        {"names": names},
    )  # fmt: skip


@MODULE.question("0.4", MISTAKE, 3)
def evaluation_mode(rng: Rng) -> Exercise:
    """An eval() that reaches only the children."""
    child, grandchild = rng.choice(["encoder", "features", "hidden"]), rng.choice(["dropout", "norm", "inner"])
    body = "self.training = False\nfor module in self.modules():\n    module.training = False"
    return exercise(
        [
            f"In a network, `{grandchild}` is a child of `{child}`, and `{child}` is a child of `network`. All are in training mode. This "
            "is `eval`:",
            code("def eval(self):\n    " + body.replace("\n", "\n    ")),
            parts(
                f"What are `network.training`, `network.{child}.training` and `network.{child}.{grandchild}.training` after "
                "`network.eval()`?",
                "Why does no error message report the mistake, and how would it show in a network with dropout?",
                "Fix it by changing one line.",
            ),
        ],
        parts(
            "False, False, True.",
            "The network still runs. If a module below the children is a dropout, it keeps discarding numbers at random, so predictions "
            "differ from call to call and are a little worse.",
            "`module.eval()` in place of `module.training = False`. A child is a module too, so its own `eval` reaches the next level.",
        ),
        [(1, "the three values"), (1, "silent; random and worse predictions"), (1, "the recursive call")],
        {"child": child, "grandchild": grandchild, "body": body},
        {"modes": [False, False, True]},
    )


@MODULE.question("0.5", COMPUTE, 4)
def linear_boundary(rng: Rng) -> Exercise:
    """Scores, labels and the boundary of a linear classifier."""
    w1, w2 = rng.choice([-4, -2, 2, 4]), rng.choice([-2, -1, 1, 2])
    b = rng.choice([-1, -0.5, 0.5, 1])
    points = [(rng.integer(1, 9) / 10, rng.integer(1, 9) / 10) for _ in range(3)]
    scores = [round(w1 * x + w2 * y + b, 10) for x, y in points]
    rows = [[f"({number(x)}, {number(y)})", number(score), int(score > 0)] for (x, y), score in zip(points, scores, strict=True)]
    slope, cut = -w1 / w2, -b / w2
    return exercise(
        [
            f"A linear classifier has the weights {w1} and {w2} and the bias {number(b)}. It returns 1 where the score is positive, else "
            "0.",
            parts(
                f"Compute the score and the answer for {', '.join(f'({number(x)}, {number(y)})' for x, y in points)}.",
                "Write the boundary as x_2 = m · x_1 + c.",
                "All three numbers are multiplied by 10. What happens to the boundary, to the answers, and to the sigmoid of the score?",
            ),
        ],
        [
            parts(
                "See the table.",
                f"{w1} x_1{signed(w2)} x_2{signed(b)} = 0 gives x_2 = {number(slope)} x_1{signed(cut)}.",
                "Boundary and answers stay the same, since every score keeps its sign. The sigmoid moves toward 0 or 1.",
            ),
            table(["point", "score", "answer"], rows),
        ],
        [(2, "scores and answers"), (1, "the line"), (1, "same line, sharper probabilities")],
        {"weights": (w1, w2, b), "points": points},
        {"scores": scores, "slope": slope, "cut": cut},
    )


@MODULE.question("0.5", EXPLAIN, 4)
def exclusive_or(rng: Rng) -> Exercise:
    """Why no line separates the data set Xor."""
    flip = rng.below(2)
    corners = [(0.25, 0.25, flip), (0.75, 0.75, flip), (0.25, 0.75, 1 - flip), (0.75, 0.25, 1 - flip)]
    sign, other = ("positive", "not positive") if flip else ("not positive", "positive")
    return exercise(
        [
            "Four points of the plane have these labels:",
            table(["x_1", "x_2", "label"], corners),
            "Show that no linear classifier w_1 x_1 + w_2 x_2 + b labels all four correctly. (Compare the sum of two scores with the sum "
            "of the other two.) What does a network need in addition, and why do more linear layers alone not help?",
        ],
        [
            "The scores of (0.25, 0.25) and (0.75, 0.75) sum to w_1 + w_2 + 2b, and so do those of (0.25, 0.75) and (0.75, 0.25). The "
            f"labels ask that the first two scores are {sign} and the other two {other}. So one of the two equal sums would be positive, "
            "and the other not: a contradiction.",
            "A network needs a function between two layers that is not linear, such as relu. A linear function of a linear function is "
            "linear again, so layers without it are one linear classifier.",
        ],
        [(2, "both sums are equal, the labels demand different signs"), (1, "a nonlinear function between layers"),
         (1, "linear layers in a row are one linear layer")],
        {"corners": corners},
        {"sums": [1.0, 1.0]},
    )  # fmt: skip
