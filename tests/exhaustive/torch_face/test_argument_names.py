"""The tests of tests/torch_face/test_argument_names.py on the fast backend."""

from tests.torch_face.test_argument_names import *
