"""Do pairs made worse by rule predict people? Orders of metrics by rule, method by method, against people's.

    python benchmarks/people_study.py score FOLDER     # scores every text once, a file per data set
    python benchmarks/people_study.py study FOLDER     # the tables, in people_study.json beside this script

The data are those of `METASSAY_DATA`: WMT21 to 23 with MQM, REALSumm, DEMETR. Of each at most 250 items that
people scored for every system are drawn, of WMT23 but en-de 100. What is found is told in
docs/do-perturbations-predict-people.md.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from scipy.stats import rankdata, t

from metassay.data.preparation import clusters, prepared
from metassay.meta.contexts.accuracy import sort_pairs, tally, whole
from metassay.meta.contexts.h1 import cross_methods
from metassay.meta.contexts.h2 import half_agreement
from metassay.meta.contexts.judgements import Judgements, judge
from metassay.meta.people.meta_metrics import Judged, meta_metric
from metassay.metrics.registry import chosen_metrics, parse_metrics
from metassay.perturbations.pairs import make_pairs
from metassay.stats import random
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.rank_correlation import row_agreements
from metassay.stats.sign_flip import drawn_agreement, soft_agreement
from metassay.workflows.judging import judge_pairs
from metassay.workflows.pairs import given_pairs, human_rows, told_apart
from metassay.workflows.read import read

DATA = Path(os.environ.get("METASSAY_DATA", "../shared/data"))
SETS = {
    **{f"wmt21 {lp}": (f"wmt21/wmt21_{lp}.parquet", "mqm") for lp in ("en-de", "zh-en")},
    **{f"wmt22 {lp}": (f"wmt22/wmt22_{lp}.parquet", "mqm") for lp in ("en-de", "en-ru", "zh-en")},
    **{f"wmt23 {lp}": (f"wmt23/wmt23_{lp}.parquet", "mqm") for lp in ("he-en", "zh-en", "en-de")},
    "realsumm": ("text/realsumm.parquet", "litepyramid_recall"),
}
DEMETR = "challenge/demetr.parquet"
METRICS = (
    "bleu,bleu(order=1),bleu(order=2),bleu(order=3),bleu(lowercase=true),bleu(effective_order=true),"
    "chrf,chrf(char_order=2),chrf(char_order=3),chrf(char_order=4),chrf(word_order=1),chrf(word_order=2),"
    "chrf(beta=1),chrf(beta=3),chrf(lowercase=true),chrf(char_order=4,word_order=2),"
    "ter,ter(case_sensitive=true),ter(no_punct=true),"
    "rouge1,rouge1(measure=recall),rouge1(measure=precision),rouge2,rouge2(measure=recall),"
    "rougel,rougel(measure=recall),rougel(measure=precision),meteor,meteor(alpha=0.5)"
)
METHODS = (
    "removal,insertion,swapping,entity,pronoun,negation,negation_removal,number,clause_removal,synonym,"
    "untranslated"
)
FOR_TEXT = "removal,insertion,swapping,entity,pronoun,negation,negation_removal,number,clause_removal,synonym"
ITEMS, ITEMS_23 = 250, 100
"""Items of a data set; of two of WMT23 fewer, since scoring them takes longest."""
FEWEST = 100
"""Pairs that a method must have in a data set to be looked at there."""
TARGETS = ("pairs", "close pairs", "acc_eq", "spa")
HALF = "pairs, ties half"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "rules-and-people.svg"
DRAWS = 4000


def drawn_items(data, human, most):
    """At most so many items, drawn by a hash of their names, that have a human score for every system."""
    rated = data.outputs.drop_nulls(human)
    systems = rated["system"].n_unique()
    full = rated.group_by("item").agg(pl.len().alias("n")).filter(pl.col("n") == systems)["item"]
    return (
        full.to_frame().with_columns(pl.col("item").hash(7).alias("h")).sort("h", "item").head(most)["item"]
    )


def score(name, folder):
    """Make every output worse in every way, score all with every metric, keep what the study needs."""
    path, human = SETS[name]
    data = read(
        DATA / path,
        task="text" if name == "realsumm" else None,
        language="en" if name == "realsumm" else None,
    )
    data = prepared(data.with_human(human), normalize=None, keep_references=False)
    items = drawn_items(data, human, ITEMS_23 if name in {"wmt23 he-en", "wmt23 zh-en"} else ITEMS)
    data = data.where(data.outputs["item"].is_in(items.implode()), reason="not drawn")
    rated = data.outputs.filter(pl.col(human).is_not_null())["system"].unique()
    data = data.where(data.outputs["system"].is_in(rated.implode()), reason="not rated")
    pairs = make_pairs(
        data, perturbations=FOR_TEXT if name == "realsumm" else METHODS, per_output=None, workers=1
    )
    metrics = chosen_metrics(data, parse_metrics(METRICS), "none", "none")
    judged = judge_pairs(
        data, pairs, metrics, unit=clusters(data, None), also=np.arange(len(data)), workers=1
    )
    better, worse = human_rows(data, human)
    texts = data.outputs["output"].to_list()
    distance = process.cpdist(
        [texts[n] for n in better], [texts[n] for n in worse], scorer=Levenshtein.normalized_distance
    )
    shape = data.outputs["system"].n_unique(), data.outputs["item"].n_unique()
    outputs = data.outputs.with_row_index("row").sort("system", "item")["row"].to_numpy().reshape(shape)
    found = judged.judgements
    np.savez_compressed(
        folder / f"{name}.npz",
        methods=np.array(found.methods),
        metrics=np.array(found.metrics),
        outcome=found.outcome,
        item=found.item,
        output=found.output,
        cluster=found.cluster,
        method=found.method,
        scores=judged.outputs,
        tolerance=np.array([metric.tie_tolerance for metric in metrics]),
        better=better,
        worse=worse,
        distance=distance,
        items=judged.unit.items,
        units=judged.unit.codes,
        grid=outputs,
        human=data.outputs[human].to_numpy(),
    )


def score_demetr(folder):
    """The pairs of DEMETR, that people checked, and ours made of the same outputs."""
    every = told_apart(read(DATA / DEMETR, pairs=True))
    theirs = every.where(every.outputs["perturbation"] != "reference", reason="a control")
    chosen = theirs.outputs["item"].unique().sort().to_frame().with_columns(pl.col("item").hash(7).alias("h"))
    kept = chosen.sort("h", "item").head(300)["item"]
    theirs = theirs.where(theirs.outputs["item"].is_in(kept.implode()), reason="not drawn")
    own = theirs.outputs.unique(["item", "system"], keep="first", maintain_order=True).drop(
        "worse", "perturbation"
    )
    data = read(own, task="mt", language="en")
    metrics = chosen_metrics(data, parse_metrics(METRICS), "none", "none")
    made = make_pairs(data, perturbations=METHODS, per_output=None, workers=1)
    arrays = {}
    for side, source, pairs in (("theirs", theirs, given_pairs(theirs)), ("ours", data, made)):
        found = judge_pairs(source, pairs, metrics, workers=1).judgements
        for field in ("outcome", "item", "output", "cluster", "method"):
            arrays[f"{side}_{field}"] = getattr(found, field)
        arrays[f"{side}_methods"] = np.array(found.methods)
    np.savez_compressed(folder / "demetr.npz", metrics=np.array([m.spec for m in metrics]), **arrays)


def by_method(found, ties="strict"):
    """Accuracy of each metric on each method with pairs enough, {method: [metrics]}, and on all pairs."""
    pairs, (one,) = sort_pairs(found, [whole(found)])
    sums = tally(pairs, cross_methods(pairs, one), ties=ties)
    counts = np.bincount(found.method, minlength=len(found.methods))
    every = {name: sums.accuracy()[:, m] for m, name in enumerate(found.methods) if counts[m] >= FEWEST}
    return every, tally(pairs, one, ties=ties).accuracy()[:, 0], dict(zip(found.methods, counts.tolist()))


def people_pairs(data, kept, ties="strict"):
    """Accuracy on the pairs of people that are kept, and how well people's order would agree with itself."""
    better, worse = data["better"][kept], data["worse"][kept]
    outcome = judge(data["scores"][:, better], data["scores"][:, worse], data["tolerance"])
    found = Judgements(
        tuple(map(str, data["metrics"])),
        ("human",),
        outcome,
        data["items"][better],
        better,
        data["units"][better],
        np.zeros(len(better), dtype=int),
    )
    pairs, (one,) = sort_pairs(found, [whole(found)])
    sums = tally(pairs, one, ties=ties)
    here, there = ClusterHalves(random.named(0, "halves"), 100).halves(sums.credit, sums.size, sums.cluster)
    return sums.accuracy()[:, 0], half_agreement(here, there, "kendall")


