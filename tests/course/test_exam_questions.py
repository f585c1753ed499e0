"""The questions of exams: each is complete, and its answers are compared with MiniTorch."""

import contextlib
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import minitorch
from course.manifest import course
from course.staff.exam.bank import QUESTIONS
from course.staff.exam.markdown import number
from course.staff.exam.module0 import WRONG_MAXIMA
from course.staff.exam.module3 import LOOPS
from course.staff.exam.question import KINDS, Question
from minitorch import Scalar, operators
from project.lab.explorers.tiling import Tiling

STUDENTS = ["ada", "bob", "cem", "dia", "eve", "fay"]
BY_ID = {question.id: question for question in QUESTIONS}

Values = Mapping[str, Any]


def close(got: Any, expected: Any, tolerance: float = 1e-9) -> bool:
    """Whether numbers or nested lists of them are equal, up to rounding."""
    return bool(np.allclose(np.asarray(got, float), np.asarray(expected, float), rtol=tolerance, atol=tolerance))


def tensor(values: Any, **options: Any) -> minitorch.Tensor:
    return minitorch.tensor(np.asarray(values, float).tolist(), dtype=minitorch.float64, **options)


def printed(source: str) -> list[str]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(source, {"minitorch": minitorch, "operators": operators})
    return text.getvalue().splitlines()


# The bank


def test_every_module_has_at_least_ten_questions_and_every_kind() -> None:
    assert len(QUESTIONS) >= 60
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    for stage in course().required_stages:
        of_module = [question for question in QUESTIONS if question.module == stage]
        assert len(of_module) >= 10
        assert {question.kind for question in of_module} >= {"compute", "mistake", "explain"}
    assert {question.kind for question in QUESTIONS} == set(KINDS)


def test_every_task_has_a_question() -> None:
    asked = {task for question in QUESTIONS for task in question.tasks}
    assert {task.id for task in course().tasks if not task.extra} == asked


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_a_question_is_complete(question: Question) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]", question.topic)
    known = {task.id: task for task in course().tasks}
    assert question.tasks
    assert question.module in {known[task].stage for task in question.tasks}
    for student in STUDENTS:
        drawn = question.draw("seed", student)
        assert drawn == question.draw("seed", student)
        assert sum(points for points, _ in drawn.rubric) == question.points
        assert drawn.rubric == question.draw("seed", "ada").rubric, "the solutions show it once for all students"
        assert len(drawn.answer) > 40
        assert "?" in drawn.text or re.search(r"\b(Give|Compute|List|Show|Explain|Say|Name|Fix|Draw)\b", drawn.text)
        parts = []
        for text in (drawn.text, drawn.answer):
            assert text.count("```") % 2 == 0
            prose = re.sub(r"(?s)```.*?```|`[^`\n]+`", "", text)
            assert not re.search(r"\{\w|np\.|array\(|-0\b(?!\.)|\b\d+\.\d{6,}", prose), prose
            letters = re.findall(r"^\*\*\((\w)\)\*\*", text, re.MULTILINE)
            assert letters == [chr(ord("a") + place) for place in range(len(letters))]
            parts.append(len(letters))
        assert parts[1] in (0, parts[0])


def test_most_questions_have_numbers_of_the_student() -> None:
    students = [f"s{number}" for number in range(30)]
    different = {question.id: len({question.draw("seed", student).text for student in students}) for question in QUESTIONS}
    assert min(different.values()) >= 2
    assert sum(count >= 8 for count in different.values()) > 45


# The answers, compared with MiniTorch


class Traced:
    """An array that notes which of its elements are read and written."""

    def __init__(self, values: Sequence[int]) -> None:
        self.values, self.reads, self.writes = list(values), set[int](), set[int]()

    def __getitem__(self, at: int) -> int:
        self.reads.add(at)
        return self.values[at]

    def __setitem__(self, at: int, value: int) -> None:
        self.writes.add(at)
        self.values[at] = value


