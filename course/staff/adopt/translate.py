"""Translate files of the original course: their names, their imports, and how they pass dimensions.

Only the interface of the code that the original course gave to all students is translated, never an answer.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Collection, Mapping, Sequence

import libcst as cst
import libcst.matchers as m

from course.staff.adopt.original import absolute_module
from course.staff.adopt.prune import bindings, prune
from course.workspace import function_source
from course.workspace.signatures import signatures

ATTRIBUTES = {"_new": "_like", "_strides": "strides", "_shape": "shape"}
"""Attributes by their names in the original course, with their names here."""

SIZES = {"in_size": "weights.value.shape[0]", "out_size": "bias.value.shape[0]"}
"""Attributes of layers that the layers of this course lack, with expressions for them."""

ONE_DIM, MANY_DIMS = ("Sum", "All", "Max"), ("Permute", "View")
"""Functions that take one dimension, and functions that take several. The original course passes both as tensors."""

TENSOR_ATTRIBUTES = {"item", "size", "shape", "dims", "to_numpy", "_tensor", "tuple"}
"""Attributes that show that a function reads its dimensions from a tensor."""

KERNELS = {"minitorch/fast_ops.py", "minitorch/fast_conv.py", "minitorch/cuda_ops.py", "minitorch/cuda_conv.py"}
"""Files whose kernels given code compiles. Decorators of the kernels are dropped."""

BLOCKS = {("tensor_reduce", "1024"): "REDUCE_BLOCK", ("_tensor_matrix_multiply", "32"): "BLOCK_DIM"}
"""Block sizes that are literals in the original course, by kernel and literal. Here they are constants, smaller in the simulator."""

INSTALLED = {"numpy", "numba", "minitorch", "project", "tests", "pytest", "hypothesis"}
"""Packages that are importable in every workspace."""

HELPERS = {
    "original_dim": '''def original_dim(dim):
    """A dimension as an integer: the original course passes it as a tensor."""
    return int(dim.item()) if hasattr(dim, "_tensor") else dim
''',
    "original_dims": '''def original_dims(dims):
    """An order or a shape as integers: the original course passes them as a tensor."""
    return tuple(int(n) for n in dims.to_numpy().reshape(-1)) if hasattr(dims, "_tensor") else tuple(dims)
''',
    "original_tensor": '''def original_tensor(dims):
    """Dimensions as a tensor, as functions of the original course read them."""
    import minitorch

    values = [float(n) for n in (dims if isinstance(dims, (tuple, list)) else [dims])]
    return dims if hasattr(dims, "_tensor") else minitorch.tensor(values)
''',
}
"""Functions that translated code calls, by name."""


def translate(files: Mapping[str, str], given: Mapping[str, str], names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Translate a student's files.

    Args:
        files: The student's files by their path in this course.
        given: The same files of a workspace, with stubs.
        names: The functions that students write, by path.

    Returns:
        The translated files by path: the student's functions under their names in this course, and what they need.
    """
    renamed = {path: _other_names(text, names[path]) for path, text in files.items()}
    classes = {name: new for found in renamed.values() for name, new in found.items() if not new.startswith("_")}
    files = {path: _rename(text, {**classes, **renamed[path]}) for path, text in files.items()}
    theirs = {_module_of(path): bindings(function_source.parse(text)) for path, text in files.items()}
    rewritten = {path: _rewrite(path, text, given[path], names[path], theirs) for path, text in files.items()}
    return prune(rewritten, given, names)


def _module_of(path: str) -> str:
    """The dotted name of a file in the original course, whose package has no subfolders."""
    return path.removesuffix(".py").replace("/", ".").replace("minitorch.nn.functional", "minitorch.nn")


def _rewrite(path: str, text: str, given: str, names: Sequence[str], theirs: Mapping[str, set[str]]) -> str:
    """Translate one file as a whole."""
    in_package = _package_functions(path, text, given)
    text = cst.parse_module(text).visit(_Rewriter(path, in_package, theirs)).code
    for helper, source in HELPERS.items():
        if f"{helper}(" in text:
            text = f"{text.rstrip()}\n\n\n{source}"
    if in_package and "minitorch" not in bindings(function_source.parse(text)):
        text = _with_import(text)
    return _with_signatures(text, given, names)


# Names


