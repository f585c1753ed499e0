"""Rewrites with which students hide a copy. None of them changes what the code computes."""

import ast
from typing import ClassVar

from course.staff.similarity.syntax import DEFINITIONS, bound_names

from .corpus import reader

GIVEN = {name.rpartition(".")[2] for names in reader().given_names.values() for name in names} | {
    full.rpartition(":")[2].rpartition(".")[2] for task in reader().manifest.tasks for full in task.write
}
"""Names that a student cannot change."""


def rename(tree):
    """Rename variables and helpers."""
    helpers = {node.name for node in ast.walk(tree) if isinstance(node, (*DEFINITIONS, ast.ClassDef))} - GIVEN
    own = {name for node in tree.body if isinstance(node, (*DEFINITIONS, ast.ClassDef)) for name in bound_names(node)} - GIVEN
    own -= {"self", "input"} | {name for name in helpers if name.startswith("__")}
    arguments = {arg.arg for node in tree.body if isinstance(node, ast.FunctionDef) for arg in node.args.args}
    new = {name: f"{'q' * (i % 3 + 1)}{i}" for i, name in enumerate(sorted((own | helpers) - arguments)) if not name.startswith("__")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
        elif isinstance(node, (*DEFINITIONS, ast.ClassDef)) or (isinstance(node, ast.ExceptHandler) and node.name):
            node.name = new.get(node.name, node.name)
        elif isinstance(node, ast.Attribute) and node.attr in helpers:
            node.attr = new.get(node.attr, node.attr)
    return tree


def reorder(tree):
    """Reorder the functions of a file; what must exist at import time stays first."""
    first = [node for node in tree.body if not isinstance(node, DEFINITIONS)]
    return ast.Module([*first, *[node for node in tree.body if isinstance(node, DEFINITIONS)][::-1]], [])


class _Loops(ast.NodeTransformer):
    """Rewrites `for` loops as `while` loops with a counter."""

    def __init__(self):
        self.count = 0

    def visit_For(self, node):
        self.generic_visit(node)
        grows = any(
            isinstance(inner, ast.Attribute) and ast.unparse(inner) == f"{ast.unparse(node.iter)}.append" for inner in ast.walk(node)
        )
        generator = isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func).startswith("_")
        if node.orelse or grows or generator or any(isinstance(inner, (ast.Continue, ast.Yield)) for inner in ast.walk(node)):
            return node  # a list of the items, or a counter at the end of the body, would change what it computes
        self.count += 1
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("range", "prange") and len(call.args) == 1:
            counter, stop, taken = ast.unparse(node.target), ast.unparse(call.args[0]), ""
            if counter == "_":
                counter = f"turn{self.count}"
        else:
            counter, stop = f"at{self.count}", f"len(items{self.count})"
            taken = f"{ast.unparse(node.target)} = items{self.count}[{counter}]"
            start = ast.parse(f"items{self.count} = list({ast.unparse(call)})").body
        loop = ast.parse(f"{counter} = 0\nwhile {counter} < {stop}:\n    pass\n").body
        assert isinstance(loop[1], ast.While)
        loop[1].body = [*ast.parse(taken).body, *node.body, *ast.parse(f"{counter} += 1").body]
        return [*start, *loop] if taken else loop


def loops(tree):
    """Replace `for` loops by `while` loops."""
    return _Loops().visit(tree)


