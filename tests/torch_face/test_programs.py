"""Programs written for PyTorch, each run twice: as it is, and with our library under PyTorch's names. Losses and output must be equal."""

import re
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

import minitorch
from benchmarks.programs_contenders import FOLDER, PROGRAMS, load
from course.workspace.library import for_minitorch
from tests.errors import raises

STEPS = 20

LAST_LINES_DRAWN = {"diffusion": 1, "gpt": 1, "name_generator": 1}
"""How many lines at the end of a program's output depend on numbers that the library draws."""

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def losses(name: str, ours: bool, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The losses of the first steps of a program, whose `seeded` imports the same library."""
    monkeypatch.setitem(sys.modules, "seeded", load("seeded", ours))
    return load(name, ours).train(STEPS)


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[float]]:
    """What a program has printed, except what it has drawn: the text with # for each number, and the numbers."""
    lines = capsys.readouterr().out.splitlines()
    text = "\n".join(lines[: len(lines) - LAST_LINES_DRAWN.get(name, 0)])
    return " ".join(NUMBER.sub("#", text).split()), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("import torch", "import minitorch.torch as torch"),
        ("import torch  # the library", "import minitorch.torch as torch  # the library"),
        ("    import torch", "    import minitorch.torch as torch"),
        ("import torch as t", "import minitorch.torch as t"),
        ("import torch.nn as nn", "import minitorch.torch.nn as nn"),
        ("import torch.nn.functional as F", "import minitorch.torch.nn.functional as F"),
        ("from torch import nn, optim", "from minitorch.torch import nn, optim"),
        ("from torch.utils.data import DataLoader, Dataset", "from minitorch.torch.utils.data import DataLoader, Dataset"),
        ("from torch.optim.lr_scheduler import (", "from minitorch.torch.optim.lr_scheduler import ("),
        ("import torchvision", "import minitorch.torch.vision as torchvision"),
        ("import torchvision  # images", "import minitorch.torch.vision as torchvision  # images"),
        ("import torchvision as tv", "import minitorch.torch.vision as tv"),
        ("import torchvision.transforms as T", "import minitorch.torch.vision.transforms as T"),
        ("import torchvision.transforms.functional as TF", "import minitorch.torch.vision.transforms.functional as TF"),
        ("from torchvision import datasets, transforms", "from minitorch.torch.vision import datasets, transforms"),
        ("    from torchvision.models import resnet18", "    from minitorch.torch.vision.models import resnet18"),
        ("from torchvision.transforms import (", "from minitorch.torch.vision.transforms import ("),
        ("import torchtext", "import torchtext"),
        ("from torchvision_extra import models", "from torchvision_extra import models"),
        ("import numpy as np", "import numpy as np"),
        ("x = torch.ones(3)  # import torch", "x = torch.ones(3)  # import torch"),
        ('print("import torch")', 'print("import torch")'),
    ],
)
def test_only_import_lines_are_replaced(line, replaced):
    assert for_minitorch(f"x = 1\n{line}\ny = 2\n") == f"x = 1\n{replaced}\ny = 2\n"


@pytest.mark.parametrize(
    "line", ["import torch.nn", "import torch, math", "import math, torch", "import torchvision.models", "import math, torchvision"]
)
def test_an_import_that_cannot_be_replaced_is_refused(line):
    lib = "torchvision" if "torchvision" in line else "torch"
    with raises(ValueError, f"expected `import {lib}`, `import {lib}.x as y` or `from {lib}.x import y`, got {line!r}; rewrite it"):
        for_minitorch(f"{line}\n")


IMPORTS_OF_TORCHVISION = """
import torchvision
import torchvision.transforms as T
from torchvision import datasets, transforms
from torchvision.models import resnet18
"""


