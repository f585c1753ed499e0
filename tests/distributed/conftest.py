"""What tests of the process group share."""

import pytest

from minitorch import distributed


@pytest.fixture
def alone():
    """A group of one process."""
    distributed.init_process_group()
    yield
    distributed.destroy_process_group()
