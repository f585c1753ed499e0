"""A saved file is imported again, whether or not its previous version could be imported."""

import json

from tests.project.workspace import copy, execute

SAVED = """
import json, pathlib
from streamlit.testing.v1 import AppTest
operators = pathlib.Path("minitorch/operators.py")
finished = operators.read_text()
app = AppTest.from_file("project/app.py", default_timeout=60)

def look(source):
    operators.write_text(source)
    if not shown:
        app.run()
        app.switch_page("views/m0_operators.py")
    app.run()
    shown.append([alert.value for alert in app.error] + [metric.value for metric in app.metric])

shown = []
look("def broken(:" + finished)
look(finished)
look(finished.replace("return 1.0 / (1.0 + math.exp(-x))", "return 0.25  # another answer"))
print(json.dumps(shown))
"""


def test_the_page_reloads_saved_files_through_an_error_and_its_fix(tmp_path):
    broken, fixed, changed = json.loads(execute(copy(tmp_path), SAVED).splitlines()[-1])
    assert "line 1" in broken[0]
    assert fixed == ["0.731059"]  # sigmoid(1)
    assert changed == ["**sigmoid\\(0\\) expected 0\\.5\\, got 0\\.25**", "0.25"]


MANIFEST = """
import json, pathlib
from streamlit.testing.v1 import AppTest
pathlib.Path("minitorch/.#scalar.py").symlink_to("user@host.1:2")  # as an editor leaves it beside an unsaved file
app = AppTest.from_file("project/app.py", default_timeout=60).run()
manifest = pathlib.Path("course/tasks.toml")
manifest.write_text(manifest.read_text().replace('title = "Operators"', 'title = "Arithmetic"'))
app.run()
print(json.dumps([len(app.exception), any("Arithmetic" in element.value for element in app.markdown)]))
"""


def test_the_board_reloads_the_manifest_and_ignores_an_editor_s_lock_file(tmp_path):
    assert json.loads(execute(copy(tmp_path), MANIFEST).splitlines()[-1]) == [0, True]
