"""Tasks 1.1, 1.3 and 1.4: numerical derivatives, the chain rule, and backpropagation through graphs of every shape."""

import math

import pytest
from hypothesis import assume, example, given
from hypothesis.strategies import integers, lists, tuples

from minitorch import Context, Scalar, ScalarFunction, ScalarHistory, backpropagate, central_difference, topological_sort
from minitorch.scalar_functions import Add

from .strategies import assert_close, small_floats

# Task 1.1: numerical derivatives


@pytest.mark.task1_1
@pytest.mark.parametrize(("arg", "expected"), [(0, 15.0), (1, 10.0), (2, 6.0)])
def test_arg_chooses_the_argument(arg, expected):
    """The derivative of x · y · z at (2, 3, 5) with respect to each argument is the product of the other two."""
    assert_close(central_difference(lambda x, y, z: x * y * z, 2.0, 3.0, 5.0, arg=arg), expected, 1e-6)


@pytest.mark.task1_1
def test_without_arg_it_is_the_first():
    """Without arg, the derivative is with respect to the first argument: for x - 10y it is 1."""
    assert_close(central_difference(lambda x, y: x - 10 * y, 3.0, 4.0), 1.0, 1e-6)


@pytest.mark.task1_1
def test_a_falling_line_has_a_negative_derivative():
    """The derivative of 7 - 3x is -3."""
    assert_close(central_difference(lambda x: 7 - 3 * x, 2.0), -3.0, 1e-6)


@pytest.mark.task1_1
@pytest.mark.parametrize(("x", "expected"), [(3.0, 6.0), (-1.0, -2.0), (0.0, 0.0)])
def test_the_difference_is_symmetric(x, expected):
    """For a parabola, a symmetric difference is exact for any step: the derivative of x² is 2x."""
    assert central_difference(lambda x: x * x, x, epsilon=0.5) == expected


@pytest.mark.task1_1
@pytest.mark.parametrize(("x", "epsilon", "expected"), [(0.0, 0.5, 0.25), (0.0, 2.0, 4.0), (2.0, 0.5, 12.25), (-4.0, 1.0, 49.0)])
def test_epsilon_is_half_the_width_of_the_step(x, epsilon, expected):
    """The central difference of x³ is exactly 3x² + ε²: it steps by ε to each side and divides by 2ε."""
    assert central_difference(lambda x: x * x * x, x, epsilon=epsilon) == expected


@pytest.mark.task1_1
def test_the_default_step_is_small():
    """With the default epsilon the difference of x³ at 2 is within a millionth of 12."""
    assert_close(central_difference(lambda x: x * x * x, 2.0), 12.0, 1e-6)


@pytest.mark.task1_1
def test_only_the_chosen_argument_moves():
    """f is called at (3 ± 1/2, 4, 5): the other arguments do not change."""
    points = []

    def f(*point):
        points.append(point)
        return sum(point)

    central_difference(f, 3.0, 4.0, 5.0, arg=0, epsilon=0.5)
    assert set(points) == {(2.5, 4.0, 5.0), (3.5, 4.0, 5.0)}


@pytest.mark.task1_1
def test_whole_numbers_are_points_too():
    """Integers work as well as floats: at (5, 10), the derivative of x · y with respect to y is 5."""
    assert_close(central_difference(lambda x, y: x * y, 5, 10, arg=1), 5.0, 1e-6)


@pytest.mark.task1_1
@given(small_floats)
@example(0.0)
@example(math.pi / 2)
@example(-100.0)
def test_the_derivative_of_the_sine_is_the_cosine(x):
    """The derivative of sin is cos, everywhere."""
    assert_close(central_difference(math.sin, x), math.cos(x), 1e-4)


@pytest.mark.task1_1
@given(small_floats, small_floats)
@example(0.0, 0.0)
@example(-2.0, 3.0)
def test_partial_derivatives_of_a_polynomial(x, y):
    """x²y + y³ has the partial derivatives 2xy and x² + 3y²."""

    def f(x, y):
        return x * x * y + y * y * y

    assert_close(central_difference(f, x, y, arg=0), 2 * x * y, 1e-2)
    assert_close(central_difference(f, x, y, arg=1), x * x + 3 * y * y, 1e-2)


