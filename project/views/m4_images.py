"""Module 4: train a convolutional network on digits; see its mistakes, filters and saliency, and classify your own digit."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from course.manifest import ROOT
from project.lab import kernels, task_source
from project.lab.cards import plain
from project.lab.charts import cells, confusion, drawing, thumbnails
from project.lab.charts.thumbnails import Thumbnail
from project.lab.explorers import softmax
from project.lab.guard import limited, task_guard
from project.lab.time_limit import TimeLimitExceeded
from project.lab.widgets import digit_pad
from project.lab.widgets.fields import whole_number

WRITTEN = ["Linear", "Conv2d", "Network"]
LAYERS = {"mid": "After the first convolution: `mid`", "out": "After the second: `out`"}
IMAGES = ("validation image", "your drawing")
SHOWN, EXAMPLES = 12, 30
state = st.session_state

st.title("Images")
st.write(
    "Train a network with two convolutions to recognize digits. Your own program trains it in a separate process; this page shows its "
    "progress after each epoch, and what the network computes for an image."
)

with task_guard():
    from project.lab.explorers import excitation, learned_network, saliency
    from project.lab.training import classifier_page, found_data
    from project.lab.training.image_trainer import SPLITS, ImageSetting
    from project.lab.training.job import Run
    from project.run_mnist_multiclass import Network

    kernels.check()


class Trained(NamedTuple):
    """The settings of a run, and the file of its latest checkpoint."""

    setting: ImageSetting
    checkpoint: Path


SHIPPED = Trained(ImageSetting(), ROOT / "project" / "lab" / "models" / "m4_digits.safetensors")
"""Made by `python project/run_mnist_multiclass.py --checkpoint FILE`: 30 epochs, 99.2 % of the validation images are right."""

SHIPPED_SIDE = 8


def accepts_shipped() -> bool:
    """Return whether the student's network computes with the shipped parameters, without compiling its kernels first."""
    if not kernels.ready():
        return False
    try:
        with limited():
            _, network = learned_network.image_network(SHIPPED.checkpoint, Network, SHIPPED_SIDE)
            learned_network.predict(network, np.zeros((SHIPPED_SIDE, SHIPPED_SIDE)))
    except (Exception, TimeLimitExceeded):  # the card of a run says what is wrong
        return False
    return True


