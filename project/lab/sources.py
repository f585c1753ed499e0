"""Reload of the student's files while the app runs: when a file is saved, its modules are imported again and the page reruns."""

import contextlib
import importlib
import sys

import streamlit as st

from course.manifest import ROOT, course
from project.lab.training.run_files import digest as digest

Stamp = tuple[tuple[str, int, int], ...]

FOLLOWED = ("minitorch/**/*.py", "project/**/*.py", "course/tasks.toml")
FORGOTTEN = ("minitorch", "project")
KEPT = {__name__, "project.lab.cards", "project.lab.time_limit", "project.lab.training.jobs"}
"""Modules that import no student code. A job outlives a reload, and its exceptions must stay those that the page catches."""


def stamp() -> Stamp:
    """Return path, modification time and size of every file on which a page depends."""
    found = []
    for pattern in FOLLOWED:
        for path in sorted(ROOT.glob(pattern)):
            with contextlib.suppress(
                FileNotFoundError
            ):  # a lock file of an editor (Emacs' .#scalar.py is a broken link), or a file being replaced
                facts = path.stat()
                found.append((str(path), facts.st_mtime_ns, facts.st_size))
    return tuple(found)


_imported: Stamp = stamp()
"""The stamp of the files at the last import."""


def refresh() -> None:
    """Remove the imported modules if a file has changed, so that the next import reads the files again."""
    global _imported
    now = stamp()
    if now != _imported:
        _imported = now
        importlib.invalidate_caches()
        course.cache_clear()
        for name in list(sys.modules):
            if name.split(".")[0] in FORGOTTEN and name not in KEPT:
                del sys.modules[name]
    st.session_state["sources"] = now


@st.fragment(run_every=1.0)
def follow() -> None:
    """Check once a second whether a file was saved; if so, rerun the page.

    Streamlit's own watcher does not watch a file that failed to import, so it would miss the moment when the error is fixed.
    """
    if st.session_state.get("sources") != stamp():
        st.rerun(scope="app")
