"""The kernel laboratory: launches of all kernels, one warp step by step, the figures, and the page."""

import json
import math
import re

import numpy as np
import pytest

from course.manifest import course
from minitorch.cuda import KernelError, inspect_kernel
from minitorch.kernels.cuda.device import cuda
from project.lab.charts import kernel_figures, kernel_roofline
from project.lab.explorers import kernel_lab
from project.lab.explorers.kernel_lab import LAUNCHES
from tests.project.pages import ignore_saved_files, import_modules, open_page, page_text, texts  # noqa: F401  the fixture works by being here

RIGHT = [name for name, launch in LAUNCHES.items() if launch.task]


@pytest.mark.parametrize("name", RIGHT)
def test_the_finished_kernels_of_the_course_have_no_mistakes(name):
    assert kernel_lab.run(LAUNCHES[name], (0, 0, 0)).findings == []


def test_every_cuda_kernel_of_a_task_can_be_inspected():
    files = ("minitorch.cuda_ops:", "minitorch.cuda_kernels:")
    written = {name for task in course().tasks for name in task.write if name.startswith(files)}
    inspected = {launch.source for launch in LAUNCHES.values() if launch.source}
    assert inspected == written - {"minitorch.cuda_ops:tensor_zip"}  # it is map with two inputs


VERDICTS = [  # sectors that would do / sectors, degree of the worst conflict, kind of the first finding
    ("copy", 1.0, 0, None),
    ("strided copy: uncoalesced", (4 + 4) / (4 + 32), 0, None),  # of a warp: 32 numbers that lie 32 bytes apart are in a sector each
    ("copy without a guard: out of bounds", 1.0, 0, "OutOfBounds"),
    ("transpose without a tile: uncoalesced", (4 + 4) / (4 + 32), 0, None),  # of a warp: reads 4 sectors, writes 32
    ("sums of rows: bank conflicts", 1.0, 32, None),
    ("signs: divergent", (4 + 4) / (2 * 8), 0, None),  # every second number of 4 bytes: 64 of 128 bytes are used, twice
    ("reversal without a barrier: races", 1.0, 1, "Race"),
    ("barrier in a branch", 1.0, 1, "DivergentBarrier"),
    ("histogram: races", 1.0, 0, "Race"),
    ("histogram with atomics", 1.0, 0, None),
]


@pytest.mark.parametrize(("name", "coalescing", "degree", "finding"), VERDICTS)
def test_each_example_shows_what_its_title_says(name, coalescing, degree, finding):
    report = kernel_lab.run(LAUNCHES[name], (0, 0, 0))
    assert (report.coalescing, report.bank_conflict_degree) == (pytest.approx(coalescing), degree)
    assert [type(found).__name__ for found in report.findings[:1]] == ([finding] if finding else [])
    if name == "signs: divergent":
        assert report.warp_efficiency == 0.75  # two of four lines are executed by half of the threads


def test_all_examples_have_a_verdict():
    assert [name for name, launch in LAUNCHES.items() if not launch.task] == [row[0] for row in VERDICTS]


def first(out, a):
    if cuda.threadIdx.x == 0:
        out[0] = a[0]


