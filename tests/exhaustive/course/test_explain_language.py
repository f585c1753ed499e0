"""`course explain` names a wrong function that several processes call."""

import pytest

from tests.course.test_explain_language import TOGETHER, check_named, without_compiler


@pytest.mark.parametrize(("use", "owner", "name", "wrong"), TOGETHER)
def test_a_wrong_function_of_several_processes_is_named(use, owner, name, wrong, monkeypatch):
    check_named(use, owner, name, wrong, monkeypatch)
