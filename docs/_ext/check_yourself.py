"""The directive `{check}`: one question of a chapter's section "Check yourself", with its answer folded below it.

    :::{check}
    :check: 2 * 3 + 1 == 7

    What does this print?

    ```python
    print(2 * 3 + 1)
    ```

    **Answer.**

    ```text
    7
    ```

    The product is computed first.
    :::

The build runs no code of a question. The tests of the book do: a question's code must print the block that begins its answer, and the
expression in `:check:`, which the page does not show, must be true.
"""

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ANSWER = "**Answer.**"
"""What separates the question from its answer."""


class CheckYourself(SphinxDirective):
    """Show a question with its number on the page, and its answer in a `<details>` element, which opens without a script."""

    has_content = True
    option_spec: ClassVar = {"check": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The question and its answer; a question without an answer is an error of the build."""
        question, found, answer = "\n".join(self.content).partition(ANSWER)
        if not question.strip() or not found or not answer.strip():
            raise self.error(f"{{check}}: expected a question, then {ANSWER} and the answer; got {question.strip()[:60]!r}")
        number = self.env.new_serialno("check") + 1  # counts from 0 on each page
        lines = [f"**{number}.** {question.strip()}", "", "::::::{dropdown} Answer", ":class-container: check-answer", "", answer, "::::::"]
        return [nodes.container("", *self.parse_text_to_nodes("\n".join(lines)), classes=["check"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("check", CheckYourself)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