# Task 1.3: the chain rule


class Mixed(ScalarFunction):
    """3x + 5y: each input has a different derivative."""

    @staticmethod
    def forward(ctx, x, y):
        return 3.0 * x + 5.0 * y

    @staticmethod
    def backward(ctx, d_output):
        return 3.0 * d_output, 5.0 * d_output


class Product(ScalarFunction):
    """x · y · z: its derivatives need the values that forward saved."""

    @staticmethod
    def forward(ctx, x, y, z):
        ctx.save_for_backward(x, y, z)
        return x * y * z

    @staticmethod
    def backward(ctx, d_output):
        x, y, z = ctx.saved_values
        return d_output * y * z, d_output * x * z, d_output * x * y


class Triple(ScalarFunction):
    """3x: its backward returns a number, not a tuple."""

    @staticmethod
    def forward(ctx, x):
        return 3.0 * x

    @staticmethod
    def backward(ctx, d_output):
        return 3.0 * d_output


class First(ScalarFunction):
    """x, whatever y is: the result does not depend on the second input."""

    @staticmethod
    def forward(ctx, x, y):
        return x

    @staticmethod
    def backward(ctx, d_output):
        return d_output, 0.0


def derivatives(pairs):
    """The second element of each pair."""
    return [derivative for _, derivative in pairs]


@pytest.mark.task1_3
def test_chain_rule_pairs_each_input_with_its_derivative():
    """3x + 5y returns the pairs (x, 3) and (y, 5), in this order."""
    x, y = Scalar(1.0), Scalar(2.0)
    first, second = Mixed.apply(x, y).chain_rule(d_output=1.0)
    assert first[0] is x
    assert first[1] == 3.0
    assert second[0] is y
    assert second[1] == 5.0


@pytest.mark.task1_3
@pytest.mark.parametrize("d_output", [1.0, 5.0, -2.0, 0.5, 0.0])
def test_chain_rule_multiplies_with_d_output(d_output):
    """Every derivative of 3x + 5y is multiplied by the derivative of the output, once."""
    z = Mixed.apply(Scalar(1.0), Scalar(2.0))
    assert derivatives(z.chain_rule(d_output=d_output)) == [3.0 * d_output, 5.0 * d_output]


@pytest.mark.task1_3
def test_chain_rule_uses_what_forward_saved():
    """x · y · z at (2, 7, 10) has the derivatives 70, 20 and 14."""
    z = Product.apply(Scalar(2.0), Scalar(7.0), Scalar(10.0))
    assert derivatives(z.chain_rule(1.0)) == [70.0, 20.0, 14.0]


@pytest.mark.task1_3
def test_chain_rule_reads_the_history():
    """A manually created history works as well: its function, its context, its inputs."""
    x, y, z = Scalar(0.0), Scalar(0.0), Scalar(0.0)
    ctx = Context()
    ctx.save_for_backward(2.0, 7.0, 10.0)
    pairs = list(Scalar(0.0, ScalarHistory(Product, ctx, [x, y, z])).chain_rule(d_output=2.0))
    assert [variable.unique_id for variable, _ in pairs] == [x.unique_id, y.unique_id, z.unique_id]
    assert derivatives(pairs) == [140.0, 40.0, 28.0]


@pytest.mark.task1_3
def test_chain_rule_takes_a_single_number_from_backward():
    """The backward of a function with one input may return a single number: 3x returns the pair (x, 3)."""
    x = Scalar(4.0)
    ((variable, derivative),) = Triple.apply(x).chain_rule(d_output=5.0)
    assert variable is x
    assert derivative == 15.0


