"""The table of names in docs/torch_names.toml against the library: what it has and has not, and what the error for an absent name says."""

import importlib
import inspect
import tomllib
from importlib.util import find_spec

import pytest

import minitorch.torch as ours
from course.manifest import ROOT

TABLE = tomllib.loads((ROOT / "docs" / "torch_names.toml").read_text(encoding="utf-8"))
ABSENT = TABLE["absent"]
NAMES = [name for group in TABLE["groups"].values() for name in group["names"]]
PAGE = "the table of names is in docs/from_here_to_pytorch.md"

MODULES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.optim",
    "torch.linalg",
    "torch.special",
    "torch.func",
    "torch.utils",
    "torch.serialization",
)
"""The modules that name the nearest name."""


def find(name, library):
    """What a name such as torch.nn.Linear stands for: in `library` "torch", or "minitorch.torch". A name of a tensor is one of an instance.

    Raises:
        AttributeError: If there is none.
    """
    path, thing = library, importlib.import_module(library)
    for part in name.split(".")[1:]:
        path += f".{part}"
        if inspect.ismodule(thing) and not hasattr(thing, part):
            try:
                importlib.import_module(path)
            except ModuleNotFoundError:
                raise AttributeError(f"there is no {path}") from None
        thing = getattr(thing, part)
        if path == f"{library}.Tensor":
            thing = thing([[1.0]])
    return thing


def exists(name, library="minitorch.torch"):
    try:
        find(name, library)
    except AttributeError:
        return False
    return True


def message(name):
    """What the error for an absent name says."""
    owner, _, last = name.rpartition(".")
    with pytest.raises(AttributeError) as error:
        getattr(find(owner, "minitorch.torch"), last)
    return str(error.value)


def suggested(owner):
    """The names that the error of a module may suggest."""
    module = importlib.import_module(f"minitorch.{owner}")
    return inspect.getclosurevars(vars(module)["__getattr__"]).nonlocals["known"]


def test_a_name_is_found_in_a_module_on_an_instance_and_in_a_module_that_is_not_imported_yet():
    assert find("torch.nn.Linear", "minitorch.torch") is ours.nn.Linear
    assert find("torch.Tensor.grad", "minitorch.torch") is None
    assert find("torch.Tensor.shape", "minitorch.torch") == (1, 1)
    assert find("torch.utils.data.dataset.Subset", "minitorch.torch") is ours.utils.data.Subset
    for name in ("torch.foo", "torch.foo.bar", "torch.Tensor.foo", "torch.nn.Linear.foo", "torch.nn.Module.data.grad"):
        assert not exists(name)


def test_the_table_has_each_name_once():
    assert len(NAMES) == len(set(NAMES)) >= 391
    assert all(name.startswith("torch.") for name in [*NAMES, *ABSENT])


def test_every_name_that_is_not_listed_as_absent_exists():
    assert [name for name in NAMES if name not in ABSENT and not exists(name)] == []


def test_no_name_that_is_listed_as_absent_exists():
    assert [name for name in ABSENT if exists(name)] == []
    assert [name for name, reason in ABSENT.items() if len(reason.split()) < 2] == [], "names without a reason"


def test_nearly_all_names_exist():
    assert sum(map(exists, NAMES)) >= 0.95 * len(NAMES)


def test_every_name_is_one_of_pytorchs():
    pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    assert [name for name in [*NAMES, *ABSENT] if not exists(name, "torch")] == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("torch.sofmax", "torch.softmax"),
        ("torch.arrange", "torch.arange"),
        ("torch.optimizer", "torch.optim"),
        ("torch.nn.Linaer", "torch.nn.Linear"),
        ("torch.nn.functional.cross_entrophy", "torch.nn.functional.cross_entropy"),
        ("torch.optim.RMSProp", "torch.optim.RMSprop"),
        ("torch.linalg.cholesky_ex", "torch.linalg.cholesky"),
        ("torch.func.gradd", "torch.func.grad"),
        ("torch.utils.dat", "torch.utils.data"),
    ],
)
def test_the_error_for_an_absent_name_names_the_nearest_one_and_the_table(name, nearest):
    owner, _, last = name.rpartition(".")
    assert message(name) == f"{owner} has no {last} in minitorch; the nearest name is {nearest}; {PAGE}"
    find(nearest, "minitorch.torch")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("torch.jit", "no compiler for Python's source; leave torch.jit out, or record launches with torch.compile"),
        ("torch.hub", "no downloads of code; load a state_dict() into a network of your own"),
        ("torch.fft", "no complex numbers; call numpy.fft with x.numpy()"),
        ("torch.linalg.eigvals", "no complex numbers; torch.linalg.eigh and eigvalsh take symmetric matrices"),
        (
            "torch.onnx.export",
            "no graph that could be exported; load the state_dict() into the same network in PyTorch, and export it there",
        ),
    ],
)
def test_the_error_for_what_is_absent_on_purpose_says_why(name, reason):
    owner, _, last = name.rpartition(".")
    assert message(name) == f"{owner} has no {last} in minitorch: {reason}"


@pytest.mark.parametrize("owner", MODULES)
def test_the_error_for_a_name_without_a_similar_one_names_the_table(owner):
    assert message(f"{owner}.qzqzqz") == f"{owner} has no qzqzqz in minitorch; {PAGE}"


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("torch.distributionss", "torch.reductions;"), ("torch.placements", "torch.placement;"), ("torch.creations", "torch.creation;"),
        ("torch.nn.functional.lifted", "torch.nn.functional.lift;"),
        ("torch.linalg.publishs", "torch.linalg.publish;"),
    ],
)  # fmt: skip
def test_no_private_name_is_suggested(name, private):
    find(private.rstrip(";"), "minitorch.torch")
    assert private not in message(name)


@pytest.mark.parametrize("owner", MODULES)
def test_every_name_that_can_be_suggested_exists_in_pytorch(owner):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs = importlib.import_module(owner)
    assert theirs is torch or owner != "torch"
    missing = [name for name in suggested(owner) if not hasattr(theirs, name)]
    assert [name for name in missing if find_spec(f"{owner}.{name}") is None] == []  # torch.utils.tensorboard needs TensorBoard


@pytest.mark.parametrize("owner", MODULES)
def test_every_name_of_the_table_can_be_suggested(owner):
    here = {name.removeprefix(f"{owner}.").split(".")[0] for name in NAMES if name not in ABSENT and name.startswith(f"{owner}.")}
    assert sorted({name for name in here if exists(f"{owner}.{name}")} - {*suggested(owner)}) == []


def test_a_property_that_fails_keeps_its_own_message():
    class Broken(ours.Tensor):
        @property
        def broken(self):
            raise AttributeError("of the property")

    with pytest.raises(AttributeError, match=r"^of the property$"):
        _ = Broken(1).broken
