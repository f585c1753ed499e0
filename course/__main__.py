"""`python -m course` is `course`."""

from course.cli.main import main

main()
