"""Programs that compile many kernels first, eager and compiled."""

import pytest

from tests.project.test_compiled_step import SLOW, check_program


@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_program_learns_the_same_with_compile(name, capsys):
    check_program(name, capsys)