@pytest.mark.task1_3
def test_chain_rule_lists_an_input_twice_that_is_used_twice():
    """3x + 5x returns (x, 3) and (x, 5): chain_rule does not add them up."""
    x = Scalar(1.0)
    pairs = list(Mixed.apply(x, x).chain_rule(d_output=1.0))
    assert [variable is x for variable, _ in pairs] == [True, True]
    assert derivatives(pairs) == [3.0, 5.0]


@pytest.mark.task1_3
def test_chain_rule_includes_constants():
    """3 · 10 + 5y returns a pair for the 10, too: chain_rule does not leave out constants."""
    y = Scalar(2.0)
    pairs = list(Mixed.apply(10, y).chain_rule(d_output=10.0))
    assert derivatives(pairs) == [30.0, 50.0]
    assert pairs[0][0].is_constant()
    assert pairs[0][0].data == 10.0
    assert pairs[1][0] is y


@pytest.mark.task1_3
def test_chain_rule_includes_derivatives_of_zero():
    """An input that does not affect the output gets its pair, with derivative 0."""
    x, y = Scalar(1.0), Scalar(2.0)
    pairs = list(First.apply(x, y).chain_rule(d_output=4.0))
    assert [variable.unique_id for variable, _ in pairs] == [x.unique_id, y.unique_id]
    assert derivatives(pairs) == [4.0, 0.0]


@pytest.mark.task1_3
def test_chain_rule_goes_back_one_function_only():
    """The inputs of 3u + 5y are u and y, even if u was computed itself."""
    x, y = Scalar(1.0), Scalar(2.0)
    u = Triple.apply(x)
    first, second = Mixed.apply(u, y).chain_rule(d_output=1.0)
    assert first[0] is u
    assert first[1] == 3.0
    assert second[0] is y


@pytest.mark.task1_3
def test_chain_rule_changes_nothing():
    """chain_rule only returns pairs: it stores no derivative, and a second call returns the same."""
    x, y = Scalar(1.0), Scalar(2.0)
    z = Mixed.apply(x, y)
    assert derivatives(z.chain_rule(d_output=2.0)) == [6.0, 10.0]
    assert derivatives(z.chain_rule(d_output=2.0)) == [6.0, 10.0]
    assert [x.derivative, y.derivative, z.derivative] == [None, None, None]


@pytest.mark.task1_3
@pytest.mark.parametrize("kind", ["leaf", "constant"])
def test_chain_rule_of_what_no_function_made_is_an_error(kind):
    """No function computed a leaf or a constant: chain_rule raises RuntimeError, because an empty result would hide the mistake."""
    list(Triple.apply(Scalar(1.0)).chain_rule(1.0))  # what is not written yet says so here
    variable = Scalar(1.0) if kind == "leaf" else Scalar(1.0, None)
    with pytest.raises(RuntimeError):
        list(variable.chain_rule(1.0))


def function_with_derivatives(count):
    """A function of two inputs whose backward returns this many derivatives; None: one, as a plain number."""

    class Broken(ScalarFunction):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, d_output):
            return d_output if count is None else (d_output,) * count

    return Broken


@pytest.mark.task1_3
@pytest.mark.parametrize("count", [None, 1, 3])
def test_chain_rule_rejects_a_wrong_number_of_derivatives(count):
    """If backward returns one derivative or three for two inputs, chain_rule raises ValueError: dropping one would hide the mistake."""
    x, y = Scalar(1.0), Scalar(2.0)
    assert derivatives(function_with_derivatives(2).apply(x, y).chain_rule(4.0)) == [4.0, 4.0]
    z = function_with_derivatives(count).apply(x, y)
    with pytest.raises(ValueError):  # noqa: PT011 - any message, such as that of zip(strict=True)
        list(z.chain_rule(4.0))


# Task 1.4: backpropagation. First the order …


