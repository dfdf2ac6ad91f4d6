"""Contextual meta-evaluation on WMT21, WMT22 and LibriSpeech (Deviyani and Diaz, 2025, and their draft).

    python -m reproduce.contextual.run FOLDER [--every N] [--resume] [--cache FOLDER]

FOLDER has wmt21, wmt22 and asr. `--every 4` uses every fourth segment of the translations; the page says so.
The measurements of each seed are stored as `seeds/SEED.json`. `--resume` continues an interrupted run: seeds
with such a file are not measured again. `--cache` names a folder for perturbed outputs and scores, so that an
interrupted seed continues as well. Writes README.md, its figures and `ours.json` next to this file. The
outputs of the paper (62 systems, six recognisers) are not public in full; the page shows the results on the
public ones.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from reproduce.contextual.entries import build_entries
from reproduce.contextual.page import render_page
from reproduce.entry import SEEDS, round_floats, to_json_entries, write_json
from reproduce.pictures import draw_curves, draw_matrix
from scipy.stats import chi2_contingency, spearmanr

from metassay.data.dataset import Dataset
from metassay.meta.contexts.pair_outcomes import RIGHT
from metassay.workflows.assay import assay
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.read import read

FOLDER = Path(__file__).parent
METRICS = ("nltk_bleu", "bleu", "chrf", "rouge1", "rouge2", "rougel", "meteor")
"""The lexical metrics of the paper, whose BLEU is nltk's, and sacrebleu's BLEU."""
SPEECH_METRICS = ("wer", "mer", "wil", "wip", "cer")
PERTURBATIONS = "removal,insertion,swapping,synonym,pronoun,entity,negation,negation_removal"
"""The rules of the paper; its ninth perturbation asks a language model."""
FILES = ("wmt21_en-de", "wmt22_en-de", "wmt21_zh-en", "wmt22_zh-en", "wmt22_en-ru")
LANGUAGE_PAIRS = ("en-de", "zh-en", "en-ru")
BUCKETS = 250
FIGURE_SEED = SEEDS[0]
"""The seed of the figures and tables. The claims are checked with all seeds."""
Measurements = dict[str, Any]
STORED_FIELDS = ("contexts", "confounding", "global", "pairs", "items", "outputs", "perturbations", "cluster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--cache")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # All seeds share a cache: scores of the original outputs and names in them do not depend on the seed.
        cache = arguments.cache or folder
        for seed in SEEDS:
            path = locate_measurements(seed)
            if arguments.resume and path.exists():
                continue
            print("seed", seed, flush=True)
            measurements = measure_translation(arguments.data, cache, arguments.every, seed)
            measurements |= measure_speech(arguments.data, cache, seed)
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(round_floats(measurements)), encoding="utf-8")
    write_results()


def locate_measurements(seed: int) -> Path:
    """Return the path of the file with the measurements of one seed."""
    return FOLDER / "seeds" / f"{seed}.json"


def write_results() -> None:
    """Write page, figures and `ours.json` from the measurements with all seeds."""
    by_seed = {seed: json.loads(locate_measurements(seed).read_text(encoding="utf-8")) for seed in SEEDS}
    measurements = by_seed[FIGURE_SEED]
    draw_figures(measurements)
    write_json(
        FOLDER / "ours.json",
        {
            "every": measurements["every"],
            "ledger": to_json_entries(build_entries(list(by_seed.values()))),
            "h1": [{"seed": seed, **row} for seed in SEEDS for row in list_h1_rows(by_seed[seed])],
            "references": measurements["references"],
            "quality": {
                pair: {name: value for name, value in part.items() if name != "rows"}
                for pair, part in measurements["quality"].items()
            },
        },
    )
    (FOLDER / "README.md").write_text(render_page(measurements), encoding="utf-8")


def measure_translation(data: Path, cache: str, every: int, seed: int) -> Measurements:
    """Assay all translations: as in the paper, as in the draft, and with references among the systems."""
    tables = [pl.read_parquet(data / name[:5] / f"{name}.parquet") for name in FILES]
    dataset = read(pl.concat([thin_out(table, every) for table in tables], how="diagonal"), task="mt")
    columns = ["system", "lp", "year", "domain"]
    result = run_assay("paper", dataset, columns, cache, seed)
    outcomes = list_outcomes(result)
    draft_options = {"perturbations": "removal_20", "agreement": "weighted_tau"}
    draft = run_assay("draft", dataset, ["system"], cache, seed, **draft_options)
    measurements: Measurements = {
        "every": every,
        "paper": select_fields(result),
        "by_perturbation": average_by_perturbation_and_system(outcomes),
        "quality": {pair: measure_quality_trend(outcomes, pair) for pair in LANGUAGE_PAIRS},
        "draft": select_fields(draft),
    }
    if seed == FIGURE_SEED:
        with_references = run_assay("with references", dataset, ["system"], cache, seed, keep_references=True)
        names_of_references = set(result.to_dict()["named_left_out"]["system is its own reference"])
        measurements["with references"] = select_fields(with_references)
        measurements["references"] = compute_chi_squares(list_outcomes(with_references), names_of_references)
    return measurements


def measure_speech(data: Path, cache: str, seed: int) -> Measurements:
    """Assay LibriSpeech as in the paper, as in the draft, and with single utterances as independent units."""
    dataset = read(data / "asr/asr_librispeech_test_clean.parquet", task="asr")
    options: Measurements = {"metrics": SPEECH_METRICS, "perturbations": None}
    draft = options | {"perturbations": "removal_20", "agreement": "weighted_tau"}
    columns = ["speaker_id", "system"]
    chapters = dataset.outputs.group_by("speaker_id").agg(pl.col("chapter_id").n_unique())["chapter_id"]
    measurements: Measurements = {
        "speech": select_fields(run_assay("speech", dataset, columns, cache, seed, **options)),
        "speech draft": select_fields(
            run_assay("speech, draft", dataset, ["speaker_id"], cache, seed, **draft)
        ),
        "chapters": [chapters.min(), chapters.max()],
    }
    for name, settings in (("speech by utterance", options), ("speech draft by utterance", draft)):
        result = run_assay(name, dataset, ["speaker_id"], cache, seed, cluster="item", **settings)
        measurements[name] = select_fields(result)
    return measurements


def thin_out(table: pl.DataFrame, every: int) -> pl.DataFrame:
    """Return every n-th segment with all of its outputs."""
    return table.filter(pl.col("seg_id").is_in(table["seg_id"].unique().sort()[::every].implode()))


def run_assay(
    name: str, dataset: Dataset, contexts: Sequence[str], cache: str, seed: int, **options: Any
) -> AssayResult:
    print(name, flush=True)
    settings: Measurements = {"metrics": METRICS, "perturbations": PERTURBATIONS, "resamples": 100, **options}
    return assay(dataset, contexts=contexts, cache=cache, seed=seed, **settings)


def select_fields(result: AssayResult) -> Measurements:
    """Return the part of a result that the page and the ledger use."""
    content = result.to_dict()
    return {name: content[name] for name in STORED_FIELDS}


def list_outcomes(result: AssayResult) -> pl.DataFrame:
    """Return a row per pair: the output's metadata, and whether each metric was right."""
    pairs = result.scored_pairs
    metadata = result.dataset.outputs.select("system", "lp", "year", "mqm")[pairs.rows]
    columns = {
        "perturbation": np.array(pairs.outcomes.perturbation_names)[pairs.outcomes.perturbations],
        "is_sampled": pairs.is_sampled,
    }
    names = {metric.spec for metric in result.metrics}
    columns |= {
        metric: pairs.outcomes.outcomes[m] == RIGHT
        for m, metric in enumerate(pairs.outcomes.metrics)
        if metric in names
    }
    return metadata.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def average_by_perturbation_and_system(outcomes: pl.DataFrame) -> list[Measurements]:
    """Return figure 6: accuracy by perturbation, system (`context`) and metric."""
    means = outcomes.group_by("perturbation", context="system").agg(pl.col(_list_metrics(outcomes)).mean())
    long = means.sort("perturbation", "context").unpivot(
        index=["perturbation", "context"], variable_name="metric", value_name="accuracy"
    )
    return long.to_dicts()


