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


def texts(elements):
    return [element.value for element in elements]


def page_text(app):
    """All text on the page, without the backslashes that escape Markdown."""
    return "\n".join(texts([*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.code])).replace("\\", "")


def epoch(app):
    return int(app.metric[0].value.split(" / ")[0])


def forward(app):
    """The page after a click on the button for the next step."""
    return app.button(key="forward").click().run()
