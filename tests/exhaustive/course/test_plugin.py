"""The course's pytest plugin: what it prints and what its report contains."""

from tests.course.conftest import Workspace
from tests.course.test_plugin import AT_INTERRUPTS, ENDLESS, ODD, report, report_of, rows, run


def test_pytest_and_hypothesis_settings_are_those_of_the_course(rows, workspace):
    assert rows["test_settings"]["state"] == "passed"
    workspace.write("tests/test_odd.py", ODD)
    assert workspace.python("pytest", "-k", "test_settings", CI="true").returncode == 0
    assert workspace.python("pytest", "-k", "test_settings", "--hypothesis-profile=default").returncode == 1, "a chosen profile wins"


def test_an_endless_test_is_reported_even_if_pytest_cannot_show_it(workspace):
    """The other tests passed: without the record of the stopped one they would count as all tests of the task."""
    workspace.edit("minitorch/sums.py", "    return x + y", ENDLESS)
    workspace.write("tests/conftest.py", AT_INTERRUPTS.format(factor=4, does='raise TypeError("without line numbers")'))
    workspace.python("pytest", "-m", "task0_1", "--course-limit=3", "--course-report=report.json")
    stopped = report_of(workspace)["interrupted"]
    assert (stopped["task"], stopped["nodeid"]) == ("0.1", "tests/test_sums.py::test_add")
