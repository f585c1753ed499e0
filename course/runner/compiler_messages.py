"""numba's error messages: the innermost one, the line that it is about, and what to write instead."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path

INSTEAD = (
    (r"Untyped global name 'reversed'", "count down with range(n - 1, -1, -1); compiled code has no reversed"),
    (r"Untyped global name '(any|all|map|filter|isinstance|getattr|eval|open|set|dict|sorted)'", "a loop; compiled code has no {0}"),
    (
        r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'function'>",
        "the lines of {0} here, or compile it first: {0} = njit({0}); compiled code calls only compiled functions",
    ),
    (
        r"Untyped global name '(\w+)': Cannot determine Numba type of <class '(?:\w+\.)*(\w+)'>",
        "the numbers or arrays that it needs; compiled code cannot use {0}, an object of class {1}",
    ),
    (
        r"Unknown attribute '(\w+)' of type Module\(<module '([\w.]+)'",
        "an operator or a loop, or import the function by its name and compile it; compiled code cannot use {1}.{0}",
    ),
    (r"Unknown attribute '(\w+)' of type array", "a loop over the array; a compiled array has no {0}"),
    (r"got an unexpected keyword argument '(\w+)'", "the call without {0}=, or a loop; the compiled function does not take it"),
    (r">>> tuple\(array", "the array itself; the compiler must know the length of a tuple"),
    (r">>> (?:empty|zeros|ones)\(array", "the number of elements, such as len(shape), as the first argument"),
    (
        r"Cannot parse input types to function np\.\w+\(.*Function\(<class '(\w+)'>\)",
        "a dtype of NumPy, such as np.int32 or np.float64, for {0}",
    ),
    (r">>> range\(array", "range(len(shape)); range takes numbers, not an array"),
    (r">>> (?:int|float)\(array", "one element of the array, such as shape[0]; int and float take numbers"),
    (r">>> setitem\((?:Uni)?Tuple", "an array, such as np.empty(len(shape), np.int32); a tuple cannot be changed"),
    (r">>> setitem\((?:int|float)", "a variable of another name; this one is a number, not an array"),
    (r">>> getitem\((?:int|float)", "the number without an index; it is a number, not an array"),
    (
        r"Cannot unify (.+?) and (.+?) for '(\w+)(?:\.\d+)?'",
        "two variables; {2} is {0} on one path and {1} on another, but a variable keeps one type",
    ),
    (
        r"(?:>>> \w+\(.*|Unsupported use of .*)(?:reflected )?list\(",
        "np.empty(len(shape), np.int32) for an index; pass arrays to compiled functions, not lists",
    ),
    (r"have imprecise type: (?:list|DictType)", "np.empty or np.zeros; the compiler must know what a list or dict holds"),
    (r"yield in a closure", "a loop; compiled code has no generator expressions"),
    (r"print\(\) function implementation does not support keyword", "print(a, b); compiled code prints without sep, end or file"),
    (
        r"Exception object cannot be stored",
        "a check before, or “except” without “as”; compiled code knows no exception's value",
    ),
    (r"unsupported opcode \(IMPORT_NAME\)", "the import at the beginning of the file"),
    (r"unsupported opcode \(STORE_GLOBAL\)", "a return value or an array; compiled code cannot assign a global variable"),
    (r"'with \(context manager\)", "the lines without “with”; compiled code knows no context managers"),
    (r"cell variable", "a function outside; compiled code knows no functions that call themselves from within another one"),
)
"""For a pattern in the innermost message, what to write instead; {0} is its first group."""


def from_compiler(error: BaseException) -> bool:
    """Whether numba raised the error, as one of its own or while it read the code that it compiles."""
    if type(error).__module__.startswith("numba."):
        return True
    frames = [Path(frame.f_code.co_filename).parts for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and "numba" in frames[-1] and "cuda" not in frames[-1]


def innermost(message: str) -> str:
    """The message about the line that cannot be compiled, without those about the functions that call it.

    numba begins with the innermost line. Of the many functions that it tried to call there, only the reasons for the mismatches are kept.
    """
    before = re.split(r'^ *(?:File ".+", line \d+:|During: |raised from |For Numba to be able)', message, maxsplit=1, flags=re.MULTILINE)[0]
    about, _, tried = re.split(r"^.*Failed in .*pipeline.*$", before, flags=re.MULTILINE)[-1].partition("There are ")
    about = re.sub(r"Function\(<(?:(?:built-in )?function|class) '?([\w.]+?)'?(?: at 0x\w+)?>\)", r"\1", about)
    lines = [re.sub("^>", " >", line.strip()) for line in about.splitlines() if line.strip() and "Resolution failure" not in line]
    reasons = re.findall(r"^ *\w*Error: (.+)$", tried, re.MULTILINE)
    return "\n".join(lines + list(dict.fromkeys(re.sub(r'.* due to "\w+: (.+)"\.$', r"\1", reason) for reason in reasons)))


def is_about_compiling(line: str) -> bool:
    """Whether an error's line, its type and message, comes from numba's compiler."""
    return re.match(r"(Typing|Lowering|Unsupported\w*|NumbaValue|NumbaType|Constant\w*)Error: ", line) is not None


def instead(message: str) -> str:
    """What to write instead of the line that a message is about; "" if that is not known."""
    for pattern, advice in INSTEAD:
        if found := re.search(pattern, message):
            return advice.format(*found.groups())
    return ""


def lines_named(message: str) -> Iterator[tuple[str, int]]:
    """The files and lines that a message names, the innermost first."""
    for file, line in re.findall(r'^ *File "(.+)", line (\d+):', message, re.MULTILINE):
        yield file, int(line)
    for file, line in re.findall(r"Raised from (\S+) \((\d+)\)", message):
        yield file, int(line)