def measure_quality_trend(outcomes: pl.DataFrame, language_pair: str) -> Measurements:
    """Measure how accuracy depends on MQM in WMT22 (figures 4, 10 and 11).

    `trend` is the Spearman correlation of bucket and accuracy over buckets of equal frequency, each bucket
    with the same weight, as in the figures. `pair_correlation` is the Pearson correlation of MQM's rank and
    outcome over pairs, each pair with the same weight.
    """
    chosen = outcomes.filter(
        (pl.col("lp") == language_pair)
        & (pl.col("year") == 2022)
        & pl.col("is_sampled")
        & pl.col("mqm").is_not_null()
    )
    metrics = _list_metrics(chosen)
    bucket = (pl.col("mqm").rank("min") * BUCKETS / pl.len()).ceil()
    means = chosen.group_by(bucket.alias("bucket")).agg(
        pl.col(metrics).mean(), pl.col("mqm").mean(), pairs=pl.len()
    )
    means = means.sort("bucket")
    ranks = chosen["mqm"].rank().to_numpy()
    return {
        "buckets": means.height,
        "systems": chosen["system"].n_unique(),
        "largest_share": float(means["pairs"].max() / means["pairs"].sum()),
        "trend": {name: float(spearmanr(means["bucket"], means[name]).statistic) for name in metrics},
        "pair_correlation": {
            name: float(np.corrcoef(ranks, chosen[name].to_numpy())[0, 1]) for name in metrics
        },
        "rows": [
            {"context": f"{row['mqm']:.2f}", "metric": name, "accuracy": row[name]}
            for row in means.iter_rows(named=True)
            for name in metrics
        ],
    }


