"""Module 4: train a convolutional network on images of digits, and look at what it learns: its mistakes, its filters, your own digit."""

from typing import Any

import numpy as np
import streamlit as st

from project.lab import kernels, task_source
from project.lab.cards import plain
from project.lab.charts import cells, confusion, drawing, thumbnails
from project.lab.charts.thumbnails import Thumbnail
from project.lab.explorers import softmax
from project.lab.guard import task_guard
from project.lab.widgets import digit_pad
from project.lab.widgets.fields import whole_number

WRITTEN = ["Linear", "Conv2d", "Network"]
LAYERS = {"mid": "After the first convolution: `mid`", "out": "After the second: `out`"}
SHOWN = 12
state = st.session_state

st.title("Images")
st.write(
    "A network of two convolutions learns which digit an image shows. Your own program trains it, in a process of its own; here stands "
    "what it tells after every epoch, and what the network sees."
)

with task_guard():
    from project.lab.explorers import learned_network
    from project.lab.training import classifier_page, found_data
    from project.lab.training.image_trainer import SPLITS, ImageSetting
    from project.lab.training.job import Run
    from project.run_mnist_multiclass import Network

    kernels.check()


@st.cache_resource(max_entries=2, show_spinner="The images are being read …")
def validation(dataset: str, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The images that a run validates with, rows and columns of each, and their labels."""
    images = SPLITS[dataset]()[1]
    count = len(images) if limit is None else limit // 4
    return images.images[:count, 0], images.labels[:count]


def mistakes_of(run: Run) -> list[Thumbnail]:
    """The worst mistakes, as the run tells of them."""
    images, _ = validation(run.setting.dataset, run.setting.limit)
    found = []
    for each in run.details["mistakes"][:SHOWN]:
        said, label, sure = each["predicted"], each["label"], f"{each['probability']:.0%}"
        says = f"image {each['image']}, a {label} that was taken for a {said} with probability {sure}"
        found.append(Thumbnail(thumbnails.ink(images[each["image"]]), says, f"is {label}, said {said} ({sure})"))
    return found


def beside(run: Run) -> None:
    """The table of confusions and the worst mistakes."""
    if "confusion" not in run.details:
        return
    with st.container(width="content"):
        cells.draw([confusion.panel(run.details["confusion"])], "images_confusion", lambda: None)
        st.caption(confusion.in_words(run.details["confusion"]), width=318)
    if run.details["mistakes"]:
        with st.container(width=290):
            st.write("**The worst mistakes in validation**")
            st.html(thumbnails.markup(mistakes_of(run), 4))


def latest(run: Run, side: int) -> tuple[int, Any] | None:
    """The number of epochs and the network as it is now; None, with a card, if there is something wrong."""
    with task_guard(stop=False):
        made_from = run.checkpoint, run.checkpoint.stat().st_mtime_ns, Network
        if state.get("images_made_from") != made_from:
            state.images_network = learned_network.image_network(run, Network, side)
            state.images_made_from = made_from
        return state.images_network
    return None


def filters(network: Any) -> None:
    """The weights of both convolutions."""
    st.write("**Filters**")
    for name, weights in learned_network.kernels(network).items():
        most = float(np.abs(weights).max())
        shown = []
        outputs, channels = weights.shape[:2]
        for i, o in np.ndindex(channels, outputs):
            rows = "; ".join(" ".join(f"{value:.2f}" for value in row) for row in weights[o, i])
            shown.append(Thumbnail(thumbnails.signed(weights[o, i], most), f"{name}, from channel {i} to {o}: {rows}"))
        st.caption(plain(f"{name}: {channels} to {outputs} channels, {weights.shape[2]}×{weights.shape[3]} weights each"))
        st.html(thumbnails.markup(shown, 2.3, 0.35, outputs))
    st.caption(
        "A column for every channel that goes out, a row for every one that comes in. Blue above 0, orange below, white 0; the largest "
        "weight of a layer has the full colour."
    )


def maps(run: Run, side: int) -> None:
    """What comes out of both convolutions for an image of the validation set."""
    images, labels = validation(run.setting.dataset, run.setting.limit)
    number = whole_number("Validation image", "images_number", 0, 0, len(images) - 1)
    st.fragment(maps_of, run_every=1.5 if state.images_running else None)(run, side, images[number], int(labels[number]))


def maps_of(run: Run, side: int, image: np.ndarray, label: int) -> None:
    """The maps by the weights as they are now, and the filters."""
    found = latest(run, side)
    if found is None:
        return
    epochs, network = found
    with task_guard(stop=False):
        seen = learned_network.seen(network, image)
        answer = int(seen.probabilities.argmax())
        left, right = st.columns(2, gap="large")
        with left:
            says = f"It is a {label}; after epoch {epochs} the network says {answer}, with probability {seen.probabilities[answer]:.0%}."
            st.html(thumbnails.markup([Thumbnail(thumbnails.ink(image), f"the image: a {label}")], 7))
            st.write(says)
            for name, title in LAYERS.items():
                if name not in seen.maps:
                    st.caption(f"Your Network does not keep `{name}`, or not with the shape (B, channels, H, W).")
                    continue
                values = seen.maps[name]
                most = float(np.abs(values).max())
                st.write(f"**{title}**")
                pictures = [
                    Thumbnail(thumbnails.signed(each, most), f"channel {k}, from {each.min():.2g} to {each.max():.2g}", str(k))
                    for k, each in enumerate(values)
                ]
                st.html(thumbnails.markup(pictures, 4.5))
        with right:
            filters(network)


def own_digit(run: Run, side: int) -> None:
    """The pad, what becomes of the drawing, and what the network says."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        strokes = digit_pad.pad("images_pad")
    with right:
        if not strokes:
            st.info("Draw a digit on the pad.", icon=":material/draw:")
            return
        image = digit_pad.small(strokes) if side == 8 else digit_pad.large(strokes)
        found = latest(run, side)
        if found is None:
            return
        with task_guard(stop=False):
            probabilities = learned_network.seen(found[1], image).probabilities
            answer = int(probabilities.argmax())
            says = f"The network says {answer}, with probability {probabilities[answer]:.0%}."
            st.html(thumbnails.markup([Thumbnail(thumbnails.ink(image), f"your drawing in {side} by {side} pixels")], 5))
            st.write(f"**{says}**")
            words = ", ".join(f"{digit}: {p:.3f}" for digit, p in enumerate(probabilities))
            spec = softmax.chart([float(p) for p in probabilities], f"Probabilities. {words}.")
            for bar in spec["data"]["values"]:
                bar["label"] = f"{bar['probability']:.0%}" if bar["probability"] >= 0.005 else ""  # ten labels must fit side by side
            drawing.draw(spec, "images_answer")


def sets() -> list[str]:
    """The data sets that are here, or digits alone where the search for them fails."""
    with task_guard():
        return found_data.image_sets()
    raise AssertionError("a card ends the page")


offered = sets()
run = classifier_page.show(ImageSetting(), "images", {"dataset": offered}, beside)
if "mnist" not in offered:
    st.caption("MNIST is not on this machine. The page Data of the book says where to put its files; then it stands among the data sets.")
if run is not None and state.images_kept:
    size = validation(run.setting.dataset, run.setting.limit)[0].shape[-1]
    st.subheader("What it looks at")
    maps(run, size)
    st.subheader("Your own digit")
    st.fragment(own_digit)(run, size)
task_source.show([f"project.run_mnist_multiclass:{name}" for name in WRITTEN])
