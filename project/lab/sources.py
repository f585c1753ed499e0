"""The student's files while the app runs: when one is saved, what was imported from them is forgotten and the page runs again."""

import contextlib
import hashlib
import importlib
import sys

import streamlit as st

from course.manifest import ROOT, course

Stamp = tuple[tuple[str, int, int], ...]

FOLLOWED = ("minitorch/**/*.py", "project/**/*.py", "course/tasks.toml")
FORGOTTEN = ("minitorch", "project")
KEPT = {__name__, "project.lab.cards", "project.lab.time_limit", "project.lab.training.jobs"}
"""Modules that import no student code. A job outlives a reload, and its exceptions must stay those that the page catches."""


def stamp() -> Stamp:
    """Path, time of change and size of every file that a page is made from."""
    found = []
    for pattern in FOLLOWED:
        for path in sorted(ROOT.glob(pattern)):
            with contextlib.suppress(FileNotFoundError):  # an editor's lock (Emacs' .#scalar.py leads nowhere), or just replaced
                facts = path.stat()
                found.append((str(path), facts.st_mtime_ns, facts.st_size))
    return tuple(found)


def digest(program: str) -> str:
    """Of the contents of what a training run is made from: the package, the program, and the trainers.

    Args:
        program: A file under project/, without .py.
    """
    found = hashlib.sha256()
    for pattern in ("minitorch/**/*.py", f"project/{program}.py", "project/lab/training/*trainer.py"):
        for path in sorted(ROOT.glob(pattern)):
            with contextlib.suppress(FileNotFoundError):
                found.update(str(path).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


_imported: Stamp = stamp()
"""The files as they were when they were last imported."""


def refresh() -> None:
    """Forget what was imported from files that have changed since, so that the next import reads them again."""
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
    """Once a second, look whether a file was saved; if so, run the page again.

    Streamlit's own watcher would miss a file that could not be imported, and with it the moment when its error is mended.
    """
    if st.session_state.get("sources") != stamp():
        st.rerun(scope="app")
