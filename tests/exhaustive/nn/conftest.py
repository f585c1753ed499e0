"""The backends, as for the tests of networks."""

from tests.nn.conftest import _default_place, backend
