"""The book's settings: Markdown with code that runs while the book is built, and nothing loaded from another host."""

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILD = DOCS / "_build"

# The kernel that runs the code cells is a process of its own and learns all this from its environment.
sys.path[:0] = [str(ROOT), str(DOCS / "_ext")]
import figures  # noqa: E402  # found through the line above

os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(DOCS / "_ext"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(BUILD / "hypothesis")
os.environ["IPYTHONDIR"] = str(BUILD / "ipython")
(BUILD / "ipython" / "profile_default").mkdir(parents=True, exist_ok=True)
(BUILD / "ipython" / "profile_default" / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n")  # warns of TCP
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the kernel's debugger warns on Python's frozen modules


def _version_of_what_cells_run() -> str:
    """A hash of all that a cell can call or show: a cached output is good only as long as this stays the same."""
    folders = (ROOT / "minitorch", ROOT / "project", ROOT / "benchmarks", DOCS / "_ext")
    modules = [module for folder in folders for module in folder.rglob("*.py")]
    modules += [
        *(ROOT / "benchmarks" / "results").glob("*.json"),
        *DOCS.glob("runs.toml"),
        ROOT / "course" / "runner" / "compiler_messages.py",
    ]
    digest = hashlib.sha256()
    for module in sorted(modules):
        digest.update(module.read_bytes())
    return digest.hexdigest()[:16]


project = "MiniTorch"
author = "The MiniTorch authors"
copyright = "the MiniTorch authors"
language = "en"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design", "sphinx_reredirects"]
extensions += ["mathml", "task_box", "check_yourself", "chapter_head", "interactive_figures", "torch_names"]  # these are in _ext
extensions += ["browser_editor", "page_cells"]
exclude_patterns = ["_build", "_ext", "_templates", "slides"]
templates_path = ["_templates"]
redirects = {  # pages that were merged into others; a browser keeps the part of an address after #
    "module1/depth_first_search": "topological_order.html",
    "module2/in_place": "gradient_checks.html",
    "module3/stride_aligned": "compiling.html",
}

# Markdown and code cells
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / "cells" / _version_of_what_cells_run())
nb_execution_raise_on_error = not figures.waits_for_tasks()  # a student's copy says in place what waits for which task
nb_execution_allow_errors = figures.waits_for_tasks()
nb_execution_show_tb = True
nb_output_stderr = "show" if figures.waits_for_tasks() else "warn"  # a cell that warns
nb_execution_timeout = 600  # a busy machine compiles kernels slowly
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

# The API pages, from docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
default_role = "code"  # `name` in a docstring

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "MiniTorch"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_favicon = "_static/favicon.svg"  # else a browser asks the server for one
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is
html_show_sourcelink = False
html_show_search_summary = False  # the search fetches pages for it, which a browser refuses for a book opened from the disk
html_copy_source = False
html_sidebars = {"**": ["sidebar-book"]}
html_theme_options = {
    "show_prev_next": True,
    "navbar_center": [],  # the sidebar shows the whole book
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def plain_text(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are written for readers of the source: |x| and a * b are mathematics there, not markup, and Returns names no type."""
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if example:
            continue  # code and what it prints
        if i and lines[i - 1].strip() == "Returns:":
            line = re.sub(r"(?<=^ {4})(?=\S)", ": ", line)  # napoleon takes what stands before the first colon for a type
        parts = line.split("`")
        parts[::2] = [re.sub(r"([|*\\])", r"\\\1", part) for part in parts[::2]]  # outside of `names`
        lines[i] = re.sub(r"^( *)\\\* ", r"\1* ", "`".join(parts))  # a bullet stays one


def setup(app: Sphinx) -> None:
    """Read every page again when the code that its cells run has changed."""
    app.add_config_value("what_cells_run", _version_of_what_cells_run(), "env", str)
    app.connect("autodoc-process-docstring", plain_text, priority=400)  # before napoleon adds markup of its own
