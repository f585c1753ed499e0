"""The lines to check that a card suggests when the error does not name one."""

from tests.course.test_places import kernel_cards, place


def test_the_line_in_a_compiler_message_is_shown_as_the_student_s(kernel_cards):
    card = kernel_cards["test_compiled"]
    assert card["place"] == place("minitorch/kernels.py", 16, "out[i] = fn(x[i], x[i])", "tensor_map._map")
