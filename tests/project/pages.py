"""Pages of the app, opened as a test sees them."""

import pytest
from streamlit.testing.v1 import AppTest

from course.manifest import ROOT
from project.lab import sources


@pytest.fixture(autouse=True)
def files_stand_still(monkeypatch):
    """A file that is saved during a test would be imported again, without what the test has patched. A test file imports this by name."""
    monkeypatch.setattr(sources, "stamp", tuple)
    monkeypatch.setattr(sources, "_imported", ())


def open_page(name, **query):
    """A page of the app after its first run, with these settings in its address."""
    app = AppTest.from_file(str(ROOT / "project" / "app.py"), default_timeout=120)
    app.switch_page(f"views/{name}.py")
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception[0].message
    return app
