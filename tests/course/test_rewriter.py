"""Solutions are removed from a source file: `course.staff.handout.rewriter`."""

import ast

import pytest

from course.staff.handout.rewriter import SyntaxTreeError, needed_modules, remove, remove_imports, stub
from tests.errors import raises

RAISE = 'raise NotImplementedError("Need to implement for Task 0.1")'
NESTED = "def outer(f):\n    def _inner(x):\n        return f(x)\n\n    return _inner\n"
PROPERTY = "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n    def x(self, v):\n        self.v = v\n"


def test_a_stub_keeps_its_signature_and_docstring_and_the_surrounding_code():
    source = '''"""A file."""

import math  # kept


# Above.
def half(x: float) -> float:
    """x / 2."""
    y = x / 2
    return y


def twice(x: float) -> float:
    return 2 * x
'''
    expected = source.replace("    y = x / 2\n    return y\n", f"    {RAISE}\n")
    assert stub(source, {"half": "0.1"}) == expected


def test_comments_in_and_after_a_body_do_not_leak():
    source = """def half(x):  # the trick: halve
    # before the first line
    '''Half.'''  # behind the docstring
    # before the body
    return x / 2  # behind the body
    # after the body

        # indented deeper
# of the file
def last(x):
    return x
    # at the end of the file
"""
    stubbed = stub(source, {"half": "0.1", "last": "0.1"})
    comments = [line.strip() for line in stubbed.splitlines() if "#" in line]
    assert comments == ["# of the file"]
    ast.parse(stubbed)


def test_a_comment_that_a_tool_reads_stays():
    source = "class A:\n    def __eq__(self, b):  # type: ignore[override]\n        return True\n"
    assert "def __eq__(self, b):  # type: ignore[override]\n        raise" in stub(source, {"A.__eq__": "0.1"})


@pytest.mark.parametrize(
    ("source", "name", "stubbed"),
    [
        ("def f(x): return x\n", "f", f"def f(x):\n    {RAISE}\n"),
        ('def f(x): "Says."; return x\n', "f", f'def f(x):\n    "Says."\n    {RAISE}\n'),
        (
            "class A(B):\n    def __init__(self):\n        super().__init__()  # first\n        self.x = 1  # then\n",
            "A.__init__",
            f"class A(B):\n    def __init__(self):\n        super().__init__()\n        {RAISE}\n",
        ),
        (
            "class A(B):\n    def eval(self):\n        super().__init__()\n",
            "A.eval",
            f"class A(B):\n    def eval(self):\n        {RAISE}\n",
        ),
        (NESTED, "outer._inner", NESTED.replace("return f(x)", RAISE)),
        (PROPERTY, "A.x@setter", PROPERTY.replace("self.v = v", RAISE)),
        (PROPERTY, "A.x", PROPERTY.replace("return 1", RAISE)),
    ],
    ids=["one line", "a docstring on the line of the body", "super in __init__", "super in another method", "nested", "setter", "getter"],
)
def test_the_body_of_a_function_is_replaced(source, name, stubbed):
    assert stub(source, {name: "0.1"}) == stubbed


def test_a_test_stub_keeps_marks_and_docstring_and_loses_arguments_and_other_decorators():
    source = '''@pytest.mark.task0_2
@given(floats())
# the kink
@example(0.0)
# the ends
def test_sigmoid(x: float) -> None:
    """Between 0 and 1."""
    assert 0 <= sigmoid(x) <= 1
'''
    expected = '@pytest.mark.task0_2\ndef test_sigmoid() -> None:\n    """Between 0 and 1."""\n    raise'
    assert stub(source, {"test_sigmoid": "0.2"}, is_test=True).startswith(expected)
    source = '@pytest.mark.task0_2\ndef test_f(x):\n    """f is f."""\n    assert f(x)\n'
    assert stub(source, {"test_f": "0.2"}, is_test=True, bare=True) == stub(source, {"test_f": "0.2"}, is_test=True)


BARE = '''"""A file."""

# To be written in this file, docstrings included:
#
# Task 0.1
# - half: x / 2.
#   Raises:
#       ValueError: If x is odd.
# - A.__add__
#
# Task 0.2
# - A.words: The sum of all that can be summed, and a few words more than fit into a line of so many characters, which therefore goes on in
#   the next.
#   Returns:
#       A number.

import math


def half(x: int) -> int:
    raise NotImplementedError("Need to implement for Task 0.1")


class A:
    """Kept."""

    def __add__(self, b):
        raise NotImplementedError("Need to implement for Task 0.1")

    def words(self):
        raise NotImplementedError("Need to implement for Task 0.2")
'''


