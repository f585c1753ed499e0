"""The playground's points: a data set with noise, split into training and test points, or a CSV file."""

from __future__ import annotations

import csv
import io
import math
import random
from dataclasses import dataclass
from pathlib import Path

import minitorch
from project.lab.playground.setting import PlaygroundSetting

MOST_POINTS = 2_000
MOST_BYTES = 1_000_000
HEADER = ["x1", "x2", "label", "set"]


@dataclass(frozen=True)
class Points:
    """Labeled points.

    Attributes:
        X: Pairs of coordinates, each from 0 to 1.
        y: Their labels, 0 or 1.
        is_test: For each whether it is a test point, which is not trained on.
    """

    X: tuple[tuple[float, float], ...]
    y: tuple[int, ...]
    is_test: tuple[bool, ...]

    def numbers(self, test: bool) -> list[int]:
        """The numbers of the test points, or of the training points."""
        return [number for number, each in enumerate(self.is_test) if each is test]

    def with_point(self, x: tuple[float, float], label: int) -> Points:
        """These points and one more training point."""
        return Points((*self.X, x), (*self.y, label), (*self.is_test, False))

    def without(self, number: int) -> Points:
        """These points without one."""
        kept = [i for i in range(len(self.X)) if i != number]
        return Points(tuple(self.X[i] for i in kept), tuple(self.y[i] for i in kept), tuple(self.is_test[i] for i in kept))

    def to_csv(self) -> str:
        """The points as a CSV file, which `read_csv` reads."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        for (x_1, x_2), label, is_test in zip(self.X, self.y, self.is_test, strict=True):
            writer.writerow([repr(x_1), repr(x_2), label, "test" if is_test else "train"])
        return out.getvalue()


def make_points(setting: PlaygroundSetting) -> Points:
    """Return the points of a setting.

    Raises:
        ValueError: If its file is not as `read_csv` expects it.
        OSError: If its file cannot be read.
    """
    if setting.file:
        return read_csv(Path(setting.file).read_bytes(), setting.test, setting.seed)
    graph = minitorch.datasets[setting.dataset](setting.points, setting.seed)
    noise = random.Random(setting.seed + 1)
    moved = [tuple(min(max(x + noise.uniform(-1, 1) * setting.noise, 0.0), 1.0) for x in point) for point in graph.X]
    return Points(tuple(moved), tuple(graph.y), split(len(moved), setting.test, setting.seed))  # type: ignore[arg-type]  # pairs


def split(count: int, percentage: int, seed: int) -> tuple[bool, ...]:
    """For each of `count` points whether it is a test point: a random choice; at least one point remains for training."""
    order = random.Random(seed + 2).sample(range(count), count)
    chosen = set(order[: min(round(count * percentage / 100), count - 1)])
    return tuple(number in chosen for number in range(count))


def read_csv(data: bytes, test: int, seed: int) -> Points:
    """Read points from a CSV file: the columns x1, x2, label and, if there is a fourth one, "train" or "test"; a header is optional.

    If a coordinate lies outside of 0 to 1, all points are scaled to fill the unit square.

    Args:
        data: The file's bytes.
        test: The percentage of test points of a file without the fourth column.
        seed: For the choice of those points.

    Raises:
        ValueError: What was expected, what was found, and in which line.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"the file expected at most {MOST_BYTES:,} bytes, got {len(data):,}; leave out rows")
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), strict=True))
    except UnicodeDecodeError:
        raise ValueError("the file expected UTF-8 text, got other bytes; save the table as CSV") from None
    except csv.Error as error:
        raise ValueError(f"the file expected comma-separated values, got text that cannot be split ({error})") from None
    lines = [(number, [cell.strip() for cell in row]) for number, row in enumerate(rows, 1) if any(cell.strip() for cell in row)]
    if lines and [cell.lower() for cell in lines[0][1][:3]] == HEADER[:3]:
        lines = lines[1:]
    if not 2 <= len(lines) <= MOST_POINTS:
        raise ValueError(f"the file expected from 2 to {MOST_POINTS:,} points, one a line, got {len(lines):,}")
    found = [_read_line(number, row) for number, row in lines]
    sets = [kind for _, _, kind in found]
    if "" in sets and any(sets):
        raise ValueError("the file expected a fourth column, train or test, in all lines or in none, got both")
    is_test = tuple(kind == "test" for kind in sets) if any(sets) else split(len(found), test, seed)
    if all(is_test):
        raise ValueError("the file expected at least one line with train, got test in all of them")
    return Points(_scale_to_unit_square([x for x, _, _ in found]), tuple(label for _, label, _ in found), is_test)


def _read_line(number: int, row: list[str]) -> tuple[tuple[float, float], int, str]:
    """The coordinates, label and set of one line."""
    where = f"line {number} of the file expected"
    if len(row) not in (3, 4):
        raise ValueError(f"{where} 3 or 4 columns (x1, x2, label, set), got {len(row)}")
    try:
        x_1, x_2 = float(row[0]), float(row[1])
    except ValueError:
        raise ValueError(f"{where} numbers for x1 and x2, got {row[0]!r} and {row[1]!r}") from None
    if not (math.isfinite(x_1) and math.isfinite(x_2)):
        raise ValueError(f"{where} finite numbers for x1 and x2, got {row[0]!r} and {row[1]!r}")
    if row[2] not in ("0", "1"):
        raise ValueError(f"{where} the label 0 or 1, got {row[2]!r}")
    kind = row[3].lower() if len(row) == 4 else ""
    if kind not in ("", "train", "test"):
        raise ValueError(f"{where} train or test in the fourth column, got {row[3]!r}")
    return (x_1, x_2), int(row[2]), kind


def _scale_to_unit_square(X: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The points as they are if all lie in the unit square; else with both coordinates scaled to fill it."""
    if all(0 <= x <= 1 for point in X for x in point):
        return tuple(X)
    axes = [[x / 2 for x in axis] for axis in zip(*X, strict=True)]  # halved: the difference of two large numbers may be infinite
    scaled = [[(x - min(axis)) / ((max(axis) - min(axis)) or 1.0) for x in axis] for axis in axes]
    return tuple(zip(*scaled, strict=True))  # type: ignore[arg-type]  # pairs