def _other_names(text: str, names: Sequence[str]) -> dict[str, str]:
    """New names for classes and kernels that are spelled differently here: LT for Lt, _tensor_conv1d for tensor_conv1d."""
    ours = {part for name in names for part in name.split(".")[:1]}
    found = {}
    top = [node for node in function_source.parse(text).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    theirs = {node.name for node in top}
    for node in top:
        for name in ours - theirs:
            bare = node.name.lstrip("_").lower() if isinstance(node, ast.ClassDef) else node.name.lstrip("_")
            if bare == (name.lstrip("_").lower() if isinstance(node, ast.ClassDef) else name.lstrip("_")):
                found[node.name] = name
    return found


def _rename(text: str, names: Mapping[str, str]) -> str:
    """The text with classes and functions renamed. Assignments to the old name of a private function are removed."""
    if not names:
        return text
    bound = {name for name, new in names.items() if new.startswith("_")}
    tree = cst.parse_module(text)
    if bound:  # tensor_conv1d = njit(tensor_conv1d): given code compiles the kernel
        tree = tree.with_changes(body=[node for node in tree.body if not (_assigned_names(node) & bound)])
    return tree.visit(_Renamer(names)).code


class _Renamer(cst.CSTTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.names.get(updated_node.value, updated_node.value))


def _assigned_names(node: cst.CSTNode) -> set[str]:
    """The names that a top-level statement assigns."""
    if not isinstance(node, cst.SimpleStatementLine):
        return set()
    return {
        target.target.value
        for small in node.body
        if isinstance(small, cst.Assign)
        for target in small.targets
        if isinstance(target.target, cst.Name)
    }


def _package_functions(path: str, text: str, given: str) -> set[str]:
    """Functions that the student's file imports or defines, and that this course has only as attributes of the package."""
    package = importlib.import_module("minitorch")
    here = bindings(function_source.parse(given))
    in_package = {
        node.name
        for node in function_source.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name not in here and _is_exported(package, node.name)
    }
    for node in ast.walk(function_source.parse(text)):
        if isinstance(node, ast.ImportFrom) and (module := absolute_module(path, node.module, node.level)).startswith("minitorch."):
            has = vars(_module(module)) if _module(module) else {}
            in_package |= {alias.name for alias in node.names if alias.name not in has and _is_exported(package, alias.name)}
    return in_package


def _is_exported(package: object, name: str) -> bool:
    return callable(getattr(package, name, None)) and not name.startswith("_")


def _module(name: str) -> object | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# Code


class _Rewriter(cst.CSTTransformer):
    """Translates the code of a file.

    Args:
        path: The path of the file.
        in_package: Functions that are attributes of the package here; see `_package_functions`.
        theirs: The names that the student's files bind, by module.
    """

    def __init__(self, path: str, in_package: Collection[str], theirs: Mapping[str, set[str]]) -> None:
        self.path = path
        self.in_package = in_package
        self.theirs = theirs
        self.stack: list[str] = []

    # The enclosing classes and functions

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.stack.append(node.name.value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.stack.append(node.name.value)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.stack.pop()
        return updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.BaseStatement | cst.RemovalSentinel:
        name = ".".join(self.stack)
        self.stack.pop()
        if name in self.in_package:
            return cst.RemoveFromParent()
        if self.path in KERNELS and not self.stack:
            updated_node = updated_node.with_changes(decorators=())
        if name in {f"{function}.forward" for function in (*ONE_DIM, *MANY_DIMS)}:
            return _with_tensor_argument(updated_node)
        return updated_node

    # Block sizes

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        in_practice = self.path == "minitorch/cuda_ops.py" and self.stack[:1] in (["_sum_practice"], ["_mm_practice"])
        return cst.Name("PRACTICE_BLOCK") if in_practice and updated_node.value == "BLOCK_DIM" else updated_node

    def leave_Integer(self, original_node: cst.Integer, updated_node: cst.Integer) -> cst.BaseExpression:
        is_size = self.path == "minitorch/cuda_ops.py" and (*self.stack[:1], updated_node.value) in BLOCKS
        return cst.Name(BLOCKS[self.stack[0], updated_node.value]) if is_size else updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        is_name_of_itself = any(_dotted_name(small) == f"{name} = {name}" for small in updated_node.body for name in BLOCKS.values())
        return cst.RemoveFromParent() if is_name_of_itself else updated_node

    # Imports

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom | cst.RemovalSentinel:
        dotted = _dotted_name(updated_node.module)
        module = absolute_module(self.path, dotted or None, len(updated_node.relative))
        module = "typing" if module == "typing_extensions" else module
        if module.split(".")[0] not in INSTALLED | sys.stdlib_module_names or isinstance(updated_node.names, cst.ImportStar):
            return cst.RemoveFromParent()
        has = _module(module) if module.startswith("minitorch") else None
        kept = [
            alias
            for alias in updated_node.names
            if has is None
            or hasattr(has, _dotted_name(alias.name))
            or _dotted_name(alias.name) in self.theirs.get(module, ())
            or _module(f"{module}.{_dotted_name(alias.name)}")
        ]
        kept = [alias for alias in kept if _dotted_name(alias.name) not in self.in_package]
        if not kept or (module.startswith("minitorch.") and _module(module) is None):
            return cst.RemoveFromParent()
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        name = cst.parse_expression(module)
        assert isinstance(name, (cst.Name, cst.Attribute))
        return updated_node.with_changes(module=name, relative=(), names=kept)

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import | cst.RemovalSentinel:
        known = INSTALLED | sys.stdlib_module_names
        kept = [alias for alias in updated_node.names if _dotted_name(alias.name).split(".")[0] in known]
        if not kept:
            return cst.RemoveFromParent()
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return updated_node.with_changes(names=kept)

    # Names and attributes

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        name = updated_node.attr.value
        in_layer = self.path.startswith("project/") and self.stack[-1:] == ["forward"]
        if name in SIZES and in_layer and m.matches(updated_node.value, m.Name("self")):
            return cst.parse_expression(f"self.{SIZES[name]}")
        return updated_node.with_changes(attr=cst.Name(ATTRIBUTES.get(name, name)))

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        function, arguments = updated_node.func, updated_node.args
        if isinstance(function, cst.Name) and function.value in self.in_package:
            return updated_node.with_changes(func=cst.parse_expression(f"minitorch.{function.value}"))
        if (
            self.path in KERNELS
            and isinstance(function, cst.Call)
            and m.matches(function.func, m.Name("njit") | m.Name("jit") | m.Attribute(m.Name("cuda"), m.Name("jit")))
        ):
            compiler = cst.Name("njit" if m.matches(function.func, m.Name("njit")) else "jit")
            return cst.Call(compiler, [*arguments, *function.args])  # njit(parallel=True)(f) becomes njit(f, parallel=True)
        if self.path in KERNELS and arguments and m.matches(function, m.Attribute(m.Name("cuda"), m.Name("jit"))):
            return updated_node.with_changes(func=cst.Name("jit"))
        if m.matches(function, m.Attribute(m.Name(), m.Name("apply"))) and len(arguments) == 2:
            applied = cst.ensure_type(cst.ensure_type(function, cst.Attribute).value, cst.Name).value
            helper = "original_dim" if applied in ONE_DIM else "original_dims" if applied in MANY_DIMS else ""
            if helper:
                last = arguments[1].with_changes(value=cst.Call(cst.Name(helper), [cst.Arg(arguments[1].value)]))
                return updated_node.with_changes(args=[arguments[0], last])
        return updated_node


def _dotted_name(node: cst.CSTNode | None) -> str:
    return "" if node is None else cst.Module([]).code_for_node(node)


def _with_tensor_argument(function: cst.FunctionDef) -> cst.FunctionDef:
    """A forward whose last argument is integers here: if it reads them from a tensor, its first line makes one."""
    last = function.params.params[-1].name.value
    read = m.Attribute(m.Name(last)) | m.Subscript(m.Name(last))
    is_read = any(not isinstance(node, cst.Attribute) or node.attr.value in TENSOR_ATTRIBUTES for node in m.findall(function.body, read))
    if not is_read or not isinstance(function.body, cst.IndentedBlock):
        return function
    line = cst.parse_statement(f"{last} = original_tensor({last})\n")
    start = 1 if function.get_docstring() is not None else 0
    lines = list(function.body.body)
    return function.with_changes(body=function.body.with_changes(body=[*lines[:start], line, *lines[start:]]))


def _with_import(text: str) -> str:
    """The text with an import of the package."""
    tree = function_source.parse(text)
    before = [
        node
        for n, node in enumerate(tree.body)
        if (n == 0 and isinstance(node, ast.Expr)) or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    ]
    lines = text.split("\n")
    place = max((node.end_lineno or 0 for node in before), default=0)
    return "\n".join([*lines[:place], "import minitorch", *lines[place:]])


def _with_signatures(text: str, given: str, names: Sequence[str]) -> str:
    """The text in which each function has the annotations and decorators of the workspace if its parameters match, else none."""
    ours = signatures(given)
    theirs = signatures(text)
    defs = {name: (node, theirs[name]) for name, node in function_source.iter_functions(function_source.parse(text))}
    lines = text.split("\n")
    stubs = dict(function_source.iter_functions(function_source.parse(given)))
    for name in sorted(set(names) & set(defs), key=lambda name: -defs[name][0].lineno):
        node = defs[name][0]
        same = name in ours and _bare(node.args) == _bare(stubs[name].args)
        same = same and bool(node.decorator_list) == bool(stubs[name].decorator_list)
        shown = stubs[name] if same else node
        header = ast.FunctionDef(
            name=node.name, args=shown.args if same else _without_annotations(node.args), body=[ast.Pass()],
            decorator_list=shown.decorator_list, returns=shown.returns if same else None, lineno=1,
        )  # fmt: skip
        text_of = ast.unparse(ast.fix_missing_locations(header)).split("\n")[:-1]
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        indent = " " * node.col_offset
        if node.body[0].lineno == node.lineno:  # def f(x): return x
            continue
        last = node.body[0].lineno - 1
        lines[first - 1 : last] = [indent + line for line in text_of]
    return "\n".join(lines)


def _bare(arguments: ast.arguments) -> str:
    return ast.unparse(_without_annotations(arguments))


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    bare = ast.parse(f"def f({ast.unparse(arguments)}): pass").body[0]
    assert isinstance(bare, ast.FunctionDef)
    for node in ast.walk(bare.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return bare.args
