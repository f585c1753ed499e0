"""Functions in a student's file: finding, removing and inserting them leaves every other byte unchanged."""

import pytest

from course.manifest import ROOT, course
from course.staff.handout import rewriter
from course.staff.handout.generate import write_names
from course.workspace import function_source

TEXT = '''"""A file."""
import functools


@functools.cache
def first(x: int = 1, *, f=lambda y: y) -> dict[str, int]:  # noqa
    """One."""
    # why

    return {
        "a": x
    }
    # the end


class A:
    # of A
    @property
    def name(self) -> str:
        return """two
  lines"""

    @name.setter
    def name(self, value):
        """Set."""

    def short(self): return 1

    if True:

        def outer(self):
            def inner(
                x,
            ):
                # only a comment above
                return x

            return inner
'''


def test_functions_are_found_by_path() -> None:
    found = function_source.find(TEXT)
    assert list(found) == ["first", "A.name", "A.name@setter", "A.short", "A.outer", "A.outer.inner"]
    assert TEXT[found["first"].start :].startswith("@functools.cache")
    assert TEXT[found["first"].code : found["first"].end] == '    # why\n\n    return {\n        "a": x\n    }\n    # the end\n'
    assert TEXT[found["A.short"].code : found["A.short"].end] == "return 1\n"
    assert TEXT[found["A.outer.inner"].code : found["A.outer.inner"].end] == (
        "                # only a comment above\n                return x\n"
    )


def test_every_function_of_a_stage_can_be_removed_and_restored() -> None:
    check_removed_and_restored(0)


def check_removed_and_restored(last: int) -> None:
    """Every function of the manifest up to a stage can be removed and restored."""
    count = 0
    for path, tasks in write_names(course(), last).items():
        reference = (ROOT / path).read_text(encoding="utf-8")
        test = path.startswith("tests/")
        stubs = rewriter.stub(reference, tasks, test)
        solutions = function_source.definitions(reference)
        assert function_source.graft(stubs, {name: solutions[name] for name in tasks}, whole={name for name in tasks if test}) == reference
        found = function_source.find(stubs)
        for name, task in tasks.items():
            assert f'raise NotImplementedError("Need to implement for Task {task}")' in stubs[found[name].code : found[name].end]
        count += len(tasks)
    assert count == sum(len(task.write) for task in course().tasks if task.stage <= last)


def test_adjacent_strings_are_reindented_and_lines_within_a_string_are_not() -> None:
    within = 'f"""c\n    d {self}\ne"""'
    text = f'class A:\n    def f(self):\n        return g(\n            f"{{self}} a"\n            "b",\n            {within}\n        )\n'
    moved = f'def f(self):\n    return g(\n        f"{{self}} a"\n        "b",\n        {within}\n    )\n'
    assert function_source.definitions(text) == {"A.f": moved}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_other_bytes_stay_and_inserted_lines_use_the_file_s_line_endings(end: str) -> None:
    text = "def f(x):\n    '''Doc.'''\n    raise NotImplementedError\n# below\n\n\nx = 1  \n".replace("\n", end)
    grafted = function_source.graft(text, {"f": 'def f(x):\n  """Other."""\n  if x:\n    return 2\n'})
    assert grafted == "def f(x):\n    '''Doc.'''\n    if x:\n      return 2\n# below\n\n\nx = 1  \n".replace("\n", end)


def test_an_inserted_body_takes_the_file_s_tabs_and_strings_stay() -> None:
    text = "class A:\n\tdef f(self):\n\t\tpass"
    grafted = function_source.graft(text, {"A.f": 'def f(self):\n    return """a\n    b"""\n'})
    assert grafted == 'class A:\n\tdef f(self):\n\t\treturn """a\n    b"""'


