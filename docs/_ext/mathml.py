"""Mathematics as MathML, which browsers draw themselves: no script, no font, no other host."""

import re
from typing import Any, NoReturn

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def mathml(latex: str, display: str) -> str:
    """A formula as MathML, with the two things set right that the converter leaves to the browser."""
    markup = convert(latex, display=display)
    prime = r"<msup>(<mi>\w+</mi>)<mi>&#x02032;</mi></msup>"  # the sign is raised already: as a superscript it shrinks to a dot
    markup = re.sub(prime, r'<mrow>\1<mo lspace="0" rspace="0">&#x02032;</mo></mrow>', markup)
    return re.sub(r"(<mi>(?:ln|sin|cos|exp)</mi>)(?=<m[ins])", r'\1<mspace width="0.17em"></mspace>', markup)  # "ln x", not "lnx"


def keep_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Move a full stop that follows a formula into its node: a browser may break the line between the two."""
    for node in list(doctree.findall(nodes.math)):
        following = node.next_node(descend=False, siblings=True)
        if isinstance(following, nodes.Text) and following[:1] in tuple(".,;:?!)"):
            node["end"] = following[0]
            following.parent.replace(following, nodes.Text(following[1:]))


def inline(translator: Any, node: nodes.math) -> NoReturn:
    """A formula in a line of text, with the sign that ends it."""
    markup = mathml(node.astext(), "inline")
    end = node.get("end")
    translator.body.append(f'<span class="formula">{markup}{end}</span>' if end else markup)
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> NoReturn:
    """A formula of its own."""
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer as "mathml"."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("doctree-resolved", keep_punctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
