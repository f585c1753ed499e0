"""Helpers for opening pages of the app in tests."""

import functools
import inspect
import json
import pkgutil
import sys

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner import magic
from streamlit.testing.v1 import AppTest

from course.manifest import ROOT
from project.lab import kernels, registry, sources

# For each AppTest, Streamlit searches all installed packages for components, and parses the scripts: 0.15 s, four times as long as a page.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
magic.add_magic = functools.cache(magic.add_magic)


@pytest.fixture(autouse=True)
def ignore_saved_files(monkeypatch):
    """Ignore files saved during a test; reloading them would undo the test's patches. A test file imports this fixture by name.

    The page on images computes nothing before a run, as if no kernels were on disk.
    """
    monkeypatch.setattr(sources, "stamp", tuple)
    monkeypatch.setattr(sources, "_imported", ())
    monkeypatch.setattr(kernels, "ready", lambda: False)


def open_page(name, **query):
    """A page of the app, or a part of one, after its first run, with these query parameters."""
    app = AppTest.from_file(str(ROOT / "project" / "app.py"), default_timeout=120)
    row = registry.view(name)
    app.switch_page(row.path)
    for key, value in (query | row.query).items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def texts(elements):
    return [element.value for element in elements]


def page_text(app):
    """All text on the page, without the backslashes that escape Markdown."""
    return "\n".join(texts([*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.code])).replace("\\", "")


def specs(app):
    """The specifications of the charts."""
    return [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]


def graph(app):
    """What the figure of the graph page gets, and the step at which it is."""
    data = json.loads(app.get("bidi_component")[0].proto.json)
    return data, data["steps"][data["moment"]]


def epoch(app):
    return int(app.metric[0].value.split(" / ")[0])


def press(app, key):
    """The page after a click on the button with this key."""
    return app.button(key=key).click().run()


def forward(app):
    """The page after a click on the button for the next step."""
    return press(app, "forward")


def fill(app, **values):
    """The page after the controls with these keys have been given these values, one after the other."""
    for key, value in values.items():
        next(element for element in app.main if getattr(element, "key", None) == key).set_value(value).run()
    return app


@functools.cache
def import_modules(name):
    """Import what a page uses: a module that is first imported while a test replaces a function would keep the replacement."""
    open_page(name)


def replace_function(monkeypatch, target, body, file="minitorch/other.py", parameters="*inputs, **options"):
    """Give a function another body, which appears to be on line 2 of this file of the workspace."""
    path, _, name = target.rpartition(".")
    owner = sys.modules.get(path) or pkgutil.resolve_name(path)  # minitorch.tensor is a module and a function
    names = {}
    exec(compile(f"def {name}({parameters}):\n    {body}", str(ROOT / file), "exec"), names)
    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    monkeypatch.setattr(owner, name, staticmethod(names[name]) if is_static else names[name])


def open_with(monkeypatch, name, target, body, file="minitorch/other.py", parameters="*inputs, **options", **query):
    """A page of the app after its first run with another body of a function; see `replace_function`."""
    import_modules(name)
    replace_function(monkeypatch, target, body, file, parameters)
    return open_page(name, **query)


def unwritten(task):
    """The body of a function that is not written yet."""
    return f'raise NotImplementedError("Need to implement for Task {task}")'
