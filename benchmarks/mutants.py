"""Mutation testing: change one place of the source at a time, and count how often a test fails.

Compares the strength of two versions of the tests on the same mutants. FOLDER is a clone without changes of your own: files that
a mutant leaves there are removed. PYTHON belongs to a virtual environment with that clone installed (`pip install -e`).

    python -m benchmarks.mutants sample --seed 0 --count 300 --out mutants.json
    python -m benchmarks.mutants run mutants.json --tree FOLDER --python PYTHON --out before.jsonl --limit 60
    python -m benchmarks.mutants check before.jsonl --tree FOLDER --python PYTHON    # these tests pass without a mutant
    python -m benchmarks.mutants compare before.jsonl after.jsonl
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.mutants_run import FOLDERS, git, run_mutated

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("course/staff/wrong_answers/", "course/staff/sandbox/attacks/", "course/staff/handout/absent/", "project/torch_programs/")

COMPARE = {"Lt": "< <=", "LtE": "<= <", "Gt": "> >=", "GtE": ">= >", "Eq": "== !=", "NotEq": "!= =="}
COMPARE_WORDS = {"Is": ("is", "is not"), "IsNot": ("is not", "is"), "In": ("in", "not in"), "NotIn": ("not in", "in")}
BINARY = {"Add": "+ -", "Sub": "- +", "Mult": "* /", "Div": "/ *", "FloorDiv": "// /", "Mod": "% *", "Pow": "** *", "BitAnd": "& |"}
BINARY |= {"BitOr": "| &", "LShift": "<< >>", "RShift": ">> <<"}
BOOLEAN = {"And": ("and", "or"), "Or": ("or", "and")}
OPERATORS = {name: tuple(pair.split()) for name, pair in (COMPARE | BINARY).items()} | COMPARE_WORDS | BOOLEAN
"""What stands for an operator in the source, and what replaces it."""


@dataclass(frozen=True)
class Mutant:
    """One change, described by its text: later versions of the file may have it on another line.

    Attributes:
        qualname: The innermost function or class around it; "" for the module.
        before: The lines that change.
        occurrence: How often the same lines come earlier in that function or class.
    """

    file: str
    qualname: str
    before: str
    after: str
    occurrence: int


def scopes(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Qualified name, first and last line of the module and of every function and class."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    yield "", 1, sys.maxsize
    while waiting:
        node, around = waiting.pop(0)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{around}.{child.name}".lstrip(".")
                yield name, min(part.lineno for part in (child, *child.decorator_list)), child.end_lineno or child.lineno
                waiting.append((child, name))
            else:
                waiting.append((child, around))


def places(source: str, qualname: str, before: str) -> list[int]:
    """The lines, from 1, on which the text begins within a function or class."""
    lines, wanted = source.split("\n"), before.split("\n")
    found = set()
    for name, first, last in scopes(ast.parse(source)):
        if name == qualname:
            starts = range(first, min(last, len(lines)) + 1)
            found |= {start for start in starts if lines[start - 1 : start - 1 + len(wanted)] == wanted}
    return sorted(found)


def apply(source: str, mutant: Mutant) -> tuple[str, int]:
    """The mutated source, and the line of the change.

    Raises:
        LookupError: If the source no longer contains the lines.
    """
    starts = places(source, mutant.qualname, mutant.before)
    if len(starts) <= mutant.occurrence:
        raise LookupError(
            f"{mutant.file} expected at least {mutant.occurrence + 1} of these lines in {mutant.qualname or 'the module'}, "
            f"got {len(starts)}; they changed after the draw: {mutant.before.strip()}"
        )
    line = starts[mutant.occurrence]
    lines = source.split("\n")
    lines[line - 1 : line + mutant.before.count("\n")] = mutant.after.split("\n")
    return "\n".join(lines), line


def edits(source: str) -> list[tuple[int, int, bytes, str]]:
    """All changes of a source: start and end in bytes, the replacement, and the qualified name around it."""
    data = source.encode()
    starts = [0, *(match.end() for match in re.finditer(b"\n", data))]
    found: list[tuple[int, int, bytes, str]] = []

    def span(node: Any) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def operator(op: ast.AST, left: ast.AST, right: ast.AST, scope: str, assigns: str = "") -> None:
        old, new = OPERATORS.get(type(op).__name__, ("", ""))
        (_, start), (end, _) = span(left), span(right)
        if old and (at := data[start:end].find((old + assigns).encode())) >= 0:
            found.append((start + at, start + at + len(old), new.encode(), scope))

    def visit(node: ast.AST, scope: str) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                scope = f"{scope}.{node.name}".lstrip(".")
            case ast.JoinedStr():  # Python 3.11 gives wrong positions within an f-string
                return
            case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for child in node.orelse:
                    visit(child, scope)
                return
            case ast.Compare():
                for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
                    operator(op, left, right, scope)
            case ast.BinOp():
                operator(node.op, node.left, node.right, scope)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    operator(node.op, left, right, scope)
            case ast.UnaryOp(op=ast.Not()):
                start, _ = span(node)
                skipped = re.compile(rb"not\s*").match(data, start)
                found.append((start, skipped.end() if skipped else start, b"", scope))
            case ast.Constant(value=bool() | int() | float() as value) if (
                new := not value if isinstance(value, bool) else value + 1
            ) != value:
                found.append((*span(node), repr(new).encode(), scope))
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                found.append((*span(node), b"pass", scope))
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()):
                found.append((*span(node), b"pass", scope))
                if isinstance(node, ast.AugAssign):
                    operator(node.op, node.target, node.value, scope, "=")
            case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
                found.append((*span(node), b"return None", scope))
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        visit(child, scope)

    visit(ast.parse(source), "")
    return found


def make_mutant(file: str, source: str, edit: tuple[int, int, bytes, str]) -> Mutant | None:
    """Describe an edit by its lines; None if it changes nothing or is not valid Python."""
    start, end, replacement, qualname = edit
    data = source.encode()
    first = data.rfind(b"\n", 0, start) + 1
    last = stop if (stop := data.find(b"\n", end)) >= 0 else len(data)
    before = data[first:last].decode()
    after = (data[first:start] + replacement + data[end:last]).decode()
    line = data.count(b"\n", 0, first) + 1
    mutant = Mutant(file, qualname, before, after, places(source, qualname, before).index(line))
    try:
        changed = ast.parse(apply(source, mutant)[0])
    except SyntaxError:
        return None
    return mutant if ast.dump(changed) != ast.dump(ast.parse(source)) else None


def draw(tree: Path, seed: int, count: int) -> list[Mutant]:
    """Draw mutants, each place in the source with the same probability."""
    paths = sorted(path for folder in FOLDERS for path in (tree / folder).rglob("*.py") if path.name != "__init__.py")
    sources = {
        name: path.read_text(encoding="utf-8") for path in paths if not (name := path.relative_to(tree).as_posix()).startswith(LEFT_OUT)
    }
    sites = [(file, edit) for file, source in sources.items() for edit in edits(source)]
    random.Random(seed).shuffle(sites)
    made = (make_mutant(file, sources[file], edit) for file, edit in sites)
    return [mutant for mutant, _ in zip(filter(None, made), range(count), strict=False)]


def run(tree: Path, python: str, mutant: Mutant, tier: str, limit: float) -> dict[str, Any]:
    """Test one mutant in a clone."""
    try:
        source, line = apply((tree / mutant.file).read_text(encoding="utf-8"), mutant)
    except (LookupError, FileNotFoundError) as error:
        return {"verdict": "not located", "why": str(error)}
    return {"line": line, **run_mutated(tree, python, mutant.file, mutant.qualname, source, tier, limit)}


def read_results(file: Path) -> dict[Mutant, dict[str, Any]]:
    """The results of a run, by mutant."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {Mutant(**{field.name: row[field.name] for field in fields(Mutant)}): row for row in rows}


