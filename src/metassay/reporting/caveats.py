"""What a reader should doubt, and what else is to be known: "Before you rely on this", and the remarks."""

from __future__ import annotations

from metassay.metrics.registry import labels_of
from metassay.reporting.findings import Estimate, Findings, brief
from metassay.reporting.wording import Sentence, count, listing, named, percent, plural, sentence


def caveats(findings: Findings) -> list[Sentence]:
    """What a careful reader must know before using the answer."""
    best = findings.best
    if best is None or best.accuracy is None:
        return []
    found = [
        _beaten_by_sentinel(findings, best),
        _confounded(findings, best),
        _single(findings),
        *_mislabelled(findings),
        _lost_methods(findings),
        *_unscored(findings, best),
    ]
    return [caveat for caveat in found if caveat is not None]


def remarks(findings: Findings) -> list[str]:
    """What else is to be known, each thing once, and nothing that a warning says."""
    groups = findings.result.get("same_decisions") or ()
    labels = labels_of(sorted({str(name) for group in groups for name in group}))
    listed = "; ".join(listing([labels[str(name)] for name in group]) for group in groups)
    alike = [f"Decided every pair alike, and so one opinion on one line: {listed}."] if groups else []
    said = {str(warning) for warning in findings.result.get("warnings") or ()}
    notes = dict.fromkeys(str(note) for note in findings.result.get("notes") or ())
    return [*alike, *(note for note in notes if note not in said)]


def _beaten_by_sentinel(findings: Findings, best: Estimate) -> Sentence | None:
    better = [
        estimate
        for name in sorted(findings.uninformed - {best.metric})
        if (estimate := findings.overall[name]).accuracy is not None
        and (estimate.accuracy or 0.0) >= (best.accuracy or 0.0)
    ]
    if not better:
        return None
    return sentence(
        "{sentinel:metric}, which knows nothing of quality, is right in {share:figure}: the pairs give "
        "themselves away, and no accuracy here should be trusted.",
        sentinel=better[0].metric,
        share=brief(better[0]),
    )


def _confounded(findings: Findings, best: Estimate) -> Sentence | None:
    shown = findings.claimed("method")
    rows = [row for row in findings.result.get("confounding") or () if row.get("flag")]
    flagged = [
        str(row["metric"])
        for row in (rows if shown is None else shown)
        if str(row["metric"]) not in findings.sentinels
    ]
    if not flagged:
        return None
    first = sorted(flagged, key=lambda name: name != best.metric)
    return sentence(
        "The accuracy of {metrics} depends on how the worse outputs were made: see {where:section}.",
        metrics=named(first, "metric"),
        where="accuracy by perturbation method",
    )


def _mislabelled(findings: Findings) -> list[Sentence]:
    """Of rankings: how many copies did not lose gain, and whether their pairs are among those counted."""
    rows = [row for row in findings.result.get("validity") or () if "worse" in row and "better" in row]
    total = sum(row["worse"] + row.get("equal", 0) + row["better"] for row in rows)
    wrong = total - sum(row["worse"] for row in rows)
    if not total or not wrong:
        return []
    known = findings.result.get("valid_pairs_only")
    fate = "they were dropped" if known else "errors on them are not the metrics’"
    text = "{share:figure} of the reordered lists did not lose gain, so their labels are wrong: {fate}."
    said = [sentence(text, share=percent(wrong / total, digits=1), fate=fate)]
    circular = [name for name in findings.metrics if name.lower().startswith("ndcg")]
    if known and circular:
        text = (
            "Which lists are worse was told by discounted gain, which is what {names} measure{s}: {they} "
            "favoured."
        )
        one = len(circular) == 1
        grammar = {"s": "s" if one else "", "they": "it is" if one else "they are"}
        said.append(sentence(text, names=named(circular, "metric"), **grammar))
    for row in rows:
        if row.get("refused"):
            text = "{method} was refused: its copies gained as often as not ({better} gained, {worse} lost)."
            counts = {name: count(row[name]) for name in ("better", "worse")}
            said.append(sentence(text, method=str(row["perturbation"]), **counts))
    return said


def _lost_methods(findings: Findings) -> Sentence | None:
    """Methods that were at work and made no pair: for want of a dictionary, say."""
    rows = [row for row in findings.result.get("validity") or () if "applied" in row]
    lost = [str(row["perturbation"]) for row in rows if not row["applied"] and not row.get("refused")]
    if not lost:
        return None
    return sentence(
        "{lost} of {all} of making outputs worse did not apply here ({names}): no metric was tried on "
        "their errors.",
        lost=count(len(lost)),
        all=plural(len(rows), "way"),
        names=named(lost, "", at_most=5),
    )


def _unscored(findings: Findings, best: Estimate) -> list[Sentence]:
    """Contexts where the metric chosen scored no pair."""
    found = []
    for column in findings.columns:
        missing = [
            context
            for context in column.contexts
            if (estimate := column.estimates.get((context, best.metric))) is None or estimate.accuracy is None
        ]
        if missing:
            text = "{metric:metric} scored no pair on {contexts}."
            found.append(sentence(text, metric=best.metric, contexts=named(missing, "context", at_most=5)))
    return found


def _single(findings: Findings) -> Sentence | None:
    if len(findings.metrics) > 1:
        return None
    return sentence("Only one metric was assayed: a choice needs at least two.")