def targets(data):
    """What people say of the metrics, in four ways, and the ceiling of each where halves can be taken."""
    close = data["distance"] <= np.quantile(data["distance"], 1 / 3)
    values, ceilings = {}, {}
    values["pairs"], ceilings["pairs"] = people_pairs(data, np.ones(len(close), dtype=bool))
    values["close pairs"], ceilings["close pairs"] = people_pairs(data, close)
    human, scores = data["human"][data["grid"]], data["scores"][:, data["grid"]]
    values["acc_eq"] = meta_metric("acc_eq").values(Judged(human, scores))
    values["spa"] = soft_agreement(human, scores)
    units = data["units"][data["grid"][0]].astype(np.int32)
    halves = ClusterHalves(random.named(0, "halves"), 100)
    sides = [drawn_agreement(human, scores, halves, units, rest=rest) for rest in (False, True)]
    ceilings["spa"] = half_agreement(*sides, "kendall")
    return values, ceilings


def tau(one, other):
    """Kendall's tau-b."""
    return float(row_agreements(np.round(one, 12), np.round(other, 12), "kendall")[0])


def interval(values):
    """Mean over data sets and its 95 % interval by Student's t."""
    values = np.array([value for value in values if not np.isnan(value)])
    if len(values) < 2:
        return None
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return {
        "mean": round(values.mean(), 3),
        "low": round(values.mean() - half, 3),
        "high": round(values.mean() + half, 3),
        "sets": len(values),
    }


