"""Supporting evidence: names, comments and strings that exactly two works share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from course.staff.similarity.works import PUBLIC, Work

Texts = dict[tuple[int, int], list[tuple[str, str]]]
"""Kind ("name", "comment" or "string") and text of all evidence, by the indices of the two works."""


def rare_texts(works: Sequence[Work], ordinary: Collection[tuple[str, str]] = ()) -> Texts:
    """Find texts that exactly two works share and no public work has.

    Args:
        works: All works.
        ordinary: Texts that are not evidence.

    Returns:
        See `Texts`.
    """
    owners: dict[tuple[str, str], list[int]] = {}
    known = set(ordinary)
    for place, work in enumerate(works):
        for text in {text for function in work.functions for text in function.texts}:
            if work.kind == PUBLIC:
                known.add(text)
            else:
                owners.setdefault(text, []).append(place)
    found: Texts = {}
    for text in sorted(owners):
        if len(owners[text]) == 2 and text not in known:
            first, second = owners[text]
            found.setdefault((first, second), []).append(text)
    return found
