"""The tests of tests/compiler/test_refusals.py on the fast backend."""

from tests.compiler.test_refusals import *