def compare(before: dict[Mutant, dict[str, Any]], after: dict[Mutant, dict[str, Any]]) -> str:
    """The table of two runs, over the mutants that both could apply, and the mutants that only one of them killed."""
    both = [m for m in before if m in after and "not located" not in (before[m]["verdict"], after[m]["verdict"])]
    sets = [{m for m in both if results[m]["verdict"] in ("killed", "timeout")} for results in (before, after)]
    groups = {"killed before": sets[0], "killed after": sets[1], "only before": sets[0] - sets[1], "only after": sets[1] - sets[0]}
    lines = [f"{'':10}{'mutants':>10}" + "".join(f"{title:>15}" for title in groups)]
    for folder in (*FOLDERS, "all"):
        counts = [sum(folder in (m.file.partition("/")[0], "all") for m in group) for group in (both, *groups.values())]
        lines.append(f"{folder:10}{counts[0]:>10}" + "".join(f"{count:>15}" for count in counts[1:]))
    lines.append(f"{len(before) - len(both)} of {len(before)} mutants are not compared")
    for title in ("only before", "only after"):
        for m in sorted(groups[title], key=lambda m: (m.file, after[m]["line"])):
            lines.append(f"{title}: {m.file}:{after[m]['line']} {m.qualname}: {m.before.strip()} -> {m.after.strip()}")
    return "\n".join(lines)


