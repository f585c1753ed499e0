"""The pages that train classifiers, as their tests read them, and a program that ends at once."""

import time

import pytest

from project.lab.training import job as training_job


def texts(elements):
    """What they say, without the signs that keep Markdown from reading it as such."""
    return [element.value.replace("\\", "") for element in elements]


def everything(app):
    """All that stands on the page, as one text."""
    return "\n".join(texts([*app.markdown, *app.caption, *app.info, *app.error]))


def pictures(app):
    """The markup of small pictures."""
    return "\n".join(block.proto.body for block in app.get("html"))


def until_done(app, prefix):
    """Look again and again until the run has ended."""
    end = time.monotonic() + 240
    while not app.button(key=f"{prefix}_stop").disabled:
        assert time.monotonic() < end
        time.sleep(0.3)
        app.run()
    return app


@pytest.fixture
def nothing_runs(monkeypatch):
    """Makes a program that says these lines and then ends, by an error if one is given."""

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
