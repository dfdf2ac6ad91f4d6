"""Contextual meta-evaluation on WMT21, WMT22 and LibriSpeech (Deviyani and Diaz, 2025, and their draft).

    python -m reproduce.contextual.run FOLDER [EVERY]     a folder with wmt21, wmt22 and asr

EVERY 4 takes every fourth segment of the translations, to be done in a fraction of the time; the page says
so. Writes README.md, its pictures and `ours.json` beside this file. The paper's own outputs (62 systems, six
recognisers) are larger than what is public; the page says what we find on what there is.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from reproduce.contextual.entries import entries
from reproduce.contextual.page import page
from reproduce.entry import kept, write
from reproduce.pictures import curves, matrix
from scipy.stats import chi2_contingency, spearmanr

from metassay.data.dataset import Dataset
from metassay.meta.contexts.pair_outcomes import RIGHT
from metassay.workflows.assay import assay
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.read import read

HERE = Path(__file__).parent
METRICS = ("nltk_bleu", "bleu", "chrf", "rouge1", "rouge2", "rougel", "meteor")
"""The paper's lexical metrics; its BLEU is nltk's."""
SPEECH_METRICS = ("wer", "mer", "wil", "wip", "cer")
METHODS = "removal,insertion,swapping,synonym,pronoun,entity,negation,negation_removal"
"""The paper's rules; its ninth method asks a language model."""
FILES = ("wmt21_en-de", "wmt22_en-de", "wmt21_zh-en", "wmt22_zh-en", "wmt22_en-ru")
PAIRS = ("en-de", "zh-en", "en-ru")
BUCKETS = 250
Found = dict[str, Any]


def main() -> None:
    data, every = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as cache:
        found = translation(data, cache, every) | speech(
            data / "asr/asr_librispeech_test_clean.parquet", cache
        )
    draw(found)
    write(
        HERE / "ours.json",
        {
            "every": found["every"],
            "ledger": kept(entries(found)),
            "h1": summaries(found),
            "pairs": found["pairs"],
        },
    )
    (HERE / "README.md").write_text(page(found), encoding="utf-8")


def translation(data: Path, cache: str, every: int) -> Found:
    """Three assays of all translations: as they are, with references kept, and as in the draft."""
    tables = [pl.read_parquet(data / name[:5] / f"{name}.parquet") for name in FILES]
    together = read(pl.concat([thinned(table, every) for table in tables], how="diagonal"), task="mt")
    result = run("all pairs", together, ["system", "lp", "year", "domain"], cache, resamples=1000)
    outcomes = judged(result)
    found: Found = {"every": every, "all": result.to_dict(), "single": by_method_and_system(outcomes)}
    found["quality"] = {pair: by_quality(outcomes, pair) for pair in PAIRS}
    kept_ones = run("with references", together, ["system"], cache, keep_references=True)
    own = set(found["all"]["named_left_out"]["system is its own reference"])
    found["kept"], found["pairs"] = kept_ones.to_dict(), chi_squares(judged(kept_ones), own)
    draft: Found = {"perturbations": "removal_20", "agreement": "weighted_tau"}
    found["draft"] = run("draft", together, ["system"], cache, **draft).to_dict()
    return found


def thinned(table: pl.DataFrame, every: int) -> pl.DataFrame:
    """Every n-th segment, with all of its outputs."""
    return table.filter(pl.col("seg_id").is_in(table["seg_id"].unique().sort()[::every].implode()))


def speech(file: Path, cache: str) -> Found:
    """LibriSpeech with the settings of the paper, and of the draft."""
    dataset = read(file, task="asr")
    options: Found = {"metrics": SPEECH_METRICS, "perturbations": None}
    earlier = options | {"perturbations": "removal_20", "agreement": "weighted_tau"}
    return {
        "speech": run("speech", dataset, ["speaker_id", "system"], cache, **options).to_dict(),
        "speech draft": run("speech, draft", dataset, ["speaker_id"], cache, **earlier).to_dict(),
    }


def run(what: str, dataset: Dataset, contexts: Sequence[str], cache: str, **options: Any) -> AssayResult:
    print(what, flush=True)
    settings: Found = {"metrics": METRICS, "perturbations": METHODS, "seed": 1, "resamples": 100, **options}
    return assay(dataset, contexts=contexts, cache=cache, **settings)


def judged(result: AssayResult) -> pl.DataFrame:
    """A row per pair that could be made: whether each metric was right, and what the output is."""
    pairs = result.scored
    facts = result.dataset.outputs.select("system", "lp", "year", "mqm")[pairs.rows]
    columns = {
        "method": np.array(pairs.outcomes.perturbation_names)[pairs.outcomes.perturbations],
        "sampled": pairs.is_sampled,
    }
    names = {metric.spec for metric in result.metrics}
    columns |= {
        metric: pairs.outcomes.outcomes[m] == RIGHT
        for m, metric in enumerate(pairs.outcomes.metrics)
        if metric in names
    }
    return facts.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def by_method_and_system(outcomes: pl.DataFrame) -> list[Found]:
    """Figure 6: `panel` (method), `context` (system), `metric`, `accuracy`."""
    means = outcomes.group_by(panel="method", context="system").agg(pl.col(_metrics(outcomes)).mean())
    long = means.sort("panel", "context").unpivot(
        index=["panel", "context"], variable_name="metric", value_name="accuracy"
    )
    return long.to_dicts()