class Steps(list):
    """The steps (i, j) of a graph, each of which computes 3a + 5b from two of the variables before it."""

    def __repr__(self):
        """The graph as text, such as "v3 = 3x + 5c, v4 = 3v3 + 5y"."""
        names, lines = ["x", "y", "c"], []
        for i, j in self:
            lines.append(f"v{len(names)} = 3{names[i % len(names)]} + 5{names[j % len(names)]}")
            names.append(f"v{len(names)}")
        return f"{', '.join(lines)} (leaves x and y, constant c)"


RANDOM_GRAPHS = lists(tuples(integers(0, 12), integers(0, 12)), min_size=1, max_size=10).map(Steps)


def graph(steps):
    """Two leaves, a constant, and a variable for every step, computed from any two before it."""
    nodes = [Scalar(1.0), Scalar(1.0), Scalar(1.0, None)]  # equal values: variables are told apart by their identity
    for i, j in steps:
        nodes.append(Mixed.apply(nodes[i % len(nodes)], nodes[j % len(nodes)]))
    return nodes


HARD_GRAPHS = [
    [(0, 0)],  # the same input twice
    [(0, 1), (3, 3)],
    [(0, 2), (0, 1), (3, 4)],  # a diamond
    [(0, 2), (0, 1), (4, 3)],
    [(0, 1), (3, 2), (3, 4)],  # node 3 is used at two depths, the short way first
    [(0, 1), (3, 2), (4, 3)],  # the short way last
    [(0, 1), (3, 1), (4, 1), (3, 5)],
    [(0, 1), (3, 1), (4, 1), (5, 3)],
    [(0, 1), (0, 3), (3, 4), (4, 5), (5, 6), (6, 7)],  # each from the two before it: many ways to every node
    [(1, 2), (0, 3), (0, 4)],  # a leaf used at two depths
]


def on_hard_graphs(test):
    """Try these graphs before random ones, in this order (the decorator applied last is tried first)."""
    for steps in reversed(HARD_GRAPHS):
        test = example(Steps(steps))(test)
    return test


@pytest.mark.task1_4
def test_the_order_of_a_leaf_is_the_leaf():
    """A leaf was computed from nothing: it is alone in its order."""
    x = Scalar(2.0)
    order = list(topological_sort(x))
    assert len(order) == 1
    assert order[0] is x


@pytest.mark.task1_4
@pytest.mark.parametrize("short_path_first", [True, False])
def test_the_order_of_a_variable_used_at_two_depths(short_path_first):
    """With y computed from x, z from y, and out from y and z, only one order is correct: out, z, y, x."""
    x = Scalar(1.0)
    y = Triple.apply(x)
    z = Triple.apply(y)
    out = Mixed.apply(y, z) if short_path_first else Mixed.apply(z, y)
    names = {x.unique_id: "x", y.unique_id: "y", z.unique_id: "z", out.unique_id: "out"}
    assert [names[variable.unique_id] for variable in topological_sort(out)] == ["out", "z", "y", "x"]


@pytest.mark.task1_4
@on_hard_graphs
@given(RANDOM_GRAPHS)
def test_the_order_is_topological(steps):
    """The order starts at the output and lists each non-constant variable once, after all variables computed from it."""
    out = graph(steps)[-1]
    assume(not out.is_constant())
    order = list(topological_sort(out))
    place = {variable.unique_id: i for i, variable in enumerate(order)}
    assert order[0].unique_id == out.unique_id, "the output does not come first"
    assert len(place) == len(order), "a variable is listed more than once"
    for variable in order:
        assert not variable.is_constant(), "a constant is listed"
        for parent in variable.parents:
            if not parent.is_constant():
                missing = parent.unique_id not in place
                assert not missing, "a variable that leads to the output is missing"
                too_early = place[parent.unique_id] < place[variable.unique_id]
                assert not too_early, "a variable comes before one that was computed from it"


# … then the derivatives


@pytest.mark.task1_4
@pytest.mark.parametrize("d_output", [1.0, 5.0, -2.0, 0.0])
def test_backpropagate_starts_from_the_given_derivative(d_output):
    """3x + 5y passes 3 times the derivative to x and 5 times to y."""
    x, y = Scalar(1.0), Scalar(2.0)
    backpropagate(Mixed.apply(x, y), d_output)
    assert [x.derivative, y.derivative] == [3.0 * d_output, 5.0 * d_output]


