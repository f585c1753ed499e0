"""Every public name: its docstring documents errors and shapes, and the book's reference lists it."""

import ast
import functools
import importlib
import inspect
import operator
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import minitorch
from course.manifest import ROOT, course
from minitorch import Function
from minitorch.core import errors
from minitorch.core.tensor_methods import TensorMethods

TABLES = ["minitorch", *map("minitorch.{}".format, ("nn", "optim", "data", "models", "autograd", "cuda", "distributed", "language"))]
WHOLE = ["minitorch.nn.init", "minitorch.nn.functional", "minitorch.nn.parallel"]
"""Modules that users call by their own name: all names that they define are public."""

COURSE = {f"minitorch.{module}" for stage in course().stages if stage.number <= 4 for module in stage.modules}

# Python's protocol requires these errors of these methods, and Python's own classes do not document them.
PROTOCOL = {"__getattr__": "AttributeError", "__getitem__": "KeyError"}

ABSTRACT = ("Function.forward", "Function.backward", *map("TensorOps.{}".format, ("map", "zip", "reduce", "matrix_multiply")))
ALSO_SILENT = {  # errors that docstrings need not document, with reasons
    **{f"minitorch.{name}: RuntimeError": "says that a subclass has to define it" for name in ABSTRACT},
    "minitorch.Module.__setattr__: TypeError": "an attribute is set, nothing called; the message has the remedy",
}

SHAPES = re.compile(r"[Ss]hape|dimension|element|broadcast|\([A-Za-z]\w*, |\d×\d|\brows?\b|\brank\b|vector")
"""Patterns by which a docstring may describe shapes: the word, the dimensions, or letters, as in (B, C, H, W)."""

SHAPELESS = {  # functions for which shapes would be pointless, with reasons
    f"minitorch.{owner}{name}": reason
    for owner, names, reason in (
        ("Tensor.", "sigmoid relu log exp abs tanh sin cos", "of every element, as the class says"),
        ("Tensor.", "double half bfloat16 long float int", "another dtype only"),
        ("Tensor.", "to cpu cuda clone detach", "the same elements"),
        ("Tensor.", "requires_grad_ parents", "about the graph"),
        ("", "full ones randn", "the shape is an argument"),
        ("", "tensor from_numpy from_dlpack Tensor.make", "as what is given has it"),
        ("nn.Module.", "buffers named_buffers state_dict", "of all that there are"),
        ("", "arange linspace", "numbers in a row"),
        ("", "grad_central_difference", "a number"),
    )
    for name in names.split()
}


# Public names


@functools.cache
def public() -> dict[str, object]:
    """Every class and function of the tables of contents, once, by its shortest name."""
    found: dict[int, tuple[str, object]] = {}
    for table in TABLES:
        module = importlib.import_module(table)
        for name in module.__dict__["__all__"]:
            found.setdefault(id(getattr(module, name)), (f"{table}.{name}", getattr(module, name)))
    for dotted in WHOLE:
        for name, thing in vars(importlib.import_module(dotted)).items():
            if not name.startswith("_") and getattr(thing, "__module__", None) == dotted:
                found.setdefault(id(thing), (f"{dotted}.{name}", thing))
    return {name: thing for name, thing in found.values() if inspect.isclass(thing) or inspect.isfunction(thing)}


def source_function(thing: object) -> object:
    """The function in the source, without decorators and properties."""
    if isinstance(thing, property):
        thing = thing.fget
    if isinstance(thing, (staticmethod, classmethod)):
        thing = thing.__func__
    return inspect.unwrap(thing) if callable(thing) else thing


def public_functions() -> Iterator[tuple[str, object, str]]:
    """Every public function, and every method that a public class defines, with the docstrings that a reader would consult.

    Those of Tensor are in two classes.
    """
    for name, thing in public().items():
        if inspect.isfunction(thing):
            yield name, inspect.unwrap(thing), inspect.getdoc(thing) or ""
            continue
        members = vars(thing) | (vars(TensorMethods) if thing is minitorch.Tensor else {})
        for member, method in members.items():
            function, dunder = source_function(method), member.startswith("__") and member.endswith("__")
            ours = inspect.isfunction(function) and function.__code__.co_filename.startswith(str(ROOT))  # none created by a decorator
            if ours and (dunder or not member.startswith("_")):
                doc = inspect.getdoc(function) or ""
                yield f"{name}.{member}", function, f"{doc}\n{inspect.getdoc(thing)}" if dunder else doc


