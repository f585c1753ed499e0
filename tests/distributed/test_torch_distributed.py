"""torch.distributed of minitorch.torch: processes connected by sockets, on 127.0.0.1 only."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

import minitorch.torch as torch
import minitorch.torch.distributed as dist
from course.manifest import ROOT
from minitorch.distributed import rendezvous
from minitorch.distributed.sockets import Mesh, SocketGroup
from minitorch.torch.distributed import run
from minitorch.torch.nn.parallel import DistributedDataParallel
from tests.errors import raises

from .jobs import PROGRAMS

ADDRESS = "127.0.0.1"


def free_port():
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return probe.getsockname()[1]


def variables(rank, port, size=2):
    return os.environ | {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": ADDRESS, "MASTER_PORT": str(port)}


def start(rank, program, port, *arguments):
    """A process of a job, started without a launcher."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=variables(rank, port), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def launch(program, *arguments, timeout=150, processes=2):
    """A job of some processes, started by the launcher."""
    launcher = [sys.executable, "-m", "minitorch.torch.distributed.run", "--nproc_per_node", str(processes)]
    command = [*launcher, str(program), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture
def alone():
    """A group of one process."""
    dist.init_process_group("gloo", init_method=f"tcp://{ADDRESS}:{free_port()}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """What the program torch_calls.py found on each of two ranks."""
    folder = tmp_path_factory.mktemp("calls")
    done = launch(PROGRAMS / "torch_calls.py", "minitorch.torch", folder)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def test_reductions_combine_the_tensors_of_all_processes(calls):
    for each in calls:
        assert each["all_reduce SUM"] == [None, [[10.0, 12.0, 14.0], [16.0, 18.0, 20.0]]]
        assert each["all_reduce AVG"] == [None, [[5.0, 6.0, 7.0], [8.0, 9.0, 10.0]]]
        assert each["all_reduce PRODUCT"][1][1] == [3.0 * 13, 4.0 * 14, 5.0 * 15]
        assert [each[f"all_reduce {op}"][1][0][0] for op in ("MIN", "MAX")] == [0.0, 10.0]
        assert [each[f"all_reduce {op}"] for op in ("BAND", "BOR", "BXOR")] == [[4, 3], [7, 3], [3, 0]]
        assert each["all_reduce async_op"] == [True, True, [[10.0, 12.0, 14.0], [16.0, 18.0, 20.0]]]
    assert [each["reduce_scatter"][1] for each in calls] == [[[10.0, 12.0, 14.0]], [[16.0, 18.0, 20.0]]]


def test_tensors_and_objects_travel_between_the_processes(calls):
    own = [[[10.0 * rank + 3 * row + column for column in range(3)] for row in range(2)] for rank in range(2)]
    for each in calls:
        assert each["broadcast and all_gather"] == [own[1], own, own[0] + own[1]]
        assert each["objects"][0] == [{"rank": 1}, "x"]
        assert each["objects"][1] == [[""], ["a" * 1000]]
    assert [each["gather and scatter"][0] for each in calls] == [own, None]
    assert calls[0]["messages"] == [[True, True], 1, own[1]]
    assert [each["all_to_all_single"][0] for each in calls] == [[own[0][row], own[1][row]] for row in range(2)]
    assert [each["batch_isend_irecv"] for each in calls] == own[::-1]


def test_a_group_of_some_processes_leaves_the_others_alone(calls):
    assert [each["groups"][:3] for each in calls] == [[-1, -1, True], [0, 1, False]]


def test_the_processes_have_the_same_gradients_after_backward_and_their_own_under_no_sync(calls):
    same = ("names", "weight of rank 0", "step 0", "step 1", "step 2", "unused on one rank", "after no_sync")
    assert [name for name in same if calls[0][name] != calls[1][name]] == []
    assert calls[0]["names"][0] == "module.first.weight"
    assert calls[0]["no_sync"] != calls[1]["no_sync"]


def test_a_process_that_ends_is_an_error_for_the_other_at_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\nimport minitorch.torch as torch, minitorch.torch.distributed as dist\n"
        "dist.init_process_group('gloo')\nif dist.get_rank(): os._exit(7)\ndist.all_reduce(torch.ones(1))\n"
    )
    done = launch(program, timeout=60)
    assert done.returncode in (1, 7)
    # the end may be noticed while the message is sent, or while the other's is waited for
    assert re.search(r"RuntimeError: rank 0 (waits for a message of rank 1|cannot send to rank 1), which has ended", done.stderr)
    assert done.stderr.splitlines()[-1].endswith("see its output above; all processes have ended")


MEET = """
import sys
from minitorch.distributed.rendezvous import connect
try:
    connect(int(sys.argv[1]), int(sys.argv[2]), "127.0.0.1", int(sys.argv[3]), 10)
except RuntimeError as error:
    print(error)
"""


def test_processes_that_disagree_are_told_so():
    message = "init_process_group expected the same world_size on every rank, got 2 on rank 0 and 3 on rank 1"
    port = free_port()
    other = start(1, MEET, port, "1", "3", str(port))
    with raises(RuntimeError, message):
        rendezvous.connect(0, 2, ADDRESS, port, 60)
    assert other.communicate(timeout=60)[0].strip() == message


def test_missing_processes_are_named():
    message = (
        "init_process_group expected 3 processes within 0.1 s, but rank 1, 2 did not come; start all of them with the same address, or "
        "pass a longer timeout"
    )
    with raises(RuntimeError, message):
        rendezvous.connect(0, 3, ADDRESS, free_port(), 0.1)
    with pytest.raises(
        RuntimeError, match=r"on rank 1 expected rank 0 to listen within 0.1 s, got .*; start rank 0, or correct the address"
    ):
        rendezvous.connect(1, 2, ADDRESS, free_port(), 0.1)


def test_a_port_that_is_taken_is_an_error():
    with socket.create_server((ADDRESS, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(RuntimeError, match=rf"cannot listen at {ADDRESS}:{port}: .*; choose another MASTER_PORT"):
            rendezvous.connect(0, 1, ADDRESS, port, 1)


def test_an_empty_message_is_its_header_alone():
    """The process that waits for it may have ended, and closed the connection, as soon as the header is there."""
    mesh, pieces = Mesh(0, {}, 1.0), []
    mesh._connections[1], mesh._sending[1] = SimpleNamespace(sendall=lambda piece: pieces.append(bytes(piece))), threading.Lock()
    mesh.send(1, b"key", np.zeros(0))
    assert pieces == [b"\x03\x00" + bytes(8) + b"key"]
    mesh.send(1, b"key", np.array([7], "uint8"))
    assert pieces[2:] == [b"\x07"]


def test_two_groups_in_threads_meet_by_a_file_and_by_sockets_alone(tmp_path):
    """Both ranks in one process: what only sockets need no second process for."""
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "meeting"
    with ThreadPoolExecutor(2) as pool:
        meshes = list(pool.map(lambda rank: rendezvous.connect_by_file(rank, 2, str(path), 20), range(2)))
        pair = [SocketGroup(mesh, range(2), 0, 5.0) for mesh in meshes]
        assert list(pool.map(lambda group: group.gather_texts(f"text {group.rank}", "test"), pair)) == [["text 0", "text 1"]] * 2
        mixed = list(pool.map(lambda group: message_of(lambda: group.check_same("test", f"call {group.rank}")), pair))
    assert (
        mixed
        == [
            "test expected the same call on every rank, got\n  rank 0: call 0\n  rank 1: call 1\nmake the program do the same on every rank"
        ]
        * 2
    )
    assert not path.exists()
    pair[1].close()
    deadline = time.monotonic() + 5
    while 1 not in meshes[0]._ended and time.monotonic() < deadline:
        time.sleep(0.01)
    place = torch.zeros(1)._tensor.array()
    with raises(RuntimeError, "rank 0 waits for a message of rank 1, which has ended; look at its output"):
        pair[0].wait([pair[0].start_receive(place, 1, 0)], "recv")
    pair[0].close()


def message_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


# One process


def test_a_group_of_one_process(alone):
    x = torch.ones(2)
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()) == (0, 1, "gloo", True)
    assert dist.all_reduce(x) is None
    assert dist.all_reduce(x, async_op=True).wait() is True
    dist.barrier(), dist.broadcast(x, 0)
    assert x.tolist() == [1.0, 1.0]
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    with model.no_sync():
        model(x).sum().backward()
    assert model.module.weight.grad.tolist() == [[1.0, 1.0]]


def test_without_a_group_there_are_no_ranks():
    assert dist.is_available()
    assert not dist.is_initialized()
    assert dist.group.WORLD is None
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, dist.destroy_process_group, lambda: dist.all_reduce(torch.ones(1))):
        with raises(ValueError, "Default process group has not been initialized, please make sure to call init_process_group."):
            call()


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"backend": "nccl"}, ValueError,
         "expected backend 'gloo' or 'mpi', got 'nccl', which does not exist here, and there is no GPU here; use 'gloo'"),
        ({"backend": "ucc"}, ValueError, "expected backend 'gloo' or 'mpi', got 'ucc', which does not exist here; use 'gloo'"),
        ({"init_method": "http://a"}, ValueError, "expected init_method env://, tcp://ADDRESS:PORT or file://PATH, got 'http://a'"),
        ({"init_method": "tcp://127.0.0.1"}, ValueError,
         "expected tcp://ADDRESS:PORT, got 'tcp://127.0.0.1'; such as tcp://127.0.0.1:29500"),
        ({"rank": 2}, ValueError, "expected a rank from 0 to 1, got 2; ranks count from 0"),
        ({"timeout": 30}, TypeError, "expected timeout as a datetime.timedelta, got 30; such as timedelta(seconds=30)"),
        ({"timeout": timedelta(0)}, ValueError, "expected a timeout above 0, got 0:00:00; the default is 0:30:00"),
        ({"store": 1}, ValueError, "expected no store; pass init_method='tcp://127.0.0.1:29500', rank and world_size instead"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_init_process_group(arguments, kind, message, monkeypatch):
    monkeypatch.setattr("minitorch.torch.distributed.groups.gpu_is_available", lambda: False)
    with raises(kind, f"init_process_group {message}"):
        dist.init_process_group(**({"rank": 0, "world_size": 2} | arguments))


def test_missing_variables_are_named(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    message = (
        "init_process_group with env:// expected the environment variable RANK, got None; start the program with "
        "python -m minitorch.torch.distributed.run, or pass rank="
    )
    with raises(ValueError, message):
        dist.init_process_group("gloo")


def test_wrong_arguments_of_the_operations(alone):
    x = torch.ones(2)
    for call, kind, message in [
        (lambda: dist.init_process_group("gloo"), ValueError,
         "init_process_group expected to be called once, but the group exists; call destroy_process_group() first"),
        (lambda: dist.all_reduce([1]), TypeError, "all_reduce expected a Tensor, got list; of a Parameter, pass its value"),
        (lambda: dist.all_reduce(x, "sum"), TypeError,
         "all_reduce expected op to be one of torch.distributed.ReduceOp, got 'sum'; such as ReduceOp.SUM"),
        (lambda: dist.all_reduce(x, dist.ReduceOp.BOR), TypeError,
         "all_reduce expected integers or bools for BOR, got float32; convert: x.to(torch.int64)"),
        (lambda: dist.all_reduce(x.long(), dist.ReduceOp.AVG), TypeError,
         "all_reduce expected floats for AVG, got int64; convert: x.float()"),
        (lambda: dist.all_reduce(x > 0), TypeError, "all_reduce expected numbers for SUM, got bool; convert: x.to(torch.int64)"),
        (lambda: dist.broadcast(x, 3), ValueError,
         "broadcast expected a rank in the group, one of [0], got 3; src and dst count all processes"),
        (lambda: dist.broadcast(x), ValueError, "broadcast expected a rank, got None; pass the number of a process"),
        (lambda: dist.all_gather([x, x], x), ValueError, "all_gather expected tensor_list to have 1 tensors, got 2; one for each rank"),
        (
            lambda: dist.all_gather([torch.ones(3)], x),
            ValueError,
            "all_gather expected tensor_list to have tensors of 2 elements of float32, got (3,) of float32; "
            "make them with torch.empty_like",
        ),
        (lambda: dist.scatter(x), ValueError, "scatter expected scatter_list to have 1 tensors, got 0; one for each rank"),
        (lambda: dist.send(x, 0), ValueError, "isend expected the rank of another process, got 0, which is this one; copy with clone()"),
        (lambda: dist.new_group([5]), ValueError, "new_group expected ranks from 0 to 0, got 5; ranks count from 0"),
        (lambda: dist.all_reduce(x, group=7), TypeError,
         "all_reduce expected a group from new_group, got 7; leave it out for all processes"),
        (lambda: dist.all_gather_object([], 1), ValueError,
         "all_gather_object expected object_list to be a list of 1 items, one for each rank, got 0 items; [None] * 1 is one"),
        (lambda: DistributedDataParallel(torch.nn.Linear(1, 1), device_ids=[0]), ValueError,
         "DistributedDataParallel expected one device or none, and none on the CPU, got [0] for a model on the CPU; leave it out"),
        (lambda: DistributedDataParallel(torch.nn.ReLU()), RuntimeError,
         "DistributedDataParallel expected a parameter that requires a gradient, got 0 parameters without; call the module itself"),
    ]:  # fmt: skip
        with raises(kind, message):
            call()


def test_an_absent_name_says_why():
    with raises(AttributeError, "torch.distributed has no TCPStore in minitorch: processes meet by init_method alone"):
        dist.TCPStore  # noqa: B018


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nproc_per_node", "0", "x.py"], "argument --nproc-per-node/--nproc_per_node: expected a number of at least 1, got '0'"),
        (["no/program.py"], "expected the path of a program, got 'no/program.py', which is no file"),
        (["--nnodes", "2", __file__], "expected --master-port with several machines; choose the same on all, such as 29500"),
        (["--node_rank", "1", __file__], "expected --node-rank from 0 to 0, got 1"),
    ],
)
def test_wrong_arguments_end_the_launcher_with_a_message(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(arguments)
    assert capsys.readouterr().err.splitlines()[-1] == f"python -m minitorch.torch.distributed.run: error: {message}"
