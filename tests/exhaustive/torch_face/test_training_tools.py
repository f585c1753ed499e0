"""The tests of tests/torch_face/test_training_tools.py on the fast backend."""

from tests.torch_face.test_training_tools import *
