"""The fixtures of tests/course."""

from tests.course.conftest import *