@st.cache_resource(max_entries=2, show_spinner="Loading the images …")
def validation(dataset: str, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the validation images, shape (N, H, W), and their labels."""
    images = SPLITS[dataset]()[1]
    count = len(images) if limit is None else limit // 4
    return images.images[:count, 0], images.labels[:count]


def mistakes(run: Run) -> list[Thumbnail]:
    """Return thumbnails of the worst mistakes of the last epoch."""
    images, _ = validation(run.setting.dataset, run.setting.limit)
    found = []
    for each in run.details["mistakes"][:SHOWN]:
        predicted, label, probability = each["predicted"], each["label"], f"{each['probability']:.0%}"
        alt = f"image {each['image']}: label {label}, predicted {predicted} with probability {probability}"
        found.append(Thumbnail(thumbnails.ink(images[each["image"]]), alt, f"{label}, not {predicted} ({probability})"))
    return found


def show_examples() -> None:
    """Show the first validation images with their labels."""
    images, labels = validation(state.images_dataset, None)
    shown = [
        Thumbnail(thumbnails.ink(image), f"label {label}", str(label)) for image, label in zip(images[:EXAMPLES], labels, strict=False)
    ]
    st.html(thumbnails.markup(shown, 4))
    st.caption(f"The first {len(shown)} of {len(images):,} validation images, with their labels.")


def show_details(run: Run) -> None:
    """Show the confusion matrix and the worst mistakes."""
    if "confusion" not in run.details:
        return
    with st.container(width="content"):
        cells.draw([confusion.panel(run.details["confusion"])], "images_confusion", lambda: None)
        st.caption(confusion.in_words(run.details["confusion"]), width=318)
    if run.details["mistakes"]:
        with st.container(width=290):
            st.write("**Worst mistakes on validation images**")
            st.html(thumbnails.markup(mistakes(run), 4))


def load_network(trained: Trained, side: int) -> tuple[int, Any] | None:
    """Return the number of finished epochs and the network of the latest checkpoint. If that fails, show a card and return None."""
    with task_guard(stop=False):
        made_from = trained.checkpoint, trained.checkpoint.stat().st_mtime_ns, Network
        if state.get("images_made_from") != made_from:
            state.images_network = learned_network.image_network(trained.checkpoint, Network, side)
            state.images_made_from = made_from
        return state.images_network
    return None


def show_filters(network: Any) -> None:
    """Show the weights of both convolutions."""
    st.write("**Filters**")
    for name, weights in learned_network.kernels(network).items():
        most = float(np.abs(weights).max())
        shown = []
        outputs, channels = weights.shape[:2]
        for i, o in np.ndindex(channels, outputs):
            rows = "; ".join(" ".join(f"{value:.2f}" for value in row) for row in weights[o, i])
            shown.append(Thumbnail(thumbnails.signed(weights[o, i], most), f"{name}, input channel {i}, output channel {o}: {rows}"))
        st.caption(plain(f"{name}: {channels} input and {outputs} output channels, kernel size {weights.shape[2]}×{weights.shape[3]}"))
        st.html(thumbnails.markup(shown, 2.3, 0.35, outputs))
    st.caption(
        "One column per output channel, one row per input channel. Blue: positive. Orange: negative. White: 0. The scale of each layer "
        "ends at its largest weight."
    )


def show_activations(trained: Trained, side: int) -> None:
    """Show the control that selects a validation image, and the output of both convolutions for it."""
    images, labels = validation(trained.setting.dataset, trained.setting.limit)
    number = whole_number("Validation image", "images_number", 0, 0, len(images) - 1)
    st.fragment(update_activations, run_every=1.5 if state.images_running else None)(trained, side, images[number], int(labels[number]))


def update_activations(trained: Trained, side: int, image: np.ndarray, label: int) -> None:
    """Show the feature maps and the filters of the latest checkpoint."""
    found = load_network(trained, side)
    if found is None:
        return
    epochs, network = found
    with task_guard(stop=False):
        prediction = learned_network.predict(network, image)
        answer = int(prediction.probabilities.argmax())
        left, right = st.columns(2, gap="large")
        with left:
            probability = f"{prediction.probabilities[answer]:.0%}"
            says = f"Label {label}. After epoch {epochs}, the network predicts {answer} with probability {probability}."
            st.html(thumbnails.markup([Thumbnail(thumbnails.ink(image), f"validation image with label {label}")], 7))
            st.write(says)
            for name, title in LAYERS.items():
                if name not in prediction.maps:
                    st.caption(f"Your Network does not store `{name}` with shape (B, C, H, W), so its feature maps cannot be shown.")
                    continue
                values = prediction.maps[name]
                most = float(np.abs(values).max())
                st.write(f"**{title}**")
                pictures = [
                    Thumbnail(thumbnails.signed(each, most), f"channel {k}, from {each.min():.2g} to {each.max():.2g}", str(k))
                    for k, each in enumerate(values)
                ]
                st.html(thumbnails.markup(pictures, 4.5))
        with right:
            show_filters(network)


def classify_drawing(trained: Trained, side: int) -> None:
    """Show the pad, the drawing as an image, and the prediction of the network."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        strokes = digit_pad.pad("images_pad")
    with right:
        if not strokes:
            st.info("Draw a digit on the pad.", icon=":material/draw:")
            return
        image = digit_pad.small(strokes) if side == 8 else digit_pad.large(strokes)
        found = load_network(trained, side)
        if found is None:
            return
        with task_guard(stop=False):
            probabilities = learned_network.predict(found[1], image).probabilities
            answer = int(probabilities.argmax())
            says = f"After epoch {found[0]}, the network predicts {answer} with probability {probabilities[answer]:.0%}."
            st.html(thumbnails.markup([Thumbnail(thumbnails.ink(image), f"your drawing in {side} by {side} pixels")], 5))
            st.write(f"**{says}**")
            words = ", ".join(f"{digit}: {p:.3f}" for digit, p in enumerate(probabilities))
            spec = softmax.chart([float(p) for p in probabilities], f"Probabilities. {words}.")
            for bar in spec["data"]["values"]:
                bar["label"] = f"{bar['probability']:.0%}" if bar["probability"] >= 0.005 else ""  # ten labels must fit next to each other
            drawing.draw(spec, "images_answer")


def show_saliency(trained: Trained, side: int) -> None:
    """Show which pixels make a digit more or less likely, for the validation image or for the drawing."""
    strokes = digit_pad.read(state.get("images_pad_strokes"))
    with st.container(horizontal=True):
        help = "The image whose pixels are examined."
        source = st.segmented_control("Image", IMAGES, default=IMAGES[0], required=True, key="images_of", bind="query-params", help=help)
        help = "The digit whose log probability is differentiated with respect to the pixels."
        choice = st.selectbox("Digit", ("predicted", *map(str, range(10))), key="images_digit", bind="query-params", width=140, help=help)
    if source == IMAGES[1] and not strokes:
        st.info("Draw a digit on the pad.", icon=":material/draw:")
        return
    found = load_network(trained, side)
    if found is None:
        return
    if source == IMAGES[1]:
        image = digit_pad.small(strokes) if side == 8 else digit_pad.large(strokes)
    else:
        image = validation(trained.setting.dataset, trained.setting.limit)[0][state.images_number]
    with task_guard(stop=False):
        answer = int(learned_network.predict(found[1], image).probabilities.argmax())
        digit = answer if choice == "predicted" else int(choice)
        slopes = saliency.gradient(found[1], image, digit)
        st.html(thumbnails.markup([Thumbnail(thumbnails.ink(image), "the image", "image"), *saliency.pictures(image, slopes, digit)], 7))
        st.write(plain(f"After epoch {found[0]}. {saliency.in_words(image, slopes, digit)}"))
        st.caption("Blue: more ink here makes the digit more likely. Orange: less likely. Your own backward pass computes the gradient.")


def show_excitation(trained: Trained, side: int) -> None:
    """Show the validation images that excite one channel most."""
    found = load_network(trained, side)
    if found is None:
        return
    images, labels = validation(trained.setting.dataset, trained.setting.limit)
    images = images[: excitation.MOST_IMAGES]
    with task_guard(stop=False):
        if state.get("images_responses_of") != state.images_made_from:
            state.images_responses = excitation.responses(found[1], images)
            state.images_responses_of = state.images_made_from
        maps = state.images_responses
        if not maps:
            st.caption("Your Network stores neither `mid` nor `out` with shape (B, C, H, W), so its units cannot be examined.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            help = "The convolution whose channel is examined."
            names = {name: LAYERS[name].split(":")[0] for name in maps}
            layer = st.segmented_control(
                "Layer", names, default=next(iter(names)), required=True, format_func=names.__getitem__, key="images_layer", help=help
            )
            channel = whole_number("Channel", "images_channel", 0, 0, maps[layer].shape[1] - 1)
        peaks = excitation.strongest(maps[layer], channel, SHOWN)
        field = excitation.receptive_field(found[1], layer)
        shown = [excitation.picture(images[peak.image], int(labels[peak.image]), peak, field) for peak in peaks]
        st.html(thumbnails.markup(shown, 4.5))
        st.write(excitation.in_words(peaks, labels))
        st.caption(
            f"The images among {len(images)} validation images in which a unit of this channel is largest, with label and activation. "
            "Orange: the pixels that this unit reads."
        )


def try_drawing(trained: Trained, side: int) -> None:
    """Show the parts of the page that depend on the drawing."""
    st.subheader("Draw a digit")
    classify_drawing(trained, side)
    st.subheader("Which pixels matter")
    show_saliency(trained, side)
    st.subheader("What excites a unit")
    show_excitation(trained, side)


def datasets() -> list[str]:
    """Return the names of the available data sets."""
    with task_guard():
        return found_data.image_sets()
    raise AssertionError("a card ends the page")


offered = datasets()
run = classifier_page.show(ImageSetting(), "images", {"dataset": offered}, show_examples, show_details)
if "mnist" not in offered:
    st.caption("MNIST is not installed. To add it to the list of data sets, follow the page *Data* of the book.")
if run is None:
    shown = SHIPPED if accepts_shipped() else None
else:
    shown = Trained(run.setting, run.checkpoint) if state.images_kept else None
if shown is SHIPPED:
    st.write("Until you press **Start**: your own network, with weights from a run with the default settings that come with this page.")
if shown is not None:
    size = validation(shown.setting.dataset, shown.setting.limit)[0].shape[-1]
    st.subheader("Feature maps and filters")
    show_activations(shown, size)
    st.fragment(try_drawing)(shown, size)
task_source.show([f"project.run_mnist_multiclass:{name}" for name in WRITTEN])
