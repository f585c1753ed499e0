"""Finds code in a submission that no correct answer needs. Findings ask a teacher to look at the code; they never change a mark.

Probes give the mark to any correct answer, and the visible tests run in the same process as the code under test. Code that has a library
compute the answer, calls the solution of another task, or modifies the tests can therefore earn a mark and hide how. This module reads
the source instead of running it, so it finds only what is written openly. The sandbox, not this module, protects the teacher's files.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from course.manifest import Manifest
from course.staff.grading.bases import Base, prerequisites
from course.staff.grading.grafting import Graft
from course.staff.grading.reading import decode_source
from course.workspace import function_source


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON_PACKAGES = _names(
    "__future__ abc bisect collections copy dataclasses enum functools heapq itertools math minitorch numba numbers numpy operator "
    "project random typing typing_extensions warnings"
)
"""Packages that correct answers import."""

TEST_PACKAGES = _names("hypothesis pytest tests")
"""Further packages that tests import. Tests may not import random: a test that fails at random detects nothing."""

UNSAFE_NAMES = _names(
    "_getframe _thread atexit builtins ctypes f_back f_builtins f_globals f_locals gc gi_frame importlib inspect objmode os signal "
    "subprocess sys tb_frame threading __builtins__ __closure__ __code__ __globals__ __import__ __loader__ __spec__ __subclasses__"
)
"""Names that give access to the interpreter, the operating system or other code, in any scope."""

UNSAFE_CALLS = _names("__import__ breakpoint compile delattr eval exec getattr globals hasattr input locals open setattr")
"""Built-in functions that give such access; those in `ATTRIBUTE_CALLS` are allowed with a literal attribute name."""

ATTRIBUTE_CALLS = _names("delattr getattr hasattr setattr")
"""Built-in functions that take the name of an attribute."""

NUMPY_SOLUTIONS = _names(
    "apply_along_axis as_strided broadcast broadcast_arrays broadcast_shapes broadcast_to convolve correlate ctypeslib dot einsum fft "
    "frompyfunc inner lib linalg matmul nditer ndindex outer ravel_multi_index sliding_window_view stride_tricks tensordot testing "
    "unravel_index vdot vectorize"
)
"""NumPy functions that compute what a task asks for, and NumPy modules that contain such functions."""

VALUE_TYPES = _names("bool complex dict float frozenset int list ndarray object set str tuple type")
"""Types of answers; a subclass can misreport its value."""

DECEPTIVE_METHODS = _names(
    "__abs__ __array__ __array_function__ __array_interface__ __array_ufunc__ __bool__ __class__ __eq__ __float__ __ge__ __getattr__ "
    "__getattribute__ __gt__ __hash__ __iter__ __le__ __len__ __lt__ __ne__ __reduce__ __reduce_ex__ __repr__ __str__"
)
"""Methods with which an object can misreport its value."""


def find_unusual(base: Base, work: Graft, submitted: Mapping[str, bytes], manifest: Manifest) -> list[str]:
    """Find what the student's code of a task does that no correct answer needs.

    Args:
        base: The base of the task.
        work: The student's work in it.
        submitted: The student's files by path; solutions of other tasks in them may be called.
        manifest: The course.

    Returns:
        A phrase for each finding, for the teacher.
    """
    unavailable = _unavailable_functions(base, submitted, manifest)
    found: list[str] = []
    for path, text in work.files.items():
        original = str(base.files[path])
        before = Counter(_findings(path, original, unavailable))
        for finding in _findings(path, text, unavailable):
            if before[finding]:
                before[finding] -= 1
            else:
                found.append(" ".join(finding))
    return list(dict.fromkeys(found))


def _unavailable_functions(base: Base, submitted: Mapping[str, bytes], manifest: Manifest) -> frozenset[str]:
    """Functions of tasks that are not prerequisites and that the student has not written, with all their aliases."""
    found: set[str] = set()
    task, earlier = base.task, prerequisites(base.task, manifest)
    others = [other for other in manifest.tasks if other.stage == task.stage and other.id not in {task.id, *earlier}]
    for path, wanted in [(path, other.names_in(path)) for other in others for path in other.files if path in base.files]:
        wanted = {name for name in wanted if "." not in name} - set(task.names_in(path))
        try:
            theirs = function_source.codes(decode_source(submitted[path])) if path in submitted else {}
        except (function_source.Unreadable, RecursionError):
            theirs = {}
        missing = {name for name in wanted if name not in theirs or "Need to implement for Task" in theirs[name]}
        found |= missing
        for node in function_source.parse(str(base.files[path])).body:  # tensor_conv2d = njit(_tensor_conv2d, parallel=True)
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if value is not None and missing & {name.id for name in ast.walk(value) if isinstance(name, ast.Name)}:
                found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    return frozenset(found - set(dir(builtins)))


def _findings(path: str, text: str, unavailable: Collection[str]) -> Iterator[tuple[str, str]]:
    """The findings in a file, as pairs of a qualified name and a phrase."""
    tree = function_source.parse(text)
    reviewer = _Reviewer(path, unavailable, tree)
    reviewer.visit(tree)
    yield from reviewer.found


class _Reviewer(ast.NodeVisitor):
    """Collects findings in the syntax tree of a file.

    Args:
        path: The path of the file.
        unavailable: Functions that the code should not call.
        tree: The syntax tree.

    Attributes:
        found: Pairs of the qualified name of a function or class, and a phrase.
    """

    def __init__(self, path: str, unavailable: Collection[str], tree: ast.Module) -> None:
        self.found: list[tuple[str, str]] = []
        self._is_test = path.startswith("tests/")
        self._is_cuda = "cuda" in path
        self._is_program = path.startswith("project/")
        self._unavailable = unavailable
        self._scope: list[str] = []
        imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        aliases = [alias for node in imports for alias in node.names]
        self._imported = {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        self._imported |= {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self._numpy = {"numpy", *(alias.asname for alias in aliases if alias.name == "numpy" and alias.asname)}

    def _add(self, what: str) -> None:
        self.found.append((".".join(self._scope) or "the module", what))

    def _visit_scope(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_scope

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Check for a class that can misreport its value."""
        bases = {name for base in node.bases if (name := _last_name(base)) in VALUE_TYPES - {"object"}}
        deceptive = [name for line in node.body for name in _bound_names(line) if name in DECEPTIVE_METHODS]
        if bases or node.keywords:
            self._add(f"defines {node.name}, a class derived from {min(bases, default='a metaclass')}")
        else:
            for name in deceptive:  # each, because given classes have some
                self._add(f"defines {node.name}, a class with {name}")
        self._visit_scope(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Check for uncommon packages."""
        for alias in node.names:
            self._check_package(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Check for uncommon packages and functions."""
        if not node.level:
            self._check_package(node.module or "")
        for alias in node.names:
            self._check_name(alias.name)
            if (node.module or "").partition(".")[0] == "numpy" and alias.name in NUMPY_SOLUTIONS:
                self._add(f"uses numpy.{alias.name}")

    def _check_package(self, module: str) -> None:
        root = module.partition(".")[0]
        common = (COMMON_PACKAGES - {"random"}) | TEST_PACKAGES if self._is_test else COMMON_PACKAGES
        if root not in common:
            self._add(f"imports {root}")
        for part in module.split(".")[1:]:
            self._check_name(part)

    def _check_name(self, name: str) -> None:
        if name in UNSAFE_NAMES:
            self._add(f"uses {name}")
        if name in self._unavailable:
            self._add(f"calls {name}, which belongs to another task and is missing from this submission")

    def visit_Name(self, node: ast.Name) -> None:
        """Check for an unsafe name, and for the solution of another task."""
        self._check_name(node.id)
        if node.id == "central_difference" and self._scope[-1:] == ["backward"]:
            self._add("differentiates with finite differences")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Check for an unsafe name, a NumPy solution, and a change of imported code."""
        self._check_name(node.attr)
        if (
            isinstance(node.value, ast.Name)
            and node.value.id in self._numpy
            and (node.attr in NUMPY_SOLUTIONS or (self._is_test and node.attr == "random"))
        ):
            self._add(f"uses numpy.{node.attr}")
        if isinstance(node.ctx, (ast.Store, ast.Del)) and (_first_name(node) in self._imported or node.attr == "__class__"):
            self._add(f"changes {ast.unparse(node)}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Check for a call of an unsafe built-in function, and of type with three arguments."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ATTRIBUTE_CALLS and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            changes = name in ("setattr", "delattr") and _first_name(node.args[0]) in self._imported
            if changes or str(node.args[1].value) in UNSAFE_NAMES | {"_ary"}:
                self._add(f"calls {ast.unparse(node)}")
        elif name in UNSAFE_CALLS:
            self._add(f"calls {name}")
        elif name == "type" and len(node.args) == 3:
            self._add("calls type to create a class")
        elif name == "range" and self._is_cuda and len(node.args) < 3 and _last_name(node.args[-1]) == "out_size":
            self._add("loops over all elements in one thread")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Check for a matrix product of arrays. Programs multiply tensors."""
        if isinstance(node.op, ast.MatMult) and not self._is_program:
            self._add("uses @")
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        """Check for a function that is replaced at run time."""
        for name in node.names:
            if name in self._imported:
                self._add(f"replaces {name}")


def _last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _first_name(node: ast.expr) -> str:
    """The first part of a dotted name; empty if it starts with another expression."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _bound_names(node: ast.stmt) -> list[str]:
    """The names that a statement in a class body binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
