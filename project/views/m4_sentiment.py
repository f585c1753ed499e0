"""Module 4: train a convolutional network on sentences, and see which words it relies on."""

from typing import Any

import numpy as np
import streamlit as st

from project.lab import kernels, task_source
from project.lab.cards import plain
from project.lab.charts import word_colors as word_colours
from project.lab.explorers.word_weights import word_weights
from project.lab.guard import refuse, task_guard

WRITTEN = ["Linear", "Conv1d", "CNNSentimentKim"]
NAMES = ("negative", "positive")
EXAMPLES, FEW = 8, 60
LONGEST = 40
HEAVIEST = 8
state = st.session_state

st.title("Sentiment")
st.write(
    "Train a network with three convolutions to classify film reviews as positive or negative. Your own program trains it in a separate "
    "process; this page shows its progress after each epoch, and which words it relies on."
)

with task_guard():
    from project.lab.explorers import learned_network
    from project.lab.training import classifier_page, found_data
    from project.lab.training.job import Run
    from project.lab.training.sentiment_trainer import SentimentSetting, chosen_sentences
    from project.run_sentiment import CNNSentimentKim

    kernels.check()


@st.cache_resource(max_entries=2, show_spinner="Loading the sentences …")
def sentences(dataset: str, train: int, valid: int) -> tuple[list[str], np.ndarray, frozenset[str]]:
    """Return the validation sentences, their labels, and the set of words in the training data."""
    known, kept, _ = chosen_sentences(SentimentSetting(dataset=dataset, train=train, valid=valid))
    return kept.sentences, kept.labels, frozenset(word for sentence in known.sentences for word in sentence.split())


def sentences_of(run: Run) -> tuple[list[str], np.ndarray, frozenset[str]]:
    """Return the sentences of a run; see `sentences`."""
    return sentences(run.setting.dataset, run.setting.train, run.setting.valid)


def show_examples() -> None:
    """Show the first validation sentences with their labels."""
    try:
        kept, labels, known = sentences(state.sentiment_dataset, state.sentiment_train, state.sentiment_valid)
    except ValueError as error:  # there are fewer sentences, or a file is damaged
        refuse(str(error), "Enter smaller numbers of sentences, or choose another data set.")
    colors = {"positive": "blue", "negative": "orange"}
    rows = [(NAMES[label], sentence) for sentence, label in zip(kept[:EXAMPLES], labels, strict=False)]
    st.table([{"label": f":{colors[name]}-badge[{name}]", "sentence": plain(sentence)} for name, sentence in rows])
    st.caption(f"The first {len(rows)} of {len(kept):,} validation sentences. The training data has {len(known):,} different words.")


def show_details(run: Run) -> None:
    """Show the first validation sentences and the prediction for each."""
    probabilities = run.details.get("probabilities")
    if not probabilities:
        return
    kept, labels, _ = sentences_of(run)
    known = sorted(zip(kept, labels, probabilities, strict=False), key=lambda row: -abs(row[2] - row[1]))
    rows = [
        {"correct": "✓" if (p > 0.5) == bool(label) else "✗", "positive": p, "label": NAMES[label], "sentence": sentence}
        for sentence, label, p in known
    ]
    wrong = sum(row["correct"] == "✗" for row in rows)
    columns: dict[str, Any] = {
        "correct": st.column_config.TextColumn(width=60),
        "positive": st.column_config.ProgressColumn(width=110, format="%.2f", min_value=0, max_value=1, help="Predicted probability"),
        "label": st.column_config.TextColumn(width=70),
    }
    with st.container(width=430):
        st.write(f"**First {len(rows)} validation sentences, worst first**: {wrong} wrong")
        st.dataframe(rows, hide_index=True, height=360, column_config=columns, key="sentiment_table")


def load_reader(run: Run) -> tuple[int, Any] | None:
    """Return the number of finished epochs and the network of the latest checkpoint. If that fails, show a card and return None."""
    with task_guard(stop=False):
        made_from = run.checkpoint, CNNSentimentKim
        if state.get("sentiment_reader_of") != made_from:
            state.sentiment_reader = learned_network.reader(run.setting, CNNSentimentKim)
            state.sentiment_reader_of, state.sentiment_read_at = made_from, None
        written = run.checkpoint.stat().st_mtime_ns
        if state.sentiment_read_at != written:
            state.sentiment_after = learned_network.load_checkpoint(state.sentiment_reader, run)
            state.sentiment_read_at = written
            state.sentiment_top_words = None
        return state.sentiment_after, state.sentiment_reader
    return None


