"""Stage 6 - Byte-pair encoding on numbers: learn which pairs of tokens to merge, and merge them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[int, int]
"""Two neighboring tokens."""

MIN_COUNT = 2
"""A pair that occurs less often is not worth a token."""

REMOVED = -1
"""Marks a position without a token; no merge contains it."""


# Training


def learn_merges(words: Mapping[str, int], count: int) -> dict[Pair, int]:
    """Learn which pairs of tokens to merge: again and again the pair that occurs most often.

    Tokens 0 to 255 are the bytes. Of pairs that occur equally often, the one with the smaller first token is merged, and of these the one
    with the smaller second token. Merging stops early if no pair occurs twice. Pairs are counted once, by `PairCounts`: counting them again
    for each merge would take hours for a book.

    Args:
        words: The number of times that each word occurs; pairs are counted within words.
        count: Number of merges.

    Returns:
        The new token of each pair, in the order of the merges: 256, 257, …

        >>> learn_merges({"low": 5, "lower": 2}, 2)
        {(108, 111): 256, (256, 119): 257}

    Source: Sennrich et al. 2016, arXiv:1508.07909, algorithm 1.
    """
    pairs = PairCounts(words)
    merges: dict[Pair, int] = {}
    while len(merges) < count and (pair := pairs.most_frequent()) is not None:
        merges[pair] = 256 + len(merges)
        pairs.merge(pair, merges[pair])
    return merges


class PairCounts:
    """How often each pair of neighboring tokens occurs in a text.

    A merge changes only the words that contain its pair, so only their pairs are counted again. That is fast if words are short: a million
    characters without a space are one word, which each merge reads from its beginning to its end.

    Args:
        words: The number of times that each word occurs.

    Attributes:
        words: The tokens of each word.
        times: How often each word occurs, in the same order.
        counts: The number of times that each pair occurs. Overlapping pairs count: "aaa" contains the pair (a, a) twice.
        containing: For each pair, the positions in `words` of the words that contain it, and of some that no longer do.
        queue: A heap of entries (-count, pair): its smallest entry is the most frequent pair, with ties as `learn_merges` breaks them. Each
            count has an entry; those of earlier counts stay until they come first.
    """

    def __init__(self, words: Mapping[str, int]) -> None:
        self.words = [list(word.encode()) for word in words]
        self.counts: Counter[Pair] = Counter()
        self.times = list(words.values())
        self.containing: defaultdict[Pair, set[int]] = defaultdict(set)
        for position, (tokens, times) in enumerate(zip(self.words, self.times, strict=True)):
            for pair in pairwise(tokens):
                self.counts[pair] += times
                self.containing[pair].add(position)
        self.queue = [(-count, pair) for pair, count in self.counts.items()]
        heapify(self.queue)

    def most_frequent(self) -> Pair | None:
        """Return the pair that occurs most often, or None if none occurs MIN_COUNT times. Ties: see `learn_merges`.

        Entries of earlier counts are removed from the queue; the counts themselves do not change.
        """
        while self.queue:
            negative, pair = self.queue[0]
            if self.counts[pair] == -negative:
                return pair if -negative >= MIN_COUNT else None
            heappop(self.queue)  # the count has changed since: there is another entry with the new one
        return None

    def merge(self, pair: Pair, new: int) -> None:
        """Replace a pair with a new token in every word, and update counts, containing and queue.

        Only words that contain the pair are read.

        Args:
            pair: A pair that occurs.
            new: The new token.
        """
        changes: Counter[Pair] = Counter()
        for position in self.containing.pop(pair):
            before, times = self.words[position], self.times[position]
            after = self.words[position] = merge_pair(before, pair, new)
            for old_pair in pairwise(before):
                changes[old_pair] -= times
            for new_pair in pairwise(after):
                changes[new_pair] += times
                self.containing[new_pair].add(position)
        for changed, change in changes.items():
            if change:
                self.counts[changed] += change
                heappush(self.queue, (-self.counts[changed], changed))


def merge_pair(tokens: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace each occurrence of a pair with a new token, from left to right, in a new list.

    >>> merge_pair([1, 1, 1, 2], (1, 1), 3)
    [3, 1, 2]
    """
    left, right = pair
    merged: list[int] = []
    position, last = 0, len(tokens) - 1
    while position <= last:
        if position < last and tokens[position] == left and tokens[position + 1] == right:
            merged.append(new)
            position += 2
        else:
            merged.append(tokens[position])
            position += 1
    return merged


# Encoding


def apply_merges(tokens: Sequence[int], merges: Mapping[Pair, int]) -> list[int]:
    """Merge the pairs of a word in the order in which they were learned, each from left to right, until no pair can be merged.

    The result is that of `merge_pair` for every merge, one after the other, but only merges whose pair is in the word cost time.

    Args:
        tokens: The tokens of a word's bytes, as a list or as bytes; not changed.
        merges: The new token of each pair; a merge learned later has a larger one.

    Returns:
        A new list.

        >>> apply_merges(b"lowest", {(108, 111): 256, (256, 119): 257})
        [257, 101, 115, 116]
    """
    # The tokens are a linked list, and the pairs that can be merged wait in a queue, so that n tokens take O(n log n) steps.
    end = len(tokens)
    linked = [*tokens, REMOVED]  # this one follows the last token, and as linked[-1] precedes the first
    before, after = list(range(-1, end)), [*range(1, end + 1), end]
    queue = [(merges[pair], position) for position, pair in enumerate(pairwise(tokens)) if pair in merges]
    heapify(queue)
    while queue:
        new, left = heappop(queue)
        right = after[left]
        if merges.get((linked[left], linked[right])) != new:
            continue  # one of the two tokens has been merged with its other neighbor
        linked[left], linked[right] = new, REMOVED
        after[left] = after[right]
        before[after[right]] = left
        for position in (before[left], left):
            pair = linked[position], linked[after[position]]
            if pair in merges:
                heappush(queue, (merges[pair], position))
    return [token for token in linked if token != REMOVED]
