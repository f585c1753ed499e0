"""Helpers for opening pages of the app in tests."""

import pytest
from streamlit.testing.v1 import AppTest

from course.manifest import ROOT
from project.lab import sources


@pytest.fixture(autouse=True)
def ignore_saved_files(monkeypatch):
    """Ignore files saved during a test; reloading them would undo the test's patches. A test file imports this fixture by name."""
    monkeypatch.setattr(sources, "stamp", tuple)
    monkeypatch.setattr(sources, "_imported", ())


def open_page(name, **query):
    """A page of the app after its first run, with these query parameters."""
    app = AppTest.from_file(str(ROOT / "project" / "app.py"), default_timeout=120)
    app.switch_page(f"views/{name}.py")
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception[0].message
    return app
