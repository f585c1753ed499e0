"""`project/reproduce.py`: its output and exit status, and the results that need no data, no GPU and no long training."""

import pytest

from project.reproductions import norch
from project.reproductions.results import ALL, DIFFERS
from tests.project.test_reproduce import check_results


def test_a_different_model_gives_different_losses(monkeypatch):
    class Other(norch.Toy):
        def forward(self, x):
            return super().forward(x) + 1e-3

    monkeypatch.setattr(norch, "Toy", Other)
    assert next(iter(ALL["norch-toy"].rows())).verdict == DIFFERS


@pytest.mark.parametrize("name", ["norch-toy", "thunder-array"])
def test_the_published_results_are_reproduced(name):
    check_results(name)
