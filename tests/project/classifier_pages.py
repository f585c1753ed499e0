"""Helpers for the tests of pages that train classifiers: reading a page, waiting for a run, and a fake program."""

import time

import pytest

from project.lab.training import job as training_job
from tests.project.pages import page_text as page_text


def texts(elements):
    """The texts of the elements, without the backslashes that escape Markdown."""
    return [element.value.replace("\\", "") for element in elements]


def picture_markup(app):
    """The markup of the small pictures."""
    return "\n".join(block.proto.body for block in app.get("html"))


def until_done(app, prefix=""):
    """Rerun the page until the run that its button stops has ended. The prefix is that of the key of the button."""
    end = time.monotonic() + 240
    while not app.button(key=f"{prefix}_stop" if prefix else "stop").disabled:
        assert time.monotonic() < end
        time.sleep(0.3)
        app.run()
    return app


@pytest.fixture
def fake_program(monkeypatch):
    """A function that replaces the training program by one that prints these lines and ends, or fails with the given error."""

    def make(lines=(), error=None):
        class Ended:
            running = False

            def __init__(self, *command):
                self.lines = list(lines)

            def read(self):
                if error is not None:
                    raise error
                return False

            def stop(self):
                pass

        monkeypatch.setattr(training_job, "Job", Ended)

    return make
