"""The examples of docstrings print what they say, in every module of the library.

Besides the names of their module, they use torch, nn, minitorch and np without an import.
"""

import ast
import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch

LIBRARY = Path(minitorch.__file__).parent
SOURCES = {
    ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
    for path in sorted(LIBRARY.rglob("*.py"))
}
"""The source of every module of the library."""
NAMES = {"torch": torch, "nn": torch.nn, "minitorch": minitorch, "np": np}


def run_examples(source, module, names):
    """The numbers of examples and of wrong ones in the docstrings of a module, and the report of the wrong ones."""
    runner, report = doctest.DocTestRunner(optionflags=0), []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (docstring := ast.get_docstring(node, clean=False)):
            name = getattr(node, "name", "module")
            runner.run(doctest.DocTestParser().get_doctest(docstring, names, name, module, node.body[0].lineno - 1), out=report.append)
    return runner.tries, runner.failures, "".join(report)


@pytest.mark.parametrize("module", [module for module, source in SOURCES.items() if ">>>" in source])
def test_the_examples_of_a_module_print_what_they_say(module):
    tried, failed, report = run_examples(SOURCES[module], module, vars(importlib.import_module(module)) | NAMES)
    assert failed == 0, report
    assert tried == SOURCES[module].count(">>> ") > 0


def test_a_wrong_example_is_reported():
    source = 'def double(x):\n    """2x.\n\n    >>> double(torch.tensor([1, 2]))\n    tensor([2, 3])\n    """\n    return 2 * x\n'
    tried, failed, report = run_examples(source, "double", NAMES | {"double": lambda x: 2 * x})
    assert (tried, failed) == (1, 1)
    assert "Expected:\n    tensor([2, 3])\nGot:\n    tensor([2, 4])" in report
