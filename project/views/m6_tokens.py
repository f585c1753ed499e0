"""Module 6: byte-pair encoding merge by merge, and a text of one's own as tokens."""

import streamlit as st

from project.lab import task_source
from project.lab.cards import plain
from project.lab.guard import refuse, task_guard
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

TEXT = "low low low low low lower lower newest newest newest newest newest newest widest widest widest"

st.title("Tokens")
st.write(
    "A tokenizer begins with bytes and learns merges: again and again, the most frequent pair of neighboring tokens becomes a new token. "
    "Frequent words end as one token, rare ones as several."
)
with task_guard():
    from project.lab.explorers import tokens


def checked(text: str) -> str:
    """Return a text that is short enough; a longer one ends the page with an error."""
    if len(text) > tokens.MOST_CHARACTERS:
        refuse(f"expected at most {tokens.MOST_CHARACTERS} characters, got {len(text)}", "Shorten the text.")
    return text


text = checked(st.text_area("Text to learn from", TEXT, key="tokens_text", bind="query-params"))
most = whole_number("Merges", "tokens_merges", 12, 1, 100)
with task_guard():
    found = tokens.steps(text, most)
number = player(len(found) - 1, "tokens_step", "Merges so far", 1)
step = found[number]
with task_guard():
    names = tokens.token_bytes(step.merges)
with st.container(horizontal=True):
    st.metric("Tokens of the text", sum(map(len, step.words)))
    st.metric("Bytes of the text", len(text.encode()))
    st.metric("Vocabulary", len(names))
st.html(tokens.picture([names[token] for word in step.words for token in word]))
if step.next is None:
    st.caption("No pair occurs twice: nothing is left to merge.")
else:
    left, right = (plain(tokens.printable(names[token])) for token in step.next)
    st.caption(f"The most frequent pair is {left} and {right}: {step.times} times. Of equally frequent pairs, the smaller one is merged.")
if step.merges:
    rows = [
        {"token": new, "pair": f"{pair[0]}, {pair[1]}", "text": tokens.printable(names[new])} for pair, new in reversed(step.merges.items())
    ]
    st.dataframe(rows, hide_index=True, height=210, width="content")

st.subheader("Another text")
other = checked(st.text_input("Text to encode", "the lowest, newer, 日本", key="tokens_other", bind="query-params"))
with task_guard(stop=False):
    encoded = tokens.encode(step.merges, other)
    st.html(tokens.picture([names[token] for token in encoded]))
    st.caption(f"{len(encoded)} tokens for {len(other.encode())} bytes: {', '.join(map(str, encoded))}")
task_source.show_task("6.1")
