"""Do pairs made worse by rule predict people? Orders of metrics by rule, method by method, against people's.

    python benchmarks/people_scores.py lexical FOLDER    # scores every text once, a file per data set
    python benchmarks/people_scores.py neural FOLDER     # a sample of the same texts
    python benchmarks/people_study.py FOLDER             # the tables, in people_study.json beside this script

What is found is told in docs/do-perturbations-predict-people.md.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, t

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.accuracy import sort_pairs, tally_pairs
from metassay.meta.contexts.h1 import cross_with_perturbations
from metassay.meta.contexts.h2 import half_sample_ceiling
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, compare_scores, global_context
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.stats import random
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.rank_correlation import correlate_rows
from metassay.stats.soft_accuracy import estimate_soft_accuracies, resample_soft_accuracies
from people_scores import METRICS, SETS

FEWEST = 100
"""Pairs that a method must have in a data set to be looked at there."""
FEWEST_NEURAL = 30
"""The same among the pairs that neural metrics scored, which are fewer."""
PARTS = ("close", "middle", "far")
"""Thirds of a method's pairs by the edited share of their characters."""
TARGETS = ("pairs", "close pairs", "acc_eq", "spa")
HALF = "pairs, ties half"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "rules-and-people.svg"
DRAWS = 4000


def by_method(found, ties="strict", fewest=FEWEST):
    """Accuracy of each metric on each method with pairs enough, {method: [metrics]}, and on all pairs."""
    pairs, (one,) = sort_pairs(found, [global_context(found)])
    sums = tally_pairs(pairs, cross_with_perturbations(pairs, one), ties=ties)
    counts = np.bincount(found.perturbations, minlength=len(found.perturbation_names))
    every = {
        name: sums.accuracy()[:, m] for m, name in enumerate(found.perturbation_names) if counts[m] >= fewest
    }
    return (
        every,
        tally_pairs(pairs, one, ties=ties).accuracy()[:, 0],
        dict(zip(found.perturbation_names, counts.tolist())),
    )


def judgements(data):
    """The outcomes on pairs made by rule."""
    fields = ("outcome", "item", "output", "cluster", "method")
    names = (tuple(map(str, data[name])) for name in ("metrics", "methods"))
    return PairOutcomes(*names, *(data[field] for field in fields))


def by_difficulty(data):
    """Accuracy on the close, middle and far third of each method's pairs, {method: [parts, metrics]}."""
    found, share = judgements(data), data["share"]
    part = np.full(found.pair_count, -1)
    for method in range(len(found.perturbation_names)):
        own = np.flatnonzero(found.perturbations == method)
        if len(own) >= len(PARTS) * FEWEST:
            part[own] = np.searchsorted(np.quantile(share[own], [1 / 3, 2 / 3]), share[own])
    names = [f"{method} {n}" for method in found.perturbation_names for n in range(len(PARTS))]
    codes = np.where(part < 0, -1, found.perturbations * len(PARTS) + part)
    pairs, (contexts,) = sort_pairs(found, [PairContexts("part", tuple(names), codes)])
    table = tally_pairs(pairs, contexts).accuracy().T.reshape(len(found.perturbation_names), len(PARTS), -1)
    return {name: table[m] for m, name in enumerate(found.perturbation_names) if not np.isnan(table[m]).any()}


def difficulty(loaded, people):
    """Kendall's tau with people by method and third of its pairs; methods alike last."""
    found = {name: by_difficulty(data) for name, data in loaded.items()}
    for own in found.values():
        own["methods alike"] = np.mean(list(own.values()), axis=0)
    methods = sorted({method for own in found.values() for method in own}, key=lambda m: (" " in m, m))
    return {
        target: {
            method: _thirds(found, method, {n: own[target] for n, own in people.items()})
            for method in methods
        }
        for target in TARGETS
    }


def _thirds(found, method, people):
    """Mean tau in each third of a method's pairs, and of the far one less the close one."""
    taus = np.array(
        [[tau(part, people[name]) for part in own[method]] for name, own in found.items() if method in own]
    )
    parts = {part: interval(taus[:, n]) for n, part in enumerate(PARTS)}
    return parts | {"far - close": interval(taus[:, -1] - taus[:, 0])}


def matched(loaded, people, folder):
    """Copies as far apart as people's pairs, and single edits by the same methods: shares, and tau."""
    result = {}
    for name, data in loaded.items():
        file = folder / f"{name}.matched.npz"
        if not file.is_file():
            continue
        far = dict(np.load(file))
        stronger, _, _ = by_method(judgements(far))
        single, _, _ = by_method(judgements(data))
        graded = [method.partition("(")[0] for method in stronger]
        orders = {
            "single": np.mean([single[method] for method in graded], axis=0),
            "matched": np.mean(list(stronger.values()), axis=0),
        }
        own = np.isin(data["method"], [list(data["methods"]).index(method) for method in graded])
        result[name] = {
            "methods": sorted(stronger),
            "people's share": round(float(np.median(data["distance"])), 3),
            "share": {
                "single": round(float(np.median(data["share"][own])), 3),
                "matched": round(float(np.median(far["share"])), 3),
            },
            "accuracy": {key: round(float(values.mean()), 3) for key, values in orders.items()},
            "tau": {
                target: {key: round(tau(values, people[name][target]), 3) for key, values in orders.items()}
                for target in TARGETS
            },
        }
    kinds = ("single", "matched")
    rows = result.values()
    return result | {
        "mean": {
            target: {kind: interval([row["tau"][target][kind] for row in rows]) for kind in kinds}
            | {
                "difference": interval(
                    [row["tau"][target]["matched"] - row["tau"][target]["single"] for row in rows]
                )
            }
            for target in TARGETS
        }
    }


