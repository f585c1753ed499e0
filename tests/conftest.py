"""Settings that all tests share."""

import contextlib
import signal
import sys

import pytest

# A shell that starts the tests in the background makes them, and every program that they start, ignore Ctrl-C; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def keep_runs_elsewhere(tmp_path_factory):
    """Programs that a test trains with keep their runs in a temporary folder, not among those of the workspace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINITORCH_RUNS", str(tmp_path_factory.mktemp("runs")))
        yield


@pytest.fixture(autouse=True, scope="session")
def import_what_tests_replace():
    """Tests replace `max` in two packages that import it on first use; if the first use came later, the replacement would stay."""
    for part in ("", ".nn"):  # not their names, which would make every result depend on all that they import
        with contextlib.suppress(Exception):  # the tests report it
            getattr(sys.modules.get(f"minitorch{part}"), "max", None)


def pytest_unconfigure():
    """Remove the folder that Streamlit's AppTest leaves to the end of the process, which would end with a warning."""
    if app_test := sys.modules.get("streamlit.testing.v1.app_test"):
        app_test.TMP_DIR.cleanup()