def leave_one_out(accuracies, people):
    """For each data set the tau of weights learnt on the others, and of equal weights, on methods all have.

    Of `DRAWS` weightings from the simplex, and each method alone, the one with the highest mean tau on the
    other data sets is taken.
    """
    shared = sorted(set.intersection(*(set(found) for found in accuracies.values())))
    table = {name: np.array([found[method] for method in shared]) for name, found in accuracies.items()}
    drawn = np.concatenate(
        [np.eye(len(shared)), np.random.default_rng(0).dirichlet(np.ones(len(shared)), DRAWS)]
    )
    taus = {name: row_agreements(drawn @ table[name], people[name][None], "kendall") for name in table}
    equal = {name: tau(table[name].mean(axis=0), people[name]) for name in table}
    rows = []
    for name in table:
        others = np.mean([taus[other] for other in table if other != name], axis=0)
        best = int(np.argmax(others))
        weights = {method: round(float(w), 2) for method, w in zip(shared, drawn[best]) if w >= 0.05}
        rows.append(
            {
                "set": name,
                "learnt": round(float(taus[name][best]), 3),
                "equal": round(equal[name], 3),
                "trained at": round(float(others[best]), 3),
                "weights": weights,
            }
        )
    return {
        "methods": shared,
        "rows": rows,
        "learnt": interval([r["learnt"] for r in rows]),
        "equal": interval([r["equal"] for r in rows]),
        "difference": interval([r["learnt"] - r["equal"] for r in rows]),
    }