def conflicts(body: str, n: int = 6) -> bool:
    """Whether two iterations of a loop touch one element that one of them writes."""
    touched = []
    for i in range(n):
        x, out = Traced([3] * n), Traced([0] * n)
        exec(body, {"i": i, "n": n, "x": x, "out": out})
        touched.append([(array.reads | array.writes, array.writes) for array in (x, out)])
    pairs = [(one, other) for one in range(n) for other in range(n) if one != other]
    return any(touched[one][array][1] & touched[other][array][0] for one, other in pairs for array in (0, 1))


class Comparisons:
    """Functions that compare the answers of a question with MiniTorch; each has the question's id as its name."""

    def _0_sigmoid(given: Values, expected: Values) -> None:
        assert operators.sigmoid(given["x"]) == expected["at x"]
        assert operators.sigmoid(-given["x"]) == expected["at -x"]
        with pytest.raises(OverflowError):
            math.exp(given["x"])

    def _0_backward_operators(given: Values, expected: Values) -> None:
        assert close([getattr(operators, name)(x, d) for name, x, d in given["calls"]], expected["values"])

    def _0_close(given: Values, expected: Values) -> None:
        assert [operators.is_close(x, y) for x, y in given["pairs"]] == expected["right"]
        assert expected["got"] != expected["right"]

    def _0_exact_equality(given: Values, expected: Values) -> None:
        for kind in ("exact", "inexact"):
            a, b = given[kind]
            assert operators.eq(a + b, float(Fraction(str(a)) + Fraction(str(b)))) == expected[kind]

    def _0_wrong_functions(given: Values, expected: Values) -> None:
        inputs = list(product([-100.0, -1.5, -1.0, 0.0, 1.0, 2.5, 100.0], repeat=2))
        for body in given["bodies"]:
            results = [(x, y, WRONG_MAXIMA[body](x, y)) for x, y in inputs]
            assert any(m != operators.max(x, y) for x, y, m in results)
            assert any(not (m >= x and m >= y) for x, y, m in results) == expected["A"][body]
            assert any(m not in (x, y) for x, y, m in results) == expected["B"][body]
            assert expected["A"][body] or expected["B"][body]

    def _0_smallest_input(given: Values, expected: Values) -> None:
        assert (expected["length"] - 1) * given["limit"] < expected["sum"] == given["bound"] <= expected["length"] * given["limit"]

    def _0_boundary(given: Values, expected: Values) -> None:
        total = operators.add(given["x"], expected["y"])
        assert (operators.lt(total, given["limit"]), operators.lt(total, given["limit"] + 1)) == (expected["wrong"], expected["right"])

    def _0_reduce_order(given: Values, expected: Values) -> None:
        result = operators.reduce(lambda so_far, x: given["factor"] * so_far - x, given["start"])
        assert (result(given["ls"]), result([])) == (expected["left"], expected["empty"])

    def _0_generator(given: Values, expected: Values) -> None:
        assert printed(given["source"]) == expected["printed"]

    def _0_parameter_names(given: Values, expected: Values) -> None:
        source = f"{given['source']}\nfor name, _ in Network().named_parameters():\n    print(name)"
        assert printed(source) == expected["names"]

    def _0_evaluation_mode(given: Values, expected: Values) -> None:
        class Wrong(minitorch.Module):
            def eval(self) -> None:
                exec(given["body"], {"self": self})

        network, child, grandchild = Wrong(), Wrong(), Wrong()
        setattr(child, given["grandchild"], grandchild)
        setattr(network, given["child"], child)
        network.eval()
        assert [module.training for module in (network, child, grandchild)] == expected["modes"]

    def _0_linear_boundary(given: Values, expected: Values) -> None:
        w_1, w_2, b = given["weights"]
        assert close([w_1 * x + w_2 * y + b for x, y in given["points"]], expected["scores"])
        for x in (0.0, 1.0):
            y = expected["slope"] * x + expected["cut"]
            assert operators.sigmoid(w_1 * x + w_2 * y + b) == pytest.approx(0.5)

    def _0_exclusive_or(given: Values, expected: Values) -> None:
        labels = {(x, y): label for x, y, label in given["corners"]}
        xor = {point: int((point[0] < 0.5) != (point[1] < 0.5)) for point in labels}
        assert labels in (xor, {point: 1 - label for point, label in xor.items()})
        assert {x for x, _, label in given["corners"] if label} == {y for _, y, label in given["corners"] if label}
        assert expected["sums"] == [1.0, 1.0]

    def _1_differences(given: Values, expected: Values) -> None:
        x, h = given["x"], given["epsilon"]

        def f(x: float) -> float:
            return given["a"] * x**3

        assert close(minitorch.central_difference(f, x, epsilon=h), expected["central"])
        assert close((f(x + h) - f(x)) / h, expected["one-sided"])

    def _1_wrong_difference(given: Values, expected: Values) -> None:
        names: dict[str, Any] = {}
        exec(given["source"], names)
        x, y = map(float, given["at"])
        assert close(names["central_difference"](operators.mul, x, y, arg=0), expected["got"], 1e-6)
        assert close(minitorch.central_difference(operators.mul, x, y, arg=0), expected["right"], 1e-6)

    def _1_step_size(given: Values, expected: Values) -> None:
        errors = [abs(minitorch.central_difference(math.exp, 1.0, epsilon=h) - math.e) for h in (1e-1, 1e-3, 1e-6, given["small"])]
        assert close(errors[:2], expected["order of errors"], 0.2)
        assert errors[3] > errors[2]

    def _1_kink(given: Values, expected: Values) -> None:
        h = given["epsilon"]
        assert close(minitorch.central_difference(lambda x: given["a"] * operators.relu(x), 0.0, epsilon=h), expected["f"])
        assert close(minitorch.central_difference(lambda x: operators.lt(0.0, x), 0.0, epsilon=h), expected["g"])

    def _1_cut_graph(given: Values, expected: Values) -> None:
        def derivatives(add: Callable[[Scalar, Scalar], Scalar]) -> tuple[float | None, float | None]:
            x, y = Scalar(given["a"]), Scalar(given["b"])
            (add(x, y) * x).backward()
            return x.derivative, y.derivative

        assert derivatives(lambda x, y: Scalar(x.data + y.data)) == expected["wrong"]
        assert derivatives(lambda x, y: x + y) == expected["right"]

    def _1_chain_rule(given: Values, expected: Values) -> None:
        names = {"x": Scalar(given["x"]), "y": Scalar(given["y"])}
        results = [eval(text, names).chain_rule(given["d"]) for text in given["expressions"]]
        assert [[d for _, d in pairs] for pairs in results] == expected["derivatives"]

    def _1_backward_pass(given: Values, expected: Values) -> None:
        x, y = Scalar(given["x"]), Scalar(given["y"])
        a, c = x * y, x * given["k"]
        b = a + c
        loss = b * b
        loss.backward()
        assert (loss.data, x.derivative, y.derivative) == (expected["L"], expected["x"], expected["y"])

    def _1_orders(given: Values, expected: Values) -> None:
        graph = given["graph"]
        for order, valid in zip(given["orders"], expected["valid"], strict=True):
            before = {node: set(order[: place + 1]) for place, node in enumerate(order)}
            assert all(not before[node] & set(sources) for node, sources in graph.items()) == valid
        assert set(expected["valid"]) == {True, False}
        nodes: dict[str, Scalar] = {}
        for node in reversed(given["orders"][expected["valid"].index(True)]):
            total = Scalar(1.0) if not graph[node] else nodes[graph[node][0]] * 1
            for source in graph[node][1:]:
                total = total * nodes[source]
            nodes[node] = total
        found = [name for one in minitorch.topological_sort(nodes["L"]) for name, node in nodes.items() if node is one]
        assert all(found.index(node) < found.index(source) for node, sources in graph.items() for source in sources)

    def _1_plain_recursion(given: Values, expected: Values) -> None:
        x = Scalar(given["x"])
        a = x * given["k"]
        (a * (a + given["c"])).backward()
        assert x.derivative == expected["right"]
        assert len({expected["once"], expected["again"], expected["right"]}) == 3

    def _1_accumulation(given: Values, expected: Values) -> None:
        assert printed(given["source"]) == expected["printed"]

    def _1_gradient_step(given: Values, expected: Values) -> None:
        w, b = Scalar(given["w"]), Scalar(given["b"])
        p = (w * given["x"] + b).sigmoid()
        loss = -(p if given["label"] else 1 - p).log()
        loss.backward()
        assert close(loss.data, expected["loss"], 1e-5)
        assert close([w.derivative, b.derivative], expected["derivatives"], 1e-5)
        assert close([w.data - given["rate"] * w.derivative, b.data - given["rate"] * b.derivative], [expected["w"], expected["b"]], 1e-5)

    def _1_modes(given: Values, expected: Values) -> None:
        x = y = Scalar(1.0)
        for _ in range(given["n"]):
            y = y + y
        y.backward()
        assert x.derivative == expected["derivative"] == expected["paths"]
        assert len(list(minitorch.topological_sort(y))) == expected["visits"]

    def _2_positions(given: Values, expected: Values) -> None:
        assert minitorch.strides_from_shape(given["shape"]) == expected["strides"]
        assert minitorch.index_to_position(given["index"], expected["strides"]) == expected["position"]
        at = [0, 0, 0]
        minitorch.to_index(given["ordinal"], given["shape"], at)
        assert tuple(at) == expected["at"]

    def _2_permuted(given: Values, expected: Values) -> None:
        a = minitorch.TensorData(range(math.prod(given["shape"])), given["shape"])
        b = a.permute(*given["order"])
        assert (b.shape, b.strides, b.is_contiguous()) == (expected["shape"], expected["strides"], False)
        assert b.index(given["index"]) == expected["position"]
        assert b.permute(*expected["inverse"]).strides == a.strides

    def _2_slices(given: Values, expected: Values) -> None:
        t = minitorch.zeros(given["shape"])
        views = [t[pick] for pick in given["picks"]]
        assert [(view.shape, view.stride(), view.storage_offset()) for view in views] == expected["layouts"]

    def _2_view_or_copy(given: Values, expected: Values) -> None:
        t = minitorch.zeros(given["shape"])
        turned = t.permute(1, 0)
        order = product(*map(range, turned.shape))
        assert [minitorch.index_to_position(index, turned.stride()) for index in order] == expected["positions"]
        with pytest.raises(ValueError, match="view"):
            turned.view(t.size)
        assert turned.contiguous().view(t.size).shape == (t.size,)

    def _2_wrong_end(given: Values, expected: Values) -> None:
        at = [0, 0]
        exec(given["body"], {"shape": given["shape"], "ordinal": given["ordinal"], "out_index": at})
        assert tuple(at) == expected["got"] != expected["right"]
        minitorch.to_index(given["ordinal"], given["shape"], at)
        assert tuple(at) == expected["right"]
        a, b = np.arange(math.prod(given["shape"]), dtype=float).reshape(given["shape"]), np.arange(given["shape"][1]) * 10.0
        out = np.full(given["shape"], np.nan)
        for ordinal in range(out.size):  # a zip with this function visits all elements
            exec(given["body"], {"shape": given["shape"], "ordinal": ordinal, "out_index": at})
            small = [0]
            minitorch.broadcast_index(at, out.shape, b.shape, small)
            out[tuple(at)] = a[tuple(at)] + b[tuple(small)]
        assert (out == a + b).all()

    def _2_broadcast_shapes(given: Values, expected: Values) -> None:
        for (one, other), result in zip(given["pairs"], expected["results"], strict=True):
            if result is None:
                with pytest.raises(minitorch.IndexingError):
                    minitorch.shape_broadcast(one, other)
            else:
                assert minitorch.shape_broadcast(one, other) == result

    def _2_broadcast_elements(given: Values, expected: Values) -> None:
        column, row = tensor(given["column"]), tensor(given["row"])
        result = column * row
        assert close(result.to_numpy(), expected["result"])
        for small, index in zip((column, row), expected["index"], strict=True):
            at = [0] * len(small.shape)
            minitorch.broadcast_index(given["at"], result.shape, small.shape, at)
            assert tuple(at) == index

    def _2_same_position(given: Values, expected: Values) -> None:
        t = tensor(given["rows"])
        assert close((-t.permute(1, 0)).to_numpy(), expected["right"])
        out = [0.0] * 6
        exec(given["body"], {"out": out, "fn": operators.neg, "in_storage": t.to_numpy().ravel()})
        assert close(np.reshape(out, (3, 2)), expected["got"])

    def _2_bias_gradient(given: Values, expected: Values) -> None:
        for shape, gradient in zip(given["shapes"], expected["gradients"], strict=True):
            b = minitorch.ones(shape, dtype=minitorch.float64)
            b.requires_grad_(True)
            (minitorch.ones((2, 3), dtype=minitorch.float64) + b).backward(tensor(given["arrives"]))
            assert b.grad is not None
            assert b.grad.shape == shape
            assert close(b.grad.to_numpy(), gradient)

    def _2_elementwise_gradient(given: Values, expected: Values) -> None:
        x, y = tensor(given["x"], requires_grad=True), tensor(given["y"], requires_grad=True)
        d = x - y
        loss = (d * d * d).sum()
        loss.backward()
        assert loss.item() == expected["loss"]
        assert close(x.grad.to_numpy(), expected["x"])
        assert close(y.grad.to_numpy(), -np.array(expected["x"]))

    def _2_labels(given: Values, expected: Values) -> None:
        p, y = minitorch.rand((given["n"], 1)), minitorch.ones((given["n"],))
        assert (p * y + (1 - p) * (1 - y)).shape == expected["shape"]

    def _2_layer_shapes(given: Values, expected: Values) -> None:
        points, inputs, outputs = given["points"], given["inputs"], given["outputs"]
        x, w = minitorch.rand((points, inputs)).view(points, inputs, 1), minitorch.rand((inputs, outputs)).view(1, inputs, outputs)
        products = x * w
        total = products.sum(1)
        assert [x.shape, w.shape, products.shape, total.shape, total.view(points, outputs).shape] == expected["shapes"]
        from project.run_tensor import Linear

        assert sum(parameter.value.size for parameter in Linear(inputs, outputs).parameters()) == expected["parameters"]

    def _3_speedup(given: Values, expected: Values) -> None:
        for n, speedup in zip(given["iterations"], expected["speedups"], strict=True):
            shares = np.array_split(np.arange(n), given["threads"])
            assert n / (max(map(len, shares)) + 2 * given["wake"]) == pytest.approx(speedup)
        assert expected["speedups"][0] < 1 < expected["speedups"][1] < given["threads"]
        serial, cores = Fraction(str(given["share"])), given["cores"]
        assert float(1 / (serial + (1 - serial) / cores)) == pytest.approx(expected["amdahl"])

    def _3_parallel_loops(given: Values, expected: Values) -> None:
        assert [not conflicts(body) for body in given["bodies"]] == expected["parallel"]

    def _3_lost_update(given: Values, expected: Values) -> None:
        start, (a, b) = given["start"], given["added"]
        assert expected["finals"] == sorted({start + a, start + b, start + a + b})

    def _3_shared_buffer(given: Values, expected: Values) -> None:
        assert minitorch.zeros(given["shape"]).size == expected["elements"]

    def _3_stride_aligned(given: Values, expected: Values) -> None:
        shape, strides = given["out"], minitorch.strides_from_shape(given["out"])
        equal = [np.array_equal(shape, one) and np.array_equal(strides, other) for _, one, other in given["cases"]]
        assert equal == expected["aligned"]

    def _3_product_positions(given: Values, expected: Values) -> None:
        a, b = tensor(given["a"]), tensor(given["c"]).permute(1, 0)
        assert b.stride() == expected["strides"]
        assert (a @ b).to_numpy()[given["at"]] == expected["value"]

    def _3_batch_of_one(given: Values, expected: Values) -> None:
        b = minitorch.zeros(given["b"])
        assert given["n"] * b.stride()[0] == expected["position"] >= expected["length"] == b.size

    def _3_product_gradients(given: Values, expected: Values) -> None:
        a, b = tensor(given["a"], requires_grad=True), tensor(given["b"], requires_grad=True)
        (a @ b).backward(tensor(given["g"]))
        assert close(a.grad.to_numpy(), expected["a"])
        assert close(b.grad.to_numpy(), expected["b"])

    def _3_threads(given: Values, expected: Values) -> None:
        blocks, size = given["block"], given["size"]
        threads = [(block, thread) for block in range(expected["blocks"]) for thread in range(blocks)]
        assert len(threads) - size == expected["idle"] < blocks
        assert threads.index(given["at"]) == expected["element"]
        left, cells = given["length"], []
        while left > 1:
            left = len(range(0, left, 1024))
            cells.append(left)
        assert cells == expected["cells"]

    def _3_tree_sum(given: Values, expected: Values) -> None:
        row = np.array(given["row"])
        for half, values in zip((4, 2, 1), expected["rounds"], strict=True):
            row[:half] += row[half : 2 * half]
            assert row.tolist() == values
        assert row[0] == tensor(given["row"]).sum().item()
        assert expected["right"] == expected["rounds"][1][0]
        assert expected["right"] - expected["early"] == given["row"][6]

    def _3_tiled_reads(given: Values, expected: Values) -> None:
        def count(order: str) -> Any:
            steps = Tiling(given["n"], given["tile"], order)
            return sum((steps.counts(step) for step in steps.steps[1:]), steps.counts(steps.steps[0]))

        assert count("element by element").global_reads == expected["plain"]
        tiled = count("tile by tile")
        assert (tiled.global_reads, tiled.shared_writes) == (expected["tiled"], expected["shared"])

    def _3_small_matrices(given: Values, expected: Values) -> None:
        steps = Tiling(given["small"] // 4, 4, "element by element")
        assert 4**3 * sum(steps.counts(step).products for step in steps.steps) == expected["products"]

    def _4_convolution_1d(given: Values, expected: Values) -> None:
        x, w = (tensor(values).view(1, 1, len(values)).to("fast").detach() for values in (given["x"], given["w"]))
        x.requires_grad_(True)
        w.requires_grad_(True)
        out = minitorch.conv1d(x, w)
        out.backward(tensor(given["g"]).view(1, 1, 4).to("fast"))
        assert close(out.to_numpy()[0, 0], expected["out"])
        assert close(x.grad.to_numpy()[0, 0], expected["to_x"])
        assert close(w.grad.to_numpy()[0, 0], expected["to_w"])

    def _4_convolution_2d(given: Values, expected: Values) -> None:
        x, w = (tensor(values).view(1, 1, *np.shape(values)).to("fast") for values in (given["x"], given["w"]))
        assert close(minitorch.conv2d(x, w).to_numpy()[0, 0], expected["out"])

    def _4_unchecked_edge(given: Values, expected: Values) -> None:
        x, w = tensor(given["storage"]).view(2, 1, 4).to("fast"), tensor(given["w"]).view(1, 1, 2).to("fast")
        assert close(minitorch.conv1d(x, w).to_numpy()[0, 0], expected["right"])
        out = [0] * 4
        exec(given["body"], {"storage": given["storage"], "weight": given["w"], "out": out})
        assert out == expected["got"] != expected["right"]

    def _4_cost(given: Values, expected: Values) -> None:
        from project.run_mnist_multiclass import Conv2d

        (ins, outs), k, side = given["channels"], given["k"], given["side"]
        assert Conv2d(ins, outs, k, k).weights.value.size == expected["weights"]
        assert minitorch.zeros((ins, side, side)).size * minitorch.zeros((outs, side, side)).size == expected["linear"]
        assert given["batch"] * side**2 * expected["weights"] == expected["products"]

    def _4_tiles(given: Values, expected: Values) -> None:
        images = minitorch.rand(given["images"])
        result, rows, columns = minitorch.tile(images, given["kernel"])
        assert (result.shape, (rows, columns)) == (expected["final"], expected["cut"][2:6:2])
        moved = images.view(*expected["cut"]).permute(*expected["order"])
        assert moved.shape == expected["moved"]
        assert (moved.contiguous().view(*expected["final"]).to_numpy() == result.to_numpy()).all()
        height, (kh, _) = given["images"][2], given["kernel"]
        split_wrongly = np.arange(height).reshape(kh, height // kh)
        assert split_wrongly[:, 0].tolist() == list(range(0, height, expected["cut"][2]))

    def _4_pooling(given: Values, expected: Values) -> None:
        for pool, kind in ((minitorch.avgpool2d, "mean"), (minitorch.maxpool2d, "max")):
            x = tensor(given["image"]).view(1, 1, 4, 4).detach()
            x.requires_grad_(True)
            out = pool(x, (2, 2))
            out.backward(tensor(given["g"]).view(1, 1, 2, 2))
            assert close(out.to_numpy()[0, 0], expected[kind])
            assert close(x.grad.to_numpy()[0, 0], expected[f"to {kind}"])

    def _4_softmax(given: Values, expected: Values) -> None:
        x = tensor([[math.log(n) for n in given["numbers"]]], requires_grad=True)
        y = tensor([[float(place == given["label"]) for place in range(3)]])
        loss = -(minitorch.logsoftmax(x, 1) * y).sum()
        loss.backward()
        assert close(minitorch.softmax(x, 1).to_numpy()[0], expected["probabilities"])
        assert close(loss.item(), expected["loss"])
        assert close(x.grad.to_numpy()[0], expected["gradient"])

    def _4_overflow(given: Values, expected: Values) -> None:
        x = tensor([given["x"]])
        assert close(minitorch.softmax(x, 1).to_numpy()[0], expected["softmax"])
        assert close(minitorch.logsoftmax(x, 1).to_numpy()[0], expected["logs"])

    def _4_maximum_start(given: Values, expected: Values) -> None:
        assert close(minitorch.max(tensor(given["x"]), 1).to_numpy().ravel(), expected["right"])
        assert [max(0, *row) for row in given["x"]] == expected["got"] != expected["right"]

    def _4_dropout(given: Values, expected: Values) -> None:
        masks = list(product([0, 1], repeat=4))
        likely = [math.prod(1 - given["rate"] if kept else given["rate"] for kept in mask) for mask in masks]
        sums = [(tensor(given["x"]) * tensor(mask)).sum().item() for mask in masks]
        assert np.dot(likely, sums) == pytest.approx(expected["expected"])
        assert likely[-1] == pytest.approx(expected["kept"])

    def _4_network_shapes(given: Values, expected: Values) -> None:
        from project.run_mnist_multiclass import Network

        network = Network(given["side"], given["pool"])
        assert sum(parameter.value.size for parameter in network.parameters()) == expected["parameters"]
        images = minitorch.rand((16, 1, given["side"], given["side"]), backend=minitorch.FastBackend)
        assert network(images).shape == expected["shapes"][-1]
        assert (network.mid.shape, network.out.shape) == tuple(expected["shapes"][:2])

    def _4_curves(given: Values, expected: Values) -> None:
        assert given["images"] * expected["percent"] == pytest.approx(100)


CHECKS = {name.lstrip("_").replace("_", "-"): check for name, check in vars(Comparisons).items() if re.match(r"_\d", name)}


def test_the_loops_of_the_bank_conflict_as_it_says() -> None:
    assert {body: not conflicts(body) for body in LOOPS} == {body: parallel for body, (parallel, _) in LOOPS.items()}


def leaves(value: Any) -> list[float]:
    """The numbers in nested lists and dictionaries, truth values left out."""
    if isinstance(value, (Mapping, list, tuple)):
        return [leaf for each in (value.values() if isinstance(value, Mapping) else value) for leaf in leaves(each)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_the_numbers_that_are_compared_are_those_of_the_answer(question: Question) -> None:
    elsewhere = {"1-step-size", "3-shared-buffer", "4-softmax"}  # in the question, in neither, as fractions
    for student in STUDENTS:
        drawn = question.draw("seed", student)
        for value in leaves(drawn.expected) if question.id not in elsewhere else ():
            shown = {number(value), number(value, 2), number(abs(value)), str(value)}
            assert any(text in drawn.answer for text in shown), value


def test_every_question_is_compared() -> None:
    assert set(CHECKS) == set(BY_ID)


COMPILED = {"4-network-shapes", "4-convolution-1d", "4-cost"}
"""Questions whose answers are compared with compiled convolutions; tests/exhaustive does so."""


@pytest.mark.parametrize("id", [id for id in BY_ID if id not in COMPILED])
def test_answers_agree_with_minitorch(id: str) -> None:
    check_answers(id, STUDENTS[:1])


def check_answers(id: str, students: Sequence[str]) -> None:
    for student in students:
        drawn = BY_ID[id].draw("seed", student)
        CHECKS[id](drawn.given, drawn.expected)
