"""`course explain`: what it says of small workspaces, and where it finds the mistakes of the bank of wrong answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.explain.divergence import same, shown_number
from course.manifest import ROOT, course
from course.oracles import positions
from course.oracles.finite_differences import agrees, slope
from course.oracles.strided import Strided, grid
from course.staff.handout.generate import write_files
from course.staff.proofs.answers import load_answers, patched, read_ledger
from course.staff.proofs.prove import needed_files

from .conftest import Workspace

RELU = '''"""The code of the tiny course."""


def relu(x):
    """x above 0, else 0.0."""
    return x if x > 0 else 0.5 * x
'''

RELU_TEST = '''"""The tests of the tiny course."""

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats

from minitorch.operators import relu


@pytest.mark.task0_1
@example(-4.0)
@given(floats(-9, -1))
def test_relu_is_0_below_0(x):
    """relu(x) is 0 where x is negative."""
    assert relu(x) == 0.0
'''

PAGE = """\
✗ Task 0.1 Sums: failing. Of 1 test, 1 fails.

The test says   relu(x) is 0 where x is negative.
Smallest input  x = -4.0
First wrong     relu: the value of relu(-4)
Your code       minitorch/operators.py:4  relu
Call            relu(-4)
It should be    x above 0, else 0.0
Expected        0
Yours           -2
Oracle          Python's own arithmetic on floats
See it again    course explain 0.1
                pytest tests/test_sums.py::test_relu_is_0_below_0