def beside_neural(name, data, folder):
    """The same data with neural metrics, cut to the outputs and pairs that they scored; None without them."""
    files = [folder / f"{name}.{family}.npz" for family in ("use", "minilm")]
    extra = [dict(np.load(file)) for file in files if file.is_file()]
    if not extra:
        return None
    rows = extra[0]["pairs"]
    assert all((rows == more["pairs"]).all() for more in extra)
    scored = ~np.isnan(extra[0]["scores"][0])
    told = scored[data["better"]] & scored[data["worse"]]
    return {
        **data,
        "metrics": np.concatenate([data["metrics"], *(more["metrics"] for more in extra)]),
        "tolerance": np.concatenate([data["tolerance"], *(more["tolerance"] for more in extra)]),
        "scores": np.concatenate([data["scores"], *(more["scores"] for more in extra)]),
        "outcome": np.concatenate([data["outcome"][:, rows], *(more["outcome"] for more in extra)]),
        **{key: data[key][rows] for key in ("item", "output", "cluster", "method", "share")},
        **{key: data[key][told] for key in ("better", "worse", "distance")},
        "grid": data["grid"][:, scored[data["grid"]].all(axis=0)],
        "lexical": len(data["metrics"]),
    }


def neural(loaded, folder):
    """Where rules and people put neural metrics among the lexical ones, and tau with and without them."""
    result = {}
    for name, full in loaded.items():
        data = beside_neural(name, full, folder)
        if data is None:
            continue
        own, _, counts = by_method(judgements(data), fewest=FEWEST_NEURAL)
        rule, (said, ceilings), first = np.mean(list(own.values()), axis=0), targets(data), data["lexical"]
        said[HALF], _ = people_pairs(data, np.ones(len(data["better"]), dtype=bool), "half")
        orders = {"rule": rule, **said}
        places = {key: rankdata(-np.round(values, 12), "min").astype(int) for key, values in orders.items()}
        result[name] = {
            "metrics": len(rule),
            "segments": int(data["grid"].shape[1]),
            "people's pairs": len(data["better"]),
            "rule pairs": int(sum(counts.values())),
            "methods": sorted(own),
            "tau": {key: round(tau(rule, values), 3) for key, values in said.items()},
            "tau, lexical": {key: round(tau(rule[:first], v[:first]), 3) for key, v in said.items()},
            "ceiling": {key: round(value, 3) for key, value in ceilings.items()},
            "places": {
                str(metric): {key: int(place[m]) for key, place in places.items()}
                for m, metric in enumerate(data["metrics"])
                if m >= first
            },
            "accuracy": {
                str(data["metrics"][m]): {key: round(float(values[m]), 3) for key, values in orders.items()}
                for m in [*range(first, len(rule)), *_best(orders, first)]
            },
        }
    return result


def _best(orders, first):
    """The best lexical metrics by rule, and by people's pairs."""
    return sorted({int(np.argmax(orders[key][:first])) for key in ("rule", "pairs")})


def people_pairs(data, kept, ties="strict"):
    """Accuracy on the pairs of people that are kept, and how well people's order would agree with itself."""
    better, worse = data["better"][kept], data["worse"][kept]
    outcome = compare_scores(data["scores"][:, better], data["scores"][:, worse], data["tolerance"])
    found = PairOutcomes(
        tuple(map(str, data["metrics"])),
        ("human",),
        outcome,
        data["items"][better],
        better,
        data["units"][better],
        np.zeros(len(better), dtype=int),
    )
    pairs, (one,) = sort_pairs(found, [global_context(found)])
    sums = tally_pairs(pairs, one, ties=ties)
    here, there = ClusterHalves(random.make_named_generator(0, "halves"), 100).split_ratios(
        sums.credit, sums.size, sums.cluster
    )
    return sums.accuracy()[:, 0], half_sample_ceiling(here, there, "kendall")


def targets(data):
    """What people say of the metrics, in four ways, and the ceiling of each where halves can be taken."""
    close = data["distance"] <= np.quantile(data["distance"], 1 / 3)
    values, ceilings = {}, {}
    values["pairs"], ceilings["pairs"] = people_pairs(data, np.ones(len(close), dtype=bool))
    values["close pairs"], ceilings["close pairs"] = people_pairs(data, close)
    human, scores = data["human"][data["grid"]], data["scores"][:, data["grid"]]
    values["acc_eq"] = parse_meta_metric("acc_eq").compute(ScoreArrays(human, scores))
    values["spa"] = estimate_soft_accuracies(human, scores)
    units = data["units"][data["grid"][0]].astype(np.int32)
    halves = ClusterHalves(random.make_named_generator(0, "halves"), 100)
    sides = [resample_soft_accuracies(human, scores, halves, units, rest=rest) for rest in (False, True)]
    ceilings["spa"] = half_sample_ceiling(*sides, "kendall")
    return values, ceilings


def tau(one, other):
    """Kendall's tau-b."""
    return float(correlate_rows(np.round(one, 12), np.round(other, 12), "kendall")[0])


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
    taus = {name: correlate_rows(drawn @ table[name], people[name][None], "kendall") for name in table}
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
        found = judgements(data)
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
    result["difficulty"] = difficulty(loaded, people)
    result["matched"] = matched(loaded, people, folder)
    result["neural"] = neural(loaded, folder)
    draw(accuracies, people)
    if (folder / "demetr.npz").is_file():
        result["demetr"] = demetr(dict(np.load(folder / "demetr.npz")), people)
    Path(__file__).with_name("people_study.json").write_text(
        json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    )
    print(
        json.dumps(
            {key: result[key] for key in ("ceiling", "mean", "difficulty", "matched", "neural", "weights")},
            indent=1,
        )
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
        found = PairOutcomes(
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


if __name__ == "__main__":
    study(Path(sys.argv[1]))