# Documented errors


@functools.cache
def definitions(path: str) -> dict[int, ast.AST]:
    """The functions of a file, by their first line, with their decorators."""
    nodes = ast.walk(ast.parse(Path(path).read_text(encoding="utf-8")))
    return {min(part.lineno for part in (node, *node.decorator_list)): node for node in nodes if isinstance(node, ast.FunctionDef)}


def raised_errors(function: object, seen: frozenset[object] = frozenset()) -> set[str]:
    """The errors that leave a function, also from private functions of its module, but not from functions that it defines."""
    if function in seen:
        return set()
    node = definitions(function.__code__.co_filename)[function.__code__.co_firstlineno]
    return _errors_in(node.body, function, seen | {function})


def _errors_in(nodes: Iterable[ast.AST], function: object, seen: frozenset[object]) -> set[str]:
    """The errors that leave a part of a function."""
    found = set()
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue  # another caller runs it
        if isinstance(node, ast.Try):
            caught = {name for handler in node.handlers for name in re.findall(r"\w+", ast.unparse(handler.type or ast.Name("Exception")))}
            found |= _errors_in(node.body, function, seen) - caught
            found |= _errors_in([*node.handlers, *node.orelse, *node.finalbody], function, seen)
            continue
        found |= _errors_in(ast.iter_child_nodes(node), function, seen)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(ast.unparse(node.exc.func).split(".")[-1])
        called = private_callee(function, node.func) if isinstance(node, ast.Call) else None
        if inspect.isfunction(called) and called.__module__ == function.__module__:
            found |= raised_errors(called, seen)
    return found


def private_callee(function: object, called: ast.expr) -> object:
    """The private function of the module, or private method of the class, that a call refers to.

    For modules of the course, whose docstrings are short for students, only the errors that a function itself raises count.
    """
    if function.__module__ in COURSE:
        return None
    if isinstance(called, ast.Name) and called.id.startswith("_"):
        return source_function(function.__globals__.get(called.id))
    if isinstance(called, ast.Attribute) and called.attr.startswith("_") and ast.unparse(called.value) in ("self", "cls"):
        owner = function.__globals__.get(function.__qualname__.split(".")[0])
        return source_function(inspect.getattr_static(owner, called.attr, None))
    return None


def is_undocumented(error: str, doc: str) -> bool:
    """Whether a docstring omits an error: no entry for it or for an error that it is a kind of, no "raises …", and no reference."""
    listed = re.search(r"^Raises:\n(.*?)(^\S|\Z)", doc, re.MULTILINE | re.DOTALL)
    kinds = {each.__name__ for each in getattr(errors, error, Exception).__mro__ if each.__module__ == "builtins"} - {"Exception", "object"}
    if listed and any(kind in listed[1] for kind in {error, *kinds}):
        return False
    return not (re.search(rf"raises {error}", doc, re.IGNORECASE) or re.search(r"\b([Ss]ee|[Aa]s) `", doc))


def test_docstrings_document_errors():
    silent = []
    for name, function, doc in public_functions():
        known = {"NotImplementedError", PROTOCOL.get(name.split(".")[-1])}
        silent += [f"{name}: {error}" for error in sorted(raised_errors(function) - known) if is_undocumented(error, doc)]
    silent = [each for each in silent if each not in ALSO_SILENT]
    assert not silent, "raised, and not named under Raises:\n" + "\n".join(silent)


def _broken(x: int) -> int:
    if x:
        raise ValueError("no")
    return x


def sample(x: int) -> int:
    """One more.

    Raises:
        TypeError: If it is not a number.
    """
    if not isinstance(x, int):
        raise TypeError("no")

    def inner() -> None:
        raise KeyError("of somebody else's call")

    try:
        raise LookupError("caught")
    except LookupError:
        return _broken(x) + bool(inner)


def test_the_check_finds_errors_in_a_function_and_its_private_helpers():
    assert raised_errors(sample) == {"TypeError", "ValueError"}
    doc = inspect.getdoc(sample)
    asked = [("TypeError", doc), ("ValueError", doc), ("ValueError", "As `sample`."), ("KeyError", "KeyError")]
    assert [is_undocumented(error, text) for error, text in asked] == [False, True, False, True]
    assert [is_undocumented(error, doc) for error in ("DtypeError", "ArgumentError", "Exception")] == [False, True, True]


# Documented shapes


