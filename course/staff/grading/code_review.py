"""What a student's code does that no right answer needs: a reason for somebody to look at it, never a reason for another mark.

Probes give the mark to whoever answers rightly, and the visible tests run in the same process as the code that they test. So code that has
a library compute the answer, calls the answer to another task, or changes the tests can earn a mark and hide it. This module reads the code
instead of running it. It sees what is written plainly; nothing here is needed to keep a submission from the teacher's files.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from course.manifest import Manifest
from course.staff.grading.bases import Base, needed
from course.staff.grading.grafting import Graft
from course.staff.grading.reading import readable
from course.workspace import function_source


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


USUAL = _names(
    "__future__ abc bisect collections copy dataclasses enum functools heapq itertools math minitorch numba numbers numpy operator "
    "project random typing typing_extensions warnings"
)
"""Packages that right answers import."""

IN_TESTS = _names("hypothesis pytest tests")
"""Packages that tests import besides these; random is not among them, because a test that fails by chance notices nothing."""

REACHING_OUT = _names(
    "_getframe _thread atexit builtins ctypes f_back f_builtins f_globals f_locals gc gi_frame importlib inspect objmode os signal "
    "subprocess sys tb_frame threading __builtins__ __closure__ __code__ __globals__ __import__ __loader__ __spec__ __subclasses__"
)
"""Names through which code reaches the interpreter, the system, or other code, wherever they come from."""

CALLED = _names("__import__ breakpoint compile delattr eval exec getattr globals hasattr input locals open setattr")
"""Built-in functions that do so; those of attributes may be called with the attribute's name written out."""

BY_NAME = _names("delattr getattr hasattr setattr")

ANSWERS = _names(
    "apply_along_axis as_strided broadcast broadcast_arrays broadcast_shapes broadcast_to convolve correlate ctypeslib dot einsum fft "
    "frompyfunc inner lib linalg matmul nditer ndindex outer ravel_multi_index sliding_window_view stride_tricks tensordot testing "
    "unravel_index vdot vectorize"
)
"""Functions of NumPy that do what a task is about, and modules of it with such functions."""

VALUES = _names("bool complex dict float frozenset int list ndarray object set str tuple type")
"""Types of answers: a class derived from one may lie about its value."""

LIES = _names(
    "__abs__ __array__ __array_function__ __array_interface__ __array_ufunc__ __bool__ __class__ __eq__ __float__ __ge__ __getattr__ "
    "__getattribute__ __gt__ __hash__ __iter__ __le__ __len__ __lt__ __ne__ __reduce__ __reduce_ex__ __repr__ __str__"
)
"""Methods by which an object of a class of the student's may do so."""


def unusual(base: Base, taken: Graft, submitted: Mapping[str, bytes], manifest: Manifest) -> list[str]:
    """What the student's code of a task does that no right answer needs, in words for the teacher.

    Args:
        base: The base of the task.
        taken: The student's work in it.
        submitted: The student's files by path: the answers to other tasks that they hold may be called.
        manifest: The course.
    """
    foreign = _foreign(base, submitted, manifest)
    found: list[str] = []
    for path, text in taken.files.items():
        given = str(base.files[path])
        before = Counter(_findings(path, given, foreign))
        for finding in _findings(path, text, foreign):
            if before[finding]:
                before[finding] -= 1
            else:
                found.append(" ".join(finding))
    return list(dict.fromkeys(found))


def _foreign(base: Base, submitted: Mapping[str, bytes], manifest: Manifest) -> frozenset[str]:
    """The functions of tasks that this one does not build on, where the student has not written them, by all their names."""
    found: set[str] = set()
    task, earlier = base.task, needed(base.task, manifest)
    others = [other for other in manifest.tasks if other.stage == task.stage and other.id not in {task.id, *earlier}]
    for path, wanted in [(path, other.names_in(path)) for other in others for path in other.files if path in base.files]:
        wanted = {name for name in wanted if "." not in name} - set(task.names_in(path))
        try:
            theirs = function_source.codes(readable(submitted[path])) if path in submitted else {}
        except (function_source.Unreadable, RecursionError):
            theirs = {}
        missing = {name for name in wanted if name not in theirs or "Need to implement for Task" in theirs[name]}
        found |= missing
        for node in function_source.parse(str(base.files[path])).body:  # tensor_conv2d = njit(_tensor_conv2d, parallel=True)
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if value is not None and missing & {name.id for name in ast.walk(value) if isinstance(name, ast.Name)}:
                found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    return frozenset(found - set(dir(builtins)))


