"""Every way in which a student's code can end, crash, corrupt or silence the process of its tests, in a new process."""

import pytest

from tests.course.test_endings import state_with

pytestmark = pytest.mark.usefixtures("clean_process_environment")


@pytest.mark.parametrize("body", ["os.closerange(0, 200)", "sys.stdout.close(); sys.stderr.close()"])
def test_code_that_closes_the_files_of_the_process_fails_first(workspace, body):
    state = state_with(workspace, f"{body}; return 4")
    assert (state.state, state.passed, state.total) == ("failing", 1, 3)
    assert state.card.nodeid == "tests/test_sums.py::test_add"