def test_a_function_without_a_docstring_takes_the_given_one() -> None:
    text = "class A:\n    def f(self):\n        raise NotImplementedError\n"
    grafted = function_source.graft(text, {"A.f": 'def f(self):\n  """Two\n  lines."""\n\n  return 1\n'})
    assert grafted == 'class A:\n    def f(self):\n        """Two\n  lines."""\n\n        return 1\n'
    assert function_source.graft("def f(): pass\n", {"f": "def f():\n    'One.'\n    return 1\n"}) == "def f():\n    'One.'\n    return 1\n"


def test_a_whole_function_brings_its_decorators_and_arguments() -> None:
    text = "import pytest\n\n@pytest.mark.task0_2\ndef test_a():\n    raise NotImplementedError\n\nx = 1\n"
    grafted = function_source.graft(text, {"test_a": "@mark\n@given(floats)\ndef test_a(x):\n    assert x\n"}, whole={"test_a"})
    assert grafted == "import pytest\n\n@mark\n@given(floats)\ndef test_a(x):\n    assert x\n\nx = 1\n"


def test_a_one_line_function_becomes_a_block_for_several_lines() -> None:
    assert function_source.graft("def f(x): return x\ny = 1\n", {"f": "def f(x):\n    x += 1\n    return x\n"}) == (
        "def f(x):\n    x += 1\n    return x\ny = 1\n"
    )


def test_a_function_and_a_nested_one_are_replaced_together() -> None:
    text = "def f():\n    def g():\n        return 1\n\n    return g\n\n\ndef h():\n    return 3\n"
    given = {"f.g": "def g():\n    x = 2\n    return x\n", "h": "def h():\n    return 4\n", "f": "def f():\n    return 5\n"}
    assert function_source.graft(text, given) == "def f():\n    return 5\n\n\ndef h():\n    return 4\n"


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("x = 1", {"f": "def f(): pass"}, "expected a function f, found none"),
        ("def f(): pass", {"f": "def g(): pass"}, "expected one definition, def f(…), got: def g(): pass"),
        ("def f(:", {"f": "def f(): pass"}, "line 1: not valid Python: invalid syntax"),
    ],
)
def test_a_replacement_that_does_not_fit_is_refused(text: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(function_source.Unreadable) as error:
        function_source.graft(text, given)
    assert str(error.value) == message


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfx = '\xc3\xa4'\r\n", b"# -*- coding: latin-1 -*-\nx = '\xe4'\n", b""])
def test_decoding_and_encoding_gives_the_same_bytes(data: bytes) -> None:
    text, codec = function_source.decode(data)
    assert text.encode(codec) == data


def test_undecodable_bytes_are_reported_with_their_line() -> None:
    with pytest.raises(
        function_source.Unreadable, match=r"^line 3: expected text in utf-8, got the byte 0xe4; save the file in the encoding UTF-8$"
    ):
        function_source.decode(b"x = 1\r\n\r\ny = '\xe4'\r\n")
    with pytest.raises(
        function_source.Unreadable,
        match=r"^line 1: expected a text in a known encoding: unknown encoding: klingon; save the file in the encoding UTF-8$",
    ):
        function_source.decode(b"# coding: klingon\n")


def test_an_encoding_that_the_file_declares_is_to_be_removed() -> None:
    remedy = "save the file in the encoding UTF-8 and remove the comment that declares ascii"
    with pytest.raises(function_source.Unreadable, match=rf"^line 2: expected text in ascii, got the byte 0xe9; {remedy}$"):
        function_source.decode(b"# coding: ascii\n# caf\xe9\n")


def test_a_function_is_found_in_an_invalid_python_file() -> None:
    text = (
        "class A:\n    @given\n    def f(\n        self,\n    ) -> None:\n        return ((\n\n    # of g\n    def g(self):\n        pass\n"
    )
    found = function_source.find_loosely(text, "A.f")
    assert found is not None
    assert text[found.start : found.end] == "    @given\n    def f(\n        self,\n    ) -> None:\n        return ((\n"
    assert function_source.find_loosely(text, "f") is None
