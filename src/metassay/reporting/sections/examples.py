"""Pairs that a metric got wrong, ready to be read: what changed word by word, and how it scored both.

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

from metassay.metrics.alignment import Step, align_tokens
from metassay.reporting.findings import Findings
from metassay.reporting.wording import about

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
Kind = Literal["same", "gone", "new", "replaced"]
_KINDS: dict[str, Kind] = {"hit": "same", "deletion": "gone", "insertion": "new", "substitution": "replaced"}
PER_METRIC = 12


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
    runs = groupby(align_tokens(old, new).steps, key=lambda step: step.kind)
    return [_edit(_KINDS[kind], list(steps), between) for kind, steps in runs]


def _edit(kind: Kind, steps: Sequence[Step], between: str) -> Edit:
    before, after = (
        between.join(word for word in side if word is not None)
        for side in ([step.reference for step in steps], [step.output for step in steps])
    )
    return Edit(kind, before, after, len(steps))


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


def examples(findings: Findings) -> list[dict[str, Any]]:
    """The examples grouped by metric, in the order of the metrics, at most twelve each."""
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in findings.ordered}
    for row in findings.result.get("examples") or ():
        groups.setdefault(str(row.get("metric")), []).append(row)
    return [
        {
            "metric": metric,
            "pairs": [_pair(row, findings.task) for row in rows[:PER_METRIC]],
            "total": len(rows),
        }
        for metric, rows in groups.items()
        if rows
    ]


def _pair(row: Mapping[str, Any], task: str) -> dict[str, Any]:
    output, worse = _text(row.get("output")), _text(row.get("worse"))
    references = [_text(reference) for reference in row.get("references") or ()]
    score, score_worse = row.get("score"), row.get("score_worse")
    pair = {
        "place": [
            {"label": key, "text": _text(row[key])}
            for key in ("context", "system", "item", "perturbation")
            if row.get(key) not in {None, ""}
        ],
        "source": _text(row.get("source")),
        "references": references,
        "edits": word_edits(output, worse),
        "score": _score(score),
        "score_worse": _score(score_worse),
        "verdict": _verdict(score, score_worse),
    }
    if references and (known := about(task)) and known.aligned:
        pair["alignments"] = [alignment(references[0], output), alignment(references[0], worse)]
    return pair


def alignment(reference: str, output: str) -> dict[str, Any]:
    """The output against the reference, with the counts that the word error rate is made of."""
    edits = word_edits(reference, output)
    counts = edit_counts(edits)
    names = (("replaced", "substitution"), ("gone", "deletion"), ("new", "insertion"))
    errors = [
        f"{counts[kind]} {name}{'' if counts[kind] == 1 else 's'}" for kind, name in names if kind in counts
    ]
    return {"edits": edits, "errors": ", ".join(errors) or "no errors"}


def _verdict(score: Any, worse: Any) -> str:
    if score is None or worse is None:
        return ""
    return "sees no difference" if score == worse else "prefers the worse one"


def _score(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}".replace("-", "−") if isinstance(value, int | float) else str(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(map(str, value))
    return str(value)
