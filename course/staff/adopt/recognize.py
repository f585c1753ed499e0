"""Recognize a submission of the original MiniTorch course, by its paths and by what its files contain.

The files are searched as text: they may come from anybody, and here they are read outside the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

FIRST = "minitorch/operators.py"
"""A file that every module of this course and of the original one has."""

ORIGINAL_ONLY = (
    "minitorch/nn.py",
    "sync_previous_module.py",
    "files_to_sync.txt",
    "run_tests.py",
    "project/interface",
    "tests/test_tensor_general.py",
)
"""Files and folders that only the original course has."""

OURS = re.compile(rb'^(""")?Stage \d - |^[ \t]*from (minitorch\.(core|kernels)|project\.lab|course)\b', re.MULTILINE)
"""Lines that only given files of this course have."""

ORIGINAL_LINES = re.compile(
    rb"^[ \t]*("
    rb"# ## Task \d|# TODO: Implement for Task \d|# (END )?ASSIGN ?\d"
    rb"|from typing_extensions import"
    rb"|def (wrap_tuple|unwrap_tuple|default_log_fn|RParam|_new|_ensure_tensor)\("
    rb"|class (Lt|Eq|Gt|Relu|MapProto|(Scalar|Tensor|Fast|Image|SentenceSentiment)Train)\b"
    rb"|(variable_count|_var_count|_tensor_count|datasets) = "
    rb"|(to_index|index_to_position|broadcast_index) = \w*jit"
    rb")",
    re.MULTILINE,
)
"""Lines of the code and comments that the original course gives to its students, and this course does not."""

RELATIVE_IMPORT = re.compile(rb"^[ \t]*from \.\w* import", re.MULTILINE)
"""How modules of the original package import each other. The modules of this course name the package."""

OPERATORS = (
    "mul",
    "id",
    "add",
    "neg",
    "lt",
    "eq",
    "max",
    "is_close",
    "sigmoid",
    "relu",
    "log",
    "exp",
    "inv",
    "log_back",
    "inv_back",
    "map",
)
"""Functions of both courses in `minitorch/operators.py`."""

GIVEN_LINES = (
    b"# Comparisons: 1.0 for true, 0.0 for false, so that they stay numbers",
    b"# Activations and elementary functions",
    b"# Derivatives: ",
    b'"""Shift inside `log`, ',
)
"""Beginnings of lines that only this course gives there."""


def is_original(paths: Collection[str], contents: Mapping[str, bytes]) -> bool:
    """Whether a submission comes from the original course.

    Args:
        paths: The paths of all its files.
        contents: The contents of the files in which students write, by path.
    """
    tops = {path.removesuffix(FIRST) for path in paths if path.endswith(FIRST)}
    if any(path.startswith(f"{top}{mark}") for top in tops for mark in ORIGINAL_ONLY for path in paths):
        return True
    if any(OURS.search(text) for text in contents.values()):
        return False
    return any(_is_original_file(path, text) for path, text in contents.items())


def _is_original_file(path: str, text: bytes) -> bool:
    """Whether a file contains what only the original course gives, or nothing of what this course gives."""
    in_package = f"/{path}".rpartition("/")[0].endswith("/minitorch")
    if ORIGINAL_LINES.search(text) or (in_package and RELATIVE_IMPORT.search(text)):
        return True
    functions = {name.decode("ascii") for name in re.findall(rb"^def (\w+)\(", text, re.MULTILINE) if name.isascii()}
    given = any(line.startswith(GIVEN_LINES) for line in text.splitlines())
    return path.endswith(FIRST) and set(OPERATORS) <= functions and not given
