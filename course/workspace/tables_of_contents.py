"""The package as it is after a stage: later stages are cut from `__init__.py`, so that a test does not load them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


def sections(source: str) -> list[tuple[int | None, str]]:
    """The paragraphs of an `__init__.py`, with the number of those that begin with "# Stage n"."""
    paragraphs = source.split("\n\n")
    numbers = [re.match(r"# Stage (\d+)", paragraph) for paragraph in paragraphs]
    return [(int(number[1]) if number else None, paragraph) for number, paragraph in zip(numbers, paragraphs, strict=True)]


def cut_after(source: str, last: int) -> str:
    """An `__init__.py` without the paragraphs "# Stage n …" of the stages after `last`, and without their names in `__all__`."""
    later = [section for number, section in sections(source) if number is not None and number > last]
    kept = "\n\n".join(section for number, section in sections(source) if number is None or number <= last)
    head, separator, listed = kept.partition("__all__ = [\n")
    gone = set(re.findall(r"\w+", "\n".join(later))) - set(re.findall(r"\w+", head))
    cut = [(line, re.sub(r' ?"(\w+)",', lambda name: "" if name[1] in gone else name[0], line)) for line in listed.splitlines(True)]
    remaining = "".join(after for before, after in cut if after.strip() or not before.strip())
    return re.sub(r"__all__ = \[\n\]( +# fmt: skip)?", "__all__ = []", head + separator + remaining)


def cut_package(package: str, last: int) -> None:
    """From now on, import this package as it is after a stage, in this process only."""
    sys.meta_path.insert(0, _Finder(package, last))


class _Finder:
    """Finds the `__init__.py` files of a package; Python's own finders handle all other files."""

    def __init__(self, package: str, last: int) -> None:
        self.package = package
        self.last = last

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The import spec of a module; see `importlib.abc.MetaPathFinder`."""
        spec = PathFinder.find_spec(name, path, target) if name.partition(".")[0] == self.package else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or spec.submodule_search_locations is None:
            return None
        spec.loader = _Contents(name, spec.loader.path, self.last)
        return spec


class _Contents(SourceFileLoader):
    """Loads a cut `__init__.py`; the bytecode is not cached, because it does not match the file."""

    def __init__(self, name: str, path: str, last: int) -> None:
        super().__init__(name, path)
        self.last = last

    def get_code(self, fullname: str) -> CodeType:
        """The code object of the cut source."""
        return compile(cut_after(self.get_source(fullname) or "", self.last), self.path, "exec", dont_inherit=True)
