"""The same run of the playground elsewhere, for further settings."""

import pytest

from tests.project.test_playground import check_learning, check_repeated_run


@pytest.mark.parametrize(
    "values",
    [
        {"network": "tensors", "optimizer": "Adam", "rate": 0.03, "regularization": "L1", "test": 0, "seed": 3},
        {"network": "fast", "layers": "none", "features": "x1,x1*x2,sin(x2)", "optimizer": "momentum", "activation": "relu"},
        {"regularization": "L1", "layers": "3", "activation": "linear", "batch": 7},
    ],
    ids=str,
)
def test_script_and_command_repeat_the_run(values, capsys):
    check_repeated_run(values, capsys)


def test_the_compiled_network_learns_circle():
    check_learning("fast", "SGD", 0.5, epochs=60)
