"""The tests of tests/compiler/test_compile.py on the fast backend."""

from tests.compiler.test_compile import *
