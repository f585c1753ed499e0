"""The directive `{torch-names}`: the table of PyTorch's names from docs/torch_names.toml, folded by group."""

import posixpath
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

TABLE = Path(__file__).parents[1] / "torch_names.toml"


def names_table(table: Mapping[str, Any]) -> str:
    """The table as Markdown.

    Args:
        table: `groups`, each with a title and names; `absent`, the reason for each name that the library does not have.
    """
    absent, groups = table["absent"], table["groups"].values()
    lines = [line for group in groups for line in group_lines(group["title"], group["names"], absent)]
    listed = {name for group in groups for name in group["names"]}
    return "\n".join([*lines, *group_lines("Others that are absent", [name for name in absent if name not in listed], absent)])


def group_lines(title: str, names: Sequence[str], absent: Mapping[str, str]) -> list[str]:
    """One group, folded: the names without what they have in common, then those that are absent, by reason."""
    owner = posixpath.commonpath([name.rpartition(".")[0].replace(".", "/") for name in names]).replace("/", ".")
    prefix = f"{owner}."
    here = [name for name in names if name not in absent]
    lines = [f":::{{dropdown}} {title}: {len(here)} of {len(names)}", f"In `{owner}`:", ""]
    if here:
        lines += [", ".join(f"`{name.removeprefix(prefix)}`" for name in here), ""]
    for reason in dict.fromkeys(absent[name] for name in names if name in absent):
        without = ", ".join(f"`{name.removeprefix(prefix)}`" for name in names if absent.get(name) == reason)
        lines += [f"* Absent: {without} ({reason})"]
    return [*lines, ":::", ""]


class TorchNames(SphinxDirective):
    """Show the table of names."""

    def run(self) -> list[nodes.Node]:
        """The groups, one below the other."""
        self.env.note_dependency(str(TABLE))
        text = names_table(tomllib.loads(TABLE.read_text(encoding="utf-8")))
        return [nodes.container("", *self.parse_text_to_nodes(text), classes=["torch-names"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("torch-names", TorchNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