@pytest.mark.task1_4
def test_backward_on_a_leaf_keeps_the_derivative():
    """A leaf has no inputs: it keeps the derivative it is given."""
    x = Scalar(2.0)
    x.backward(d_output=5.0)
    assert x.derivative == 5.0


@pytest.mark.task1_4
def test_derivatives_are_multiplied_along_a_chain():
    """Four functions 3x in a row have the derivative 3⁴."""
    x = Scalar(2.0)
    Triple.apply(Triple.apply(Triple.apply(Triple.apply(x)))).backward()
    assert x.derivative == 81.0


@pytest.mark.task1_4
def test_a_variable_used_twice_gets_both_derivatives():
    """x · x at 3 has the derivative 6, x · x · x at 2 has 12."""
    x, y = Scalar(3.0), Scalar(2.0)
    (x * x).backward()
    (y * y * y).backward()
    assert [x.derivative, y.derivative] == [6.0, 12.0]


@pytest.mark.task1_4
def test_the_paths_of_a_diamond_are_added():
    """With a = 3x and b = 7x, a · b at x = 2 has the derivative 42x = 84."""
    x = Scalar(2.0)
    a, b = x * 3.0, x * 7.0
    (a * b).backward()
    assert x.derivative == 84.0


@pytest.mark.task1_4
@pytest.mark.parametrize("short_path_first", [True, False])
def test_a_variable_used_at_two_depths_waits_for_both(short_path_first):
    """y = 2x passes on the sum of its derivatives from y and from 5y: y + 5y = 12x has the derivative 12."""
    x = Scalar(1.0)
    y = x * 2.0
    z = y * 5.0
    (y + z if short_path_first else z + y).backward()
    assert x.derivative == 12.0


@pytest.mark.task1_4
@on_hard_graphs
@given(RANDOM_GRAPHS)
def test_derivatives_of_random_graphs(steps):
    """In a graph of steps 3a + 5b, the derivative of each leaf is the sum over all paths to it of the products along the path."""
    slopes_by_x, slopes_by_y = [1, 0, 0], [0, 1, 0]  # worked out from left to right, in whole numbers
    for i, j in steps:
        for slopes in (slopes_by_x, slopes_by_y):
            slopes.append(3 * slopes[i % len(slopes)] + 5 * slopes[j % len(slopes)])
    x, y, constant, *_, out = graph(steps)
    out.backward()
    assert x.derivative == (slopes_by_x[-1] or None)  # None: no path leads to it
    assert y.derivative == (slopes_by_y[-1] or None)
    assert constant.derivative is None


@pytest.mark.task1_4
def test_a_ladder_of_diamonds():
    """Twelve diamonds in a row, each 3a + 5(3a) = 18a, have the derivative 18¹²."""
    x = Scalar(1.0)
    node = x
    for _ in range(12):
        node = Mixed.apply(node, Triple.apply(node))
    node.backward()
    assert x.derivative == 18.0**12


@pytest.mark.task1_4
def test_a_leaf_used_many_times():
    """The sum of 500 copies of x has the derivative 500."""
    x = Scalar(1.0)
    total = x
    for _ in range(499):
        total = x + total
    total.backward()
    assert x.derivative == 500.0


@pytest.mark.task1_4
def test_variables_of_equal_value_are_different_variables():
    """x and y are both 2, yet each has its own derivative: variables are distinguished by unique_id, since == compares values."""
    x, y = Scalar(2.0), Scalar(2.0)
    (x * 3.0 + y * 3.0 + Scalar(6.0) * x).backward()
    assert [x.derivative, y.derivative] == [9.0, 3.0]


