"""Which rewrites of a function leave its tokens unchanged, and which do not."""

import ast

import pytest

from course.staff.similarity import syntax


def tokens(text):
    tree = ast.parse(text)
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [token for token, _ in syntax.tokens(function, (), syntax.imported_names(tree))]


def body(*lines):
    return "def f(a, b, n):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (body("total = a", "return total * 2"), body("x = a", "return x * 2")),
        (body("return a + 2 * b"), body("return b * 3 + a")),
        (body("return a > b"), body("return b < a")),
        (body("return a >= b >= n"), body("return n <= b <= a")),
        (body("return a == 0"), body("return 0 == a")),
        (body("return a is None"), body("return None == a")),
        (body("return len(a) and n"), body("return n and len(a)")),
        (body("a += b"), body("a = a + b")),
        (body("a, b = b, a"), body("a = b", "b = a")),
        (body("x: int = a"), body("x = a")),
        (body("'''Docstring.'''", "pass", "return a  # comment"), body("return a")),
        (body("for i in range(n):", "    a[i] = b"), body("i = 0", "while i < n:", "    a[i] = b", "    i += 1")),
        (body("for i in range(n):", "    a[i] = b"), body("i = 0", "while n != i:", "    a[i] = b", "    i = i + 1")),
        (body("for i in range(n):", "    a[i] = b"), body("i = 0", "while n > i:", "    a[i] = b", "    i += 1")),
        (body("for i in range(n):", "    a[i] = b"), body("for i in range(0, n):", "    a[i] = b")),
        (body("x = []", "for i in a:", "    x.append(i * n)"), body("x = []", "[i * n for i in a]")),
        (body("return f'{a} is wrong'"), body("return 'something else'")),
        ("import numpy as np\n" + body("return np.zeros(n)"), "import numpy\n" + body("return numpy.zeros(n)")),
        (
            "from minitorch import operators\n" + body("return operators.mul(a, b)"),
            "from minitorch.operators import mul\n" + body("return mul(a, b)"),
        ),
        (body("return b(x=a, y=0)"), body("return b(y=0, x=a)")),
    ],
)  # fmt: skip
def test_a_rewrite_leaves_the_tokens_unchanged(one, other):
    assert tokens(one) == tokens(other)


def test_a_lambda_has_the_tokens_of_a_function_that_returns_its_value():
    inner = ["def", "Return", "Add", "1", "name"]
    assert tokens(body("return lambda x: x + 1")) == ["Return", *inner]
    assert tokens(body("def g(x):", "    return 1 + x", "return g")) == [*inner, "Return", "name"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return a - b", "return a / b"),
        ("return a - 1", "return a - 0"),
        ("return a < b", "return a <= b"),
        ("return to_index(a)", "return from_index(a)"),
        ("return a.parents", "return a.history"),
        ("for i in range(n): b(i)", "for i in a: b(i)"),
        ("return None", "return False"),
        ("return len(a) - 1", "return 1 - len(a)"),
    ],
)
def test_different_code_has_different_tokens(one, other):
    assert tokens(body(one)) != tokens(body(other))


def test_every_token_has_its_line():
    function = ast.parse("def f(x):\n    # why\n    y = x\n\n    return y\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    found = syntax.tokens(function, (), {})
    assert found == [("Assign", 3), ("name", 3), ("name", 3), ("Return", 5), ("name", 5)]


def test_hashes_of_tokens_are_the_same_in_every_process():
    assert syntax.token_hash("loop") == 0x1D2B504FE95B549D  # printf loop | b2sum -l 64