def test_docstrings_document_the_shapes_of_inputs_and_results():
    silent = []
    for name, function, doc in public_functions():
        *owner, last = name.split(".")
        kind = public().get(".".join(owner))
        of_a_function = inspect.isclass(kind) and issubclass(kind, Function)  # whose forward and backward are described there
        if last.startswith("__") or of_a_function or name in SHAPELESS:
            continue
        signature = inspect.signature(function)
        annotations = [signature.return_annotation, *(parameter.annotation for parameter in signature.parameters.values())]
        tensors = r"\b(Tensor|Self)\b" if kind is minitorch.Tensor else r"\bTensor\b"
        about_tensors = any(re.search(tensors, str(annotation)) for annotation in annotations)
        if about_tensors and not SHAPES.search(doc) and not re.search(r"\b([Ss]ee|[Aa]s) `|^`", doc):
            silent.append(name)
    assert not silent, "the docstring says no shapes, nor 'elementwise', nor 'See `other`':\n" + "\n".join(silent)


def test_tests_against_pytorch_have_torch_in_their_names():
    nameless = []
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        for test in re.split(r"^(?=def |@|class )", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            name = re.match(r"def (test_\w+)", test)
            if name and 'importorskip("torch"' in test and "torch" not in f"{path.stem} {name[1]}":
                nameless.append(f"{path.name}::{name[1]}")
    assert not nameless, "the job beside PyTorch selects its tests by the word torch; it would leave out:\n" + "\n".join(nameless)


# Sources


PAPERS = """
    nn.BatchNorm1d nn.batch_norm nn.LayerNorm nn.layer_norm nn.GroupNorm nn.group_norm nn.RMSNorm nn.rms_norm nn.Dropout
    nn.LSTM nn.GRU nn.MultiheadAttention nn.scaled_dot_product_attention nn.TransformerEncoderLayer nn.gelu nn.silu nn.leaky_relu
    nn.init.xavier_uniform_ nn.init.kaiming_uniform_ optim.SGD Adam optim.AdamW optim.RMSprop optim.CosineAnnealingLR
    optim.clip_grad_norm_ GradScaler autograd.checkpoint models.lenet models.ResNet language.GPT2 models.SentimentCNN
    data.CIFAR10 data.FashionMNIST data.MNIST data.load_cifar10 data.load_fashion_mnist data.load_mnist data.Digits data.SST2 data.GloVe
"""


def test_published_methods_cite_their_source():
    silent = [name for name in PAPERS.split() if "Source: " not in inspect.getdoc(operator.attrgetter(name)(minitorch))]
    assert not silent, "no Source:\n" + "\n".join(silent)


# The book


def reference_names() -> set[str]:
    """The names on the pages of docs/api, with their modules."""
    found = set()
    for page in sorted((ROOT / "docs" / "api").glob("stage*.md")):
        for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found |= set(re.findall(r"^\.\. auto(?:class|function):: (\S+)", block, re.MULTILINE))
            directive = re.search(r"^\.\. automodule:: (\S+)", block, re.MULTILINE)
            if directive is None:
                continue
            module, options = importlib.import_module(directive[1]), dict(re.findall(r"^   :([\w-]+): ?(.*)$", block, re.MULTILINE))
            own = getattr(module, "__all__", None) or [
                name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == directive[1]
            ]
            shown = [name.strip() for name in options["members"].split(",")] if options.get("members") else own * ("members" in options)
            left_out = [name.strip() for name in options.get("exclude-members", "").split(",")]
            names = [name for name in shown if name not in left_out] + re.findall(r"^   \.\. autoclass:: (\w+)", block, re.MULTILINE)
            assert [name for name in names if not hasattr(module, name)] == [], f"{page.name} shows what {directive[1]} lacks"
            things = [(name, getattr(module, name)) for name in names]
            found |= {f"{getattr(x, '__module__', directive[1])}.{getattr(x, '__qualname__', name)}" for name, x in things}
    return found


def test_the_reference_lists_every_public_name():
    shown = reference_names()
    absent = [name for name, thing in public().items() if f"{thing.__module__}.{thing.__qualname__}" not in shown]
    assert not absent, "not in docs/api:\n" + "\n".join(absent)


def test_the_exceptions_of_this_file_are_public_names():
    names = {name for name, _, _ in public_functions()}
    assert [name for name in [*ALSO_SILENT, *SHAPELESS] if name.split(":")[0] not in names] == []
    assert any(name.startswith("minitorch.nn.init.") for name in public()), "the modules moved: the tests above check less than they say"
