"""`judge`: whether a judge can be trusted here, and whom it favours."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.verdicts import LABELS, PAIRS, SCORES, parse_verdicts
from metassay.errors import InputError
from metassay.llm.asking import Asker, LlmSettings
from metassay.meta.judges.agreement import TIES, Estimate
from metassay.meta.judges.alternative_annotator_test import alternative_annotator_test
from metassay.meta.judges.judge_measures import (
    Measures,
    Preference,
    against_panel,
    against_people,
    change,
    in_contexts,
    measure_labels,
    measure_pairs,
    measure_scores,
    preference,
)
from metassay.reporting.judge_page import judge_page, judge_sentences
from metassay.reporting.pages import Page, render_page
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.multiplicity import adjust_holm
from metassay.stats.random import make_generator
from metassay.stats.resampling import draw_bootstrap_counts
from metassay.store.run_folder import RunFolder
from metassay.store.versions import collect_versions
from metassay.workflows.judge_asking import ask_judge, chosen_judge, money
from metassay.workflows.judge_tables import Docket, read_verdict_frames
from metassay.workflows.perturb import with_cache
from metassay.workflows.read import Paths
from metassay.workflows.run_files import SCHEMA_VERSION, VERDICTS, Result

RESAMPLES = 1000
PEOPLE, PANEL = "people", "panel"
INTERVALS = ("both_orders_same", "position_bias", "length_bias", "repeats_same")


@dataclass(frozen=True, repr=False)
class JudgeResult(Result):
    """What is known of each judge: the JSON object of `metassay judge`, whole."""

    found: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay judge`."""
        return {"schema_version": SCHEMA_VERSION, **self.found}

    def to_frame(self) -> pl.DataFrame:
        """One row per judge."""
        flat = [
            {k: v for k, v in row.items() if not isinstance(v, dict)}
            | {"corrected": (row["corrected"] or {}).get("value")}
            for row in self.found["judges"]
        ]
        return pl.DataFrame(flat, infer_schema_length=None)

    def sentences(self) -> list[str]:
        """What can be said of the judges.

        >>> rows = [{"item": n, "judge": "j", "winner": 1, "better": 1 + n % 2} for n in range(40)]
        >>> judge(pl.DataFrame(rows)).sentences()[0].partition(" in ")[0]
        'j agrees with people (better)'
        """
        return judge_sentences(self.found)

    def page(self) -> Page:
        """What the page of the run shows."""
        return judge_page(self.to_dict())


