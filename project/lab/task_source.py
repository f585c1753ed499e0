"""The source code of the functions of a task, read from the file. Nothing is imported, so it needs no compiler and no GPU."""

from __future__ import annotations

import ast
import re

import streamlit as st

from course.manifest import ROOT, course
from course.runner.messages import unwritten_task
from project.lab.cards import WrongResult
from project.lab.guard import task_guard


def source(name: str) -> str:
    """Return the source code of a function.

    Args:
        name: Its name in the manifest, such as "minitorch.cuda_ops:_sum_practice".

    Raises:
        SyntaxError: If Python cannot parse the file.
        WrongResult: If the file or the function is missing.
    """
    module, _, qualified = name.partition(":")
    file = module.replace(".", "/") + ".py"
    try:
        text = (ROOT / file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WrongResult(f"expected a file {file}, got none; copy it from the handout") from None
    node: ast.AST = ast.parse(text, filename=str(ROOT / file))
    for part in qualified.split("."):
        found = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part]
        if not found:
            raise WrongResult(f"expected a function {qualified} in {file}, got none; copy its signature from the handout")
        node = found[-1]
    return ast.get_source_segment(text, node) or ""


def unwritten(text: str) -> NotImplementedError | None:
    """Return the error that a stub raises; None if the function is written."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str() as message)])):
                error = NotImplementedError(message)
                if unwritten_task(error):
                    return error
    return None


def show_task(id: str, *only: str) -> None:
    """Show the functions of a task on a page that calls them and therefore already shows a card for stubs.

    Args:
        id: The task.
        only: The functions and classes to show; by default all. A class is shown as a whole.
    """
    outermost = [re.match(r"([\w.]+):(\w+)", name) for name in course().task(id).write if not name.startswith("tests.")]
    names = [found[0] for found in outermost if found and (not only or found[2] in only)]
    show(list(dict.fromkeys(names)), remind=False)


def show(names: list[str], remind: bool = True) -> None:
    """Show functions of the student.

    Args:
        names: Their names in the manifest.
        remind: Whether to show a card if one of them is not written yet.
    """
    with task_guard(stop=False):
        texts = [source(name) for name in names]
        missing = next(filter(None, map(unwritten, texts)), None)
        with st.expander("Your code"):
            st.caption(" and ".join(f"`{name}`" for name in names))
            st.code("\n\n\n".join(texts), language="python")
        if missing and remind:
            raise missing
