"""The detection of solutions that a workspace still shows: `course.staff.handout.leaks`."""

import pytest

from course.staff.handout.leaks import find_leaks, find_orphans

BODY = """if x >= 0:
    return 1.0 / (1.0 + math.exp(-x))  # never overflows
z = math.exp(x)
return z / (1.0 + z)
"""


def leaks(files, body=BODY):
    return [(leak.path, leak.line) for leak in find_leaks({"minitorch.operators:sigmoid": body}, files)]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("docs/module0/operators.md", "# Sigmoid\n\nIt is\n\n    if x >= 0:\n        return 1.0 / (1.0 + math.exp(-x))\n", 5),
        ("tests/test_operators.py", "def expected(x):\n    z = math.exp(x)\n    return z/(1.0+z)\n", 2),
        ("minitorch/scalar.py", "def other(x):\n    z = math.exp(x)\n    return z / (1.0 + z)\n", 2),
        ("minitorch/scalar.py", "def other(x):\n    z = math.exp(x)  # as above\n\n    return z / (1.0 + z)\n", 2),
        ("minitorch/scalar.py", "# z = math.exp(x)\n# return z / (1.0 + z)\n", 1),
        ("minitorch/scalar.py", 'def other(x):\n    """Says.\n\n    z = math.exp(x)\n    return z / (1.0 + z)\n    """\n', 4),
        ("minitorch/scalar.py", 'def other(x):\n    """It is return 1.0 / (1.0 + math.exp(-x)) here."""\n', 2),
        ("README.md", "```python\n>>> z = math.exp(x)\nreturn z / (1.0 + z)\n```\n", 2),
    ],
    ids=["page", "test", "other function", "with a comment", "commented out", "docstring", "docstring of one line", "code fence"],
)
def test_a_planted_solution_is_found_with_its_location(path, text, line):
    assert leaks({path: text}) == [(path, line)]


def test_a_leak_names_both_places():
    (leak,) = find_leaks({"minitorch.operators:sigmoid": BODY}, {"docs/a.md": "z = math.exp(x)\nreturn z / (1.0 + z)"})
    assert str(leak) == "docs/a.md:1 shows the solution of minitorch.operators:sigmoid: z = math . exp ( x ) return z / ( 1.0 +"


PROSE = "The sigmoid is 1 / (1 + e^-x). If x >= 0, e is raised to -x, which never overflows; else z = e^x, and z / (1 + z) is the same."
PATTERN = "ctx.save_for_backward(a)\nreturn operators.inv(a)\n"
TYPED = "def apply(ls: Iterable[float]) -> list[float]:\n    return [fn(x) for x in ls]\nreturn apply\n"
MESSAGE = '"expected a number of at least one, such as 2, 3 or 4, and got something else, see there"'
SHORT = "return d if x > 0 else 0.0\n"


@pytest.mark.parametrize(
    ("path", "text", "body", "lines"),
    [
        ("docs/a.md", PROSE, BODY, []),
        ("minitorch/a.py", "def forward(ctx, a):\n    ctx.save_for_backward(a)\n    return operators.log(a)\n", PATTERN, []),
        ("minitorch/a.py", "def negList(ls: Iterable[float]) -> list[float]:\n    return given(ls)\n", TYPED, []),
        ("minitorch/a.py", "def m(fn):\n    def apply(ls):\n        return [fn(x) for x in ls]\n    return apply\n", TYPED, [3]),
        ("tests/test_a.py", f"match = {MESSAGE}\n", f"raise ValueError({MESSAGE})\n", []),
        ("docs/a.md", "Write `return d if x > 0 else 0.0`.", SHORT, [1]),
        ("docs/a.md", "relu_back is d if x > 0 else 0.0.", SHORT, []),
        ("docs/a.md", "def cube(x, y):\n    return x * y\n", "return x * y\n", []),
        ("docs/a.png", BODY.encode(), BODY, []),
    ],
    ids=["prose", "a given pattern", "type hints", "an inner function", "error message", "short", "a part of it", "too short", "image"],
)
def test_what_is_a_leak_and_what_is_not(path, text, body, lines):
    assert leaks({path: text}, body) == [(path, line) for line in lines]


def test_code_that_two_different_solutions_share_is_not_a_leak():
    pattern = "ctx.save_for_backward(a.shape, b.shape)\nreturn a.f.zip("
    removed = {"minitorch.a:LT.forward": f"{pattern}lt)(a, b)\n", "minitorch.a:EQ.forward": f"{pattern}eq)(a, b)\n"}
    assert find_leaks(removed, {"minitorch/a.py": f"{pattern}le)(a, b)\n"}) == []
    (leak,) = find_leaks(removed, {"docs/a.md": f"{pattern}eq)(a, b)\n"})
    assert leak.name == "minitorch.a:EQ.forward"


def test_a_solution_shared_by_two_functions_is_a_leak_of_both():
    removed = {"minitorch.operators:sigmoid": BODY, "minitorch.operators:logistic": BODY + "# the same\n"}
    leaks = find_leaks(removed, {"docs/a.md": "z = math.exp(x)\nreturn z / (1.0 + z)"})
    assert [leak.name for leak in leaks] == ["minitorch.operators:logistic", "minitorch.operators:sigmoid"]


def test_only_long_pieces_of_longer_bodies_are_leaks():
    body = "".join(f"total = total + a[{i}] * b[{i}]\n" for i in range(9))  # lines of 13 tokens
    for lines, found in ((2, []), (3, [("docs/a.md", 1)])):
        page = "".join(body.splitlines(True)[:lines])
        leaks = find_leaks({}, {"docs/a.md": page}, {"task 1.1, as textbooks have it": body})
        assert [(leak.path, leak.line) for leak in leaks] == found


def test_a_private_helper_that_only_solutions_used_is_an_orphan():
    before = "from a import _help, b\n"
    before += "\n\ndef _trick(x):\n    return x\n\n\n_shared = 1\n_unused = 2\n"
    before += "\n\ndef f(x):\n    return _trick(x) + _shared + _help + b\n\n\n"
    before += "def g():\n    return _shared\n"
    after = before.replace("return _trick(x) + _shared + _help + b", "raise NotImplementedError")
    assert find_orphans(before, after) == ["_help", "_trick"]
    assert find_orphans(before, "# - f:\n#   ValueError: If x is odd; `_trick` says so.\n" + after) == ["_help"]  # a bare workspace's list
