"""What ends a command of the student's: one line that says what is wrong and what to do next, and an exit code."""

TESTS_FAIL, USAGE, ENVIRONMENT = 1, 2, 3
"""Exit codes besides 0; an interrupted command ends with 130."""


class Problem(Exception):
    """Ends the command with one line, which closes with what to do next.

    Args:
        message: The line.
        code: The exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
