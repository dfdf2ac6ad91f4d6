"""Compare rankings of metrics by perturbed pairs with rankings by human scores, for each perturbation.

    python benchmarks/people_scores.py lexical FOLDER    # scores every text once, a file per data set
    python benchmarks/people_scores.py neural FOLDER     # a sample of the same texts
    python benchmarks/people_study.py FOLDER             # the tables, in people_study.json beside this script

docs/findings.md has the conclusions, and measurements.md the tables.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, t

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.accuracy import count_correct_pairs, sort_pairs_by_item
from metassay.meta.contexts.h1 import split_contexts_by_perturbation
from metassay.meta.contexts.h2 import estimate_agreement_of_full_samples_from_halves
from metassay.meta.contexts.pair_outcomes import (
    PairContexts,
    PairOutcomes,
    compare_scores_of_pairs,
    put_all_pairs_in_one_context,
)
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.stats import random
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.rank_correlation import correlate_rows
from metassay.stats.soft_accuracy import estimate_soft_pairwise_accuracies, resample_soft_pairwise_accuracies
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


def compute_accuracy_by_perturbation(found, ties="strict", fewest=FEWEST):
    """Compute the accuracy of each metric for each perturbation with enough pairs, and for all pairs."""
    pairs, (one,) = sort_pairs_by_item(found, [put_all_pairs_in_one_context(found)])
    sums = count_correct_pairs(pairs, split_contexts_by_perturbation(pairs, one), ties=ties)
    counts = np.bincount(found.perturbations, minlength=len(found.perturbation_names))
    every = {
        name: sums.compute_accuracies()[:, m]
        for m, name in enumerate(found.perturbation_names)
        if counts[m] >= fewest
    }
    return (
        every,
        count_correct_pairs(pairs, one, ties=ties).compute_accuracies()[:, 0],
        dict(zip(found.perturbation_names, counts.tolist())),
    )


def build_outcomes(data):
    """Build the outcomes on perturbed pairs."""
    fields = ("outcome", "item", "output", "cluster", "method")
    names = (tuple(map(str, data[name])) for name in ("metrics", "methods"))
    return PairOutcomes(*names, *(data[field] for field in fields))


def compute_accuracy_by_difficulty(data):
    """Compute the accuracy on the closest, middle and farthest third of each perturbation's pairs."""
    found, share = build_outcomes(data), data["share"]
    part = np.full(found.pair_count, -1)
    for method in range(len(found.perturbation_names)):
        own = np.flatnonzero(found.perturbations == method)
        if len(own) >= len(PARTS) * FEWEST:
            part[own] = np.searchsorted(np.quantile(share[own], [1 / 3, 2 / 3]), share[own])
    names = [f"{method} {n}" for method in found.perturbation_names for n in range(len(PARTS))]
    codes = np.where(part < 0, -1, found.perturbations * len(PARTS) + part)
    pairs, (contexts,) = sort_pairs_by_item(found, [PairContexts("part", tuple(names), codes)])
    table = (
        count_correct_pairs(pairs, contexts)
        .compute_accuracies()
        .T.reshape(len(found.perturbation_names), len(PARTS), -1)
    )
    return {name: table[m] for m, name in enumerate(found.perturbation_names) if not np.isnan(table[m]).any()}


def study_difficulty(loaded, people):
    """Compute Kendall's tau with the human ranking by perturbation and third of its pairs."""
    found = {name: compute_accuracy_by_difficulty(data) for name, data in loaded.items()}
    for own in found.values():
        own["methods alike"] = np.mean(list(own.values()), axis=0)
    methods = sorted({method for own in found.values() for method in own}, key=lambda m: (" " in m, m))
    return {
        target: {
            method: _compute_tau_of_thirds(found, method, {n: own[target] for n, own in people.items()})
            for method in methods
        }
        for target in TARGETS
    }


def _compute_tau_of_thirds(found, method, people):
    """Compute the mean tau in each third of the pairs, and the farthest minus the closest."""
    taus = np.array(
        [[tau(part, people[name]) for part in own[method]] for name, own in found.items() if method in own]
    )
    parts = {part: interval(taus[:, n]) for n, part in enumerate(PARTS)}
    return parts | {"far - close": interval(taus[:, -1] - taus[:, 0])}


def study_matched_pairs(loaded, people, folder):
    """Compare perturbed outputs as far from the originals as human pairs with single edits."""
    result = {}
    for name, data in loaded.items():
        file = folder / f"{name}.matched.npz"
        if not file.is_file():
            continue
        far = dict(np.load(file))
        stronger, _, _ = compute_accuracy_by_perturbation(build_outcomes(far))
        single, _, _ = compute_accuracy_by_perturbation(build_outcomes(data))
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


def load_with_neural(name, data, folder):
    """Load the same data with neural metrics, cut to what they scored; None without them."""
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


def study_neural_metrics(loaded, folder):
    """Compare the ranks of neural metrics among lexical ones, and tau with and without them."""
    result = {}
    for name, full in loaded.items():
        data = load_with_neural(name, full, folder)
        if data is None:
            continue
        own, _, counts = compute_accuracy_by_perturbation(build_outcomes(data), fewest=FEWEST_NEURAL)
        rule, (said, ceilings), first = (
            np.mean(list(own.values()), axis=0),
            compute_human_targets(data),
            data["lexical"],
        )
        said[HALF], _ = compute_human_accuracy(data, np.ones(len(data["better"]), dtype=bool), "half")
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
                for m in [*range(first, len(rule)), *_describe_best(orders, first)]
            },
        }
    return result


