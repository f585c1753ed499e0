"""Find functions in Python files and replace their text line by line; all other bytes stay the same.

A function is named by its path, as in the manifest: `relu`, `Scalar.__add__`, `tensor_map._map`. For a property, `Scalar.name` is the
getter and `Scalar.name@setter` the setter.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from course.workspace.newer_syntax import newer_syntax

LINE_END = re.compile(r"\r\n|\r|\n")
"""The line ends that Python recognizes; `str.splitlines` recognizes more."""

OPENER = re.compile(r"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")


class Unreadable(ValueError):
    """A file that cannot be parsed.

    Args:
        reason: The reason.
        line: The line number, from 1; 0 if it is unknown.
    """

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.line = line


@dataclass(frozen=True)
class Function:
    """The location of a function in a text.

    Attributes:
        name: Its path.
        start: Offset of its first line, which may be a decorator.
        code: Offset of the first line after its docstring; for `def f(x): return x`, the offset of `return`.
        end: Offset of the line after its last one; comments indented like its body belong to it.
        indent: The indentation of `def`.
        inner: The indentation of its body.
        inline: Whether it is a single line.
        lines: Its first and last line, from 1.
        docstring: Offset of its docstring; None if it has none, or is a single line.
    """

    name: str
    start: int
    code: int
    end: int
    indent: str
    inner: str
    inline: bool
    lines: tuple[int, int]
    docstring: int | None = None


def decode(data: bytes) -> tuple[str, str]:
    """The text of a Python file with its original line ends, and the codec that encodes it to the same bytes, including a byte order mark.

    Raises:
        Unreadable: If the bytes are not valid in the encoding that the file declares, or in UTF-8 if it declares none.
    """
    try:
        try:
            codec, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError:
            data.decode("utf-8")  # this names the byte
            raise
        return data.decode(codec), codec
    except UnicodeDecodeError as error:
        declared = "" if error.encoding == "utf-8" else f" and remove the comment that declares {error.encoding}"
        got = f"expected text in {error.encoding}, got the byte 0x{data[error.start]:02x}"
        raise Unreadable(f"{got}; save the file in the encoding UTF-8{declared}", line_at(data, error.start)) from None
    except (SyntaxError, LookupError) as error:
        raise Unreadable(f"expected a text in a known encoding: {error}; save the file in the encoding UTF-8", 1) from None


def line_at(data: bytes, place: int) -> int:
    """The number of the line, from 1, that contains this byte."""
    return 1 + data[:place].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")


@lru_cache(maxsize=32)
def parse(text: str) -> ast.Module:
    """The syntax tree, which is shared and must not be changed; nothing is run.

    Raises:
        Unreadable: If the text is not valid Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        newer = newer_syntax(error.text or "")
        raise Unreadable(f"not valid Python: {error.msg}{f'; {newer}' if newer else ''}", error.lineno or 0) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"not valid Python: {error or 'too deep'}") from None


@lru_cache(maxsize=64)
def find(text: str) -> Mapping[str, Function]:
    """Every function of the text by its name; the last one if a name occurs twice.

    Raises:
        Unreadable: If the text is not valid Python.
    """
    lines = _Lines(text)
    return {name: _function(name, node, lines) for name, node in iter_functions(parse(text))}