def check(tree: Path, python: str, results: dict[Mutant, dict[str, Any]]) -> int:
    """Run the tests that killed mutants without a mutant: a test that fails proves nothing."""
    killers = sorted({row["test"] for row in results.values() if row["verdict"] == "killed" and row["test"].startswith("tests/")})
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "exhaustive or not exhaustive", *killers]
    return subprocess.run(command, cwd=tree, check=False).returncode


def run_all(options: argparse.Namespace) -> None:
    """Test the mutants one after the other; append each result to the file."""
    tree, out = options.tree.resolve(), options.out
    program = "import importlib.util; print(importlib.util.find_spec('minitorch').origin)"
    imported = subprocess.run([options.python, "-c", program], cwd=tempfile.gettempdir(), capture_output=True, text=True).stdout.strip()
    if tree not in Path(imported).parents:
        sys.exit(f"--python expected an interpreter that imports {tree}, got {imported or 'none'}; run pip install -e {tree} with it")
    if git(tree, "status", "--porcelain"):
        sys.exit(f"--tree expected a clone without changes, got {tree}; commit or remove what git status names")
    if out.exists() and not options.resume:
        sys.exit(f"--out expected a new file, got {out}; remove it or pass --resume")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # restores the file, as Ctrl-C does
    done = read_results(out) if out.exists() else {}
    numbers = {int(number) for number in options.only.split(",")} if options.only else None
    for number, entry in enumerate(json.loads(options.mutants.read_text())):
        mutant = Mutant(**entry)
        if mutant in done or (numbers is not None and number not in numbers):
            continue
        result = run(tree, options.python, mutant, options.tier, options.limit)
        with out.open("a") as file:
            file.write(json.dumps({"number": number, **entry, **result}) + "\n")
        print(
            number, result["verdict"], result.get("seconds", ""), f"{mutant.file}:{result.get('line')}", result.get("test", ""), flush=True
        )


def main(arguments: list[str] | None = None) -> None:
    """Draw, run, check or compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description="Mutation testing of the project's tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    sample = commands.add_parser("sample", help="draw mutants")
    sample.add_argument("--seed", type=int, default=0, help="seed of the draw (0)")
    sample.add_argument("--count", type=int, default=300, help="number of mutants (300)")
    sample.add_argument("--out", type=Path, required=True, help="file for the mutants")
    sample.add_argument("--tree", type=Path, default=ROOT, help="version to draw from (this one)")
    running = commands.add_parser("run", help="test mutants")
    running.add_argument("mutants", type=Path, help="file of mutants")
    running.add_argument("--out", type=Path, required=True, help="file for the results, one JSON object a line")
    running.add_argument("--limit", type=float, default=60, help="processor seconds per mutant (60)")
    running.add_argument("--tier", choices=["test", "exhaustive"], default="test", help="which tests (test)")
    running.add_argument("--only", help="numbers of mutants, such as 3,17")
    running.add_argument("--resume", action="store_true", help="add what is missing in the file of results")
    checking = commands.add_parser("check", help="run the tests that killed mutants without a mutant")
    checking.add_argument("results", type=Path)
    for command in (running, checking):
        command.add_argument("--tree", type=Path, required=True, help="clone to test in")
        command.add_argument("--python", required=True, help="interpreter of the clone's virtual environment")
    comparison = commands.add_parser("compare", help="compare two runs")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "sample":
        options.out.write_text(
            json.dumps([asdict(m) for m in draw(options.tree, options.seed, options.count)], indent=1, ensure_ascii=False)
        )
    elif options.command == "run":
        run_all(options)
    elif options.command == "check":
        sys.exit(check(options.tree, options.python, read_results(options.results)))
    else:
        print(compare(read_results(options.before), read_results(options.after)))


if __name__ == "__main__":
    main()
