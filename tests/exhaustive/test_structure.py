"""The structure of the repository: imports between modules, public names, and the package cut after any stage."""

import pytest

from tests.test_structure import run_python


@pytest.mark.parametrize(
    "first",
    [
        "import minitorch",
        "import minitorch.datasets",
        "from minitorch.datasets import xor",
        "from minitorch import datasets",
        "import minitorch.optim",
    ],
)
def test_datasets_is_the_dict_regardless_of_import_order(first):
    program = f"{first}\nimport minitorch, minitorch.datasets\nfrom minitorch.datasets import xor\nprint(minitorch.datasets['Xor'] is xor)"
    assert run_python("-c", program) == "True"
