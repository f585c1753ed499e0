"""What is compared of a submission: the code that the student wrote, by task, and no given code."""

from course.manifest import ROOT

from .corpus import work

AUTODIFF = "minitorch/autodiff.py"


def functions(files):
    return {function.name: function for function in work("ada", files).functions}


def test_functions_belong_to_their_task_and_helpers_to_the_task_that_calls_them():
    code = (
        "def central_difference(f, *vals):\n    return _step(f)\n\n"
        "def backpropagate(variable, deriv):\n    return _Walk(variable)\n\n"
        "def _step(f):\n    return _deeper(f)\n\ndef _deeper(f):\n    return f\n\n"
        "class _Walk:\n    def __init__(self, v):\n        self.v = v\n\n"
        "def unused():\n    return 1\n"
    )
    tasks = {"1.1": ("central_difference", "_step", "_deeper", "unused"), "1.4": ("backpropagate", "_Walk.__init__")}
    found = {name: function.task for name, function in functions({AUTODIFF: code}).items()}
    assert found == {name: task for task, names in tasks.items() for name in names}


def test_given_functions_stubs_docstrings_and_names_are_left_out():
    given = (ROOT / AUTODIFF).read_text(encoding="utf-8")
    assert "class Context" in given
    assert set(functions({AUTODIFF: given})) == {"central_difference", "topological_sort", "backpropagate"}
    stub = 'def topological_sort(variable):\n    """Order."""\n    raise NotImplementedError("Need to implement for Task 1.4")\n'
    assert functions({AUTODIFF: stub}) == {}
    assert functions({AUTODIFF: given})["backpropagate"].texts == frozenset()


def test_only_the_student_s_part_of_a_given_function_is_taken():
    inner = "    def _map(out, out_shape):\n        for i in range(len(out)):\n            out[i] = fn(i)\n"
    text = f"def tensor_map(fn):\n{inner}    return _map\n"
    (found,) = functions({"minitorch/tensor_ops.py": text}).values()
    assert (found.name, found.task, found.first) == ("tensor_map._map", "2.3", 2)
    assert found.lines == ("    def _map(out, out_shape):", "        for i in range(len(out)):", "            out[i] = fn(i)")
    assert max(found.places) == 2


def test_renaming_helpers_and_classes_changes_nothing():
    text = "def backpropagate(variable, deriv):\n    return NAME(variable)\n\n"
    for helper in ("def NAME(v):\n    return v\n", "class NAME:\n    def go(self):\n        return self\n"):
        one, other = (functions({AUTODIFF: (text + helper).replace("NAME", name)})["backpropagate"] for name in ("_walk", "Walker"))
        assert (one.tokens == other.tokens).all()


def test_texts_are_the_student_s_long_names_comments_and_strings():
    text = (
        "def backpropagate(variable, deriv):\n"
        "    accumulatd = deriv  # the derivitive so far\n"
        "    x = 1  # short\n"
        "    raise ValueError('something odd   happened')\n"
    )
    texts = {("name", "accumulatd"), ("comment", "the derivitive so far"), ("string", "something odd happened")}
    assert functions({AUTODIFF: text})["backpropagate"].texts == texts


def test_an_unreadable_file_is_named_and_the_others_are_read():
    deep = f"def backpropagate(variable, deriv):\n    return {'-' * 3000}1\n"
    found = work("ada", {AUTODIFF: "def (:\n", "minitorch/scalar.py": deep, "minitorch/operators.py": "def relu(x):\n    return x\n"})
    assert [function.name for function in found.functions] == ["relu"]
    assert [trouble.split(",")[0] for trouble in found.troubles] == [AUTODIFF, "minitorch/scalar.py"]
    assert found.troubles[0].endswith("not valid Python: invalid syntax")
