"""The nearest known texts to one that is not known, for error messages."""

import heapq
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_LONGEST = 64
_SHORTLIST = 200
_CUTOFF = 0.6


def nearest(text: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """The candidates most alike to the text, best first, regardless of case; may be empty."""
    wanted = text.casefold()[:_LONGEST]
    grams = {wanted[i : i + 2] for i in range(len(wanted) - 1)} or {wanted}

    def overlap(candidate: str) -> float:
        folded = candidate.casefold()
        return sum(gram in folded for gram in grams) / (len(grams) + len(folded))

    # difflib takes seconds over 100,000 names; shared letter pairs leave it only a short list.
    shortlist = heapq.nlargest(_SHORTLIST, dict.fromkeys(candidates), key=overlap)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)

    def ratio(part: str) -> float:
        matcher.set_seq1(part.casefold()[:_LONGEST])
        return matcher.ratio()

    ranked = []
    for candidate in shortlist:
        # Of an IRI the last part is what people remember.
        parts = (candidate, re.split("[/#]", candidate.rstrip("/#"))[-1])
        ranked.append((-max(map(ratio, parts)), candidate))
    return [candidate for distance, candidate in sorted(ranked)[:limit] if -distance >= _CUTOFF]
