"""Makes code cells of the book run in the page, where the reader can change them, see `browser_editor`.

Which cells, a rule decides: those whose code is shown, that import only modules that the page's Python has, and that use only names from
such cells above; on a page of which they are most.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import sys
from collections.abc import Iterable, Mapping

from browser_editor import reference, static_files
from docutils import nodes
from sphinx.application import Sphinx

SHOWN = {"cell", "tag_wrap"}
"""The classes of a cell whose code is shown."""

INSTALLED = sys.stdlib_module_names - {"multiprocessing", "socket", "subprocess", "threading"} | {"hypothesis"}
"""Modules that the page's Python has besides the reference; in a browser it starts no process or thread and opens no connection."""


def available(name: str, files: Mapping[str, bytes]) -> bool:
    """Whether these files have a module, or a name of a module, such as `minitorch.scalar` or `minitorch.Scalar`."""
    if name.split(".")[0] in INSTALLED:
        return True
    path, (parent, _, last) = name.replace(".", "/"), name.rpartition(".")
    if any(file == f"{path}.py" or file.startswith(f"{path}/") for file in files):
        return True
    module = parent.replace(".", "/")
    text = files.get(f"{module}.py", b"") + files.get(f"{module}/__init__.py", b"")
    return re.search(rf"\b{re.escape(last)}\b", text.decode("utf-8")) is not None


def runnable(cells: Iterable[str], files: Mapping[str, bytes]) -> list[bool]:
    """Which cells of a page run in it.

    Args:
        cells: The code of all cells whose code is shown.
        files: The modules that the page's Python has, besides those that are installed.
    """
    known, found = set(dir(builtins)), []
    for source in cells:
        imported, used, bound = set(), set(), set()
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a command of the notebook, such as %timeit
            found.append(False)
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Import(names):
                    imported |= {name.name for name in names}
                    bound |= {name.asname or name.name.split(".")[0] for name in names}
                case ast.ImportFrom(module, names):
                    imported |= {f"{module}.{name.name}" for name in names}
                    bound |= {name.asname or name.name for name in names}
                case ast.Attribute(ast.Name("minitorch"), name):
                    imported.add(f"minitorch.{name}")
                case ast.Name(name, ast.Load()):
                    used.add(name)
                case ast.FunctionDef(name) | ast.ClassDef(name):
                    bound.add(name)
                case ast.Name(name) | ast.arg(name) | ast.ExceptHandler(name=name) | ast.MatchAs(name=name):
                    bound.add(name)
        runs = used - bound <= known and all(available(name, files) for name in imported)
        known |= bound if runs else set()
        found.append(runs)
    return found


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the cells of a page that run in it, and add the script that runs them."""
    if not (app.config.editors_run and reference()):
        return
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code" and set(node["classes"]) <= SHOWN]
    found = runnable([next(iter(cell.findall(nodes.literal_block))).astext() for cell in cells], reference())
    if 2 * sum(found) <= len(found):
        return
    for cell in itertools.compress(cells, found):
        cell["classes"].append("runs")
    base = static_files(app.env.docname)
    html = f'<div data-cells="{base}python.js"></div><script src="{base}editor.js" defer></script>'
    doctree.append(nodes.raw("", html, format="html", classes=["editor"]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at the cells of every page when it has been read."""
    app.connect("doctree-read", mark_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
