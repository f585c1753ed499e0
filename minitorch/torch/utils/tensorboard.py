"""Stage 7 - torch.utils.tensorboard: SummaryWriter, whose curves the app's page Runs shows, without TensorBoard and in another format.

A log is a file of lines, one JSON object each: what a program that is killed has written stays. Images are PNG files.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import socket
import sys
import time
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.io.png import encode_png
from minitorch.tensor import Tensor
from minitorch.torch.absent import defined, refuse_absent

FORMAT = 1
"""Version of the format of a log."""

NOT_KEPT = {
    "add_video": "write its frames with add_images",
    "add_audio": "write it with Python's module wave",
    "add_embedding": "save the vectors with torch.save",
    "add_mesh": "save the points with torch.save",
    "add_pr_curve": "write precision and recall with add_scalars",
    "add_custom_scalars": "the page Runs draws losses and accuracies",
    "add_onnx_graph": "print the model, or use add_graph",
    "add_tensor": "save it with torch.save",
    "add_image_with_boxes": "draw the boxes into the image and use add_image",
    "add_histogram_raw": "use add_histogram",
}
"""The methods that a SummaryWriter lacks, and what to do instead."""


class SummaryWriter:
    """Writes a log of a training run: `with SummaryWriter() as writer: writer.add_scalar("loss/train", loss, epoch)`.

    The app's page Runs lists the logs in the folders `runs` and `logs`, and draws losses and accuracies by their tags.

    Args:
        log_dir: The folder, made if it does not exist; `runs/` and the time and the name of the machine by default.
        comment: Text at the end of the default folder's name.
        purge_step: None.
        max_queue: No effect: every call writes a line.
        flush_secs: No effect.
        filename_suffix: Text at the end of the file's name.

    Attributes:
        log_dir: The folder.

    Raises:
        NotImplementedError: If purge_step is given.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if purge_step is not None:
            raise NotImplementedError("SummaryWriter supports purge_step=None only; write a resumed run into a new log_dir")
        now = datetime.now().astimezone()
        self.log_dir = str(log_dir or f"runs/{now:%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        name = f"events-{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03d}-{os.getpid()}{filename_suffix}.jsonl"
        self._path, self._file = Path(self.log_dir) / name, None
        program = sys.argv[0] or "python"
        self._write(
            format=FORMAT,
            program=re.sub(r"\W", "_", Path(program).stem),
            command=shlex.join(["python", *sys.argv]),
            started=now.isoformat(),
        )

    def _write(self, **event: Any) -> None:
        """Append a line; after `close`, the file is opened again."""
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a", encoding="utf-8", buffering=1)  # a line is on its way when a call returns
        self._file.write(json.dumps(event, allow_nan=False) + "\n")

    def _event(self, kind: str, tag: str, step: Any, walltime: float | None, **values: Any) -> None:
        """Append an event."""
        step = None if step is None else int(_number(step, "global_step"))
        self._write(kind=kind, tag=tag, step=step, time=time.time() if walltime is None else walltime, **values)

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Append a number to a curve.

        Args:
            tag: Name of the curve, such as "loss/train" or "accuracy/valid".
            scalar_value: A number, or a tensor or array of one element.
            global_step: The epoch or step; the next one if left out.
            walltime: Seconds since 1970; now by default.
            new_style: No effect.
            double_precision: No effect: every digit is kept.

        Raises:
            ValueError: If scalar_value is not one number.
        """
        value = _number(scalar_value, "scalar_value")
        self._event("scalar", tag, global_step, walltime, value=value if math.isfinite(value) else str(value))

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None) -> None:
        """Append a number to each of several curves, named main_tag/tag."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Say with which settings the run trains, and what it reached.

        Args:
            hparam_dict: Numbers, texts and truth values, by name. The page Runs shows them as the settings of the run.
            metric_dict: Numbers, by name; each is appended to its curve.
            hparam_domain_discrete: No effect.
            run_name: No effect: they belong to this log.
            global_step: The epoch or step.

        Raises:
            TypeError: If they are no dictionaries.
            ValueError: If a setting is of another type.
        """
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            given = f"{type(hparam_dict).__name__} and {type(metric_dict).__name__}"
            raise TypeError(f"add_hparams expected two dictionaries, of settings and of results, got {given}")
        settings = {name: value.item() if hasattr(value, "item") else value for name, value in hparam_dict.items()}
        for name, value in settings.items():
            if not isinstance(value, (bool, int, float, str)):
                raise ValueError(
                    f"add_hparams expected a number, a text or a truth value, got {type(value).__name__} for {name}; use str(...)"
                )
        self._event("hparams", "", None, None, value={name: value if value == value else "nan" for name, value in settings.items()})
        for name, value in metric_dict.items():
            self.add_scalar(name, value, global_step)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Append a text."""
        self._event("text", tag, global_step, walltime, value=str(text_string))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Append how numbers are distributed.

        Args:
            tag: Name of the histogram.
            values: Numbers of any shape.
            global_step: The epoch or step.
            bins: As in `numpy.histogram`; "tensorflow" stands for 64 of equal width.
            walltime: Seconds since 1970; now by default.
            max_bins: Most bins.

        Raises:
            ValueError: If there are no numbers, or if one is infinite or not a number.
        """
        numbers = _array(values).astype(np.float64).reshape(-1)
        if not numbers.size or not np.isfinite(numbers).all():
            raise ValueError(f"add_histogram expected finite numbers, got {numbers.size} of which {np.isfinite(numbers).sum()} are finite")
        counts, edges = np.histogram(numbers, 64 if isinstance(bins, str) and bins == "tensorflow" else bins)
        if max_bins is not None and len(counts) > max_bins:
            counts, edges = np.histogram(numbers, max_bins)
        self._event("histogram", tag, global_step, walltime, counts=counts.tolist(), edges=edges.tolist())

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Write an image as a PNG file, `images/` and the tag and the step in the folder of the log.

        Args:
            tag: Name of the image.
            img_tensor: Integers from 0 to 255, or floating-point numbers from 0 to 1; 1, 3 or 4 channels.
            global_step: The epoch or step.
            walltime: Seconds since 1970; now by default.
            dataformats: The order of its dimensions: "CHW", "HWC" or "HW".

        Raises:
            ValueError: If the dimensions or channels are others.
        """
        self._image(tag, _pixels(img_tensor, dataformats, "HWC"), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Write images next to each other, eight in a row, as one PNG file; see `add_image`.

        Args:
            tag: Name of the images.
            img_tensor: As for `add_image`, with a dimension of images.
            global_step: The epoch or step.
            walltime: Seconds since 1970; now by default.
            dataformats: The order of its dimensions: "NCHW", "NHWC" or "NHW".
        """
        images = _pixels(img_tensor, dataformats, "NHWC")
        n, h, w, c = images.shape
        columns = min(n, 8)
        rows = -(-n // max(columns, 1))
        cells = np.zeros((rows * columns, h, w, c), np.uint8)
        cells[:n] = images
        self._image(tag, cells.reshape(rows, columns, h, w, c).swapaxes(1, 2).reshape(rows * h, columns * w, c), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None) -> None:
        """Write a figure of Matplotlib, or several, as PNG files; see `add_image`.

        Args:
            tag: Name of the figure.
            figure: A figure, or a list of them.
            global_step: The epoch or step.
            close: Whether Matplotlib forgets the figures.
            walltime: Seconds since 1970; now by default.
        """
        for number, each in enumerate(figure if isinstance(figure, list) else [figure]):
            path = self._image_path(f"{tag}/{number}" if isinstance(figure, list) else tag, global_step)
            each.savefig(path, format="png")
            self._event("image", tag, global_step, walltime, value=str(path.relative_to(self._path.parent)))
            if close:
                sys.modules["matplotlib.pyplot"].close(each)

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Append the text of a model, and warn that its graph is not kept.

        Args:
            model: A module.
            input_to_model: No effect.
            verbose: No effect.
            use_strict_trace: No effect.
        """
        warnings.warn("SummaryWriter.add_graph keeps the text of the model, str(model), not its graph", stacklevel=2)
        self.add_text("graph", str(model))

    def _image_path(self, tag: str, step: Any) -> Path:
        """The file of an image, in a folder that exists."""
        path = self._path.parent / "images" / re.sub(r"[^\w/-]|^/+|/(?=/)", "_", tag) / f"{0 if step is None else int(step)}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _image(self, tag: str, pixels: np.ndarray, step: Any, walltime: float | None) -> None:
        """Write an image, and append where it is."""
        path = self._image_path(tag, step)
        path.write_bytes(encode_png(pixels))
        self._event("image", tag, step, walltime, value=path.relative_to(self._path.parent).as_posix())

    def flush(self) -> None:
        """Wait until everything is on the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Say that the run is finished, and close the file."""
        if self._file is not None:
            self._write(kind="end", time=time.time())
            self.flush()
            self._file.close()
            self._file = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in NOT_KEPT:
            raise AttributeError(f"SummaryWriter has no {name} in minitorch; {NOT_KEPT[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# Values


def _array(values: Any) -> np.ndarray:
    """Numbers of a tensor, of an array or of lists."""
    return values.detach().to_numpy() if isinstance(values, Tensor) else np.asarray(values)


def _number(value: Any, name: str) -> float:
    """One number, of a tensor or an array as well. Raises ValueError if it is not one."""
    array = _array(value)
    if array.size != 1 or array.dtype.kind not in "biufV":  # V: bfloat16
        raise ValueError(
            f"SummaryWriter expected one number as {name}, got {type(value).__name__} of shape {array.shape}; write its mean, for example"
        )
    return float(array.reshape(-1)[0])


def _pixels(values: Any, given: str, wanted: str) -> np.ndarray:
    """Images as bytes, in the order "HWC" or "NHWC".

    Raises:
        ValueError: If the dimensions are not those that `given` names, or there are not 1, 3 or 4 channels.
    """
    array, names = _array(values), given.upper()
    if len(names) != array.ndim or not set(wanted) - {"C"} <= set(names) <= set(wanted) or len(set(names)) != len(names):
        example = wanted.replace("HWC", "CHW")
        raise ValueError(
            f"SummaryWriter expected an image whose dimensions are {given}, got shape {array.shape}; pass dataformats={example!r}, say"
        )
    array = array if "C" in names else array[..., None]
    array = array.transpose([(names if "C" in names else f"{names}C").index(name) for name in wanted])
    if array.shape[-1] not in (1, 3, 4):
        raise ValueError(f"SummaryWriter expected 1, 3 or 4 channels, got {array.shape[-1]} in shape {array.shape} ({wanted})")
    scale = 1 if array.dtype == np.uint8 else 255
    return np.clip(array.astype(np.float32) * scale, 0, 255).astype(np.uint8)


__getattr__ = refuse_absent("torch.utils.tensorboard", [name for name in defined(globals()) if name == "SummaryWriter"])