def judge(
    data: Paths | pl.DataFrame,
    *,
    join: Paths | None = None,
    columns: Mapping[str, str] | None = None,
    human: str | None = None,
    people: Sequence[str] = (),
    family: str | None = None,
    context: Sequence[str] | None = None,
    ties: str = "half",
    epsilon: float = 0.2,
    seed: int = 0,
    out: str | Path | None = None,
    quoting: str = "minimal",
    llm: LlmSettings | None = None,
    judge: str | None = None,
    repeats: int = 1,
    language: str | None = None,
) -> JudgeResult:
    """Measure judges from a table of verdicts: `item, judge, winner` or `item, judge, score`.

    With `llm` the verdicts are made first: the model is asked, as the spec `judge` says, about each row of a
    table of pairs (`output_1, output_2`) or of outputs, `repeats` times.

    Tables without a judge (pairs with the better output, people's scores) are joined by their keys. `human`
    names the column with what people say, `people` the columns or judges that are single people, for the
    alternative annotator test with `epsilon`; `family` the column of model families; `context` columns within
    whose values accuracy is measured as well. A verdict that flips with the order is half right, or wrong
    with `ties="strict"`. `out` is a folder for a page to read and the results as JSON and CSV.

    >>> verdicts = [{"item": n, "judge": "j", "winner": 1 + n % 2, "better": 1} for n in range(10)]
    >>> judge(pl.DataFrame(verdicts)).to_dict()["judges"][0]["accuracy"]
    0.5
    """
    if ties not in TIES:
        raise InputError(f"unknown treatment of ties {ties!r}.", remedy="Known: half, strict.")
    frame, file, notes = read_verdict_frames(data, join, quoting, (columns or {}).get("judge"))
    settings: dict[str, Any] = {"ties": ties, "epsilon": epsilon, "seed": seed, "family": family}
    settings |= {"people": list(people), "context": None if context is None else list(context)}
    made = None if llm is None else chosen_judge(judge, frame).with_model_name(llm)
    if made is not None:
        settings |= {"judge": made.signature, "repeats": repeats, "language": language}
    run = None if out is None else _open(out, frame, settings)
    asked: dict[str, Any] = {}
    if made is not None and llm is not None:
        asker = Asker.of(with_cache(llm, run) or llm)
        frame, made = ask_judge(frame, made, asker, repeats=repeats, language=language)
        asked = {"judge": made.spec, "signature": made.signature, "prompt": made.prompt_text}
        asked["cost"] = money(asker)
        notes += made.notes()
    table = parse_verdicts(frame, columns=columns, human=human, people=people, family=family, file=file)
    docket = Docket(table)
    chosen = docket.usual_contexts() if context is None else tuple(context)
    bootstrap = ClusterBootstrap(make_generator(seed), RESAMPLES)
    measured = {name: _measures(docket, docket.rows(name), bootstrap, ties) for name in docket.judges}
    found: dict[str, Any] = {
        "kind": table.kind,
        "gold": table.gold,
        "ties": ties,
        "items": len(docket.items),
        "judges": [
            _entry(name, measured[name], docket.rows(name), asked.get("cost")) for name in docket.judges
        ],
        "contexts": {name: _context_rows(docket, name, measured, bootstrap) for name in chosen},
        "alt_test": _alternatives(docket, epsilon),
        "self_preference": _self_preference(docket, seed),
        "drift": _drift(docket, bootstrap, ties),
        "asked": asked or None,
        "notes": notes,
    }
    result = JudgeResult(found)
    if run is not None:
        _write(run, result, frame if asked else None)
    return result


def _measures(docket: Docket, rows: pl.DataFrame, bootstrap: ClusterBootstrap, ties: str) -> Measures:
    askings, kind = docket.askings(rows), docket.table.kind
    if kind == PAIRS:
        return measure_pairs(askings, bootstrap, ties=ties)
    if kind == LABELS:
        return measure_labels(askings, bootstrap)
    name = rows["judge"][0]
    return measure_scores(docket.matrix(name), docket.human, askings, bootstrap)


def _entry(name: str, found: Measures, rows: pl.DataFrame, price: float | None) -> dict[str, Any]:
    corrected = found.corrected
    named = {part: getattr(found, part) for part in INTERVALS}
    cost = rows["cost"].sum() if "cost" in rows.columns and rows["cost"].count() else price
    return {
        "judge": name,
        "pairs": found.accuracy.pairs,
        "accuracy": _known(found.accuracy.value),
        "low": _known(found.accuracy.low),
        "high": _known(found.accuracy.high),
        "base_rate": _known(found.base_rate),
        **{part: _known(estimate.value) for part, estimate in named.items()},
        "missing": found.missing,
        "corrected": None
        if corrected is None or math.isnan(corrected.value)
        else {key: _known(value) for key, value in vars(corrected).items()},
        "cost": cost,
        "askings": rows.height,
        "intervals": {
            part: [estimate.low, estimate.high]
            for part, estimate in named.items()
            if not math.isnan(estimate.low)
        },
    }


def _context_rows(
    docket: Docket, column: str, measured: Mapping[str, Measures], bootstrap: ClusterBootstrap
) -> list[dict[str, Any]]:
    found = []
    for name, measures in measured.items():
        labels = docket.context_labels(column, docket.rows(name))
        for context, estimate in in_contexts(measures.evidence, labels, bootstrap).items():
            found.append({"judge": name, "context": context, **_estimate("accuracy", estimate)})
    return found