@pytest.mark.task1_4
def test_each_function_goes_back_once():
    """Ten doublings have 1,023 paths, but need only ten calls of backward."""
    received = []

    class Double(ScalarFunction):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, d_output):
            received.append(d_output)
            return d_output, d_output

    x = Scalar(1.0)
    node = x
    for _ in range(10):
        node = Double.apply(node, node)
    node.backward()
    assert received == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]
    assert x.derivative == 1024.0


class Watched(Scalar):
    """A Scalar that fails the test if a traversal would never end."""

    def __init__(self, v, *history):
        self.reads = 0
        super().__init__(v, *history)

    @property
    def history(self):
        self.reads += 1
        assert self.reads <= 100, "a variable was visited over and over again; remember which ones were visited"
        return self._history

    @history.setter
    def history(self, history):
        self._history = history

    def __eq__(self, b):
        raise AssertionError("variables were compared with ==, which compares their values; compare their unique_id")

    __hash__ = Scalar.__hash__


@pytest.mark.task1_4
def test_sixty_doublings_take_sixty_steps():
    """a + a sixty times has 2⁶⁰ paths but only 61 variables: each is visited once."""
    x = Watched(1.0)
    node = x
    for _ in range(60):
        node = Watched(2.0 * node.data, ScalarHistory(Add, Context(), [node, node]))
    assert len(list(topological_sort(node))) == 61
    backpropagate(node, 1.0)
    assert x.derivative == 2.0**60


@pytest.mark.task1_4
def test_a_chain_of_a_hundred_thousand_additions():
    """A graph may be far deeper than Python's call stack: no RecursionError."""
    x, one = Watched(0.0), Scalar(1.0, None)
    node = x
    for i in range(100_000):
        node = Watched(i + 1.0, ScalarHistory(Add, Context(), [node, one]))
    backpropagate(node, 3.0)
    assert x.derivative == 3.0


@pytest.mark.task1_4
def test_only_leaves_keep_a_derivative():
    """Computed variables pass their derivative on and keep None."""
    x = Scalar(2.0)
    y = x * 3.0
    z = y + y
    z.backward()
    assert x.derivative == 6.0
    assert [y.derivative, z.derivative] == [None, None]


@pytest.mark.task1_4
def test_constants_get_nothing():
    """A Scalar without history keeps no derivative, and neither does a plain number."""
    x, constant = Scalar(2.0), Scalar(3.0, None)
    z = Mixed.apply(Mixed.apply(x, constant), 7.0)
    z.backward()
    assert x.derivative == 9.0
    assert constant.derivative is None
    assert z.parents[1].derivative is None


@pytest.mark.task1_4
def test_backward_on_a_constant_does_nothing():
    """A constant has no inputs and keeps no derivative."""
    constant = Scalar(3.0, None)
    constant.backward()
    assert constant.derivative is None


@pytest.mark.task1_4
def test_two_backward_calls_accumulate():
    """A second call, on the same graph or on another, adds to the derivative of the leaf."""
    x = Scalar(3.0)
    y = x * x
    y.backward()
    y.backward()
    assert x.derivative == 12.0
    (x * 10.0).backward(d_output=0.5)
    assert x.derivative == 17.0


@pytest.mark.task1_4
def test_a_derivative_of_zero_arrives():
    """An input that does not affect the output has the derivative 0, not None."""
    x, y = Scalar(1.0), Scalar(2.0)
    First.apply(x, Triple.apply(y)).backward()
    assert [x.derivative, y.derivative] == [1.0, 0.0]


@pytest.mark.task1_4
def test_infinity_and_nan_flow_as_floats_do():
    """∞ stays ∞, NaN stays NaN, and 0 · ∞ and ∞ - ∞ are NaN: none is dropped or replaced."""
    a, b, c, d = Scalar(1.0), Scalar(1.0), Scalar(1.0), Scalar(1.0)
    (a * math.inf).backward()
    (b * math.nan).backward()
    (c * math.inf).backward(0.0)
    (d * math.inf + d * -math.inf).backward()
    assert a.derivative == math.inf
    assert [math.isnan(x.derivative) for x in (b, c, d)] == [True, True, True]