class _DeadCode(ast.NodeTransformer):
    """Inserts statements without effect before every third statement."""

    def __init__(self):
        self.count = 0

    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(node, (*DEFINITIONS, ast.For, ast.While, ast.If)):
            body = []
            for statement in node.body:
                self.count += 1
                if self.count % 3 == 0:
                    choices = (f"unused{self.count} = {self.count}", "if False:\n    print('debug')", f"label = 'step {self.count}'")
                    body += ast.parse(choices[self.count // 3 % 3]).body
                body.append(statement)
            node.body = body
        return node


def dead_code(tree):
    """Insert code without effect."""
    return _DeadCode().visit(tree)


def split(tree):
    """Move the second half of every longer function into a helper."""
    helpers = []
    for outer, node in list(_functions(tree, ())):
        half = len(node.body) // 2
        inner = [one for statement in node.body for one in ast.walk(statement)]
        if half == 0 or any(isinstance(one, (*DEFINITIONS, ast.Yield, ast.Import, ast.ImportFrom)) for one in inner):
            continue
        stored = {n.id for s in node.body[:half] for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        targets = [target for statement in node.body[:half] if isinstance(statement, ast.Assign) for target in statement.targets]
        sure = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        read = {n.id for s in node.body[half:] for n in ast.walk(s) if isinstance(n, ast.Name)}
        around = {arg.arg for one in (*outer, node) for arg in one.args.args}
        enclosed = set().union(*map(bound_names, outer)) - {arg.arg for one in (*outer, node) for arg in one.args.args} - bound_names(node)
        if (stored - sure) & read or enclosed & read:
            continue  # a variable that may be undefined, or that belongs to an enclosing function
        names = ", ".join(sorted((stored & sure | around) & read))
        name = f"rest_of_{'_'.join(one.name.strip('_') for one in (*outer, node))}"
        helper = ast.parse(f"def {name}({names}):\n    pass").body[0]
        assert isinstance(helper, ast.FunctionDef)
        helper.body = node.body[half:]
        node.body = [*node.body[:half], *ast.parse(f"def f():\n    return {name}({names})").body[0].body]
        helpers.append(helper)
    tree.body += helpers
    return tree


def _functions(node, outer):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield outer, child
            yield from _functions(child, (*outer, child))
        elif not isinstance(child, ast.ClassDef):
            yield from _functions(child, outer)


def comments(tree):
    """Replace comments and docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            docstring = f"'''What {node.name} does was explained in the lecture; see my notes of that week.'''"
            node.body = [*ast.parse(docstring).body, *node.body]
    return tree


def reformat(tree):
    """Reformat the code as `ast.unparse` does."""
    return tree


class _Swap(ast.NodeTransformer):
    """Swaps the operands of commutative operators and of comparisons."""

    FLIPPED: ClassVar = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}

    def visit_BinOp(self, node):
        self.generic_visit(node)
        sequences = (ast.List, ast.ListComp, ast.Tuple, ast.Call, ast.JoinedStr)
        lists = isinstance(node.op, ast.Add) and any(isinstance(inner, sequences) for inner in ast.walk(node))
        if isinstance(node.op, (ast.Add, ast.Mult)) and not lists:
            node.left, node.right = node.right, node.left
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 and (new := self.FLIPPED.get(type(node.ops[0]))):
            return ast.Compare(node.comparators[0], [new()], [node.left])
        return node


def swap(tree):
    """Swap operands where the result stays the same."""
    return _Swap().visit(tree)


def hints(tree):
    """Add type hints everywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for arg in node.args.args:
                arg.annotation = ast.Name("object", ast.Load())
            node.returns = ast.Name("object", ast.Load())
            for i, statement in enumerate(node.body):
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
                    node.body[i] = ast.AnnAssign(statement.targets[0], ast.Name("object", ast.Load()), statement.value, 1)
    return tree


def everything(tree):
    """Combine several rewrites: names, order, operands, comments, type hints and dead code."""
    return dead_code(hints(comments(swap(reorder(rename(tree))))))


DISGUISES = {
    function.__name__.replace("_", " "): function
    for function in (rename, reorder, loops, dead_code, split, comments, reformat, swap, hints, everything)
}


def disguise(files, name):
    """The files after a rewrite."""
    return {
        path: ast.unparse(ast.fix_missing_locations(DISGUISES[name](ast.parse(text)))) if name else text for path, text in files.items()
    }
