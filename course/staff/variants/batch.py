"""Writes a handout for each student of a term as a zip file; an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff.handout.generate import GUIDED, MARKER, handout_files, left_out_modules
from course.staff.handout.library import library_files
from course.staff.handout.selection import TEMPLATES, select
from course.staff.variants.variant import Variant
from course.workspace import pristine
from course.workspace.atomic_files import write_bytes
from course.workspace.library import ZIP as LIBRARY


@dataclass(frozen=True)
class Batch:
    """The outcome of a run.

    Attributes:
        written: Number of handouts that were written.
        kept: Number of handouts that were up to date.
    """

    written: int
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
    """Write ID.zip for each student, unless it was made from this version of the course and this variant.

    Args:
        root: The reference repository.
        manifest: Its manifest.
        last: Number of the last stage.
        folder: The output folder.
        variants: Variants by the student's id.
        style: As for `handout_files`.
        done: Called with the id after each student.

    Returns:
        How many handouts were written and kept.

    Raises:
        RequestError: As for `handout_files`.
        StaffError: As for `handout_files`.
    """
    version = _version(root, manifest, last, style)
    written = 0
    for id, variant in variants.items():
        digest = hashlib.sha256(f"{version}\0{json.dumps(variant.document, sort_keys=True)}".encode()).hexdigest()
        path = folder / f"{id}.zip"
        if _read_digest(path) != digest:
            files = handout_files(root, manifest, last, style, variant=variant)
            write_bytes(path, _zip_handout(files, last, digest))
            written += 1
        done(id)
    return Batch(written, len(variants) - written)


def _version(root: Path, manifest: Manifest, last: int, style: str) -> str:
    """A digest of everything that a handout is made from, apart from the variant."""
    digest = hashlib.sha256(f"{last} {style}".encode())
    staff = Path(__file__).parent.parent
    sources = [*(staff / "handout").glob("*.py"), *(staff / "variants").glob("*.py"), *TEMPLATES.iterdir()]
    contents = {str(path): path.read_bytes() for path in sources}
    library = {
        f"{LIBRARY}/{path}": content for path, content in library_files(root, manifest, last, left_out_modules(manifest, last)).items()
    }
    for path, content in sorted({**select(root, manifest, last), **library, **contents}.items()):
        data = content if isinstance(content, bytes) else content.encode()
        digest.update(f"\n{path} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _read_digest(path: Path) -> str:
    """The digest in the comment of a zip file; empty if the file does not exist or is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment.decode(errors="replace")
    except (OSError, zipfile.BadZipFile):
        return ""


def _zip_handout(files: Mapping[str, str | bytes], last: int, digest: str) -> bytes:
    """A handout as a zip file with one top-level folder."""
    marker = json.dumps({"modules": f"0-{last}" if last else "0"}) + "\n"
    contents = {path: data if isinstance(data, bytes) else data.encode() for path, data in {**files, MARKER: marker}.items()}
    buffer = io.BytesIO(pristine.make_zip({f"minitorch/{path}": data for path, data in contents.items()}))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = digest.encode()
    return buffer.getvalue()