def _alternatives(docket: Docket, epsilon: float) -> list[dict[str, Any]]:
    people = docket.table.people
    if len(people) < 2:
        return []
    found = []
    for name in docket.judges:
        rating, others = docket.ratings(name)
        test = alternative_annotator_test(
            rating, others, epsilon=epsilon, categories=docket.table.kind != SCORES
        )
        found.append(
            {
                "judge": name,
                "winning_rate": _known(test.winning_rate),
                "advantage": _known(test.advantage),
                "epsilon": epsilon,
                "p_fdr": {who: _known(p) for who, p in zip(people, test.p_fdr)},
                "advantages": {who: _known(rho) for who, rho in zip(people, test.advantages)},
                "items": {who: int(count) for who, count in zip(people, test.items)},
                "passes": None if math.isnan(test.winning_rate) else test.passes,
            }
        )
    return found


def _self_preference(docket: Docket, seed: int) -> list[dict[str, Any]]:
    """Each judge's deviation for each family, by people where there are any, else by the other judges."""
    families = docket.families
    names = sorted(set(families.values()))
    by_people = bool((~np.isnan(docket.human)).any())
    if len(names) < 2 or not (by_people or len(docket.judges) > 1):
        return []
    scores = np.stack([docket.matrix(name) for name in docket.judges])
    items = len(docket.items)
    counts = draw_bootstrap_counts(items, items, RESAMPLES, make_generator(seed)).astype(np.uint32)
    family = np.array([families.get(system, "") for system in docket.systems])
    rows: list[tuple[str, str, Preference]] = []
    for position, name in enumerate(docket.judges):
        deviations = (
            against_people(scores[position], docket.human, counts)
            if by_people
            else against_panel(scores, position, counts)
        )
        rows += [(name, each, preference(deviations, family == each)) for each in names]
    adjusted = adjust_holm([found.p for _, _, found in rows])
    return [
        {
            "judge": name,
            "family": each,
            "deviation": _known(found.deviation),
            "low": _known(found.low),
            "high": _known(found.high),
            "p_holm": _known(p),
            "yardstick": PEOPLE if by_people else PANEL,
        }
        for (name, each, found), p in zip(rows, adjusted.tolist())
    ]


def _drift(docket: Docket, bootstrap: ClusterBootstrap, ties: str) -> list[dict[str, Any]]:
    """Accuracy at a judge's last date less that at its first; of preferences and labels."""
    if docket.table.kind == SCORES:
        return []
    found = []
    for name in docket.judges:
        rows = docket.rows(name)
        dates = sorted(rows["date"].drop_nulls().unique())
        if len(dates) < 2:
            continue
        before, after = (
            _measures(docket, rows.filter(pl.col("date") == date), bootstrap, ties)
            for date in (dates[0], dates[-1])
        )
        moved = change(before.evidence, after.evidence, bootstrap)
        found.append({"judge": name, "from": dates[0], "to": dates[-1], **_estimate("change", moved)})
    return found


def _estimate(name: str, found: Estimate) -> dict[str, Any]:
    return {
        name: _known(found.value),
        "low": _known(found.low),
        "high": _known(found.high),
        "pairs": found.pairs,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _open(out: str | Path, frame: pl.DataFrame, settings: Mapping[str, Any]) -> RunFolder:
    """The run folder; the order of rows is no part of what identifies a table."""
    lines = sorted(frame.write_ndjson().split("\n"))
    digest = hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
    identity = {"command": "judge", "configuration": dict(settings), "inputs": {"table": digest}}
    return RunFolder.open(out, identity)


def _write(run: RunFolder, result: JudgeResult, verdicts: pl.DataFrame | None) -> None:
    if verdicts is not None:
        run.write_table(VERDICTS, verdicts)
    run.write_json("results/judge.json", result.to_dict())
    run.write_text("results/judge.csv", result.to_frame().write_csv())
    run.write_text("report.html", render_page(result.page()))
    run.write_manifest({"state": "finished", "versions": collect_versions()})
