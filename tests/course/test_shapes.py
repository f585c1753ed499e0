"""Near copies of solutions are found despite other names, another order or another kind of loop: `course.staff.handout.shapes`."""

import ast
from functools import cache

import pytest

from course.manifest import course
from course.staff.handout import shapes
from course.staff.handout.generate import left_out_names, write_names
from course.staff.handout.leaks import removed_bodies
from course.staff.handout.shapes import ENOUGH, expressions_of, find_near_copies

from .prepared import course_files, selection

LAST = 6
PLANTED = "course/oracles/planted.py"


@cache
def solutions():
    """The solutions that the handout of all modules does not show."""
    names, left_out = write_names(course(), LAST), left_out_names(course(), LAST)
    removed = {path: {**names.get(path, {}), **left_out.get(path, {})} for path in [*names, *left_out]}
    return removed_bodies(selection(), removed)


def near_copies_in(code, name):
    """The functions that would show a solution if a file with this code were part of the handout."""
    files = {**course_files(3), PLANTED: code}
    return [copy.shape.name for copy in find_near_copies({name: solutions()[name]}, files) if copy.shape.path == PLANTED]


COPIES = {
    "minitorch.tensor_data:index_to_position": """
def copy(where, hops):
    d, total = 0, 0
    while d < len(hops):
        total = total + hops[d] * where[d]
        d += 1
    return total
""",
    "minitorch.tensor_data:to_index": """
def copy(number, sizes, target):
    d = len(sizes) - 1
    while d >= 0:
        rest = divmod(number, sizes[d])
        number, target[d] = rest
        d -= 1
""",
    "minitorch.tensor_data:broadcast_index": """
def copy(big, big_sizes, sizes, target):
    gap = len(big_sizes) - len(sizes)
    target[:] = [big[d + gap] if 1 < size else 0 for d, size in enumerate(sizes)]
""",
    "minitorch.tensor_data:shape_broadcast": """
def copy(left, right):
    def joined(a, b):
        if a != b and 1 not in (a, b):
            raise ValueError("no")
        return b if a == 1 else a

    return tuple(reversed([joined(a, b) for a, b in zip_longest(reversed(left), reversed(right), fillvalue=1)]))
""",
    "minitorch.tensor_data:TensorData.permute": """
def copy(data, axes):
    sizes, hops = [], []
    for axis in axes:
        hops.append(data.strides[axis])
        sizes.append(data.shape[axis])
    assert sorted(axes) == list(range(data.dims))
    return data.as_view(tuple(sizes), tuple(hops), data.offset)
""",
    "minitorch.autodiff:backpropagate": """
def copy(root, start):
    table = {root: start}
    ordered = topological_sort(root)
    i = 0
    while i < len(ordered):
        now = ordered[i]
        i += 1
        d = table.pop(now)
        if now.history.last_fn is not None:
            for other, part in now.chain_rule(d):
                if other in table:
                    table[other] += part
                elif other.history is not None:
                    table[other] = part
        else:
            now.accumulate_derivative(d)
""",
    "minitorch.autodiff:topological_sort": """
def copy(root):
    visited, ordered = set(), []
    waiting = [root] if root.history is not None else []
    while len(waiting) > 0:
        now = waiting.pop()
        if now is not None:
            if now not in visited:
                waiting += (now, None)
                visited.add(now)
                waiting += [x for x in reversed(now.history.inputs) if x not in visited and x.history is not None]
        else:
            ordered.append(waiting.pop())
    return list(reversed(ordered))
""",
    "minitorch.operators:sigmoid": """
def copy(t):
    power = math.exp(t)
    return 1.0 / (math.exp(-t) + 1.0) if not t < 0 else power / (power + 1.0)
""",
    "minitorch.nn.functional:softmax": """
def copy(x, axis):
    lowered = x - max(x, axis)
    e = lowered.exp()
    total = e.sum(axis)
    return e / total
""",
    "minitorch.fast_ops:tensor_zip": """
def copy(g):
    def inner(o, os, ot, p, ps, pt, q, qs, qt):
        q_same = np.array_equal(ot, qt) and np.array_equal(os, qs)
        p_same = np.array_equal(ot, pt) and np.array_equal(os, ps)
        if not (p_same and q_same):
            n = 0
            while n < len(o):
                at_q = np.empty(MAX_DIMS, np.int32)
                at_p = np.empty(MAX_DIMS, np.int32)
                at_o = np.empty(MAX_DIMS, np.int32)
                to_index(n, os, at_o)
                broadcast_index(at_o, os, qs, at_q)
                broadcast_index(at_o, os, ps, at_p)
                o[index_to_position(at_o, ot)] = g(p[index_to_position(at_p, pt)], q[index_to_position(at_q, qt)])
                n += 1
        else:
            for n in range(len(o)):
                o[n] = g(p[n], q[n])

    return njit(inner, parallel=True)
""",
}
"""Solutions with other names, in another order, with other loops, or with other intermediate variables."""


