"""Pairs, ready to be read: what changed word by word, and how metrics scored both sides.

Examples in a report are pairs that a metric got wrong; the dashboard shows any pair (`reporting.pair_cards`).

Words are aligned as sclite does, so for speech the counts of each kind are the ones that its reports give.

>>> [(edit.kind, edit.before, edit.after) for edit in word_edits("a cat sat", "the cat")]
[('replaced', 'a', 'the'), ('same', 'cat', 'cat'), ('gone', 'sat', '')]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from metassay.metrics.alignment import find_alignment_steps
from metassay.reporting.findings import Findings
from metassay.reporting.wording import about, percent, plural

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
Kind = Literal["same", "gone", "new", "replaced"]
_KINDS: dict[str, Kind] = {"hit": "same", "deletion": "gone", "insertion": "new", "substitution": "replaced"}
ALIGNED = 600
"""So many pairs of speech are shown against their reference, word by word."""
SHOWN_RANKS = 30
"""Places of a ranking that are shown."""


@dataclass(frozen=True)
class Edit:
    """A run of words that are the same, only before (`gone`), only after (`new`), or `replaced`."""

    kind: Kind
    before: str
    after: str
    words: int


def word_edits(before: str, after: str) -> list[Edit]:
    """The cheapest way from one text to the other, in runs; texts without spaces go by character."""
    between = "" if _by_character(before, after) else " "
    old, new = (text.split() if between else list(text) for text in (before, after))
    edits, i, j = [], 0, 0
    for step, run in groupby(find_alignment_steps(old, new)):
        words = len(list(run))
        left, right = i, j
        i, j = i + words * (step != "insertion"), j + words * (step != "deletion")
        edits.append(Edit(_KINDS[step], between.join(old[left:i]), between.join(new[right:j]), words))
    return edits


def edit_counts(edits: Sequence[Edit]) -> dict[Kind, int]:
    """Words per kind of edit: for speech, hits, deletions, insertions and substitutions."""
    totals: Counter[Kind] = Counter()
    for edit in edits:
        totals[edit.kind] += edit.words
    return dict(totals)


def _by_character(before: str, after: str) -> bool:
    """Whether both texts are in a script without spaces: Thai, Lao, Burmese, Khmer, Chinese, Japanese."""
    texts = [text for text in (before, after) if text]
    return bool(texts) and all(len(text.split()) == 1 and _SPACELESS.search(text) for text in texts)


def examples(findings: Findings) -> dict[str, Any] | None:
    """The pairs that some metric got wrong, as the page's script shows them, and what to choose them by.

    An edit is a list: 0 and the words that both have, or 1 with the words of each side.
    """
    found = findings.result.get("examples") or {}
    if not isinstance(found, Mapping):  # earlier versions left a list, one metric to a pair
        found = {"pairs": found}
    rows = found.get("pairs")
    metrics = [name for name in findings.ordered if name not in findings.sentinels]
    if not rows or not metrics:
        return None
    pairs = [_pair(row, metrics, findings.task, aligned=n < ALIGNED) for n, row in enumerate(rows)]
    doubtful = sum(pair["doubtful"] for pair in pairs)
    return {
        "pairs": pairs,
        "metrics": metrics,
        "methods": sorted({pair["method"] for pair in pairs}),
        "systems": sorted({pair["system"] for pair in pairs if pair["system"]}),
        "contexts": sorted({tuple(each) for pair in pairs for each in pair["contexts"]}),
        "doubtful": doubtful,
        "rate": _doubtful_sentence(found, doubtful),
    }


def _doubtful_sentence(found: Mapping[str, Any], shown: int) -> str:
    """How many copies come nearer to a reference than their output: their labels may be wrong."""
    if not found.get("looked_at"):
        return ""
    share = percent(found["doubtful"] / found["looked_at"], digits=1)
    kept = f" {plural(shown, 'such pair')} {'is' if shown == 1 else 'are'} kept apart." if shown else ""
    return (
        f"In {share} of {plural(found['looked_at'], 'pair')} looked at, the copy is fewer words away from a"
        f" reference than the output: their labels are doubtful.{kept}"
    )


def _pair(row: Mapping[str, Any], metrics: Sequence[str], task: str, *, aligned: bool) -> dict[str, Any]:
    judgements = row.get("judgements") or _of_one_metric(row)
    given = {str(name): judged for name, judged in judgements.items() if str(name) in metrics}
    shown = {
        "item": _text(row.get("item")),
        "system": _text(row.get("system")),
        "method": _text(row.get("perturbation")),
        "contexts": [[str(name), _text(label)] for name, label in (row.get("contexts") or {}).items()],
        "judged": [
            [metrics.index(name), format_score(kept), format_score(worse), said]
            for name, (kept, worse, said) in given.items()
        ],
        "doubtful": bool(row.get("doubtful")),
    }
    if isinstance(row.get("output"), list):
        grades = row.get("grades") or {}
        lists = list_ranking_moves(row["output"], row.get("worse") or [])
        return shown | {
            "lists": [
                [
                    *(each["rank"], each["output"], _grade(grades, each["output"])),
                    *(each["worse"], _grade(grades, each["worse"]), each["moved"]),
                ]
                for each in lists
            ]
        }
    output, worse = _text(row.get("output")), _text(row.get("worse"))
    references = [_text(reference) for reference in row.get("references") or ()]
    shown |= {"source": _text(row.get("source")), "references": references, "edits": _edits(output, worse)}
    if aligned and references and (known := about(task)) and known.shows_word_alignment:
        sides = [alignment(references[0], text) for text in (output, worse)]
        shown["alignments"] = [[_short(side["edits"]), side["errors"]] for side in sides]
    return shown


def _of_one_metric(row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What the metric of a pair said, as earlier versions wrote it: they kept ties and wrong pairs."""
    scores = [row.get("score"), row.get("score_worse")]
    return {str(row["metric"]): [*scores, 0 if scores[0] == scores[1] else -1]} if "metric" in row else {}