def compute_chi_squares(outcomes: pl.DataFrame, names_of_references: set[str]) -> list[Measurements]:
    """Return χ² over systems by language pair, with and without systems that are their own reference."""
    label = pl.concat_str("year", "lp", "system", separator="/")
    outcomes = outcomes.filter("is_sampled").with_columns(
        is_reference=label.is_in(sorted(names_of_references))
    )
    by_language_pair = {pair: outcomes.filter(lp=pair) for pair in LANGUAGE_PAIRS}
    return [
        {
            "pair": language_pair,
            "metric": metric,
            "with": _compute_chi_square(chosen, metric),
            "without": _compute_chi_square(chosen.filter(~pl.col("is_reference")), metric),
        }
        for language_pair, chosen in by_language_pair.items()
        for metric in _list_metrics(chosen)
    ]


def _compute_chi_square(outcomes: pl.DataFrame, metric: str) -> float:
    counts = outcomes.group_by("system").agg(right=pl.col(metric).sum(), wrong=(~pl.col(metric)).sum())
    table = counts.select("right", "wrong").to_numpy()
    return float(chi2_contingency(table, correction=False).statistic)


def _list_metrics(outcomes: pl.DataFrame) -> list[str]:
    return [name for name in outcomes.columns if name in METRICS]


def draw_figures(measurements: Measurements) -> None:
    """Draw the figures, in the order of the papers."""
    for name, part, column in (
        ("figure-1a", "paper", "system"),
        ("figure-7", "paper", "domain"),
        ("figure-8", "paper", "year"),
        ("figure-2a", "speech", "speaker_id"),
        ("figure-9", "speech", "system"),
        ("draft-figure-1a", "draft", "system"),
        ("draft-figure-2a", "speech draft", "speaker_id"),
    ):
        rows = measurements[part]["contexts"][column]["local_accuracy"]
        draw_curves(FOLDER / f"{name}.png", rows, context=column)
    for name, pair in (("figure-4", "en-de"), ("figure-10", "en-ru"), ("figure-11", "zh-en")):
        rows = measurements["quality"][pair]["rows"]
        draw_curves(FOLDER / f"{name}.png", rows, context="MQM, worst first")
    rows = measurements["by_perturbation"]
    draw_curves(FOLDER / "figure-6.png", rows, context="system", panels="perturbation")
    by_k = [
        {"context": str(step["k"]), "metric": row["metric"], "accuracy": step["variance"]}
        for row in measurements["paper"]["confounding"]
        if not row["sentinel"]
        for step in row["by_k"]
    ]
    draw_curves(FOLDER / "figure-5.png", by_k, context="perturbations per combination", measured="variance")
    for name, part, column in (
        ("figure-1b", "paper", "system"),
        ("figure-2b", "speech", "speaker_id"),
        ("draft-figure-1b", "draft", "system"),
        ("draft-figure-2b", "speech draft", "speaker_id"),
    ):
        h2 = measurements[part]["contexts"][column]["h2"]
        draw_matrix(FOLDER / f"{name}.png", h2["contexts"], h2["matrix"], title=h2["statistic"])


def list_h1_rows(measurements: Measurements) -> list[Measurements]:
    """Return H1 of every assay, a row per column and metric."""
    names = ("paper", "with references", "draft", "speech", "speech draft")
    return [
        {"assay": name, "column": column, **row}
        for name in names
        if name in measurements
        for column, content in measurements[name]["contexts"].items()
        for row in content["h1"] or ()
    ]


if __name__ == "__main__":
    main()