@pytest.mark.parametrize("name", COPIES)
def test_a_rewritten_solution_is_found(name):
    assert "copy" in near_copies_in(COPIES[name], name)


class Rename(ast.NodeTransformer):
    """Renames all variables and functions and changes constants."""

    def visit_Name(self, node):
        if node.id in shapes.KEPT or node.id in shapes.LOOPS or node.id in shapes.CONVERSIONS:
            return node
        return ast.Name(f"other_{node.id[::-1]}", node.ctx)

    def visit_Constant(self, node):
        return ast.Constant(node.value + 17) if type(node.value) in (int, float) else node


def test_every_renamed_solution_is_found():
    """This holds for solutions with enough expressions; their number is pinned, so a change that recognizes fewer fails."""
    large = {name: body for name, body in solutions().items() if expressions_of(ast.parse(body).body).total() >= ENOUGH}
    assert len(large) > 40
    code = []
    for number, body in enumerate(large.values()):
        tree = ast.parse(f"def planted_{number}():\n" + "\n".join(f"    {line}" for line in body.splitlines()))
        code.append(ast.unparse(ast.fix_missing_locations(Rename().visit(tree))))
    copies = find_near_copies(large, {**course_files(3), PLANTED: "\n\n".join(code)})
    found = {(copy.name, copy.shape.name) for copy in copies if copy.shape.path == PLANTED}
    missed = [name for number, name in enumerate(large) if (name, f"planted_{number}") not in found]
    assert missed == []


@pytest.mark.parametrize(
    "code",
    [
        "def other(where, hops):\n    return int(np.dot(where, hops))\n",
        "def other(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n",
        "def other(a, b):\n    return [x + y for x, y in zip(a, b)]\n",
    ],
)
def test_another_algorithm_is_not_a_copy(code):
    assert near_copies_in(code, "minitorch.tensor_data:index_to_position") == []


def test_a_copy_on_a_page_of_the_book_is_found_with_its_line():
    page = f"# Title\n\n```{{code-cell}}\n:tags: [hide-input]\n{COPIES['minitorch.tensor_data:index_to_position'].strip()}\n```\n"
    name = "minitorch.tensor_data:index_to_position"
    copies = find_near_copies({name: solutions()[name]}, {**course_files(3), "docs/planted.md": page})
    assert ("docs/planted.md", 5) in [(copy.shape.path, copy.shape.line) for copy in copies]


def test_the_error_about_a_near_copy_names_both_functions_and_the_remedy():
    name = "minitorch.tensor_data:index_to_position"
    (copy,) = find_near_copies({name: solutions()[name]}, {**course_files(3), PLANTED: COPIES[name].lstrip()})
    assert str(copy) == (
        f"{PLANTED}:1 copy shows the solution of {name}: it evaluates 100% of its expressions; "
        "compute the same in another way, or enter the two in REVIEWED of course.staff.handout.shapes with a reason"
    )
