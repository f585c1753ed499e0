"""The tests of tests/compiler/test_guards.py on the fast backend."""

from tests.compiler.test_guards import *