def classify_sentence(run: Run) -> None:
    """Show the prediction for a sentence and the weight of each word."""
    kept, _, known = sentences_of(run)
    label = "Your sentence, with spaces between words and punctuation"
    words = st.text_input(label, kept[0], key="sentiment_typed", bind="query-params").lower().split()
    if not words:
        st.info("Enter a sentence.", icon=":material/edit:")
        return
    if len(words) > LONGEST:
        st.caption(f"Only the first {LONGEST} words are used.")
    found = load_reader(run)
    if found is None:
        return
    epochs, reader = found
    with task_guard(stop=False):
        reading = word_weights(" ".join(words[:LONGEST]), lambda asked: learned_network.probability(reader, asked))
        prediction = f"After epoch {epochs}, the network predicts {NAMES[reading.probability > 0.5]}"
        st.write(f"**{prediction}: the probability of positive is {reading.probability:.3f}.**")
        st.html(word_colours.markup(reading))
        st.caption(
            "Blue words make the sentence more positive, orange words more negative. The number below each word is the decrease of the "
            "probability when the word is removed."
        )
        if unknown := [word for word in dict.fromkeys(reading.words) if word not in known]:
            effect = "Only their word vectors are known" if run.setting.embeddings == "glove" else "Their weights are meaningless"
            st.caption(plain(f"Not in the training data: {', '.join(unknown)}. {effect}."))


def show_top_words(run: Run) -> None:
    """Show the words with the largest weights in the first validation sentences."""
    kept, _, _ = sentences_of(run)
    found = load_reader(run)
    if found is None:
        return
    with task_guard(stop=False), st.spinner("Computing the weight of each word …"):
        if state.sentiment_top_words is None:
            few = [" ".join(sentence.split()[:LONGEST]) for sentence in kept[:FEW]]
            state.sentiment_top_words = word_colours.telling(few, lambda asked: learned_network.probability(found[1], asked))
        rows = state.sentiment_top_words
        positive = [row for row in rows if row[1] > 0][:HEAVIEST]
        negative = [row for row in reversed(rows) if row[1] < 0][:HEAVIEST]
        for side, title, chosen in zip(st.columns(2, gap="large"), ("Most positive", "Most negative"), (positive, negative), strict=True):
            with side:
                st.write(f"**{title}**")
                table = [{"word": word, "mean weight": f"{weight:+.3f}", "occurrences": str(count)} for word, weight, count in chosen]
                st.table(table or [{"word": "none", "mean weight": "", "occurrences": ""}], width="content")
        st.caption(
            f"The weight of a word is the decrease of the probability when it is removed, averaged over its occurrences in the first "
            f"{min(FEW, len(kept))} validation sentences. Words that occur only once are omitted."
        )


def choices() -> dict[str, list[str]]:
    """Return the available data sets and word vectors."""
    with task_guard():
        return {"dataset": found_data.sentence_sets(), "embeddings": found_data.word_vectors()}
    raise AssertionError("a card ends the page")


offered = choices()
run = classifier_page.show(SentimentSetting(), "sentiment", offered, show_examples, show_details)
if (run.setting.dataset if run else state.sentiment_dataset) == "sentences":
    st.caption(
        "The data set *sentences* is synthetic: a program generated it. It shows that a network learns, but not how well it would classify "
        "real reviews."
    )
if "sst2" not in offered["dataset"]:
    st.caption("SST-2 is not installed. To add it to the list of data sets, follow the page *Data* of the book.")
if run is not None and state.sentiment_kept:
    st.subheader("Classify a sentence")
    st.fragment(classify_sentence)(run)
    st.subheader("Most important words")
    if state.sentiment_running:
        st.caption("They are computed when training has finished.")
    else:
        show_top_words(run)
task_source.show([f"project.run_sentiment:{name}" for name in WRITTEN])
