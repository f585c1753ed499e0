"""The tests of tests/torch_face/test_thresholds.py on the fast backend."""

from tests.torch_face.test_thresholds import *
