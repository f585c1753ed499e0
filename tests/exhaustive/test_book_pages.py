"""The page on PyTorch, whose answers need the compiled interface."""

from tests.test_book_pages import PAGES
from tests.test_docs import check_answers


def test_answers_on_the_page_on_pytorch_are_what_the_code_of_their_questions_prints() -> None:
    check_answers(PAGES[-1])