"""


@pytest.fixture(scope="module")
def relu(new_workspace: Callable[[], Workspace]) -> Workspace:
    """A workspace whose first task is a relu that leaks; not to be edited."""
    workspace = new_workspace()
    workspace.write("minitorch/operators.py", RELU)
    workspace.write("tests/test_sums.py", RELU_TEST)
    workspace.mend("course/tasks.toml", 'write = ["minitorch.sums:add"]', 'write = ["minitorch.operators:relu"]')
    return workspace


@pytest.fixture(scope="module")
def sums(new_workspace: Callable[[], Workspace]) -> Workspace:
    """The tiny course, of whose functions none has an oracle; not to be edited."""
    return new_workspace()


def test_the_first_wrong_call_is_shown_on_a_page(relu: Workspace) -> None:
    done = relu.course("explain", "0.1")
    assert (done.returncode, done.stdout) == (1, PAGE)


def test_programs_get_json(relu: Workspace) -> None:
    done = relu.course("explain", "0.1", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert {key: document[key] for key in ("task", "test", "says", "inputs", "reason")} == {
        "task": "0.1",
        "test": "tests/test_sums.py::test_relu_is_0_below_0",
        "says": "relu(x) is 0 where x is negative.",
        "inputs": {"x": "-4.0"},
        "reason": "",
    }
    finding = document["finding"]
    assert [finding[key] for key in ("task", "function", "file", "line")] == ["0.1", "relu", "minitorch/operators.py", 4]
    assert finding["wrong"]["place"] == "the value of relu(-4)"


@pytest.mark.exhaustive
def test_without_an_oracle_the_card_is_shown_and_the_reason(sums: Workspace) -> None:
    done = sums.course("explain", "0.2")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[2] == "The test calls no function that has an oracle here. It says itself what it asks for:"
    assert "Smallest input  x = 7" in lines
    assert lines[-1] == "Traceback: course test 0.2 -v"


def test_a_loop_that_does_not_end_is_shown_with_its_variables_over_three_turns(workspace: Workspace) -> None:
    workspace.mend("minitorch/sums.py", "    return x + y", "    while x != 0.5:\n        x += y\n    return x")
    done = workspace.course("explain", "0.1", "--time-limit", "1")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    at = lines.index("The test did not end. It was still at minitorch/sums.py:6, in add:")
    assert lines[at + 1 : at + 3] == ["    while x != 0.5:", "3 turns of the loop, one after the other:"]
    turns = [re.fullmatch(rf"  {number}  y = 2, x = (\d+)", lines[at + 2 + number]) for number in (1, 2, 3)]
    first, second, third = [int(turn[1]) for turn in turns if turn]
    assert (second, third) == (first + 2, first + 4)
    assert "Nothing changes" not in done.stdout


@pytest.mark.exhaustive
def test_a_loop_in_which_nothing_changes_is_told(workspace: Workspace) -> None:
    workspace.mend("minitorch/sums.py", "    return x + y", "    while x == x:\n        pass\n    return x")
    document = json.loads(workspace.course("explain", "0.1", "--time-limit", "1", "--json").stdout)
    assert document["finding"] is None
    assert document["reason"].endswith("\nNothing changes from turn to turn: what is to end the loop?")


def test_a_task_that_passes_needs_no_explanation(sums: Workspace) -> None:
    done = sums.course("explain", "0.1")
    assert (done.returncode, done.stdout) == (
        0,
        "✓ Task 0.1 Sums: passed. Of 1 test, 1 passes.\nNothing fails, so there is nothing to explain. What is next: course next\n",
    )


def test_a_task_that_is_not_written_is_not_explained(sums: Workspace) -> None:
    done = sums.course("explain", "0.3")
    assert done.returncode == 1
    assert "Write           minitorch/sums.py:16  square" in done.stdout
    document = json.loads(sums.course("explain", "0.3", "--json").stdout)
    assert (document["finding"], document["reason"]) == (None, "the task is todo")


def test_an_unknown_task_is_a_usage_error(sums: Workspace) -> None:
    done = sums.course("explain", "9.9")
    assert (done.returncode, done.stderr) == (2, "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2; run: course list\n")


# What oracles stand on


@pytest.mark.parametrize(("f", "x", "expected"), [(lambda x: x**3, 2.0, 12.0), (lambda x: 1 / x, 1e-3, -1e6), (abs, -5.0, -1.0)])
def test_a_slope_finds_its_step_by_itself(f: Callable[[float], float], x: float, expected: float) -> None:
    found = slope(f, x)
    assert found is not None
    assert agrees(expected, found)


def test_a_pole_has_no_slope() -> None:
    assert slope(lambda x: 1 / x, 0.0) is None


def test_numbers_are_compared_as_floats_are_computed() -> None:
    assert same(0.1 + 0.2, 0.3)
    assert same(float("nan"), float("nan"))
    assert not same(0.0, -1e-302)
    assert not same(0.0, "0")
    assert [shown_number(x) for x in (0.1, 1e-300, 0.1234567891, True)] == ["0.1", "1e-300", "0.1234567891", "True"]


def test_a_strided_operand_is_drawn_with_its_storage_and_marks() -> None:
    operand = Strided("a", np.arange(6.0), (2, 3), (1, 2))
    assert operand.drawn({(1, 0): "><", (0, 2): "[]"}) == ("shape (2, 3), strides (1, 2)\n 0   2  [4]\n>1<  3   5\nstorage 0 >1< 2 3 [4] 5")


def test_of_a_large_grid_the_part_around_the_mark_is_drawn() -> None:
    lines = grid(np.arange(200.0).reshape(10, 20), {(9, 19): "[]"})
    assert lines[0] == "…"
    assert len(lines) == 7
    assert lines[-1].endswith("[199]")
    assert max(map(len, lines)) <= 64


def test_an_operand_that_leads_out_of_its_storage_is_not_read() -> None:
    with pytest.raises(IndexError, match=r"shape \(2, 3\) with strides \(3, 1\) leads out of a storage of 5"):
        _ = Strided("a", np.arange(5.0), (2, 3), (3, 1)).array


# Where the mistakes of the bank are found

PLACES = {
    0: {
        "0.1/relu_leaks": ("relu", "the value of relu("),
        "0.1/lt_gives_a_bool": ("lt", "the type of lt(2, 3)"),
        "0.1/sigmoid_overflows": ("sigmoid", "the error that it raises"),
        "0.1/inv_of_0_is_0": ("inv", "the value of inv(0)"),
        "0.3/map_overwrites_its_input": ("map.apply", "the list ls that was given, which has changed"),
        "0.3/zipwith_arguments_swapped": ("zipWith.apply", "element 0"),
        "0.3/zipwith_keeps_the_rest": ("zipWith.apply", "the length, 3 for 1"),
        "0.3/reduce_ignores_the_start": ("reduce.apply", "the total"),
        "0.3/neglist_turns_around": ("negList", "element 1"),
        "0.4/eval_one_level": ("Module.eval", "the module branch.right"),
        "0.4/named_parameters_sorted": ("Module.named_parameters", "entry 0, weight"),
        "0.4/parameters_skips_zeros": ("Module.parameters", "entry 0, zero"),
    },
    1: {
        "1.1/forward_difference": ("central_difference", "the points at which f is asked"),
        "1.1/divides_by_epsilon": ("central_difference", "what is made of the two values"),
        "1.1/one_list_for_both_points": ("central_difference", "the points at which f is asked"),
        "1.2/mul_adds": ("Mul.forward", "the value of Mul.forward(2, 7)"),
        "1.2/lt_returns_bool": ("LT.forward", "the type of LT.forward(1, 2)"),
        "1.2/add_forgets_history": ("Scalar.__add__", "the left operand, which the result does not remember"),
        "1.2/sub_wrong_way_round": ("Scalar.__sub__", "the value of Scalar.__sub__("),
        "1.3/leaves_constants_out": ("Scalar.chain_rule", "input 0"),
        "1.3/ignores_d_output": ("Scalar.chain_rule", "the derivative of input 0"),
        "1.4/leaves_first": ("topological_sort", "place 0: x comes before Triple1"),
        "1.4/includes_constants": ("topological_sort", "place 2: 1, a constant"),
        "1.4/diamond_visited_once": ("backpropagate", "the derivative of x"),
        "1.4/no_order": ("backpropagate", "Double9, which is visited 2 times"),
        "1.4/mul_swapped": ("Mul.backward", "the derivative of input 0"),
        "1.4/computed_variables_keep_derivatives": ("backpropagate", "Add1, which is no leaf and keeps a derivative"),
    },
    2: {
        "2.1/strides_from_the_other_end": ("index_to_position", "the position of index (1, 2)"),
        "2.1/forgets_to_divide": ("to_index", "the index of ordinal 1: dimension 0"),
        "2.1/permutes_the_strides_alone": ("TensorData.permute", "the shape"),
        "2.2/aligned_at_the_left": ("shape_broadcast", "the size of dimension -3"),
        "2.2/never_refuses": ("shape_broadcast", "shapes that do not go together"),
        "2.2/forgets_the_ones": ("broadcast_index", "the smaller tensor's index for (1, 2): dimension 0"),
        "2.3/map_forgets_out_strides": ("tensor_map._map", "cell (0, 1) of out, position 2"),
        "2.3/map_stops_before_the_last": ("tensor_map._map", "cell (2) of out, position 2"),
        "2.3/zip_swaps_its_arguments": ("tensor_zip._zip", "cell (1) of out, position 1"),
        "2.3/reduce_skips_the_first": ("tensor_reduce._reduce", "cell (0) of out, position 0"),
        "2.3/mul_adds": ("Mul.forward", "element (1,) of the result"),
        "2.4/mul_swapped": ("Mul.backward", "entry (0,) of the gradient of a"),
        "2.4/sum_divides": ("Sum.backward", "entry (0, 0) of the gradient of a"),
        "2.4/permute_same_order": ("Permute.backward", "the shape of the gradient of a"),
    },
    3: {
        "3.1/map_forgets_broadcasting": ("tensor_map._map", "cell (1, 0) of out"),
        "3.1/zip_reads_b_by_the_strides_of_a": ("tensor_zip._zip", "cell (0, 1) of out"),
        "3.1/reduce_leaves_the_last_out": ("tensor_reduce._reduce", "cell (0, 0) of out"),
        "3.2/the_last_product_is_left_out": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
        "3.2/b_is_transposed": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
    },
    4: {
        "4.1/reverse_is_ignored": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
        "4.1/the_window_is_centred": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
        "4.2/rows_of_the_weights_turned_round": ("_tensor_conv2d", "cell (0, 0, 0, 0) of out"),
        "4.3/windows_hold_their_numbers_column_by_column": ("tile", "element (0, 0, 0, 0, 1) of the windows"),
        "4.4/the_smallest": ("Max.forward", "element (0,) of the result"),
        "4.4/the_sum_of_all": ("softmax", "element (0, 0, 0) of the result"),
        "4.4/what_is_left_is_made_larger": ("dropout", "element (0, 0) of the result"),
    },
}
"""By module, for a wrong answer the function in which the mistake is and the place in its answer that is wrong first, by hand."""

ON_THE_GPU = {
    "3.3/map_writes_in_order": ("tensor_map._map", "cell (0, 1) of out, position 2"),
    "3.3/sum_practice_stops_a_round_early": ("_sum_practice", "out[0], of block 0"),
    "3.3/reduce_misses_the_last_element": ("tensor_reduce._reduce", "cell (0, 0) of out, position 0"),
    "3.4/the_last_tile_is_dropped": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
    "3.4/mm_practice_misses_the_last_k": ("_mm_practice", "cell (0, 0, 0) of out"),
    "4.4b/reverse_is_ignored": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
}
"""The same in kernels for the GPU, which run in the simulator."""

SOON = ("0.1/relu_leaks", "1.4/leaves_first", "2.3/map_forgets_out_strides")
"""These run every time; the others are marked slow."""


def found(answers: Sequence[str], folder: Path, **environment: str) -> Mapping[str, tuple[str, str]]:
    """For each wrong answer the function and the place that the failing test's replay has found, the test that its ledger names."""
    places = {}
    for key, document in replayed(answers, folder, **environment).items():
        finding = document["finding"]
        places[key] = (finding["function"], finding["wrong"]["place"]) if finding else ("nothing", f"{document['calls']} right")
    return places


