"""Notice names that differ only in case or spaces, as if one had been misspelt."""

from __future__ import annotations

from collections.abc import Iterable


def warn_of_similar_names(names: Iterable[str], noun: str = "systems") -> list[str]:
    """Return a note on systems, or what else `noun` says, whose names differ only in case or spaces.

    >>> warn_of_similar_names(["NLLB", "nllb ", "Opus"])[0].partition(".")[0]
    "The names of these systems differ only in case or spaces: 'NLLB', 'nllb '"
    """
    spellings: dict[str, list[str]] = {}
    for name in sorted(names):
        spellings.setdefault(" ".join(name.casefold().split()), []).append(name)
    similar = [name for group in spellings.values() if len(group) > 1 for name in group]
    if not similar:
        return []
    note = (
        f"The names of these {noun} differ only in case or spaces: {', '.join(map(repr, similar))}. They are"
        f" compared as different {noun}. If they are the same, write the names alike."
    )
    return [note]
