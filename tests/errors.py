"""What tests of error messages share."""

import re
from typing import Any

import pytest


def raises(error: type[BaseException], message: str) -> Any:
    """Like pytest.raises, but compares the whole message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")
