"""Python that numba.cuda does not compile: one table of kernels, which the compiler itself confirms where it is installed."""

# ruff: noqa: C408, C410, C416, E731, F401, F841, RET501, RUF005, SIM208, UP031, UP032  # kernels that nobody should write

import builtins
import math
import re
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba import cuda

from minitorch.cuda import KernelError, inspect_kernel, language
from minitorch.cuda.calls import MATH, PYTHON
from minitorch.kernels.cuda.device import SIMULATED
from tests.cuda_inspect import kernels

LIMIT, NAMES, TABLE = 3, {"a"}, {1: 2}


class Settings:
    scale = 2


SETTINGS = Settings()

REFUSED, ACCEPTED = [], []


def refused(message):
    """The compiler refuses the kernel below; the message ends so, and names its last line."""

    def register(kernel):
        REFUSED.append(pytest.param(kernel, message, id=kernel.__name__))
        return kernel

    return register


def accepted(kernel):
    """The compiler accepts the kernel below, and so does the interpreter."""
    ACCEPTED.append(pytest.param(kernel, id=kernel.__name__))
    return kernel


# Constructs


@refused("a dictionary, got '{1: n}': a thread cannot allocate memory; use an array whose index is the key")
def a_dictionary(out, n):
    counts = {1: n}


@refused("a dictionary, got 'dict': a thread cannot allocate memory; use an array whose index is the key")
def a_call_of_dict(out, n):
    counts = dict()


@refused("a dictionary, got '{i: i for i in range(3)}': a thread")
def a_dictionary_comprehension(out, n):
    counts = {i: i for i in range(3)}


@refused("a set, got '{1, 2}': a thread cannot allocate memory; write a tuple after in, or compare the numbers")
def a_set(out, n):
    out[0] = n in {1, 2}


@refused("a list, got 'list': a thread cannot allocate memory; use cuda.local.array(size, dtype)")
def a_call_of_list(out, n):
    numbers = list((1, 2))


@refused("a comprehension, got '[i for i in range(3)]': a thread cannot allocate memory; write a for loop that fills cuda.local.array(")
def a_list_comprehension(out, n):
    numbers = [i for i in range(3)]


@refused("a comprehension, got '(i for i in range(n))': a thread")
def a_generator_expression(out, n):
    out[0] = sum(i for i in range(n))


@refused("an f-string, got \"f'{n}'\": a thread cannot build a string; write the numbers to an array, and format them after the launch")
def an_f_string(out, n):
    text = f"{n}"


@refused("a string, got \"'%d' % n\": a thread cannot build a string; write the numbers")
def a_formatted_text(out, n):
    text = "%d" % n


@refused("a string, got \"'{}'.format(n)\": a thread cannot build a string; ")
def a_call_of_format(out, n):
    text = "{}".format(n)


@refused("a string, got 'str': a thread cannot build a string; ")
def a_call_of_str(out, n):
    text = str(n)


@refused("print with keyword arguments, got \"print(n, sep=',')\": only print(value, …) is there; remove sep, end, file and flush")
def a_separator(out, n):
    print(n, sep=",")


@refused("a generator, got '(yield n)': a thread runs to its end and cannot be suspended; write each value to an element of an array")
def a_yield(out, n):
    yield n


@refused("a generator, got '(yield from (1, 2))': a thread")
def a_delegated_yield(out, n):
    yield from (1, 2)


@refused("try, got 'try:': a GPU has no exceptions that a thread could catch; test with if what would raise the exception")
def a_try_that_no_thread_reaches(out, n):
    if n > 100:
        with_try(out)


@cuda.jit(device=True)
def with_try(out):
    try:
        out[0] = 1
    except Exception:
        out[0] = 2


@refused("with, got 'with out:': a thread cannot enter a context; enter it around the launch")
def a_context(out, n):
    with out:
        out[0] = 1


@refused("an import, got 'import math as module': a module is imported before the kernel is compiled; import it at the top of the file")
def an_import(out, n):
    import math as module


