"""The page that trains on sentences: a run up to the most influential words, and its messages for unwritten or failing code."""

import pytest

from tests.project.classifier_pages import page_text, picture_markup, texts, until_done
from tests.project.pages import fill, ignore_saved_files, open_page, press

SMALL = {"sentiment_train": "20", "sentiment_valid": "10", "sentiment_epochs": "2", "sentiment_batch": "20"}


def test_a_run_shows_results_from_the_start_to_the_most_influential_words():
    app = open_page("m4_sentiment", **SMALL)
    assert app.code[0].value == (
        "python project/run_sentiment.py --dataset sentences --epochs 2 --rate 0.01 --batch 20 --seed 0 --embeddings drawn --train 20 "
        "--valid 10 --optimizer sgd"
    )
    assert any("The data set *sentences* is synthetic" in text for text in texts(app.caption))
    until_done(press(app, "sentiment_start"), "sentiment")
    assert not app.exception
    assert app.metric[0].value == "2 / 2"

    from minitorch.data import Sentences

    kept = Sentences()[20:30]  # the sentences after those in the training set
    table = app.dataframe[0].value
    assert set(table["sentence"]) == set(kept.sentences)
    truth = {sentence: int(label) for sentence, label in zip(kept.sentences, kept.labels, strict=True)}
    for _, row in table.iterrows():
        assert row["label"] == ("negative", "positive")[truth[row["sentence"]]]
        assert row["correct"] == ("✓" if (row["positive"] > 0.5) == (row["label"] == "positive") else "✗")
    off = [abs(row["positive"] - truth[row["sentence"]]) for _, row in table.iterrows()]
    assert off == sorted(off, reverse=True)

    reader = app.session_state["sentiment_reader"]
    assert reader.read(list(table["sentence"])) == pytest.approx(list(table["positive"]), abs=1e-3)
    assert any("Most positive" in text for text in texts(app.markdown))

    fill(app, sentiment_typed="A Wonderful <b>xyzzy</b> film")
    probability = float(reader.read(["a wonderful <b>xyzzy</b> film"])[0])
    answer = "positive" if probability > 0.5 else "negative"
    prediction = f"After epoch 2, the network predicts {answer}: the probability of positive is {probability:.3f}."
    assert prediction in page_text(app)
    assert "&lt;b&gt;xyzzy&lt;/b&gt;" in picture_markup(app)
    assert any("Not in the training data:" in text and "<b>xyzzy</b>" in text for text in texts(app.caption))

    fill(app, sentiment_typed="  ")
    assert not app.exception
    assert "Enter a sentence." in texts(app.info)
