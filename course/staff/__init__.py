"""The teacher's tools: handouts for students, proofs that the tests of each task catch mistakes, grading, and what follows from it."""


class StaffError(ValueError):
    """An inconsistency in the repository; the message says where.

    Attributes:
        next: The next step, printed below the message.
        code: The exit code of the command.
    """

    next = "fix it, and run the command again"
    code = 3


class RequestError(StaffError):
    """A request that cannot be fulfilled; the message says what is possible.

    Args:
        message: What was expected, and what was given.
        next: A command that helps.
    """

    code = 2

    def __init__(self, message: str, next: str = "course-staff --help") -> None:
        super().__init__(message)
        self.next = next
