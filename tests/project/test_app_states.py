"""Every page of the app with code that cannot be parsed, is not written, raises, or returns something wrong."""

import pytest

from course.manifest import ROOT
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  the fixture works by being here

# Wrong code: each function of each task raises, or returns something wrong

RAISED = 'raise ValueError("broken on purpose")'


MAIN = [  # a page of each module: a function that it calls, the file of the function, and the button that calls it
    ("playground", "project.run_scalar.Linear.forward", "project/run_scalar.py", ""),
    ("m0_operators", "minitorch.operators.sigmoid", "minitorch/operators.py", ""),
    ("m1_training", "minitorch.scalar.ReLU.backward", "minitorch/scalar_functions.py", "step"),
    ("m2_strides", "minitorch.TensorData.permute", "minitorch/tensor_data.py", ""),
    ("m2_training", "project.run_tensor.Linear.forward", "project/run_tensor.py", "step"),
    ("m3_training", "project.run_fast_tensor.Linear.forward", "project/run_fast_tensor.py", "step"),
    ("m4_softmax", "minitorch.nn.functional.softmax", "minitorch/nn/functional.py", ""),
]


@pytest.mark.parametrize(("page", "target", "file", "start"), MAIN)
@pytest.mark.parametrize("body", [RAISED, "return None", "return (1.0, 2.0, 3.0)"])
def test_the_main_page_of_each_module_reports_a_wrong_function(monkeypatch, page, target, file, start, body):
    monkeypatch.setattr("project.lab.kernels.check", lambda: None)
    open_page(page)  # a test can only patch imported modules
    names = {}
    exec(compile(f"def wrong(*args, **kwargs):\n    {body}", str(ROOT / file), "exec"), names)
    monkeypatch.setattr(target, staticmethod(names["wrong"]) if target.endswith(".backward") else names["wrong"])
    app = open_page(page)
    if start and not app.error:
        app.button(key=start).click().run()
    assert not app.exception
    assert len(app.error) == 1
    if body == RAISED:
        assert f"{file}, line 2: ValueError: broken on purpose" in app.error[0].value.replace("\\", "")
