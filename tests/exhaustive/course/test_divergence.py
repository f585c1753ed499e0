"""`course explain`: its output for small workspaces, and where it finds the mistakes of the wrong answers."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from course.manifest import ROOT, course
from course.staff.handout.generate import write_files
from course.staff.proofs.answers import apply_patch, graded_files, load_answers, read_ledger
from course.staff.proofs.prove import needed_files
from tests.course.conftest import Workspace
from tests.course.test_divergence import sums


def test_without_an_oracle_the_card_is_shown_and_the_reason(sums: Workspace) -> None:
    done = sums.course("explain", "0.2")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[2] == "The test calls no function that has an oracle. This is what the test checks:"
    assert "Smallest input  x = 7" in lines
    assert lines[-1] == "Traceback: course test 0.2 -v"


def test_a_loop_in_which_no_variable_changes_is_reported(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while x == x:\n        pass\n    return x")
    document = json.loads(workspace.course("explain", "0.1", "--time-limit", "1", "--json").stdout)
    assert document["finding"] is None
    assert document["reason"].endswith("\nNo variable changes from one iteration to the next. What should end the loop?")


PLACES = {
    0: {
        "0.1/relu_leaks": ("relu", "the value of relu("),
        "0.1/lt_gives_a_bool": ("lt", "the type of lt(2, 3)"),
        "0.1/sigmoid_overflows": ("sigmoid", "the error that it raises"),
        "0.1/inv_of_0_is_0": ("inv", "the value of inv(0)"),
        "0.3/map_overwrites_its_input": ("map.apply", "the list ls, which the call changed"),
        "0.3/zipwith_arguments_swapped": ("zipWith.apply", "element 0"),
        "0.3/zipwith_keeps_the_rest": ("zipWith.apply", "the length, 3 instead of 1"),
        "0.3/reduce_ignores_the_start": ("reduce.apply", "the total"),
        "0.3/neglist_turns_around": ("negList", "element 1"),
        "0.4/eval_one_level": ("Module.eval", "the module branch.right"),
        "0.4/named_parameters_sorted": ("Module.named_parameters", "entry 0, weight"),
        "0.4/parameters_skips_zeros": ("Module.parameters", "entry 0, zero"),
    },
    1: {
        "1.1/forward_difference": ("central_difference", "the points at which it calls f"),
        "1.1/divides_by_epsilon": ("central_difference", "the value computed from the two values of f"),
        "1.1/one_list_for_both_points": ("central_difference", "the points at which it calls f"),
        "1.2/mul_adds": ("Mul.forward", "the value of Mul.forward(2, 7)"),
        "1.2/lt_returns_bool": ("LT.forward", "the type of LT.forward(1, 2)"),
        "1.2/add_forgets_history": ("Scalar.__add__", "the left operand, to which the history of the result does not lead"),
        "1.2/sub_wrong_way_round": ("Scalar.__sub__", "the value of Scalar.__sub__("),
        "1.3/leaves_constants_out": ("Scalar.chain_rule", "input 0"),
        "1.3/ignores_d_output": ("Scalar.chain_rule", "the derivative passed to Mixed.backward"),
        "1.4/leaves_first": ("topological_sort", "position 0: x comes before Triple1"),
        "1.4/includes_constants": ("topological_sort", "position 2: 1, a constant"),
        "1.4/diamond_visited_once": ("backpropagate", "the derivative of x"),
        "1.4/no_order": ("backpropagate", "Double9, which is visited 2 times"),
        "1.4/mul_swapped": ("Mul.backward", "the derivative of input 0"),
        "1.4/computed_variables_keep_derivatives": ("backpropagate", "Add1, which is not a leaf and must not keep a derivative"),
    },
    2: {
        "2.1/strides_from_the_other_end": ("index_to_position", "the position of index (1, 2)"),
        "2.1/forgets_to_divide": ("to_index", "the index of ordinal 1: dimension 0"),
        "2.1/permutes_the_strides_alone": ("TensorData.permute", "the shape"),
        "2.2/aligned_at_the_left": ("shape_broadcast", "the size of dimension -3"),
        "2.2/never_refuses": ("shape_broadcast", "shapes that do not broadcast"),
        "2.2/forgets_the_ones": ("broadcast_index", "the index in the smaller tensor for (1, 2): dimension 0"),
        "2.3/map_forgets_out_strides": ("tensor_map._map", "cell (0, 1) of out, position 2"),
        "2.3/map_stops_before_the_last": ("tensor_map._map", "cell (1, 2) of out, position 5"),
        "2.3/zip_swaps_its_arguments": ("tensor_zip._zip", "cell (0, 0) of out, position 0"),
        "2.3/reduce_skips_the_first": ("tensor_reduce._reduce", "cell (0, 0) of out, position 0"),
        "2.3/mul_adds": ("Mul.forward", "element (0,) of the result"),
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
    6: {
        "6.1/only_the_first_occurrence": ("merge_pair", "the result"),
        "6.2/gelu_without_the_cube": ("Gelu.forward", "element (1,) of the result"),
        "6.3/keys_before_queries": ("split_heads", "element (0, 0, 0, 0) of the queries"),
        "6.4/no_residual": ("Block.forward", "element (0, 0, 0) of the result"),
        "6.5/the_sum_is_not_corrected": ("add_tile", "element (0,) of total"),
        "6.6/the_length_counts_calls": ("KeyValueCache.append", "the length of the cache"),
        "6.7/the_rate_never_changes": ("Training.step", "the learning rate of the update"),
        "6.8/divides_by_128": ("quantize_rows", "the scale of row 0"),
        "6.9/unmerge_stays_merged": ("LoRALinear.unmerge", "original"),
    },
}
"""By module: for a wrong answer, the function with the mistake, and the first wrong place in its answer, determined by hand."""


ON_THE_GPU = {
    "3.3/map_writes_in_order": ("tensor_map._map", "cell (0, 1) of out, position 2"),
    "3.3/sum_practice_stops_a_round_early": ("_sum_practice", "out[0], of block 0"),
    "3.3/reduce_misses_the_last_element": ("tensor_reduce._reduce", "cell (0, 0) of out, position 0"),
    "3.4/the_last_tile_is_dropped": ("_tensor_matrix_multiply", "cell (0, 0, 0) of out"),
    "3.4/mm_practice_misses_the_last_k": ("_mm_practice", "cell (0, 0, 0) of out"),
    "3.3/map_has_no_guard": ("tensor_map._map", "what its threads do"),
    "3.4/tiles_are_read_from_global_memory": ("_tensor_matrix_multiply", "how often its threads read global memory"),
    "3.6/no_barrier": ("transpose_kernel", "what its threads do"),
    "3.7/one_element_per_thread": ("sum_kernel", "out[0], of block 0"),
    "4.4b/reverse_is_ignored": ("_tensor_conv1d", "cell (0, 0, 0) of out"),
    "6.5b/does_not_divide": ("attention_kernel", "out[0, 0, 0]"),
    "6.5b/no_barrier_at_the_end": ("attention_kernel", "what its threads do"),
    "6.5b/keys_are_read_from_global_memory": ("attention_kernel", "how often its threads read global memory"),
}
"""The same for GPU kernels, which run in the simulator or in the interpreter."""


def find_mistakes(answers: Sequence[str], folder: Path, **environment: str) -> Mapping[str, tuple[str, str]]:
    """For each wrong answer, the function and place that the replay of the failing test in the ledger finds."""
    manifest = course()
    files = needed_files(ROOT, manifest)
    ledger = read_ledger(ROOT / "course" / "staff" / "wrong_answers" / "ledger.json")
    tasks = {manifest.task(key.split("/")[0]) for key in answers}
    jobs = []
    for answer in load_answers(ROOT / "course" / "staff" / "wrong_answers", tasks):
        if answer.key in answers:
            place = folder / answer.key.replace("/", "_")
            write_files(place, apply_patch(answer, files))
            job = {"folder": str(place), "test": ledger[answer.key]["killed_by"], "stage": manifest.task(answer.task).stage}
            jobs.append(job | {"answer": answer.key})
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    around = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    around |= {"CI": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-m", "tests.course.replays", str(folder / "jobs.json")]
    subprocess.run(command, cwd=ROOT, env=around, check=True)
    places = {}
    for job in jobs:
        document = json.loads((Path(job["folder"]) / "divergence.json").read_text(encoding="utf-8"))
        finding = document["finding"]
        places[job["answer"]] = (finding["function"], finding["wrong"]["place"]) if finding else ("nothing", f"{document['calls']} right")
    return places


def assert_found(expected: Mapping[str, tuple[str, str]], places: Mapping[str, tuple[str, str]]) -> None:
    """Fail unless each mistake was found in its function, at a place that starts as expected."""
    wrong = {
        key: (places[key], (function, place))
        for key, (function, place) in expected.items()
        if places[key][0] != function or not places[key][1].startswith(place)
    }
    assert not wrong, "\n".join(f"{key}: found {got}, expected {want}" for key, (got, want) in wrong.items())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, by which many tests share what they load")


@needs_fork
@pytest.mark.parametrize("module", PLACES)
def test_all_mistakes_of_the_wrong_answers_are_found_where_they_are(module: int, tmp_path: Path) -> None:
    expected = PLACES[module]
    assert_found(expected, find_mistakes(list(expected), tmp_path, NUMBA_DISABLE_JIT="1"))


@needs_fork
def test_mistakes_in_gpu_kernels_are_found_in_the_simulator(tmp_path: Path) -> None:
    assert_found(ON_THE_GPU, find_mistakes(list(ON_THE_GPU), tmp_path, NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1"))


@pytest.mark.parametrize("module", [0, 1, 2, 6])
def test_no_oracle_contradicts_the_reference(module: int, tmp_path: Path) -> None:
    manifest = course()
    marks = [task.mark for task in manifest.tasks if task.stage == module]
    files = {path for task in manifest.tasks if task.stage == module for path in graded_files(task, needed_files(ROOT, manifest))}
    measurements = "not megabyte and not allocated and not time_for"  # recording takes time and memory itself
    arguments = ["-q", "-p", "tests.course.wrong_calls", "-k", measurements]
    arguments += [f"--wrong-calls={tmp_path / 'wrong_calls.json'}", "-m", " or ".join(marks)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    environment |= {"NUMBA_DISABLE_JIT": "1", "CI": "1"}
    subprocess.run([sys.executable, "-m", "pytest", *arguments, *sorted(files)], cwd=ROOT, env=environment, check=True)
    document = json.loads((tmp_path / "wrong_calls.json").read_text(encoding="utf-8"))
    assert document["wrong"] == []
    assert document["compared"] > 1000


def test_an_endless_loop_is_shown_with_its_variables_over_three_iterations(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while x != 0.5:\n        x += y\n    return x")
    done = workspace.course("explain", "0.1", "--time-limit", "1")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    at = lines.index("The test did not end. It was still running minitorch/sums.py:6, in add:")
    assert lines[at + 1 : at + 3] == ["    while x != 0.5:", "3 consecutive iterations:"]
    values = [re.fullmatch(rf"  {number}  y = 2, x = (\d+)", lines[at + 2 + number]) for number in (1, 2, 3)]
    first, second, third = [int(value[1]) for value in values if value]
    assert (second, third) == (first + 2, first + 4)
    assert "No variable changes" not in done.stdout