def by_quality(outcomes: pl.DataFrame, pair: str) -> Found:
    """Figures 4, 10, 11: accuracy by MQM of WMT22's outputs, in buckets of equal frequency, worst first."""
    own = outcomes.filter((pl.col("lp") == pair) & (pl.col("year") == 2022) & pl.col("sampled"))
    own = own.filter(pl.col("mqm").is_not_null())
    bucket = (pl.col("mqm").rank("min") * BUCKETS / pl.len()).ceil()
    means = own.group_by(bucket.alias("bucket")).agg(pl.col(_metrics(own)).mean(), pl.col("mqm").mean())
    means = means.sort("bucket")
    trends = {name: float(spearmanr(means["bucket"], means[name]).statistic) for name in _metrics(own)}
    rows = [
        {"context": f"{row['mqm']:.2f}", "metric": name, "accuracy": row[name]}
        for row in means.iter_rows(named=True)
        for name in _metrics(own)
    ]
    return {"buckets": means.height, "trend": trends, "rows": rows}


def chi_squares(outcomes: pl.DataFrame, own_references: set[str]) -> list[Found]:
    """Of each language pair, the published χ² over systems without and with those that are references."""
    label = pl.concat_str("year", "lp", "system", separator="/")
    outcomes = outcomes.filter("sampled").with_columns(own=label.is_in(sorted(own_references)))
    rows = []
    for pair in PAIRS:
        part = outcomes.filter(lp=pair)
        for name in _metrics(part):
            both = {
                kind: _chi_square(chosen, name)
                for kind, chosen in (("kept", part), ("without", part.filter(~pl.col("own"))))
            }
            rows.append({"pair": pair, "metric": name, **both})
    return rows


def _chi_square(outcomes: pl.DataFrame, metric: str) -> float:
    counts = outcomes.group_by("system").agg(right=pl.col(metric).sum(), wrong=(~pl.col(metric)).sum())
    table = counts.select("right", "wrong").to_numpy()
    return float(chi2_contingency(table, correction=False).statistic)


def _metrics(outcomes: pl.DataFrame) -> list[str]:
    return [name for name in outcomes.columns if name in METRICS]


def draw(found: Found) -> None:
    """The figures, in the papers' order."""
    systems = found["all"]["contexts"]
    for name, column in (("figure-1a", "system"), ("figure-7", "domain"), ("figure-8", "year")):
        curves(HERE / f"{name}.png", systems[column]["local_accuracy"], context=column)
    speakers = found["speech"]["contexts"]
    for name, column in (("figure-2a", "speaker_id"), ("figure-9", "system")):
        curves(HERE / f"{name}.png", speakers[column]["local_accuracy"], context=column)
    for name, pair in (("figure-4", "en-de"), ("figure-10", "en-ru"), ("figure-11", "zh-en")):
        curves(HERE / f"{name}.png", found["quality"][pair]["rows"], context="MQM, worst first")
    curves(HERE / "figure-6.png", found["single"], context="system", panels="panel")
    by_k = [
        {"context": str(step["k"]), "metric": row["metric"], "accuracy": step["variance"]}
        for row in found["all"]["confounding"]
        if not row["sentinel"]
        for step in row["by_k"]
    ]
    curves(HERE / "figure-5.png", by_k, context="methods per combination", measured="variance")
    for name, part, column in (
        ("figure-1b", "all", "system"),
        ("figure-2b", "speech", "speaker_id"),
        ("draft-figure-1b", "draft", "system"),
        ("draft-figure-2b", "speech draft", "speaker_id"),
    ):
        h2 = found[part]["contexts"][column]["h2"]
        matrix(HERE / f"{name}.png", h2["contexts"], h2["matrix"], title=h2["statistic"])
    for name, part, column in (
        ("draft-figure-1a", "draft", "system"),
        ("draft-figure-2a", "speech draft", "speaker_id"),
    ):
        curves(HERE / f"{name}.png", found[part]["contexts"][column]["local_accuracy"], context=column)


def summaries(found: Found) -> list[Found]:
    """H1 of every assay, a row per column and metric."""
    return [
        {"assay": name, "column": column, **row}
        for name in ("all", "kept", "draft", "speech", "speech draft")
        for column, content in found[name]["contexts"].items()
        for row in content["h1"] or ()
    ]


if __name__ == "__main__":
    main()
