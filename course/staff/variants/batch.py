"""A handout for each student of a term, as a zip file. A run that was stopped continues where it was."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff.handout.generate import GUIDED, MARKER, handout_files
from course.staff.handout.selection import TEMPLATES, select
from course.staff.variants.variant import Variant
from course.workspace import pristine
from course.workspace.atomic_files import write_bytes


@dataclass(frozen=True)
class Batch:
    """What a run did.

    Attributes:
        made: Handouts that were written.
        kept: Handouts that were up to date.
    """

    made: int
    kept: int


def make_handouts(
    root: Path,
    manifest: Manifest,
    last: int,
    folder: Path,
    variants: Mapping[str, Variant],
    style: str = GUIDED,
    done: Callable[[str], object] = lambda id: None,
) -> Batch:
    """Write ID.zip for each student. A file that this course and this variant made is kept.

    Args:
        root: The reference repository.
        manifest: Its manifest.
        last: Number of the last stage.
        folder: Where to.
        variants: By the student's id.
        style: As `handout_files`.
        done: Called after each student with the id.

    Raises:
        RequestError: As `handout_files`.
        StaffError: As `handout_files`.
    """
    version = _version(root, manifest, last, style)
    made = 0
    for id, variant in variants.items():
        digest = hashlib.sha256(f"{version}\0{json.dumps(variant.document, sort_keys=True)}".encode()).hexdigest()
        path = folder / f"{id}.zip"
        if _made_from(path) != digest:
            files = handout_files(root, manifest, last, style, variant=variant)
            write_bytes(path, _packed(files, last, digest))
            made += 1
        done(id)
    return Batch(made, len(variants) - made)


def _version(root: Path, manifest: Manifest, last: int, style: str) -> str:
    """Another text where something has changed that a handout is made from."""
    digest = hashlib.sha256(f"{last} {style}".encode())
    staff = Path(__file__).parent.parent
    sources = [*(staff / "handout").glob("*.py"), *(staff / "variants").glob("*.py"), *TEMPLATES.iterdir()]
    contents = {str(path): path.read_bytes() for path in sources}
    for path, content in sorted({**select(root, manifest, last), **contents}.items()):
        data = content if isinstance(content, bytes) else content.encode()
        digest.update(f"\n{path} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _made_from(path: Path) -> str:
    """The digest in the comment of a zip file; empty if there is no such file, or a damaged one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment.decode(errors="replace")
    except (OSError, zipfile.BadZipFile):
        return ""


def _packed(files: Mapping[str, str | bytes], last: int, digest: str) -> bytes:
    """A handout as a zip file. Everything is in one folder, so that unpacking it makes one."""
    marker = json.dumps({"modules": f"0-{last}" if last else "0"}) + "\n"
    contents = {path: data if isinstance(data, bytes) else data.encode() for path, data in {**files, MARKER: marker}.items()}
    packed = io.BytesIO(pristine.make_zip({f"minitorch/{path}": data for path, data in contents.items()}))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.comment = digest.encode()
    return packed.getvalue()