@refused("an import, got 'from math import sqrt': a module")
def an_import_of_a_name(out, n):
    from math import sqrt


@refused("a class, got 'class Pair:': a thread cannot allocate memory; pass its numbers as arguments")
def a_class(out, n):
    class Pair: ...


@refused("del, got 'del x': a variable of a thread is a register; remove the line")
def a_deletion(out, n):
    x = n
    del x


@refused("an assignment to a variable outside of a kernel, got 'global LIMIT': it is a constant for the GPU; pass an array and write")
def a_written_global(out, n):
    global LIMIT; LIMIT = 4  # fmt: skip  # noqa: E702


@refused("* left of =, got 'a, *b = (1, 2, 3)': a thread cannot allocate memory; name every element, or use a slice of the tuple")
def a_starred_target(out, n):
    a, *b = (1, 2, 3)


@refused("@, got 'out @ out': a thread has no product of matrices; write the loop that adds the products")
def a_product(out, n):
    out[0] = out @ out


@refused("** in a call, got 'plus(**TABLE)': the compiler must know the names of the arguments; write every argument")
def keywords_from_a_dictionary(out, n):
    out[0] = plus(**TABLE)


@refused("keyword-only parameters, as keyword_only has, got 'keyword_only': a GPU passes arguments by position; remove the *")
def a_keyword_only_parameter(out, n):
    out[0] = keyword_only(1, y=2)


@refused("a kernel that returns a value, got 'return n': nothing receives it; write it to an element of an array")
def a_returned_value(out, n):
    return n


@refused("raise with a value or a cause, got 'raise ValueError(n)': the text of an exception must be a constant; write raise ValueError(")
def a_value_in_an_exception(out, n):
    if n > 100:
        raise ValueError(n)


@refused("raise with a value or a cause, got \"raise ValueError('x') from None\": the text")
def a_cause_of_an_exception(out, n):
    if n > 100:
        raise ValueError("x") from None


# Names from outside


@refused(
    "SETTINGS, a variable outside of the kernel that is of type Settings, got 'SETTINGS': a GPU knows numbers, tuples and arrays; pass"
)
def an_object(out, n):
    out[0] = SETTINGS.scale


@refused("Settings, a variable outside of the kernel that is a class, got 'Settings': a GPU knows")
def an_attribute_of_a_class(out, n):
    out[0] = Settings.scale


@refused("TABLE, a variable outside of the kernel that is of type dict, got 'TABLE': a GPU knows")
def a_dictionary_outside(out, n):
    out[0] = TABLE[1]


@refused("NAMES, a variable outside of the kernel that is of type set, got 'NAMES': a GPU knows")
def a_set_outside(out, n):
    out[0] = n in NAMES


@refused("reversed, got 'reversed': it has no version for a GPU; count down with range(n - 1, -1, -1)")
def a_reversed_range(out, n):
    for i in reversed(range(3)): out[i] = i  # fmt: skip  # noqa: E701


@refused("any, got 'any': it has no version for a GPU; join the conditions with or")
def a_call_of_any(out, n):
    out[0] = any((n > 1, n > 2))


@refused("sorted, got 'sorted': it has no version for a GPU; compute it before the launch, or write a loop")
def a_sorted_tuple(out, n):
    out[0] = sorted((n, 1))[0]


@refused("math.comb, got 'math.comb': it has no version for a GPU; compute it before the launch, or write it with operators and functions")
def a_function_of_math(out, n):
    out[0] = math.comb(4, 2)


@refused("np.sqrt, got 'np.sqrt': it has no version for a GPU; write math.sqrt")
def a_root_of_numpy(out, n):
    out[0] = np.sqrt(out[0])


@refused("np.add, got 'np.add': it has no version for a GPU; write +")
def a_sum_of_numpy(out, n):
    out[0] = np.add(out[0], 1.0)


@refused("np.absolute, got 'np.absolute': it has no version for a GPU; write abs")
def an_absolute_value_of_numpy(out, n):
    out[0] = np.absolute(out[0])


