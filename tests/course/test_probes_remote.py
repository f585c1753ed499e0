"""Calls into a submission's process: programs, plain data, and children that answer incorrectly or not at all."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from course.staff.probes.plain import Number, OtherObject, Raised, TensorSnapshot, decode
from course.staff.probes.program import Program, encode, text_of
from course.staff.probes.remote import NoReply, Remote, plain_launcher
from tests.errors import raises

PACKAGE = '''
"""A package that does this and that."""

import os
import sys
import time

class Odd(float):
    pass

def add(x, y=0.0):
    return x + y

def odd():
    return Odd(1.5)

def nothing():
    print("no answer at all", flush=True)

def fails():
    raise LookupError("not here")

def exits():
    sys.exit(3)

def ends():
    os._exit(0)

def hangs():
    time.sleep(60)

def much():
    return [0.0] * 100_000

def deep():
    found = []
    for _ in range(50):
        found = [found]
    return found

def says_nothing():
    class Silent(Exception):
        def __str__(self):
            raise ValueError
    raise Silent

def babbles():
    for descriptor in range(3, 10):
        try:
            os.write(descriptor, b'{"id": 1, "answers": []}\\n')
        except OSError:
            pass
    return 1.0
'''


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submission")
    (folder / "minitorch").mkdir()
    (folder / "minitorch" / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def remote(package):
    with Remote(plain_launcher(package)) as remote:
        yield remote


def call(remote, name, *arguments):
    """The result of a function of the package."""
    (answer,) = remote.ask([[Program().find(f"minitorch:{name}")(*arguments)]])
    return answer if isinstance(answer, Raised) else answer[0]


# What calls return


def test_a_call_returns_plain_numbers(remote):
    assert call(remote, "add", 1.5, 2.0) == 3.5
    assert math.isnan(call(remote, "add", math.nan, 1.0))
    assert call(remote, "add", -math.inf) == -math.inf
    assert type(call(remote, "add", 1, 2)) is int
    assert call(remote, "add", (1, 2), (3,)) == (1, 2, 3)
    assert call(remote, "nothing") is None
    assert call(remote, "odd") == Number("Odd", 1.5), "a number of another class is not accepted as a float"


def test_an_array_is_returned_with_its_dtype_and_shape(remote):
    p = Program()
    array = p.find("numpy:array")([[1.0, math.nan]], dtype="float32")
    ((got, function),) = remote.ask([[array, p.find("minitorch:add")]])
    np.testing.assert_array_equal(got, np.array([[1.0, math.nan]], dtype="float32"))
    assert got.dtype == np.float32
    assert function == OtherObject("function")


def test_steps_create_objects_and_reuse_them(remote):
    p = Program()
    numbers = p.find("builtins:list")([1.0, 2.0])
    numbers.append(3.0)
    f = p.function(2, lambda _, x, y: -x + y * 2.0)
    got = remote.ask([[numbers, p.find("functools:reduce")(f, numbers, 0.0), f.calls, numbers[1]]])
    assert got == [[[1.0, 2.0, 3.0], 4.0, [(0.0, 1.0), (2.0, 2.0), (2.0, 3.0)], 2.0]]


def test_several_programs_run_at_once_and_a_failure_does_not_affect_the_others(remote):
    before = remote.answers
    first, second, third = remote.ask([[Program().find(f"minitorch:{name}")()] for name in ("odd", "fails", "nothing")])
    assert (first, third) == ([Number("Odd", 1.5)], [None])
    assert isinstance(second, Raised)
    assert (str(second), second.kinds) == ("raised LookupError: not here", ["LookupError", "Exception", "BaseException", "object"])
    assert remote.answers == before + 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exits", "raised SystemExit: 3"),
        ("much", "raised ValueError: an answer may contain up to 60000 numbers and strings"),
        ("deep", "raised ValueError: an answer may nest lists up to 8 deep"),
        ("says_nothing", "raised Silent"),
        ("missing", "raised AttributeError: module 'minitorch' has no attribute 'missing'"),
    ],
)
def test_an_error_in_a_call_is_its_answer(remote, name, message):
    assert str(call(remote, name)) == message


def test_a_request_is_printed_as_code():
    p = Program()
    x = p.find("minitorch:tensor")([1.0, 2.0], grad=True)
    assert repr(x.sum(0).backward) == "tensor([1.0, 2.0], grad=True).sum(0).backward"
    assert repr(p.label(x, "x") + 1.0) == "add(x, 1.0)"
    assert encode([x, math.inf, (np.float64(2.5),)]) == [{"step": 1}, {"float": "inf"}, {"tuple": [2.5]}]
    assert text_of(np.array([1.0, 2.0])) == "[1.0, 2.0]"
    assert len(text_of("x" * 1000)) < 310


@pytest.mark.parametrize(
    "plain",
    [
        *({"float": "1.0"}, {"float": 1.0}, {"unknown": 1}, {"tuple": 3}, {"number": ["x", "1.0"]}, {"a": 1, "b": 2}, {}, float("inf")),
        *({"array": ["float64", shape, [1.0]]} for shape in ([3], [-1], [True])),
        *({"array": ["float64", [1], values]} for values in (["1.0"], [[1.0]])),
        *({"array": ["object", [1], [1.0]]}, {"array": ["int64", [1], [10**30]]}),
        {"tensor": [[2], [1], 0, True, ["float64", [1], [1.0]]]},
    ],
)
def test_anything_but_plain_data_is_refused(plain):
    with pytest.raises((ValueError, OverflowError)):
        decode(plain)


def test_a_tensor_is_returned_with_its_layout():
    got = decode({"tensor": [[2, 1], [1, 2], 3, True, ["float64", [2, 1], [1.0, 2.0]]]})
    assert isinstance(got, TensorSnapshot)
    assert (got.array.tolist(), got.strides, got.offset, got.has_history) == ([[1.0], [2.0]], (1, 2), 3, True)


# Children that do not answer correctly


@pytest.mark.parametrize(("name", "message"), [("ends", "exited before it answered"), ("babbles", "sent more than one answer")])
def test_a_child_that_ends_or_answers_nonsense_is_abandoned(package, name, message):
    with Remote(plain_launcher(package)) as remote:
        with pytest.raises(NoReply) as gone:
            call(remote, name)
        assert str(gone.value) in (message, "answered a different request")
        with pytest.raises(NoReply, match=r"^exited before the request$"):
            call(remote, "nothing")


def test_a_child_that_hangs_is_ended_in_time(package):
    with Remote(plain_launcher(package)) as remote:
        with pytest.raises(NoReply) as gone:
            remote.ask([[Program().find("minitorch:hangs")()]], seconds=0.2)
        assert (str(gone.value), gone.value.hung) == ("gave no answer within 0.2 s", True)


def test_a_submission_that_cannot_be_imported_says_why(tmp_path):
    (tmp_path / "minitorch.py").write_text("1 +", encoding="utf-8")
    with pytest.raises(NoReply) as gone:
        Remote(plain_launcher(tmp_path))
    assert str(gone.value).startswith("could not be imported: it raised SyntaxError: invalid syntax (minitorch.py, line 1)")


INVALID = "sent an invalid answer"
NO_ANSWERS = ([], [[1.0], [1.0]], [[1.0, 2.0]], [{"error": 3}], [[float("nan")]])


class ScriptedChild:
    """A child whose answers the test computes from the requests."""

    def __init__(self, reply):
        self.reply = reply
        self.ended = False

    def __call__(self, environment):
        return self

    def ask(self, line, seconds):
        request = json.loads(line)
        if "importlib:import_module" in line.decode():
            return json.dumps({"id": request["id"], "answers": [[{"object": "module"}]]}).encode()
        reply = self.reply(request)
        return reply if isinstance(reply, bytes) else json.dumps(reply).encode()

    def end(self):
        self.ended = True


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (lambda request: {"id": "0", "answers": [[1.0]]}, "answered a different request"),
        *((lambda request, data=data: data, INVALID) for data in (b"nonsense", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, [])),
        (lambda request: {"id": request["id"]}, INVALID),
        *((lambda request, answers=answers: {"id": request["id"], "answers": answers}, INVALID) for answers in NO_ANSWERS),
        (lambda request: {"id": request["id"], "answers": [["x" * (1 << 22)]]}, "sent an answer of more than 4194304 bytes"),
    ],
)
def test_an_invalid_answer_ends_the_child(reply, message):
    child = ScriptedChild(reply)
    with raises(NoReply, message):
        call(Remote(child), "add")
    assert child.ended


def test_every_request_has_a_unique_number():
    seen = []

    def reply(request):
        seen.append(request["id"])
        return {"id": request["id"], "answers": [[1.0]]}

    remote = Remote(ScriptedChild(reply))
    for _ in range(20):
        call(remote, "add")
    assert len(set(seen)) == 20
    assert all(len(number) == 16 for number in seen)


def test_a_thousand_calls_fit_in_one_line(remote):
    """Children run in parallel, so that a busy machine does not make them wait for each other."""
    answers = remote.ask([[Program().find("minitorch:add")(float(n), 1.0)] for n in range(1000)])
    assert answers == [[n + 1.0] for n in range(1000)]
