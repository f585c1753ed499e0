"""The training page of Module 2: its buttons, and its messages for unwritten or wrong code."""

import re
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import minitorch
from course.manifest import ROOT, course
from project.lab.training import run_files
from tests.marks import needs_compiler
from tests.project.pages import epoch, ignore_saved_files, texts
from tests.project.test_app_training import open_page


@needs_compiler
def test_a_compiled_step_learns_the_same_and_tells_its_gain():
    losses = []
    for compiled in ("false", "true"):
        app = open_page(points="4", hidden="2", epochs="30", compile=compiled)
        for _ in range(12):
            app.button(key="step").click().run()
        losses.append(app.metric[1].value)
        assert (" --compile" in app.code[0].value) == (compiled == "true")
        gains = [text for text in texts(app.caption) if "Compiled: 6 of 12 steps were replayed; a step takes" in text]
        assert len(gains) == (compiled == "true")
    assert losses[0] == losses[1]