@refused("np.square, got 'np.square': it has no version for a GPU; write it with operators and functions of math")
def a_square_of_numpy(out, n):
    out[0] = np.square(out[0])


# Types

VARIABLE = "and for numba.cuda a variable has one type: give each type a variable of its own"


@refused(f"x is a number or a tuple of 2, {VARIABLE}")
def a_number_and_a_tuple(out, n):
    x = 0
    if n > 1: x = (1, 2)  # fmt: skip  # noqa: E701
    if n > 1: out[0] = x[0]  # fmt: skip  # noqa: E701


@refused(f"x is a tuple of 2 or a tuple of 3, {VARIABLE}")
def tuples_of_two_lengths(out, n):
    x = (1, 2)
    if n > 1: x = (1, 2, 3)  # fmt: skip  # noqa: E701
    out[0] = x[0]


@refused(f"x is a tuple of 0 or a tuple of 1, {VARIABLE}")
def a_tuple_that_grows(out, n):
    x = ()
    for i in range(3):
        x = x + (i,)
    out[0] = len(x)


@refused(f"x is an array of float64 with 1 dimension or a number, {VARIABLE}")
def an_array_and_a_number(out, n):
    x = out
    if n > 1:
        x = 3
    y = x


@refused(f"x is an array of float32 with 1 dimension or an array of float64 with 1 dimension, {VARIABLE}")
def arrays_of_two_dtypes(out, n):
    x = cuda.shared.array(4, numba.float32)
    if n > 1:
        x = cuda.shared.array(4, numba.float64)
    x[0] = 1


@refused(f"x is a string or a number, {VARIABLE}")
def a_text_and_a_number(out, n):
    x = "a"
    if n > 1:
        x = 3
    y = x


@refused("this expression is a number or a tuple of 2, ")
def a_conditional_expression(out, n):
    x = 1 if n > 1 else (1, 2)
    y = x


@refused("the result is a number or a tuple of 2, and for numba.cuda a function has one type of result: return one type in every branch")
def a_call_with_two_types_of_results(out, n):
    two_types(n)


@refused("a tuple expected elements of one type where a variable selects them, got bool and float and int in 't[n]'; write constants")
def an_element_of_a_mixed_tuple(out, n):
    t = (1, 2.5, True)
    out[0] = t[n]


@refused("a tuple expected elements of one type where a variable selects them, got float and int in 'for x in (1, 2.5):'; write constants")
def a_loop_over_a_mixed_tuple(out, n):
    for x in (1, 2.5): out[0] = x  # fmt: skip  # noqa: E701


@refused("tuple does not accept an object of type range (the compiler must know the number of elements: write them)")
def a_tuple_of_a_range(out, n):
    t = tuple(range(3))


@refused("expected a number as condition, got the array out in 'not out'; compare one element, or its size")
def an_array_as_condition(out, n):
    out[0] = 1 if not not out else 2


@refused("out expected integers as indices, got True in 'out[True]'")
def a_truth_value_as_index(out, n):
    out[True] = 2


@refused("'~2.5' is not defined for 2.5; write not, or convert it to an integer")
def an_inverted_float(out, n):
    out[0] = ~2.5


@refused("cuda.grid expected the constant 1, 2 or 3, the number of dimensions, got 'cuda.grid(4)'; write the number")
def a_grid_of_four_dimensions(out, n):
    i = cuda.grid(4)


@refused("cuda.grid expected the constant 1, 2 or 3, the number of dimensions, got 'cuda.grid(n)'; write the number")
def a_variable_number_of_dimensions(out, n):
    i = cuda.grid(n)


# What the compiler accepts


@cuda.jit(device=True)
def plus(x, y=2):
    return x + y


@cuda.jit(device=True)
def keyword_only(x, *, y=1):
    return x + y


@cuda.jit(device=True)
def two_types(n):
    if n > 1:
        return 1
    return (1, 2)


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@accepted
def calls_with_defaults_and_keywords(out, n):
    pair = (1, 2)
    out[0] = plus(n) + plus(n, y=3) + plus(*pair) + plus(y=1, x=n)


