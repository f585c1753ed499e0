"""Solutions are removed from a source file: `course.staff.handout.rewriter`."""

import ast

import pytest

from course.staff.handout.rewriter import SyntaxTreeError, needed_modules, remove, remove_imports, stub
from tests.errors import raises

RAISE = 'raise NotImplementedError("Need to implement for Task 0.1")'


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


def test_an_init_keeps_its_super_line():
    source = "class A(B):\n    def __init__(self):\n        super().__init__()  # first\n        self.x = 1  # then\n"
    assert stub(source, {"A.__init__": "0.1"}) == f"class A(B):\n    def __init__(self):\n        super().__init__()\n        {RAISE}\n"


def test_other_methods_do_not_keep_their_super_line():
    source = "class A(B):\n    def eval(self):\n        super().__init__()\n"
    assert "super" not in stub(source, {"A.eval": "0.1"})


def test_a_nested_function_is_removed_and_the_outer_one_stays():
    source = "def outer(f):\n    def _inner(x):\n        return f(x)\n\n    return _inner\n"
    assert stub(source, {"outer._inner": "0.1"}) == source.replace("return f(x)", RAISE)


def test_getter_and_setter_of_a_property_have_separate_names():
    source = "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n    def x(self, v):\n        self.v = v\n"
    assert stub(source, {"A.x@setter": "0.1"}) == source.replace("self.v = v", RAISE)
    assert stub(source, {"A.x": "0.1"}) == source.replace("return 1", RAISE)


def test_a_function_on_one_line_becomes_a_block():
    assert stub("def f(x): return x\n", {"f": "0.1"}) == f"def f(x):\n    {RAISE}\n"


def test_a_docstring_on_the_line_of_the_body_is_kept():
    assert stub('def f(x): "Says."; return x\n', {"f": "0.1"}) == f'def f(x):\n    "Says."\n    {RAISE}\n'


def test_a_test_stub_keeps_its_marks_and_loses_arguments_and_other_decorators():
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


def test_a_bare_test_stub_keeps_its_docstring():
    source = '@pytest.mark.task0_2\ndef test_f(x):\n    """f is f."""\n    assert f(x)\n'
    assert stub(source, {"test_f": "0.2"}, is_test=True, bare=True) == stub(source, {"test_f": "0.2"}, is_test=True)


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("def f(x):\n    return x\n", "g", "expected one function g, found none"),
        ("def f(x):\n    return x\n", "A.f", "expected one function A.f, found none"),
        ("def f(x):\n    return x\n\n\ndef f(y):\n    return y\n", "f", "expected one function f, found 2"),
        ("f = lambda x: x\n", "f", "expected one function f, found none"),
        ('def f(x):\n    """Nothing."""\n', "f", "f has nothing but a docstring: there is nothing to take out"),
    ],
)
def test_a_name_that_cannot_be_removed_is_an_error(source, name, message):
    with raises(SyntaxTreeError, message):
        stub(source, {name: "0.1"})


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
    ("source", "message"),
    [
        ("def g():\n    return 1\n", "expected one function f, found none"),
        ("def f():\n    return 1\n\n\ndef g():\n    return f()\n", "f is taken out, but still used"),
    ],
)
def test_a_missing_function_and_one_in_use_cannot_be_removed(source, message):
    with raises(SyntaxTreeError, message):
        remove(source, ["f"])


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


@pytest.mark.parametrize(("line", "name"), [("from package.module import f", "f"), ("from package.module import f as h", "h")])
def test_the_import_of_a_name_in_use_is_kept(line, name):
    with raises(SyntaxTreeError, f"{name} is taken out, but still used"):
        remove_imports(f"{line}\n\nx = {name}()\n", "package.module", ["f"])


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
