"""The package as it is after a stage: its tables of contents stop there, so that a test loads nothing that is built later."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


def cut(source: str, last: int) -> str:
    """An `__init__.py` without the paragraphs "# Stage n …" of the stages behind `last`; its lines keep their numbers."""
    paragraphs = source.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        if (stage := re.match(r"# Stage (\d+)", paragraph)) and int(stage[1]) > last:
            paragraphs[number] = "\n" * paragraph.count("\n")
    return "\n\n".join(paragraphs)


def cut_package(package: str, last: int) -> None:
    """From now on, import this package as it is after a stage; other processes see it whole."""
    sys.meta_path.insert(0, _Finder(package, last))


class _Finder:
    """Finds the tables of contents of a package; for all other files Python goes on to its own finders."""

    def __init__(self, package: str, last: int) -> None:
        self.package = package
        self.last = last

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a module is, as Python asks."""
        spec = PathFinder.find_spec(name, path, target) if name.partition(".")[0] == self.package else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or spec.submodule_search_locations is None:
            return None
        spec.loader = _Contents(name, spec.loader.path, self.last)
        return spec


class _Contents(SourceFileLoader):
    """Loads a table of contents, cut; its bytecode is not kept, as it is not that of the file."""

    def __init__(self, name: str, path: str, last: int) -> None:
        super().__init__(name, path)
        self.last = last

    def get_code(self, fullname: str) -> CodeType:
        """What is executed."""
        return compile(cut(self.get_source(fullname) or "", self.last), self.path, "exec", dont_inherit=True)