def test_a_bare_stub_has_no_docstring_and_a_list_describes_results_and_errors():
    source = '''"""A file."""

import math


def half(x: int) -> int:
    """x / 2.

    The bits move one to the right.

    Args:
        x: What is halved.

    Raises:
        ValueError: If x is odd.
    """
    return x >> 1


class A:
    """Kept."""

    def __add__(self, b):
        return self

    def words(self):
        """The sum of all that can be summed, and a few words more than fit into a line of so many characters, which therefore goes on in
        the next.

        Returns:
            A number.
        """
        return 1
'''
    tasks = {"half": "0.1", "A.words": "0.2", "A.__add__": "0.1"}
    assert stub(source, tasks, bare=True) == BARE


def test_the_list_of_a_bare_file_is_at_the_top_if_the_file_begins_with_code():
    stubbed = stub("import math\n\n\ndef f(x):\n    return x\n", {"f": "0.1"}, bare=True)
    assert stubbed.startswith("# To be written in this file, docstrings included:\n#\n# Task 0.1\n# - f\n\nimport math\n")


FUNCTION = "def f(x):\n    return x\n"
IMPORT = "from package.module import f"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: stub(FUNCTION, {"g": "0.1"}), "expected one function g, found none"),
        (lambda: stub(FUNCTION, {"A.f": "0.1"}), "expected one function A.f, found none"),
        (lambda: stub(f"{FUNCTION}\n\n{FUNCTION}", {"f": "0.1"}), "expected one function f, found 2"),
        (lambda: stub("f = lambda x: x\n", {"f": "0.1"}), "expected one function f, found none"),
        (lambda: stub('def f(x):\n    """Nothing."""\n', {"f": "0.1"}), "f has nothing but a docstring: there is nothing to take out"),
        (lambda: remove(FUNCTION, ["g"]), "expected one function g, found none"),
        (lambda: remove(f"{FUNCTION}\n\ndef g():\n    return f(1)\n", ["f"]), "f is taken out, but still used"),
        (lambda: remove_imports(f"{IMPORT}\n\nx = f()\n", "package.module", ["f"]), "f is taken out, but still used"),
        (lambda: remove_imports(f"{IMPORT} as h\n\nx = h()\n", "package.module", ["f"]), "h is taken out, but still used"),
    ],
)
def test_what_cannot_be_removed_is_an_error(change, message):
    with raises(SyntaxTreeError, message):
        change()


def test_an_invalid_python_source_is_an_error_with_its_line():
    with pytest.raises(SyntaxTreeError, match=r"^not valid Python, line 2: "):
        stub("x = 1\ndef f(:\n", {"f": "0.1"})


def test_removing_a_function_keeps_the_surrounding_code():
    source = """x = 1  # kept


# Of f.
@cache
def f():
    return x
    # behind f


# Of A.
class A:
    def f(self):
        return x
"""
    assert remove(source, ["f"]) == source.replace("# Of f.\n@cache\ndef f():\n    return x\n    # behind f\n\n\n", "")


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("from package.module import f\n", ""),
        ("from package.module import f, g\n", "from package.module import g\n"),
        ("from package.module import g, f\n", "from package.module import g\n"),
        ("from package.module import f as h, g  # why\n", "from package.module import g  # why\n"),
        ("from package.module import (\n    a,\n    f,\n    g,\n)\n", "from package.module import (\n    a,\n    g,\n)\n"),
        ("from package.module import (\n    a,\n    f,\n)\n", "from package.module import (\n    a,\n)\n"),
        ("from package.module import (\n    a, f\n)\n", "from package.module import (\n    a\n)\n"),
        ("from package.other import f\n", "from package.other import f\n"),
        ("from .module import f\n", "from .module import f\n"),
        ("from . import f\n", "from . import f\n"),
        ("from package.module import *\n", "from package.module import *\n"),
        ("import package.module\n", "import package.module\n"),
    ],
)
def test_the_import_of_an_omitted_name_is_removed(line, left):
    assert remove_imports(f"import math\n{line}\nx = 1\n", "package.module", ["f"]) == f"import math\n{left}\nx = 1\n"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a.b", {"a.b"}),
        ("from a import b, c as d", {"a", "a.b", "a.c"}),
        ("def f():\n    from a.b import c", {"a.b", "a.b.c"}),
        ("from . import a", set()),
        ("with suppress(ModuleNotFoundError):\n    from a import b", set()),
        ("with suppress(ValueError):\n    import a", {"a"}),
    ],
)
def test_the_modules_that_a_source_needs_are_listed(source, found):
    assert needed_modules(source) == found