@accepted
def a_recursion(out, n):
    out[0] = fibonacci(n)


@accepted
def one_type_of_numbers(out, n):
    x, y, z = 0, None, True
    if n > 1:
        x, y, z = 1.5, 2, 3
    out[0] = x + z


@accepted
def a_variable_of_another_type_later(out, n):
    x = 0
    x = (1, 2)
    out[0] = x[0]


@accepted
def two_arrays_of_one_type(out, n):
    cache = cuda.shared.array(4, numba.float64)
    x = cache if n > 1 else out
    x[0] = 1


accepted(kernels.raises_what_does_not_hold)  # in a file whose assertions pytest leaves alone


@accepted
def a_read_global(out, n):
    global LIMIT
    out[0] = LIMIT
    return None


@accepted
def small_conveniences(out, n):
    pair = (1, 2)
    triple = (*pair, 3)
    if (m := n) > 1:
        out[0] = m + triple[0]
    label: str = "text"
    for i, x in enumerate(pair):
        out[i] = x


@accepted
def functions_of_numpy(out, n):
    out[0] = np.maximum(np.sin(out[0]), np.log(2.0)) + np.float32(n) + np.pi


@pytest.mark.parametrize("kernel", ACCEPTED)
def test_what_the_compiler_accepts_is_run(kernel):
    assert inspect_kernel(kernel, 1, 1, np.arange(8.0), 2).findings == []


@pytest.mark.parametrize(("kernel", "message"), REFUSED)
def test_what_the_compiler_refuses_is_an_error_with_a_line_and_a_remedy(kernel, message):
    with pytest.raises(KernelError, match=rf"^{re.escape(__file__)}, line \d+: .*{re.escape(message)}"):
        inspect_kernel(kernel, 1, 1, np.arange(8.0), 2)


def test_the_line_is_the_first_that_is_refused():
    def several(out):
        out[0] = 1
        if out[0] > 2:
            d = {}
        s = {1}

    with pytest.raises(
        KernelError, match=f"line {several.__code__.co_firstlineno + 3}: numba.cuda cannot compile a dictionary, got '{{}}'"
    ):
        inspect_kernel(several, 1, 1, np.zeros(1))


def plain(x):
    return x + 1


def calls_a_plain_function(out, n):
    out[0] = plain(n)


def test_a_compiled_kernel_calls_compiled_functions_only():
    message = "plain, a plain function of Python, got 'plain': a kernel calls compiled functions only; put @cuda.jit("
    with pytest.raises(KernelError, match=re.escape(message)):
        inspect_kernel(cuda.jit(calls_a_plain_function), 1, 1, np.zeros(1), 1)
    assert inspect_kernel(calls_a_plain_function, 1, 1, np.zeros(1), 1).arrays["out"][0] == 2


COMPILED = "it is Python that numba.cuda compiles and the interpreter does not know; "


def prints(out, n):
    print(n)


def defines(out, n):
    add = lambda x: x + n


def matches(out, n):
    match n:
        case 1:
            out[0] = 1


def scales(out, n):
    out[0] = math.ldexp(2.0, n)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            prints,
            "print, got 'print': " + COMPILED + "remove it here, and read report.arrays",
        ),
        (
            defines,
            "a function inside of a kernel, got 'lambda x: x + n': " + COMPILED + "define it outside, with @cuda.jit(",
        ),
        (matches, "match, got 'match n:': " + COMPILED + "write if and elif"),
        (
            scales,
            "math.ldexp, got 'math.ldexp': " + COMPILED + "write it with functions",
        ),
    ],
)
def test_what_only_the_interpreter_does_not_know_is_said_so(kernel, message):
    with pytest.raises(KernelError, match=re.escape(f"the interpreter does not run {message}")):
        inspect_kernel(kernel, 1, 1, np.zeros(1), 1)


async def waits(out):
    out[0] = 1


def test_an_async_function_is_no_kernel():
    with pytest.raises(
        KernelError, match=r"numba.cuda cannot compile an async function, got 'async def waits\(out\):': a thread runs to its "
    ):
        inspect_kernel(waits, 1, 1, np.zeros(1))


