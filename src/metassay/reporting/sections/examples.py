"""Pairs, ready to be read: what changed word by word, and how metrics scored both sides.

Examples in a report are pairs that a metric got wrong; the dashboard shows cards of any.

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
from metassay.reporting.wording import about, count

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
Kind = Literal["same", "gone", "new", "replaced"]
_KINDS: dict[str, Kind] = {"hit": "same", "deletion": "gone", "insertion": "new", "substitution": "replaced"}
PER_METRIC = 12
MARKS = {1: ("right", "✓"), 0: ("tie", "="), -1: ("wrong", "✗")}
UNDEFINED = ("undefined", "?")
LONGEST = 3000
"""Characters of a text that are shown."""
DOCUMENTS = 30
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


def pair_card(
    pair: Mapping[str, Any], view: Mapping[str, Any], shown: Sequence[str], labels: Mapping[str, str]
) -> dict[str, Any]:
    """What a page shows of a pair, with the judgements of the metrics in `shown`."""
    card: dict[str, Any] = {
        "row": count(pair["row"] + 1),
        "place": [(name, str(pair[name])) for name in ("item", "system") if pair.get(name) is not None],
        "method": str(pair["perturbation"]),
        "worse_system": pair.get("worse_system"),
        "contexts": [
            (name.removeprefix("in/"), str(value))
            for name, value in pair.items()
            if name.startswith("in/") and value is not None and name != "in/system"
        ],
        "human": _human(pair),
        "source": _cut(pair.get("source")),
        "references": [_cut(text) for text in pair.get("references") or ()],
        "scores": [_judgement(pair, name, labels[name]) for name in shown],
        "there": _there(pair, view, labels),
    }
    if isinstance(pair["output"], list):
        return card | {"lists": _lists(pair["output"], pair["worse"] or []), "cut": _cut_lists(pair)}
    output, worse = _cut(pair["output"]), _cut(pair["worse"])
    card["edits"] = word_edits(output["text"], worse["text"])
    card["cut"] = [side["cut"] for side in (output, worse) if side["cut"]]
    if card["references"] and (known := about(view["task"])) and known.aligned:
        first = card["references"][0]["text"]
        card["alignments"] = [alignment(first, side["text"]) for side in (output, worse)]
    return card


def _human(pair: Mapping[str, Any]) -> list[dict[str, str]]:
    """What people scored the output, and the worse side where that is an output of its own."""
    return [
        {
            "name": (own := name.removeprefix("human/")),
            "output": _score(value),
            "worse": _score(pair.get(f"human_worse/{own}")),
        }
        for name, value in pair.items()
        if name.startswith("human/") and value is not None
    ]


def _judgement(pair: Mapping[str, Any], metric: str, label: str) -> dict[str, str]:
    """Both scores of a metric, and what that says."""
    said, mark = MARKS.get(pair.get(f"said/{metric}"), UNDEFINED)  # type: ignore[arg-type]
    return {
        "metric": label,
        "said": said,
        "mark": mark,
        "output": _score(pair.get(f"score/{metric}")),
        "worse": _score(pair.get(f"worse/{metric}")),
    }


def _there(
    pair: Mapping[str, Any], view: Mapping[str, Any], labels: Mapping[str, str]
) -> dict[str, Any] | None:
    """The same pair in another run: what the second metric says there, and texts where they differ."""
    other = pair.get("there")
    if not other:
        return None
    metric = view["question"]["metric2"]
    sides = [
        (name, _cut(other[name])["text"])
        for name in ("output", "worse")
        if isinstance(other[name], str) and other[name] != pair[name]
    ]
    return {
        "run": view["question"]["run"],
        "judgement": _judgement(other, metric, labels[metric]) if metric else None,
        "edits": word_edits(*(_cut(other[name])["text"] for name in ("output", "worse"))) if sides else None,
        "differs": [name for name, _ in sides],
    }


def _lists(output: Sequence[str], worse: Sequence[str]) -> list[dict[str, Any]]:
    """The first places of two rankings side by side, and from where each document of the second came."""
    before = {document: place for place, document in enumerate(output)}
    rows = []
    for place in range(min(DOCUMENTS, max(len(output), len(worse)))):
        document = worse[place] if place < len(worse) else ""
        came = before.get(document)
        moved = "" if came is None or came == place else f"{'↑' if came > place else '↓'}{abs(came - place)}"
        rows.append(
            {"rank": place + 1, "output": output[place] if place < len(output) else "", "worse": document}
            | {"moved": moved if came is not None or not document else "new"}
        )
    return rows


def _cut_lists(pair: Mapping[str, Any]) -> list[str]:
    longest = max(len(pair["output"]), len(pair["worse"] or ()))
    return [f"the first {DOCUMENTS} of {count(longest)} places"] if longest > DOCUMENTS else []


def _cut(text: Any) -> dict[str, str]:
    """A text as far as it is shown, and a word on the rest."""
    text = "" if text is None else str(text)
    if len(text) <= LONGEST:
        return {"text": text, "cut": ""}
    return {
        "text": text[:LONGEST],
        "cut": f"the first {count(LONGEST)} of {count(len(text))} characters",
    }
