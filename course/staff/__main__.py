"""`python -m course.staff`, the same as `course-staff`."""

from course.staff.cli import main

main()
