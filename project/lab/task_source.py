"""The source of what a task has the student write, read from the file: nothing is imported, so it takes no compiler and no GPU."""

from __future__ import annotations

import ast
import re

import streamlit as st

from course.manifest import ROOT, course
from course.runner.messages import unwritten_task
from project.lab.cards import WrongResult
from project.lab.guard import task_guard


def source(name: str) -> str:
    """The text of a function.

    Args:
        name: Such as "minitorch.cuda_ops:_sum_practice", as the manifest has it.

    Raises:
        SyntaxError: If Python cannot read the file.
        WrongResult: If the file, or the function in it, is not there.
    """
    module, _, qualified = name.partition(":")
    file = module.replace(".", "/") + ".py"
    try:
        text = (ROOT / file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WrongResult(f"expected a file {file}, got none; take it from the handout again") from None
    node: ast.AST = ast.parse(text, filename=str(ROOT / file))
    for part in qualified.split("."):
        found = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part]
        if not found:
            raise WrongResult(f"expected a function {qualified} in {file}, got none; take its first lines from the handout again")
        node = found[-1]
    return ast.get_source_segment(text, node) or ""


def unwritten(text: str) -> NotImplementedError | None:
    """The error that a function raises which is not written yet; None if it is written."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str() as message)])):
                error = NotImplementedError(message)
                if unwritten_task(error):
                    return error
    return None


def show_task(id: str, *only: str) -> None:
    """What a task has the student write, on a page that runs it: the card for what is not written stands there already.

    Args:
        id: The task.
        only: The functions and classes to show; all if none is named. A class is shown whole.
    """
    outermost = [re.match(r"([\w.]+):(\w+)", name) for name in course().task(id).write if not name.startswith("tests.")]
    names = [found[0] for found in outermost if found and (not only or found[2] in only)]
    show(list(dict.fromkeys(names)), remind=False)


def show(names: list[str], remind: bool = True) -> None:
    """Functions of the student's.

    Args:
        names: As the manifest has them.
        remind: Whether there is a card if one of them is not written yet.
    """
    with task_guard(stop=False):
        texts = [source(name) for name in names]
        missing = next(filter(None, map(unwritten, texts)), None)
        with st.expander("Your code"):
            st.caption(" and ".join(f"`{name}`" for name in names))
            st.code("\n\n\n".join(texts), language="python")
        if missing and remind:
            raise missing
