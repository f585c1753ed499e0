"""The page on PyTorch, whose answers need the compiled interface."""

import minitorch.torch
from tests.test_book_pages import PAGES, check_table
from tests.test_docs import check_answers


def test_answers_on_the_page_on_pytorch_are_what_the_code_of_their_questions_prints() -> None:
    check_answers(PAGES[-1])


def test_the_table_of_the_two_interfaces_shows_the_values_of_pytorch_s() -> None:
    check_table(minitorch.torch, 2)
