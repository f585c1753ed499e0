"""Typical answers are right after every rewrite, too."""

import pytest

from tests.course.similarity.disguises import DISGUISES
from tests.course.similarity.test_typical_answers import *


@pytest.fixture(params=DISGUISES)
def form(request):
    return request.param