def _findings(path: str, text: str, foreign: Collection[str]) -> Iterator[tuple[str, str]]:
    """All in a file that no right answer needs, as pairs of where it is and what it is."""
    tree = function_source.parse(text)
    reviewer = _Reviewer(path, foreign, tree)
    reviewer.visit(tree)
    yield from reviewer.found


class _Reviewer(ast.NodeVisitor):
    """Reads a file.

    Args:
        path: Its path.
        foreign: Functions that it should not call.
        tree: The file.

    Attributes:
        found: Pairs of a function and what it does.
    """

    def __init__(self, path: str, foreign: Collection[str], tree: ast.Module) -> None:
        self.found: list[tuple[str, str]] = []
        self._is_test = path.startswith("tests/")
        self._is_cuda = "cuda" in path
        self._foreign = foreign
        self._scope: list[str] = []
        imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        aliases = [alias for node in imports for alias in node.names]
        self._imported = {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        self._imported |= {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self._numpy = {"numpy", *(alias.asname for alias in aliases if alias.name == "numpy" and alias.asname)}

    def _add(self, what: str) -> None:
        self.found.append((".".join(self._scope) or "the module", what))

    def _within(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = _within

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class that may lie about its value."""
        bases = {name for base in node.bases if (name := _last(base)) in VALUES - {"object"}}
        lies = [name for line in node.body for name in _defined(line) if name in LIES]
        if bases or node.keywords:
            self._add(f"defines {node.name}, a class derived from {min(bases, default='a metaclass')}")
        elif lies:
            self._add(f"defines {node.name}, a class with {lies[0]}")
        self._within(node)

    def visit_Import(self, node: ast.Import) -> None:
        """A package that right answers do not import."""
        for alias in node.names:
            self._package(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Likewise, and functions that they do not use."""
        if not node.level:
            self._package(node.module or "")
        for alias in node.names:
            self._name(alias.name)
            if (node.module or "").partition(".")[0] == "numpy" and alias.name in ANSWERS:
                self._add(f"uses numpy.{alias.name}")

    def _package(self, module: str) -> None:
        root = module.partition(".")[0]
        usual = (USUAL - {"random"}) | IN_TESTS if self._is_test else USUAL
        if root not in usual:
            self._add(f"imports {root}")
        for part in module.split(".")[1:]:
            self._name(part)

    def _name(self, name: str) -> None:
        if name in REACHING_OUT:
            self._add(f"uses {name}")
        if name in self._foreign:
            self._add(f"calls {name}, which another task asks for and this submission does not have")

    def visit_Name(self, node: ast.Name) -> None:
        """A name that reaches out, or stands for the answer to another task."""
        self._name(node.id)
        if node.id == "central_difference" and self._scope[-1:] == ["backward"]:
            self._add("differentiates by differences")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Likewise, and a function of NumPy that does what the task is about."""
        self._name(node.attr)
        if (
            isinstance(node.value, ast.Name)
            and node.value.id in self._numpy
            and (node.attr in ANSWERS or (self._is_test and node.attr == "random"))
        ):
            self._add(f"uses numpy.{node.attr}")
        if isinstance(node.ctx, (ast.Store, ast.Del)) and (_root(node) in self._imported or node.attr == "__class__"):
            self._add(f"changes {ast.unparse(node)}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A call of a built-in function that reaches out, or of type to make a class."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in BY_NAME and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            changes = name in ("setattr", "delattr") and _root(node.args[0]) in self._imported
            if changes or str(node.args[1].value) in REACHING_OUT | {"_ary"}:
                self._add(f"calls {ast.unparse(node)}")
        elif name in CALLED:
            self._add(f"calls {name}")
        elif name == "type" and len(node.args) == 3:
            self._add("calls type to make a class")
        elif name == "range" and self._is_cuda and len(node.args) < 3 and _last(node.args[-1]) == "out_size":
            self._add("loops over all elements in one thread")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """The matrix product of arrays."""
        if isinstance(node.op, ast.MatMult):
            self._add("uses @")
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        """A function that is replaced while it runs."""
        for name in node.names:
            if name in self._imported:
                self._add(f"replaces {name}")


def _last(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.expr) -> str:
    """The first part of a dotted name; empty if it begins with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a class binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
