"""The pages of Module 3 on training, speed-up and parallel loops, with finished and with unwritten code."""

import json
import re
import sys

import pytest

from minitorch.kernels.cuda import device as cuda_device
from tests.project import workspace
from tests.project.classifier_pages import texts, until_done
from tests.project.pages import ignore_saved_files, open_page, press


def test_the_speed_up_page_measures_and_draws(monkeypatch):
    app = open_page("m3_speed", op="map", backends=["simple", "numpy", "cuda"])
    monkeypatch.setattr(cuda_device, "available", lambda: False)
    assert app.code[0].value.startswith("python project/timing.py --op map --up-to 10000000 --dtype float32 --backends simple")
    assert "Press **Start** to measure" in app.info[0].value
    app.selectbox[0].set_value(1000).run()
    until_done(press(app, "start"))
    assert len(app.get("vega_lite_chart")) == 2  # the speed-up and the roofline
    assert any("At 1,000 elements, speed relative to simple: numpy" in text for text in texts(app.caption))
    assert list(app.dataframe[0].value["backend"]) == ["simple", "numpy"]
    assert not app.button(key="start").disabled


def test_the_page_on_parallel_loops_shows_the_report_of_the_program():
    app = open_page("m3_diagnostics")
    assert len(app.title) == 1
    assert not app.error
    assert not app.warning
    assert not [text for text in texts(app.info) if "not written" in text]


PRESS_START = """
import json, sys, time
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("project/app.py", default_timeout=120).run()
app.switch_page("views/m3_speed.py")
app.query_params["backends"] = ["simple", "fast"]
app.run()
app.button(key="start").click().run()
for _ in range(300):
    if app.button(key="stop").disabled:
        break
    time.sleep(0.2)
    app.run()
print(json.dumps([alert.value.replace("\\\\", "") for alert in [*app.info, *app.error]]))
"""


@pytest.fixture(scope="module")
def unwritten_workspace(tmp_path_factory):
    """A workspace whose kernels are not written."""
    root = workspace.copy(tmp_path_factory.mktemp("stub"))
    file = root / "minitorch" / "fast_ops.py"
    source = file.read_text(encoding="utf-8")
    for name, task in (("tensor_map", "3.1"), ("tensor_zip", "3.1"), ("tensor_reduce", "3.1"), ("_tensor_matrix_multiply", "3.2")):
        unwritten = rf'\1    raise NotImplementedError("Need to implement for Task {task}")\n'
        source, count = re.subn(rf"(?ms)(^def {name}\(.*?\) -> \w+:\n)", unwritten, source, count=1)
        assert count == 1
    file.write_text(source, encoding="utf-8")
    workspace.turn_optimized_kernels_off(root)
    return root


def test_pages_with_unwritten_kernels_show_cards_instead_of_exceptions(unwritten_workspace):
    shown = workspace.show(unwritten_workspace, ["m3_diagnostics", "m3_speed", "m3_training"])
    assert [page["exceptions"] for page in shown.values()] == [[], [], []]
    assert any("Task 3.1 is not written yet" in notice for notice in shown["m3_diagnostics"]["notices"])
    assert any("is not written yet: open minitorch/fast_ops.py" in notice for notice in shown["m3_training"]["notices"])


@pytest.mark.skipif(sys.platform == "win32", reason="pipes that do not block are asked for in another way there")
def test_measuring_an_unwritten_kernel_ends_in_its_card(unwritten_workspace):
    notices = json.loads(workspace.execute(unwritten_workspace, PRESS_START).splitlines()[-1])
    assert any("Task 3.2 is not written yet: open minitorch/fast_ops.py" in notice for notice in notices)