def _grade(grades: Mapping[str, Any], document: str) -> str:
    return "" if grades.get(document) is None else str(grades[document])


def _edits(before: str, after: str) -> list[list[Any]]:
    return _short(word_edits(before, after))


def _short(edits: Sequence[Edit]) -> list[list[Any]]:
    return [[0, edit.before] if edit.kind == "same" else [1, edit.before, edit.after] for edit in edits]


def alignment(reference: str, output: str) -> dict[str, Any]:
    """The output against the reference, with the counts that the word error rate is made of."""
    edits = word_edits(reference, output)
    counts = edit_counts(edits)
    names = (("replaced", "substitution"), ("gone", "deletion"), ("new", "insertion"))
    errors = [
        f"{counts[kind]} {name}{'' if counts[kind] == 1 else 's'}" for kind, name in names if kind in counts
    ]
    return {"edits": edits, "errors": ", ".join(errors) or "no errors"}


def format_score(value: Any) -> str:
    """Return a score with four significant digits; empty where there is none."""
    if value is None:
        return ""
    return f"{value:.4g}".replace("-", "−") if isinstance(value, (float, int)) else str(value)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Sequence):
        return " ".join(map(str, value))
    return str(value)


def list_ranking_moves(output: Sequence[str], worse: Sequence[str]) -> list[dict[str, Any]]:
    """The first places of two rankings side by side, and from where each document of the second came."""
    before = {document: place for place, document in enumerate(output)}
    rows = []
    for place in range(min(SHOWN_RANKS, max(len(output), len(worse)))):
        document = worse[place] if place < len(worse) else ""
        came = before.get(document)
        moved = "" if came is None or came == place else f"{'↑' if came > place else '↓'}{abs(came - place)}"
        rows.append(
            {"rank": place + 1, "output": output[place] if place < len(output) else "", "worse": document}
            | {"moved": moved if came is not None or not document else "new"}
        )
    return rows