def replayed(
    answers: Sequence[str], folder: Path, own: Mapping[str, Mapping[str, str]] | None = None, **environment: str
) -> Mapping[str, Mapping[str, Any]]:
    """For each wrong answer what its replay has written down.

    Args:
        answers: Keys of wrong answers of the bank; the test is the one that the ledger names.
        folder: Where they are run.
        own: Other functions in place of an answer's, by its key.
        environment: What else stands in the environment.
    """
    manifest = course()
    files = needed_files(ROOT, manifest)
    ledger = read_ledger(ROOT / "course" / "staff" / "wrong_answers" / "ledger.json")
    tasks = {manifest.task(key.split("/")[0]) for key in answers}
    jobs = []
    for answer in load_answers(ROOT / "course" / "staff" / "wrong_answers", tasks):
        if answer.key in answers:
            answer = replace(answer, patch=own[answer.key]) if own else answer
            place = folder / answer.key.replace("/", "_")
            write_files(place, patched(answer, files))
            job = {"folder": str(place), "test": ledger[answer.key]["killed_by"], "stage": manifest.task(answer.task).stage}
            jobs.append(job | {"answer": answer.key})
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    around = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    around |= {"CI": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-m", "tests.course.replays", str(folder / "jobs.json")]
    subprocess.run(command, cwd=ROOT, env=around, check=True)
    return {job["answer"]: json.loads((Path(job["folder"]) / "divergence.json").read_text(encoding="utf-8")) for job in jobs}


def assert_found(expected: Mapping[str, tuple[str, str]], places: Mapping[str, tuple[str, str]]) -> None:
    """Fail unless each mistake was found in its function, at a place that begins as expected."""
    wrong = {
        key: (places[key], (function, place))
        for key, (function, place) in expected.items()
        if places[key][0] != function or not places[key][1].startswith(place)
    }
    assert not wrong, "\n".join(f"{key}: found {got}, expected {want}" for key, (got, want) in wrong.items())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, by which many tests share what they load")


@pytest.mark.exhaustive
@needs_fork
def test_a_mistake_is_found_where_it_is(tmp_path: Path) -> None:
    """One of each of the first three modules."""
    expected = {key: place for places in PLACES.values() for key, place in places.items() if key in SOON}
    assert_found(expected, found(SOON, tmp_path))


ONE_BUFFER = """def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):
    index = np.zeros(MAX_DIMS, np.int32)
    for i in range(len(out)):
        to_index(i, out_shape, index)
        broadcast_index(index, out_shape, in_shape, index)
        out[index_to_position(index, out_strides)] = fn(in_storage[index_to_position(index, in_strides)])
"""


@needs_fork
@pytest.mark.exhaustive
def test_one_buffer_for_both_indices_is_the_kernels_mistake_and_not_that_of_broadcast_index(tmp_path: Path) -> None:
    key = "2.3/map_ignores_broadcasting"
    finding = replayed([key], tmp_path, {key: {"minitorch.tensor_ops:tensor_map._map": ONE_BUFFER}})[key]["finding"]
    assert finding["function"] == "tensor_map._map"
    assert ["Mind", positions.ONE_BUFFER] in finding["wrong"]["rows"]


@needs_fork
@pytest.mark.exhaustive
@pytest.mark.parametrize("module", PLACES)
def test_the_mistakes_of_the_bank_are_found_where_they_are(module: int, tmp_path: Path) -> None:
    """Each in the function in which it is, at the first place that is wrong."""
    expected = PLACES[module]
    assert_found(expected, found(list(expected), tmp_path, NUMBA_DISABLE_JIT="1"))


@needs_fork
@pytest.mark.exhaustive
def test_mistakes_in_kernels_of_the_gpu_are_found_in_the_simulator(tmp_path: Path) -> None:
    """Whether or not a GPU is here."""
    assert_found(ON_THE_GPU, found(list(ON_THE_GPU), tmp_path, NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1"))