def test_every_import_of_torchvision_finds_the_names_of_ours():
    vision = pytest.importorskip("minitorch.torch.vision", reason="this workspace has no minitorch.torch")
    found = {}
    exec(for_minitorch(IMPORTS_OF_TORCHVISION), found)
    assert (found["torchvision"], found["T"], found["transforms"]) == (vision, vision.transforms, vision.transforms)
    assert (found["datasets"], found["resnet18"]) == (vision.datasets, vision.models.resnet18)


@pytest.mark.parametrize(
    ("source", "error", "absent", "nearest"),
    [
        ("import torchvision\ntorchvision.transform", AttributeError, "torchvision has no transform", "torchvision.transforms"),
        ("import torchvision.transforms as T\nT.RandomResizedCrop(8)", AttributeError, "torchvision.transforms has no RandomResizedCrop",
         "torchvision.transforms.RandomCrop"),
        ("from torchvision import dataset", ImportError, "torchvision has no dataset", "torchvision.datasets"),
        ("from torchvision.models import resnet20", ImportError, "torchvision.models has no resnet20", "torchvision.models.resnet50"),
        ("from torchvision.datasets import KMNIST", ImportError, "torchvision.datasets has no KMNIST", "torchvision.datasets.MNIST"),
        ("from torchvision.transforms.functional import normalise", ImportError, "torchvision.transforms.functional has no normalise",
         "torchvision.transforms.functional.normalize"),
        ("from torch.nn import Linaer", ImportError, "torch.nn has no Linaer", "torch.nn.Linear"),
    ],
)  # fmt: skip
def test_a_name_of_torchvision_that_is_absent_is_an_error_with_the_nearest_one(source, error, absent, nearest):
    pytest.importorskip("minitorch.torch.vision", reason="this workspace has no minitorch.torch")
    with pytest.raises(error, match=f"^{re.escape(f'{absent} in minitorch; the nearest name is {nearest}')}"):
        exec(for_minitorch(source), {})


@pytest.mark.parametrize("name", [*PROGRAMS, "seeded"])
def test_a_program_differs_in_its_imports_only(name):
    """And mentions our library nowhere: it is a program for PyTorch."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert "minitorch" not in source
    pairs = zip(source.split("\n"), for_minitorch(source).split("\n"), strict=True)
    changed = [before for before, after in pairs if before != after]
    assert changed
    assert all(re.match(r"(import|from) torch\b", line) for line in changed)


@pytest.fixture
def torch() -> Iterator[ModuleType]:
    """PyTorch on one core: it waits actively for its threads, and would slow down tests that run at the same time."""
    library = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    threads = library.get_num_threads()
    library.set_num_threads(1)
    yield library
    library.set_num_threads(threads)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_and_prints_as_with_pytorch(name, torch, monkeypatch, capsys):
    """The programs are well-conditioned: weights that differ by 2e-7 of their size change no loss by more than 2e-5 of it."""
    pytest.importorskip("minitorch.torch", reason="this workspace has no minitorch.torch")
    theirs = losses(name, False, monkeypatch)
    wanted_text, wanted_numbers = printed(name, capsys)
    assert len(theirs) == STEPS
    assert np.ptp(theirs) > 0.01 * abs(theirs[0]), "a program that learns nothing would prove nothing"
    ours = losses(name, True, monkeypatch)
    text, numbers = printed(name, capsys)
    assert all(type(loss) is float for loss in ours)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7)
    assert text == wanted_text
    np.testing.assert_allclose(numbers, wanted_numbers, rtol=1e-3, atol=2e-3)
    assert torch.is_grad_enabled()


def test_convolution_computes_with_the_textbook_kernels_of_a_workspace(monkeypatch):
    torch = pytest.importorskip("minitorch.torch", reason="this workspace has no minitorch.torch")
    monkeypatch.setattr(minitorch.FastOps, "optimized", False)
    for conv, size in ((minitorch.conv1d, (3,)), (minitorch.conv2d, (3, 3))):
        assert conv(torch.ones(1, 1, *size), torch.ones(1, 1, *[2] * len(size))).max().item() == 2 ** len(size)
