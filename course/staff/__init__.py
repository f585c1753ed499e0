"""The teacher's side: workspaces for students, and proofs that the tests of a task catch its mistakes."""


class StaffError(ValueError):
    """The repository does not fit together; the message says where.

    Attributes:
        next: What to do next.
        code: The exit code of the command that it ends.
    """

    next = "mend it, and run the command again"
    code = 3


class RequestError(StaffError):
    """What was asked for cannot be done; the message says what can.

    Args:
        message: What is wrong.
        next: The command that would do.
    """

    code = 2

    def __init__(self, message: str, next: str = "course-staff --help") -> None:
        super().__init__(message)
        self.next = next
