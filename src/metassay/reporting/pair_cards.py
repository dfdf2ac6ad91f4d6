"""One pair, ready to be read: what differs word by word, and what metrics and people say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.sections.examples import alignment, word_edits
from metassay.reporting.wording import about, count

Pair = Mapping[str, Any]
MARKS = {1: ("right", "✓"), 0: ("tie", "="), -1: ("wrong", "✗")}
UNDEFINED = ("undefined", "?")
LONGEST = 3000
"""Characters of a text that are shown."""
DOCUMENTS = 30
"""Places of a ranking that are shown."""


def pair_card(
    pair: Pair, view: Mapping[str, Any], shown: Sequence[str], labels: Mapping[str, str]
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


def _human(pair: Pair) -> list[dict[str, str]]:
    """What people scored the output, and the worse side where that is an output of its own."""
    return [
        {
            "name": (own := name.removeprefix("human/")),
            "output": score(value),
            "worse": score(pair.get(f"human_worse/{own}")),
        }
        for name, value in pair.items()
        if name.startswith("human/") and value is not None
    ]


def _judgement(pair: Pair, metric: str, label: str) -> dict[str, str]:
    """Both scores of a metric, and what that says."""
    said, mark = MARKS.get(pair.get(f"said/{metric}"), UNDEFINED)  # type: ignore[arg-type]
    return {
        "metric": label,
        "said": said,
        "mark": mark,
        "output": score(pair.get(f"score/{metric}")),
        "worse": score(pair.get(f"worse/{metric}")),
    }


def _there(pair: Pair, view: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any] | None:
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


def _cut_lists(pair: Pair) -> list[str]:
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


def score(value: Any) -> str:
    """A score as people read it."""
    return f"{value:.4g}".replace("-", "−") if isinstance(value, int | float) else ""
