"""A saved file is imported again, whether or not its previous version could be imported."""

import json

from tests.project.workspace import copy, execute

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