def study(folder):
    """Every table of the page."""
    loaded = {
        name: dict(np.load(folder / f"{name}.npz")) for name in SETS if (folder / f"{name}.npz").is_file()
    }
    accuracies, pooled, counts, people, ceilings, halved, alike = {}, {}, {}, {}, {}, {}, {}
    for name, data in loaded.items():
        found = Judgements(
            tuple(map(str, data["metrics"])),
            tuple(map(str, data["methods"])),
            data["outcome"],
            data["item"],
            data["output"],
            data["cluster"],
            data["method"],
        )
        accuracies[name], pooled[name], counts[name] = by_method(found)
        people[name], ceilings[name] = targets(data)
        own, _, _ = by_method(found, "half")
        theirs, _ = people_pairs(data, np.ones(len(data["better"]), dtype=bool), "half")
        mean = np.mean(list(own.values()), axis=0)
        alike[name] = own, theirs
        halved[name] = {"by methods alike": round(tau(mean, theirs), 3)} | {
            method: round(tau(values, theirs), 3) for method, values in own.items()
        }
    methods = sorted({method for found in accuracies.values() for method in found})
    table = {
        target: {
            method: {
                name: round(tau(found[method], people[name][target]), 3)
                for name, found in accuracies.items()
                if method in found
            }
            for method in methods
        }
        | {"all pairs": {name: round(tau(pooled[name], people[name][target]), 3) for name in pooled}}
        for target in TARGETS
    }
    result = {
        "metrics": METRICS.count(",") + 1 - METRICS.count(",word_order=2)"),
        "pairs": counts,
        "people": {
            name: {
                "segments": int(data["grid"].shape[1]),
                "systems": int(data["grid"].shape[0]),
                "pairs": len(data["better"]),
                "spread": round(float(np.ptp(people[name]["pairs"])), 3),
            }
            for name, data in loaded.items()
        },
        "ceiling": {
            name: {key: round(value, 3) for key, value in own.items()} for name, own in ceilings.items()
        },
        "tau": table,
        "mean": {
            target: {method: interval(row.values()) for method, row in rows.items()}
            for target, rows in table.items()
        },
        HALF: halved,
        f"mean, {HALF}": {
            method: interval([row[method] for row in halved.values() if method in row])
            for method in ["by methods alike", *methods]
        },
        "between people": {
            f"{a} and {b}": interval([tau(own[a], own[b]) for own in people.values()])
            for k, a in enumerate(TARGETS)
            for b in TARGETS[k + 1 :]
        },
        "weights": {
            target: leave_one_out(accuracies, {n: own[target] for n, own in people.items()})
            for target in TARGETS
        }
        | {HALF: leave_one_out(*({n: side[k] for n, side in alike.items()} for k in range(2)))},
    }
    draw(accuracies, people)
    if (folder / "demetr.npz").is_file():
        result["demetr"] = demetr(dict(np.load(folder / "demetr.npz")), people)
    Path(__file__).with_name("people_study.json").write_text(
        json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    )
    print(
        json.dumps({key: result[key] for key in ("ceiling", "mean", "between people", "weights")}, indent=1)
    )


def draw(accuracies, people):
    """Places of the metrics by rule, all methods alike, against their places by people, by data set."""
    import vl_convert

    points = [
        {"set": name, "by": label, "rule": int(rule), "people": int(place)}
        for name, found in accuracies.items()
        for label, target in (("pairs judged by people", "pairs"), ("SPA", "spa"))
        for rule, place in zip(
            rankdata(-np.mean(list(found.values()), axis=0), "min"), rankdata(-people[name][target], "min")
        )
    ]
    axis = {"title": None, "grid": False}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": points},
        "facet": {"column": {"field": "set", "title": None}, "row": {"field": "by", "title": None}},
        "spec": {
            "width": 110,
            "height": 110,
            "mark": {"type": "point", "filled": True, "size": 25},
            "encoding": {
                "x": {"field": "rule", "type": "quantitative", "axis": axis | {"title": "place by rule"}},
                "y": {"field": "people", "type": "quantitative", "axis": axis | {"title": "place by people"}},
            },
        },
        "background": "white",
    }
    PICTURE.write_text(vl_convert.vegalite_to_svg(json.dumps(spec)), encoding="utf-8")


def demetr(data, people):
    """DEMETR's order of the metrics against ours on the same outputs, and against people's in English."""
    sides = {}
    for side in ("theirs", "ours"):
        arrays = [data[f"{side}_{field}"] for field in ("outcome", "item", "output", "cluster", "method")]
        found = Judgements(
            tuple(map(str, data["metrics"])), tuple(map(str, data[f"{side}_methods"])), *arrays
        )
        sides[side] = by_method(found)
    english = [name for name in people if name.endswith("-en")]
    return {
        "theirs and ours": round(tau(sides["theirs"][1], sides["ours"][1]), 3),
        "with people": {
            target: {name: round(tau(sides["theirs"][1], people[name][target]), 3) for name in english}
            for target in TARGETS
        },
        "accuracy": {
            side: {"low": round(float(found[1].min()), 3), "high": round(float(found[1].max()), 3)}
            for side, found in sides.items()
        },
        "pairs": {side: int(sum(found[2].values())) for side, found in sides.items()},
    }


def main(command, folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if command == "study":
        study(folder)
        return
    for name in [*SETS, "demetr"]:
        if not (folder / f"{name}.npz").is_file():
            start = time.perf_counter()
            score_demetr(folder) if name == "demetr" else score(name, folder)
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