def iter_functions(tree: ast.AST, path: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions below a node with their names, in the order of the text."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = path + node.name + _role(node)
            yield name, node
            yield from iter_functions(node, f"{name}.")
        elif isinstance(node, ast.ClassDef):
            yield from iter_functions(node, f"{path}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from iter_functions(node, path)


def definitions(text: str) -> dict[str, str]:
    """The text of every function by its name, including decorators, without indentation.

    Raises:
        Unreadable: If the text is not valid Python.
    """
    return {name: _reindent(text, function.start, function.end, function.indent, "") for name, function in find(text).items()}


def codes(text: str) -> dict[str, str]:
    """The code of every function after its docstring, by its name, without indentation and surrounding blank lines.

    Raises:
        Unreadable: If the text is not valid Python.
    """
    found = find(text)
    return {name: unix(_block(text, function, "").strip("\r\n")).rstrip() for name, function in found.items()}


def graft(text: str, given: Mapping[str, str], whole: Collection[str] = ()) -> str:
    """The text with the named functions replaced by given ones.

    Args:
        text: Python source.
        given: A definition by function name: `def relu(x): …`, as `definitions` has them. Its last name must be the function's.
        whole: Functions whose decorators, arguments and docstring are replaced too, not only the code after the docstring. If the text has
            no docstring for a function, the given one is used in any case.

    Raises:
        Unreadable: If the text has no such function, a given text is not a single definition of that name, or one is not valid Python.
    """
    found = find(text)
    if missing := [name for name in given if name not in found]:
        raise Unreadable(f"expected a function {missing[0]}, found none")
    below = len(text) + 1
    for name in sorted(given, key=lambda name: found[name].start, reverse=True):  # from the end, so that the other offsets stay valid
        definition = given[name]
        target = found[name] if found[name].end <= below else find(text)[name]  # it contains the previous one
        below = target.start
        expected = name.split("@")[0].rpartition(".")[2]
        nodes = parse(definition).body
        if len(nodes) != 1 or not isinstance(nodes[0], (ast.FunctionDef, ast.AsyncFunctionDef)) or nodes[0].name != expected:
            raise Unreadable(f"expected one definition, def {expected}(…), got: {(definition.strip().splitlines() or ['nothing'])[0]}")
        source = find(definition)[expected + _role(nodes[0])]
        text = replace_whole(text, target, definition, source) if name in whole else _replace_code(text, target, definition, source)
    return text


def replace_whole(text: str, target: Function, other: str, source: Function) -> str:
    """The text with one function replaced by a function of another text, including decorators, arguments and docstring."""
    return _splice(text, target.start, target.end, _reindent(other, source.start, source.end, source.indent, target.indent))


def find_loosely(text: str, name: str) -> Function | None:
    """The location of a function in a text that is not valid Python, found by indentation alone; None if it is not found."""
    lines = _Lines(text)
    path: list[tuple[int, str]] = []
    for number, line in enumerate(lines.texts):
        opener = OPENER.match(line)
        if opener is None:
            continue
        depth = _depth(line)
        path = [*(entry for entry in path if entry[0] < depth), (depth, opener[2])]
        if ".".join(part for _, part in path) != name:
            continue
        first = number
        while first and lines.texts[first - 1].startswith(f"{opener[1]}@"):
            first -= 1
        last = number
        for below in range(number + 1, len(lines.texts)):
            other = lines.texts[below]
            if other.strip() and not other.lstrip().startswith(("#", ")")) and _depth(other) <= depth:
                break
            last = below if (other.strip() and _depth(other) > depth) or other.lstrip().startswith(")") else last
        start, end = lines.starts[first], lines.starts[last + 1]
        return Function(name, start, end, end, opener[1], opener[1] + "    ", False, (first + 1, last + 1))
    return None


def unix(text: str) -> str:
    """The text with line feeds as line ends, because editors and git change line ends."""
    return LINE_END.sub("\n", text)


def line_end(text: str) -> str:
    """The most frequent line end of a text."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


class _Lines:
    """The lines of a text and their offsets.

    Attributes:
        starts: The offset of each line, and of the end of the text.
        texts: Each line without its line end.
    """

    def __init__(self, text: str) -> None:
        ends = list(LINE_END.finditer(text))
        self.starts = [0, *(end.end() for end in ends)]
        self.texts = [text[start : end.start()] for start, end in zip(self.starts, ends, strict=False)]
        if self.starts[-1] < len(text):
            self.texts.append(text[self.starts[-1] :])
            self.starts.append(len(text))

    def place(self, line: int, column: int) -> int:
        """The offset of a node's line and column; the column counts bytes of UTF-8."""
        return self.starts[line - 1] + len(self.texts[line - 1].encode()[:column].decode())


def _function(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, lines: _Lines) -> Function:
    first = min(node.lineno, *(line.lineno for line in node.decorator_list)) if node.decorator_list else node.lineno
    indent = lines.texts[node.lineno - 1][: len(lines.texts[node.lineno - 1]) - len(lines.texts[node.lineno - 1].lstrip(" \t\f"))]
    statement = node.body[0]
    place = lines.place(statement.lineno, statement.col_offset)
    before = lines.texts[_first_line(statement) - 1][: place - lines.starts[_first_line(statement) - 1]]
    last = node.end_lineno or node.lineno
    if before.strip():
        return Function(name, lines.starts[first - 1], place, lines.starts[last], indent, indent + "    ", True, (first, last))
    inner = re.match(r"[ \t\f]*", lines.texts[_first_line(statement) - 1])[0]  # type: ignore[index]  # it always matches
    for number in range(last, len(lines.texts)):
        comment = lines.texts[number].lstrip()
        if comment and not (comment.startswith("#") and _depth(lines.texts[number]) > _depth(indent + "x")):
            break
        last = number + 1 if comment else last
    documented = ast.get_docstring(node, clean=False) is not None
    alone = len(node.body) == 1 or node.body[1].lineno > (statement.end_lineno or 0)
    header = _header_end(node, lines)
    code = (statement.end_lineno or 0) if documented and alone else header
    docstring = lines.starts[header] if documented and alone else None
    return Function(name, lines.starts[first - 1], lines.starts[code], lines.starts[last], indent, inner, False, (first, last), docstring)


def _first_line(statement: ast.stmt) -> int:
    """The line of a statement, or of its first decorator."""
    return min([statement.lineno, *(line.lineno for line in getattr(statement, "decorator_list", []))])


def _header_end(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: _Lines) -> int:
    """The number of the line that contains the colon of `def`."""
    after = (node.returns.end_lineno or 0, node.returns.end_col_offset or 0) if node.returns else (0, 0)
    header = lines.texts[node.lineno - 1 : _first_line(node.body[0]) - 1]
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO("\n".join([*header, ""])).readline):
        line = token.start[0] + node.lineno - 1
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        if token.type == tokenize.OP and token.string == ":" and depth == 0 and (line, token.start[1]) >= after:
            return line
    return node.lineno


def _role(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The suffix of a name: "@setter" and similar for the parts of a property, "@overload" for an overload."""
    for line in node.decorator_list:
        last = ast.unparse(line).split(".")[-1]
        if last in ("setter", "getter", "deleter", "overload"):
            return f"@{last}"
    return ""


def _depth(line: str) -> int:
    """The indentation of a line; tabs count as in Python."""
    return len(line) - len(line.lstrip(" \t")) if "\t" not in line else len(line.expandtabs()) - len(line.expandtabs().lstrip())


def _replace_code(text: str, target: Function, other: str, source: Function) -> str:
    """The text with the code of one function, after its docstring, replaced by that of a function of another text."""
    block = _block(other, source, target.inner)
    if target.docstring is None and source.docstring is not None:
        block = _reindent(other, source.docstring, source.code, source.inner, target.inner) + block
    if target.inline:
        return _splice(text, len(text[: target.code].rstrip(" \t")), target.end, "\n" + block)
    return _splice(text, target.code, target.end, block)


def _splice(text: str, start: int, end: int, new: str) -> str:
    """The text with a range of lines replaced; the new lines get the line ends of the text."""
    new = unix(new)
    if end < len(text) and not new.endswith("\n"):
        new += "\n"
    elif end == len(text) and text[-1:] not in "\r\n":
        new = new.removesuffix("\n")
    return text[:start] + new.replace("\n", line_end(text)) + text[end:]


def _block(text: str, function: Function, indent: str) -> str:
    """The lines of a function after its docstring, with this indentation."""
    if function.inline:
        return indent + text[function.code : function.end]
    return _reindent(text, function.code, function.end, function.inner, indent)


def _reindent(text: str, start: int, end: int, old: str, new: str) -> str:
    """These lines with a new indentation; the contents of multi-line strings do not change."""
    if old == new:
        return text[start:end]
    fixed = _in_strings(text)
    moved = []
    number = len(LINE_END.findall(text, 0, start)) + 1
    while start < end:
        match = LINE_END.search(text, start, end)
        line = text[start : match.end() if match else end]
        moved.append(new + line[len(old) :] if number not in fixed and line.startswith(old) and line.strip() else line)
        start, number = start + len(line), number + 1
    return "".join(moved)


@lru_cache(maxsize=32)
def _in_strings(text: str) -> frozenset[int]:
    """The lines that begin within a string."""
    lines: set[int] = set()
    starts: list[int] = []  # lines of the open f-strings
    for token in tokenize.generate_tokens(io.StringIO(unix(text)).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            lines.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind.endswith("STRING_START"):  # Python 3.12 and later
            starts.append(token.start[0])
        elif kind.endswith("STRING_END"):
            lines.update(range(starts.pop() + 1, token.end[0] + 1))
    return frozenset(lines)