def _describe_best(orders, first):
    """Describe the best lexical metrics by perturbed pairs and by human pairs."""
    return sorted({int(np.argmax(orders[key][:first])) for key in ("rule", "pairs")})


def compute_human_accuracy(data, kept, ties="strict"):
    """Compute the accuracy on some human pairs, and how well the human ranking would agree with itself."""
    better, worse = data["better"][kept], data["worse"][kept]
    outcome = compare_scores_of_pairs(data["scores"][:, better], data["scores"][:, worse], data["tolerance"])
    found = PairOutcomes(
        tuple(map(str, data["metrics"])),
        ("human",),
        outcome,
        data["items"][better],
        better,
        data["units"][better],
        np.zeros(len(better), dtype=int),
    )
    pairs, (one,) = sort_pairs_by_item(found, [put_all_pairs_in_one_context(found)])
    sums = count_correct_pairs(pairs, one, ties=ties)
    here, there = ClusterHalves(
        random.create_random_generator_for_name(0, "halves"), 100
    ).compute_ratios_in_random_halves(sums.weighted_accuracy, sums.weight, sums.clusters)
    return sums.compute_accuracies()[:, 0], estimate_agreement_of_full_samples_from_halves(
        here, there, "kendall"
    )


def compute_human_targets(data):
    """Compute four human rankings of the metrics, and their noise ceilings where there are half samples."""
    close = data["distance"] <= np.quantile(data["distance"], 1 / 3)
    values, ceilings = {}, {}
    values["pairs"], ceilings["pairs"] = compute_human_accuracy(data, np.ones(len(close), dtype=bool))
    values["close pairs"], ceilings["close pairs"] = compute_human_accuracy(data, close)
    human, scores = data["human"][data["grid"]], data["scores"][:, data["grid"]]
    values["acc_eq"] = parse_meta_metric("acc_eq").evaluate_metrics(ScoreArrays(human, scores))
    values["spa"] = estimate_soft_pairwise_accuracies(human, scores)
    units = data["units"][data["grid"][0]].astype(np.int32)
    halves = ClusterHalves(random.create_random_generator_for_name(0, "halves"), 100)
    first_half = resample_soft_pairwise_accuracies(human, scores, halves, units)
    second_half = resample_soft_pairwise_accuracies(human, scores, halves, units, complement=True)
    ceilings["spa"] = estimate_agreement_of_full_samples_from_halves(first_half, second_half, "kendall")
    return values, ceilings


def tau(one, other):
    """Return Kendall's tau-b."""
    return float(correlate_rows(np.round(one, 12), np.round(other, 12), "kendall")[0])


def interval(values):
    """Return the mean over data sets and its 95 % interval by Student's t."""
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


def study_transferred_weights(accuracies, people):
    """Compute for each data set the tau of weights learnt on the others, and of equal weights.

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


def run_study(folder):
    """Compute every table of the page."""
    loaded = {
        name: dict(np.load(folder / f"{name}.npz")) for name in SETS if (folder / f"{name}.npz").is_file()
    }
    accuracies, pooled, counts, people, ceilings, halved, alike = {}, {}, {}, {}, {}, {}, {}
    for name, data in loaded.items():
        found = build_outcomes(data)
        accuracies[name], pooled[name], counts[name] = compute_accuracy_by_perturbation(found)
        people[name], ceilings[name] = compute_human_targets(data)
        own, _, _ = compute_accuracy_by_perturbation(found, "half")
        theirs, _ = compute_human_accuracy(data, np.ones(len(data["better"]), dtype=bool), "half")
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
            target: study_transferred_weights(accuracies, {n: own[target] for n, own in people.items()})
            for target in TARGETS
        }
        | {HALF: study_transferred_weights(*({n: side[k] for n, side in alike.items()} for k in range(2)))},
    }
    result["difficulty"] = study_difficulty(loaded, people)
    result["matched"] = study_matched_pairs(loaded, people, folder)
    result["neural"] = study_neural_metrics(loaded, folder)
    draw_figure(accuracies, people)
    if (folder / "demetr.npz").is_file():
        result["demetr"] = study_demetr(dict(np.load(folder / "demetr.npz")), people)
    Path(__file__).with_name("people_study.json").write_text(
        json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    )
    print(
        json.dumps(
            {key: result[key] for key in ("ceiling", "mean", "difficulty", "matched", "neural", "weights")},
            indent=1,
        )
    )


def draw_figure(accuracies, people):
    """Draw the ranks of the metrics by perturbed pairs against their ranks by human scores."""
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


def study_demetr(data, people):
    """Compare DEMETR's ranking of the metrics with ours, and with human scores in English."""
    sides = {}
    for side in ("theirs", "ours"):
        arrays = [data[f"{side}_{field}"] for field in ("outcome", "item", "output", "cluster", "method")]
        found = PairOutcomes(
            tuple(map(str, data["metrics"])), tuple(map(str, data[f"{side}_methods"])), *arrays
        )
        sides[side] = compute_accuracy_by_perturbation(found)
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
    run_study(Path(sys.argv[1]))
