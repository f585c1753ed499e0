"""Errors of the student's commands: one line with the problem and the next step, and an exit code."""

TESTS_FAIL, USAGE, ENVIRONMENT = 1, 2, 3
"""Exit codes besides 0; an interrupted command ends with 130."""


class Problem(Exception):
    """Ends the command with one line, which ends with the next step.

    Args:
        message: The line.
        code: The exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
