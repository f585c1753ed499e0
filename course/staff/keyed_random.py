"""Numbers that look random and follow from a secret: the same on every machine and with every version of Python."""

from __future__ import annotations

import hashlib
import hmac


def keyed_integer(seed: str, *purpose: str) -> int:
    """A large integer that depends only on a secret seed and on its purpose, such as the name of a question and a student's id."""
    digest = hmac.new(seed.encode(), "\0".join(purpose).encode(), hashlib.sha256).digest()
    return int.from_bytes(digest, "big")
