"""Module 4: train a convolutional network on sentences, and see which words it goes by."""

from typing import Any

import numpy as np
import streamlit as st

from project.lab import kernels, task_source
from project.lab.cards import plain
from project.lab.charts import word_colors as word_colours
from project.lab.explorers.word_weights import word_weights
from project.lab.guard import task_guard

WRITTEN = ["Linear", "Conv1d", "CNNSentimentKim"]
NAMES = ("blame", "praise")
FEW = 60
LONGEST = 40
HEAVIEST = 8
state = st.session_state

st.title("Sentiment")
st.write(
    "A network of three convolutions learns whether a sentence praises a film or blames it. Your own program trains it, in a process of "
    "its own; here stands what it tells after every epoch, and which words it goes by."
)

with task_guard():
    from project.lab.explorers import learned_network
    from project.lab.training import classifier_page, found_data
    from project.lab.training.job import Run
    from project.lab.training.sentiment_trainer import SentimentSetting, chosen_sentences
    from project.run_sentiment import CNNSentimentKim

    kernels.check()


@st.cache_resource(max_entries=2, show_spinner="The sentences are being read …")
def sentences(dataset: str, train: int, valid: int) -> tuple[list[str], np.ndarray, frozenset[str]]:
    """Those that a run validates with, their labels, and all words that it is trained on."""
    known, kept, _ = chosen_sentences(SentimentSetting(dataset=dataset, train=train, valid=valid))
    return kept.sentences, kept.labels, frozenset(word for sentence in known.sentences for word in sentence.split())


def of_run(run: Run) -> tuple[list[str], np.ndarray, frozenset[str]]:
    """See `sentences`."""
    return sentences(run.setting.dataset, run.setting.train, run.setting.valid)


def beside(run: Run) -> None:
    """The first validation sentences, and what the network says to each."""
    probabilities = run.details.get("probabilities")
    if not probabilities:
        return
    kept, labels, _ = of_run(run)
    known = sorted(zip(kept, labels, probabilities, strict=False), key=lambda row: -abs(row[2] - row[1]))
    rows = [
        {"right": "✓" if (praise > 0.5) == bool(label) else "✗", "praise": praise, "is": NAMES[label], "sentence": sentence}
        for sentence, label, praise in known
    ]
    wrong = sum(row["right"] == "✗" for row in rows)
    columns: dict[str, Any] = {
        "right": st.column_config.TextColumn(width=45),
        "praise": st.column_config.ProgressColumn(width=110, format="%.2f", min_value=0, max_value=1, help="its probability"),
        "is": st.column_config.TextColumn(width=60),
    }
    with st.container(width=430):
        st.write(f"**The first {len(rows)} validation sentences, the worst first**: {wrong} wrong")
        st.dataframe(rows, hide_index=True, height=360, column_config=columns, key="sentiment_table")


def latest(run: Run) -> tuple[int, Any] | None:
    """The number of epochs and what reads sentences as the network is now; None, with a card, if there is something wrong."""
    with task_guard(stop=False):
        made_from = run.checkpoint, CNNSentimentKim
        if state.get("sentiment_reader_of") != made_from:
            state.sentiment_reader = learned_network.reader(run.setting, CNNSentimentKim)
            state.sentiment_reader_of, state.sentiment_read_at = made_from, None
        written = run.checkpoint.stat().st_mtime_ns
        if state.sentiment_read_at != written:
            state.sentiment_after = learned_network.learned(state.sentiment_reader, run)
            state.sentiment_read_at = written
            state.sentiment_telling = None
        return state.sentiment_after, state.sentiment_reader
    return None


def own_sentence(run: Run) -> None:
    """A typed sentence with the weight of each word."""
    kept, _, known = of_run(run)
    state.setdefault("sentiment_typed", kept[0])
    typed = st.text_input("Your sentence, with blanks between words and signs", key="sentiment_typed", bind="query-params").lower()
    words = typed.split()
    if not words:
        st.info("Type a sentence.", icon=":material/edit:")
        return
    if len(words) > LONGEST:
        st.caption(f"The first {LONGEST} words are read.")
    found = latest(run)
    if found is None:
        return
    epochs, reader = found
    with task_guard(stop=False):
        reading = word_weights(" ".join(words[:LONGEST]), lambda asked: learned_network.probability(reader, asked))
        says = f"After epoch {epochs} the network says {NAMES[reading.probability > 0.5]}: the probability of praise is "
        st.write(f"**{says}{reading.probability:.3f}.**")
        st.html(word_colours.markup(reading))
        st.caption(
            "Blue words speak for praise, orange ones for blame. Below each stands how much of the probability would be gone without it."
        )
        if strange := [word for word in dict.fromkeys(reading.words) if word not in known]:
            by = "It knows them by their vectors alone" if run.setting.embeddings == "glove" else "What it makes of them is chance"
            st.caption(plain(f"It was not trained on: {', '.join(strange)}. {by}."))


def telling(run: Run) -> None:
    """The heaviest words of the first validation sentences."""
    kept, _, _ = of_run(run)
    found = latest(run)
    if found is None:
        return
    with task_guard(stop=False), st.spinner("Sentences are being read without each of their words …"):
        if state.sentiment_telling is None:
            few = [" ".join(sentence.split()[:LONGEST]) for sentence in kept[:FEW]]
            state.sentiment_telling = word_colours.telling(few, lambda asked: learned_network.probability(found[1], asked))
        rows = state.sentiment_telling
        praise = [row for row in rows if row[1] > 0][:HEAVIEST]
        blame = [row for row in reversed(rows) if row[1] < 0][:HEAVIEST]
        for side, title, chosen in zip(st.columns(2, gap="large"), ("For praise", "For blame"), (praise, blame), strict=True):
            with side:
                st.write(f"**{title}**")
                table = [{"word": word, "mean weight": f"{weight:+.3f}", "places": str(count)} for word, weight, count in chosen]
                st.table(table or [{"word": "none", "mean weight": "", "places": ""}], width="content")
        st.caption(
            f"How much of the probability would be gone without the word, on average over its places in the first {min(FEW, len(kept))} "
            "validation sentences; words with one place alone are left out."
        )


def choices() -> dict[str, list[str]]:
    """The data sets and vectors that are here."""
    with task_guard():
        return {"dataset": found_data.sentence_sets(), "embeddings": found_data.word_vectors()}
    raise AssertionError("a card ends the page")


offered = choices()
run = classifier_page.show(SentimentSetting(), "sentiment", offered, beside)
if (run.setting.dataset if run else state.sentiment_dataset) == "sentences":
    st.caption(
        "The data set sentences is synthetic: a program put its sentences together. It shows that a network learns, not how well it would "
        "do on what people write."
    )
if "sst2" not in offered["dataset"]:
    st.caption("SST-2 is not on this machine. The page Data of the book says where to put its files; then it stands among the data sets.")
if run is not None and state.sentiment_kept:
    st.subheader("Your own sentence")
    st.fragment(own_sentence)(run)
    st.subheader("Most telling words")
    if state.sentiment_running:
        st.caption("They are looked for when the run has ended.")
    else:
        telling(run)
task_source.show([f"project.run_sentiment:{name}" for name in WRITTEN])
