"""Bodies taken out of a source and put into another one: `course.staff.handout.rewriter`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from course.manifest import ROOT, course
from course.staff.handout.rewriter import SyntaxTreeError, functions, graft, needed_modules, remove, remove_imports, stub

RAISE = 'raise NotImplementedError("Need to implement for Task 0.1")'


def test_a_stub_keeps_signature_and_docstring_and_all_around_it() -> None:
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


def test_comments_in_and_after_a_body_do_not_leak() -> None:
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


def test_a_comment_that_a_tool_reads_stays() -> None:
    source = "class A:\n    def __eq__(self, b):  # type: ignore[override]\n        return True\n"
    assert "def __eq__(self, b):  # type: ignore[override]\n        raise" in stub(source, {"A.__eq__": "0.1"})


def test_an_init_keeps_its_super_line() -> None:
    source = "class A(B):\n    def __init__(self):\n        super().__init__()  # first\n        self.x = 1  # then\n"
    assert stub(source, {"A.__init__": "0.1"}) == f"class A(B):\n    def __init__(self):\n        super().__init__()\n        {RAISE}\n"


def test_another_method_does_not_keep_its_super_line() -> None:
    source = "class A(B):\n    def eval(self):\n        super().__init__()\n"
    assert "super" not in stub(source, {"A.eval": "0.1"})


def test_a_nested_function_is_named_through_the_outer_one_which_stays() -> None:
    source = "def outer(f):\n    def _inner(x):\n        return f(x)\n\n    return _inner\n"
    assert stub(source, {"outer._inner": "0.1"}) == source.replace("return f(x)", RAISE)


def test_the_parts_of_a_property_have_names_of_their_own() -> None:
    source = "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n    def x(self, v):\n        self.v = v\n"
    assert stub(source, {"A.x@setter": "0.1"}) == source.replace("self.v = v", RAISE)
    assert stub(source, {"A.x": "0.1"}) == source.replace("return 1", RAISE)


def test_a_function_on_one_line_becomes_a_block() -> None:
    assert stub("def f(x): return x\n", {"f": "0.1"}) == f"def f(x):\n    {RAISE}\n"


def test_a_docstring_on_the_line_of_the_body_stays() -> None:
    assert stub('def f(x): "Says."; return x\n', {"f": "0.1"}) == f'def f(x):\n    "Says."\n    {RAISE}\n'


def test_a_test_that_students_write_keeps_its_marks_and_loses_arguments_and_other_decorators() -> None:
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


def test_a_bare_stub_has_no_docstring_and_a_list_says_what_it_gives_and_raises() -> None:
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


def test_a_bare_list_stands_at_the_top_of_a_file_that_begins_with_code() -> None:
    stubbed = stub("import math\n\n\ndef f(x):\n    return x\n", {"f": "0.1"}, bare=True)
    assert stubbed.startswith("# To be written in this file, docstrings included:\n#\n# Task 0.1\n# - f\n\nimport math\n")


def test_a_bare_stub_of_a_test_keeps_its_docstring_which_says_what_to_test() -> None:
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
def test_a_name_that_cannot_be_taken_out_is_an_error(source: str, name: str, message: str) -> None:
    with pytest.raises(SyntaxTreeError) as error:
        stub(source, {name: "0.1"})
    assert str(error.value) == message


def test_a_source_that_is_not_python_is_an_error_with_its_line() -> None:
    with pytest.raises(SyntaxTreeError, match=r"^not valid Python, line 2: "):
        functions("x = 1\ndef f(:\n")


def test_a_function_that_is_removed_leaves_all_around_it() -> None:
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
def test_a_function_that_is_not_there_or_is_used_cannot_be_removed(source: str, message: str) -> None:
    with pytest.raises(SyntaxTreeError) as error:
        remove(source, ["f"])
    assert str(error.value) == message


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
def test_a_name_that_is_left_out_is_no_longer_imported(line: str, left: str) -> None:
    assert remove_imports(f"import math\n{line}\nx = 1\n", "package.module", ["f"]) == f"import math\n{left}\nx = 1\n"


@pytest.mark.parametrize(("line", "name"), [("from package.module import f", "f"), ("from package.module import f as h", "h")])
def test_the_import_of_a_name_that_is_used_is_not_removed(line: str, name: str) -> None:
    with pytest.raises(SyntaxTreeError) as error:
        remove_imports(f"{line}\n\nx = {name}()\n", "package.module", ["f"])
    assert str(error.value) == f"{name} is taken out, but still used"


def test_a_graft_replaces_the_body_and_keeps_decorators_and_arguments() -> None:
    source = "class A:\n    @staticmethod\n    def f(x: float) -> float:\n        # old\n        return x\n\n    y = 1  # stays\n"
    expected = "class A:\n    @staticmethod\n    def f(x: float) -> float:\n        return -x\n\n    y = 1  # stays\n"
    assert graft(source, {"A.f": "\ndef f(anything):\n    return -x\n"}) == expected


def test_a_whole_graft_brings_decorators_and_arguments_along() -> None:
    source = "# Above.\n@pytest.mark.task0_2\ndef test_f() -> None:\n    pass\n"
    given = '@pytest.mark.task0_2\n@given(floats())\ndef test_f(x: float) -> None:\n    """Says."""\n    assert x == x\n'
    assert graft(source, {"test_f": given}, whole=True) == "# Above.\n" + given


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("x = 1", "x = 1"),
        ("def g(x):\n    return x", "def g(x):"),
        ("def f(x):\n    return x\n\ndef g(x):\n    return x", "def f(x):"),
        ("", "nothing"),
    ],
)
def test_what_is_grafted_must_be_one_definition_of_that_name(text: str, got: str) -> None:
    with pytest.raises(SyntaxTreeError) as error:
        graft("class A:\n    def f(x):\n        return x\n", {"A.f": text})
    assert str(error.value) == f"expected one definition, def f(…), got: {got}"


def test_a_graft_into_a_function_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SyntaxTreeError, match=r"^expected one function g, found none$"):
        graft("def f(x):\n    return x\n", {"g": "def g(x):\n    return x\n"})


def names_of_functions(tree: ast.AST, path: str = "") -> Iterator[str]:
    """The path of every function but setters and their like."""
    for node in ast.iter_child_nodes(tree):
        name = f"{path}{node.name}" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None
        if isinstance(node, ast.FunctionDef) and not any(isinstance(decorator, ast.Attribute) for decorator in node.decorator_list):
            yield f"{name}"
        yield from names_of_functions(node, f"{name}." if name else path)


def test_a_graft_of_its_own_functions_gives_every_file_of_the_package_back() -> None:
    for file in sorted((ROOT / course().package).glob("*.py")):
        source = file.read_text(encoding="utf-8")
        count = Counter(names_of_functions(ast.parse(source)))  # a function may be defined in both branches of an `if`
        unique = {name: text for name, text in functions(source).items() if "@overload" not in name and count[name] <= 1}
        assert graft(source, unique, whole=True) == source, file.name


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
def test_modules_that_a_source_needs(source: str, found: set[str]) -> None:
    assert needed_modules(source) == found


def test_every_written_function_can_be_taken_out_and_put_back() -> None:
    tasks = [(task.id, *full.split(":")) for task in course().tasks for full in task.write]
    for module in {module for _, module, _ in tasks}:
        file = Path(ROOT, *module.split(".")).with_suffix(".py")
        source = file.read_text(encoding="utf-8")
        names = {name: id for id, other, name in tasks if other == module}
        stubbed = stub(source, names, is_test=module.startswith("tests."))
        own, emptied = functions(source), functions(stubbed)
        for name, id in names.items():
            assert f'raise NotImplementedError("Need to implement for Task {id}")' in emptied[name]
        assert graft(stubbed, {name: own[name] for name in names}, whole=True) == source