def every_second(out, a):
    i = cuda.threadIdx.x
    if i % 2 == 0:
        out[i] = a[i // 2]


def traced(threads=64, kernel=every_second):
    return inspect_kernel(kernel, 1, threads, np.zeros(64, np.float32), np.arange(32, dtype=np.float32), trace=(0,))


def test_a_warp_takes_part_in_the_steps_of_its_threads():
    steps = kernel_lab.warp_steps(traced(), 1, 100)
    assert [step.step.kind for step in steps] == ["assign", "if", "assign"]
    assert [int(step.active.sum()) for step in steps] == [32, 32, 16]
    reads, writes = steps[2].accesses
    assert reads.lanes.tolist() == writes.lanes.tolist() == list(range(0, 32, 2))
    assert reads.cells.tolist() == list(range(16, 32))
    assert writes.cells.tolist() == list(range(32, 64, 2))


@pytest.mark.parametrize(
    ("kernel", "described"),
    [
        (first, "1 thread of the warp is active. 1 thread reads a: 1 sector of 32 bytes. 1 thread writes out: 1 sector of 32 bytes."),
        (  # 16 numbers of 4 bytes fill 2 sectors; every second of 32 numbers lies in 4
            every_second,
            "16 threads of the warp are active. 16 threads read a: 2 sectors of 32 bytes. "
            "16 threads write out: 4 sectors of 32 bytes, where 2 would do.",
        ),
    ],
)
def test_a_step_is_described_with_its_transactions(kernel, described):
    assert kernel_lab.sentence(kernel_lab.warp_steps(traced(kernel=kernel), 0, 100)[-1]) == described


def test_the_number_of_steps_is_limited_and_a_missing_warp_has_none():
    assert len(kernel_lab.warp_steps(traced(), 0, 2)) == 2
    assert kernel_lab.warp_steps(traced(32), 1, 100) == []


def test_barriers_single_threads_and_shared_memory_are_described():
    steps = kernel_lab.warp_steps(kernel_lab.run(LAUNCHES["sums of rows: bank conflicts"], (0, 0, 0)), 0, 1000)
    said = [kernel_lab.sentence(step) for step in steps]
    assert "All 32 threads of the warp are at a barrier, and wait for the other threads of the block." in said
    assert said[-1] == (
        "All 32 threads of the warp are active. 32 threads read out: 4 sectors of 32 bytes. "
        "32 threads read matrix in shared memory: a 32-way bank conflict. 32 threads write out: 4 sectors of 32 bytes."
    )


def access(name, step, which=0):
    return kernel_lab.warp_steps(kernel_lab.run(LAUNCHES[name], (0, 0, 0)), 0, 1000)[step].accesses[which]


ALL = np.ones(32, bool)


def test_the_elements_of_a_sector_that_nobody_uses_are_marked():
    drawn = kernel_figures.memory(ALL, access("strided copy: uncoalesced", 1, 0))
    assert drawn.count("<title>a[") == 32  # a sector of 8 numbers for each
    assert drawn.count('class="waste"') == 32 * 7
    assert "<title>a[248]: thread 31</title>" in drawn


def test_a_line_leads_from_each_thread_to_its_element_of_the_whole_array():
    copied = kernel_figures.memory(np.arange(32) < 28, access("copy", 2, 0))  # 60 numbers in two rows of 32
    assert copied.count("h320") == 3  # lines between rows and at both ends
    assert re.search(r'class="ways"[^>]*d="M5 10L5 45M15 10L15 45M', copied)
    assert 'aria-label="28 of 32 threads are active' in copied
    row = access("transpose without a tile: uncoalesced", 1, 0)  # a row of 64 columns, of which the first 32 are read
    drawn = kernel_figures.memory(ALL, row)
    assert drawn.count("h320") == drawn.count("v320") == 65
    assert 'd="M5 10L2.5 42.5M15 10L7.5 42.5M' in drawn
    assert kernel_figures.rows_note(row) == "1 of 128 rows of 128 bytes are touched."


def test_elements_in_one_bank_have_a_border():
    shown = access("sums of rows: bank conflicts", -1, 1)
    assert shown.conflicts == 32
    assert kernel_figures.memory(ALL, shown).count('class="conflict"') == 32
    assert kernel_figures.rows_note(shown) == "32 of 32 rows of 128 bytes are touched."


def test_several_threads_on_one_element_are_counted_in_its_title():
    drawn = kernel_figures.memory(ALL, access("histogram with atomics", 0, 1))
    counts = [int(n) if n else 1 for n in re.findall(r"<title>counts\[\d\]: (?:(\d+) threads|thread)", drawn)]
    assert sum(counts) == 32


def test_the_source_has_its_counts_the_current_line_and_lines_with_a_mistake():
    report = kernel_lab.run(LAUNCHES["reversal without a barrier: races"], (0, 0, 0))
    place = kernel_lab.warp_steps(report, 0, 1)[0].step.place
    markup = kernel_figures.source(report, place.line, place.file)
    rows = re.findall(r'<tr class="([^"]*)">(.*?)</tr>', markup)
    assert [look for look, _ in rows].count("now") == 1
    assert 'aria-label="2 of 32 threads are active"' in kernel_figures.memory(np.arange(32) < 2)
    wrong = [re.sub("<[^>]*>", " ", row).strip().split("  ")[-1].strip() for look, row in rows if look == "wrong"]
    assert wrong == ["numbers[thread] = a[thread]", "out[thread] = numbers[2 * WARP - 1 - thread]"]


def copies(out, n):
    out[0] = n


def returns_text(out, n):
    return f"{n}"


@pytest.mark.parametrize(
    ("kernel", "block", "args", "message"),
    [
        (
            copies,
            (2048,),
            (np.zeros(1), 1),
            "block expected at most 1024 threads and 64 along z, got (2048, 1, 1): 2048 threads; use more blocks",
        ),
        (copies, (32,), (np.zeros(1),), "copies expected 2 arguments (out, n), got 1"),
        (returns_text, (32,), (np.zeros(1), 1), "numba.cuda cannot compile a kernel that returns a value, got "),
    ],
)
def test_whatever_the_interpreter_refuses_is_an_error_that_the_page_shows(kernel, block, args, message):
    launch = kernel_lab.Launch("a kernel", "Does something.", lambda: kernel, (1,), block, lambda: list(args))
    with pytest.raises(KernelError, match=re.escape(message)):
        kernel_lab.run(launch, (0, 0, 0))


def test_memory_limits_a_kernel_below_the_ridge_of_a_card():
    """The T4 computes 8.1 TFLOP/s and reads 0.32 TB/s: at 10 operations a byte, 3.2 of 8.1 are possible."""
    said = kernel_roofline.in_words(10.0)
    assert "T4 40% (memory)" in said
    assert "A100 80% (memory)" in said  # 15.55 of 19.5
    assert kernel_roofline.in_words(1000.0).count("100% (arithmetic)") == 4
    assert "T4 0.3% (memory)" in kernel_roofline.in_words(0.08)  # 25.6 GFLOP/s of 8,100


def test_a_kernel_without_arithmetic_or_without_traffic_has_no_place_on_the_chart():
    for intensity in (0.0, math.inf):
        layers = kernel_roofline.roofline(intensity)["layer"]
        assert [len(layer["data"]["values"]) for layer in layers] == [12, 0, 0]
    assert kernel_roofline.in_words(0.0).endswith("no place on the chart: it can only be as fast as the memory.")
    assert kernel_roofline.in_words(math.inf).endswith("no place on the chart: it can only be as fast as the arithmetic.")
    assert kernel_roofline.in_words(0.0, traffic=False).endswith("accesses no global memory: neither roof limits it.")


def test_a_kernel_beyond_the_edge_of_the_chart_extends_it():
    for intensity, axis in ((0.01, [0.01, 1000.0]), (5000.0, [0.05, 5000.0]), (1.0, [0.05, 1000.0])):
        roofs, _, points = kernel_roofline.roofline(intensity)["layer"]
        assert roofs["encoding"]["x"]["scale"]["domain"] == axis
        assert {point["intensity"] for point in points["data"]["values"]} == {intensity}


def test_the_occupancy_of_each_card_is_a_row():
    rows = kernel_roofline.occupancies(1024, 64, 0)  # 64 registers · 1024 threads = all 65,536
    assert rows[0] == {"card": "T4 (7.5)", "warps": "32 of 32 (100%)", "limited by": "warps and registers"}
    assert rows[1] == {"card": "A100 (8.0)", "warps": "32 of 64 (50%)", "limited by": "registers"}
    rows = kernel_roofline.occupancies(1024, 128, 0)  # a block does not fit
    assert rows[0] == {"card": "T4 (7.5)", "warps": "0", "limited by": "registers: a block does not fit"}
    assert "expected shared_bytes from 0 to" in kernel_roofline.occupancies(32, 32, 200_000)[0]["limited by"]


def test_the_page_steps_a_warp_and_shows_its_memory_its_mistakes_and_the_students_code():
    app = open_page("m3_kernels", kernel_name="sums of rows: bank conflicts")
    assert [metric.value for metric in app.metric][:4] == ["none", "100%", "32-way", "100%"]
    app.select_slider(key="kernel_step").set_value(int(app.select_slider(key="kernel_step").options[-1])).run()
    assert "32 threads read matrix in shared memory: a 32-way bank conflict" in page_text(app)
    assert "<h4>matrix, shared memory, shape (32, 32)</h4>" in json.loads(app.get("bidi_component")[0].proto.json)
    app.selectbox(key="kernel_name").set_value("transpose without a tile: uncoalesced").run()
    assert app.select_slider(key="kernel_step").value == 1  # another kernel begins at its first access
    app.number_input(key="kernel_warp").set_value(31).run()
    assert not app.exception
    app.selectbox(key="kernel_name").set_value("copy without a guard: out of bounds").run()
    assert app.metric[0].value == "2"
    assert "a[50], but a has 50 elements" in "".join(texts(app.error)).replace("\\", "")
    app.selectbox(key="kernel_name").set_value("Task 3.6: transpose").run()
    assert "python -m minitorch.cuda.inspect minitorch/cuda_kernels.py:transpose_kernel" in page_text(app)
    assert any("def transpose_kernel" in code.value for code in app.code)


@pytest.mark.parametrize(
    ("name", "label", "before", "after"),
    [
        ("strided copy: uncoalesced", "Sectors", "72", "16"),  # 64 of 64 numbers each in its own sector, and 8 that are written
        ("copy without a guard: out of bounds", "Mistakes", "2", "none"),
        ("transpose without a tile: uncoalesced", "Sectors", "4,608", "1,024"),  # 4,096 numbers written one by one, and 512 sectors read
        ("sums of rows: bank conflicts", "Bank conflicts", "32-way", "none"),
        ("signs: divergent", "Active threads", "75%", "100%"),  # two of four lines by half of the threads
        ("reversal without a barrier: races", "Mistakes", "1", "none"),
        ("barrier in a branch", "Mistakes", "1", "none"),
        ("histogram: races", "Mistakes", "3", "none"),
    ],
)
def test_a_mistake_can_be_fixed_and_its_counter_falls(name, label, before, after):
    app = open_page("m3_kernels", kernel_name=name)
    number = [metric.label for metric in app.metric].index(label)
    assert app.metric[number].value == before
    app.toggle(key="kernel_fixed").set_value(True).run()
    assert (app.metric[number].value, app.metric[number].delta) == (after, f"before: {before}")
    assert app.metric[0].value == "none"
    assert not app.exception


def test_a_repaired_kernel_computes_the_same():
    repaired = dict(kernel_lab.REPAIRED)
    del repaired["histogram: races"], repaired["strided copy: uncoalesced"]  # a race has no result; another layout of the input
    for name, launch in repaired.items():
        args = launch.args()
        report = kernel_lab.inspect_kernel(launch.kernel(), launch.grid, launch.block, *args)
        expected = {"transpose": lambda a: a.T, "sums of rows": lambda a: a.sum(1), "reversal": lambda a: a[::-1]}
        right = expected.get(launch.title, lambda a: a)(args[1]) if len(args) > 1 else np.tile([1, -1], 32)
        np.testing.assert_array_equal(report.arrays["out"], right, err_msg=name)


def strange(out, a, size):
    with open("x") as file:
        out[0] = file


def endless(out, a, size):
    y = 3
    while y == 3:
        pass


def stub(out, a, size):
    raise NotImplementedError("Need to implement for Task 3.7")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (strange, "This kernel cannot be run."),
        (endless, "has executed 20000 statements and has not ended"),
        (stub, "Task 3.7 is not written yet: open minitorch/cuda_kernels.py"),
    ],
)
def test_the_page_says_why_a_kernel_cannot_be_run(monkeypatch, kernel, message):
    import_modules("m3_kernels")
    monkeypatch.setattr("minitorch.cuda_kernels.sum_kernel", kernel)
    monkeypatch.setattr("project.lab.time_limit.LIMIT", 60.0)  # the limit of statements is reached first
    app = open_page("m3_kernels", kernel_name="Task 3.7: sum")
    assert message in (app.info if kernel is stub else app.error)[0].value.replace("\\", "")