def asserts(out):
    assert out[cuda.threadIdx.x] < 2


def test_an_assertion_that_fails_names_the_thread():
    message = "'assert out[cuda.threadIdx.x] < 2' does not hold in thread (2, 0, 0) of block (0, 0, 0); a GPU would go on"
    with pytest.raises(KernelError, match=re.escape(message)):
        inspect_kernel(asserts, 1, 4, np.arange(4.0))


def test_an_error_of_the_interpreter_is_an_error_of_the_line(monkeypatch):
    monkeypatch.setitem(MATH, math.sqrt, lambda x: 1 // 0)

    def root(out):
        out[0] = math.sqrt(2.0)

    message = r"line \d+: the interpreter cannot run 'out\[0\] = math.sqrt\(2.0\)' \(ZeroDivisionError: .*\); write it in smaller steps"
    with pytest.raises(KernelError, match=message):
        inspect_kernel(root, 1, 1, np.zeros(1))


@pytest.mark.parametrize("size", [0, -1, 2.0, True, (1, 1, 1, 1), (), (0, 1)])
def test_sizes_of_a_launch_are_one_to_three_positive_integers(size):
    for grid, block, name in ((size, 1, "grid"), (1, size, "block")):
        with pytest.raises(ValueError, match=re.escape(f"{name} expected one to three integers of at least 1, got {size!r}")):
            inspect_kernel(plain, grid, block, 1)


def test_the_local_arrays_of_a_thread_have_their_memory_together():
    def two(out):
        a = cuda.local.array(40_000, numba.float64)
        b = cuda.local.array(40_000, numba.float64)

    with pytest.raises(KernelError, match="the local arrays of a thread expected at most 524288 bytes, got 640000; use smaller tiles"):
        inspect_kernel(two, 1, 1, np.zeros(1))


# The compiler confirms it


@pytest.fixture
def compiles(monkeypatch):
    """Whether numba.cuda compiles a kernel, up to the assembler, which would need CUDA's libraries."""
    compile_cuda = getattr(getattr(cuda, "compiler", None), "compile_cuda", None)
    nvvm = getattr(getattr(cuda, "cudadrv", None), "nvvm", None)
    if SIMULATED or compile_cuda is None or nvvm is None:
        pytest.skip("NOT RUN: the compiler numba.cuda is not there")
    layout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
    monkeypatch.setattr(nvvm, "NVVM", lambda: type("Library", (), {"data_layout": layout, "get_ir_version": lambda self: (2, 0, 3, 1)})())
    monkeypatch.setattr(cuda.dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(8, 0)))

    def compiles(kernel):
        try:
            compile_cuda(kernel, numba.void, (numba.float64[::1], numba.int64), cc=(8, 0))
        except Exception:  # the compiler raises many types, also AttributeError for what it forgot to refuse
            return False
        return True

    return compiles


@pytest.mark.parametrize("kernel", [pytest.param(case.values[0], id=case.id) for case in REFUSED])
def test_the_compiler_refuses_it(kernel, compiles):
    if kernel is a_yield:
        pytest.skip("NOT RUN: this compiler refuses it only at the launch")
    assert not compiles(kernel)


@pytest.mark.parametrize("kernel", ACCEPTED)
def test_the_compiler_accepts_it(kernel, compiles):
    if kernel is calls_with_defaults_and_keywords and not hasattr(cuda, "HAS_NUMBA"):
        pytest.skip("NOT RUN: numba's own compiler refuses default arguments; numba-cuda accepts them")
    assert compiles(kernel)


def test_the_tables_name_functions():
    assert all(isinstance(getattr(builtins, name), object) for name in language.FUNCTIONS)
    assert not {getattr(builtins, name) for name in language.FUNCTIONS} & set(PYTHON)
    assert not {getattr(math, name, None) for name in language.COMPILED_MATH} & set(MATH)
    assert all(isinstance(ufunc, np.ufunc) for ufunc in language.UFUNCS)
