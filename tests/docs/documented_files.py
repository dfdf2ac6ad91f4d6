"""Write the files that the commands in the documentation read, all made of the bundled samples."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import polars as pl

import metassay
from metassay.sample import get_bundled_sample_path

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "scripts" / "fuzz" / "seeds"
QUICK = {"resamples": 20, "permutations": 19, "workers": 1}


def build_environment(folder: Path) -> dict[str, str]:
    """Return environment variables with which a shell finds `metassay` and `python`; writes both to `folder`."""
    folder.mkdir(exist_ok=True)
    for name, arguments in {"metassay": "-m metassay", "python": "", "python3": ""}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (folder / name).chmod(0o755)
    package = str(Path(metassay.__file__).parents[1])
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": package}


def write_documented_files(folder: Path) -> None:
    """Write every file that a page reads, under the name that the page uses."""
    frame = pl.read_parquet(get_bundled_sample_path("mt"))
    rows = frame.filter(pl.col("seg_id").is_in(frame["seg_id"].unique().sort()[::6].implode()))
    rows = rows.with_columns(domain=pl.col("domain").replace({rows["domain"][0]: "news"}))
    for name in ("outputs.csv", "data.csv"):
        rows.write_csv(folder / name)
    rows.write_parquet(folder / "outputs.parquet")
    rows.filter(pl.col("seg_id").is_in(rows["seg_id"].unique().sort()[:40].implode())).write_csv(
        folder / "mine.csv"
    )
    _write_texts(folder, rows)
    _write_scores(folder, rows)
    _write_spans(folder, rows)
    _write_pairs(folder, rows)
    _write_verdicts(folder)
    _write_runs(folder)
    _write_examples(folder)
    for year, seed in (("wmt23", "tree"), ("wmt25", "tree25")):
        shutil.copytree(SEEDS / seed / "wmt99", folder / "mt-metrics-eval-v2" / year)


def _write_texts(folder: Path, rows: pl.DataFrame) -> None:
    systems = rows["system"].unique().sort()[:2]
    for names in (("a", "b"), ("sysA", "sysB")):
        for name, system in zip(names, systems):
            system_rows = rows.filter(system=system).sort("seg_id")
            (folder / f"{name}.txt").write_text("\n".join(system_rows["hyp"]) + "\n", encoding="utf-8")
            (folder / "ref.txt").write_text("\n".join(system_rows["ref"]) + "\n", encoding="utf-8")


def _write_scores(folder: Path, rows: pl.DataFrame) -> None:
    """Write wide tables of metric scores and human scores."""
    metassay.score(rows, metrics="bleu,chrf,ter", per_segment=str(folder / "long.parquet"), workers=1)
    long = pl.read_parquet(folder / "long.parquet")
    metrics = long.pivot(on="metric", index=["item", "system"], values="score")
    metrics = metrics.with_columns(
        seg_id=pl.col("item").str.split("/").list.last().cast(rows["seg_id"].dtype)
    )
    named = metrics.drop("item").rename({"bleu": "BLEU", "chrf": "chrF", "ter": "TER"})
    wide = rows.select("lp", "system", "seg_id", "domain", "doc_id", "mqm").join(
        named, on=["system", "seg_id"]
    )
    wide = wide.with_columns(TER=-pl.col("TER"))
    for name in ("scores.parquet", "wmt23_en-de_metrics.parquet"):
        wide.write_parquet(folder / name)
    vendors = pl.col("system").str.slice(0, 1).alias("vendor")
    wide.with_columns(vendors).write_csv(folder / "scores.csv")


def _write_spans(folder: Path, rows: pl.DataFrame) -> None:
    """Write error spans of two raters and two metrics: the first characters of each output."""
    rows = rows.filter(pl.col("hyp").str.len_chars() > 8)
    marked = pl.concat_str(
        pl.lit("<v>"), pl.col("hyp").str.slice(0, 4), pl.lit("</v>"), pl.col("hyp").str.slice(4)
    )
    people = pl.concat(
        rows.select(
            "lp", "system", "seg_id", doc="doc_id", rater=pl.lit(rater), target=marked,
            category=pl.lit("Accuracy"), severity=pl.when(pl.col("seg_id") % 2 == odd).then(pl.lit("Major")).otherwise(pl.lit("Minor")),
        )
        for rater, odd in (("r1", 0), ("r2", 1))
    )  # fmt: skip
    people.write_csv(folder / "mqm_ratings.tsv", separator="\t", quote_style="never")
    for name, end in (("xcomet", 4), ("gemba", 6)):
        spans = rows.select("lp", "seg_id", "system", start=pl.lit(0), end=pl.lit(end))
        spans.write_csv(folder / f"{name}.tsv", separator="\t")


def _write_pairs(folder: Path, rows: pl.DataFrame) -> None:
    """Write pairs with the perturbation that made them, and scores of the texts that `perturb` wrote."""
    perturbed = metassay.perturb(rows, perturbations="removal,swapping", seed=1).to_frame()
    texts = rows.select(
        item=pl.concat_str("lp", "seg_id", separator="/"), system="system", ref="ref", src="src"
    )
    pairs = perturbed.join(texts, on=["item", "system"]).select(
        "item", "perturbation", "output", "worse", "ref", "src"
    )
    metassay.perturb(folder / "outputs.csv", out=folder / "perturbed")
    written_texts = pl.read_ndjson(folder / "perturbed" / "texts.jsonl")
    written_texts.select("id", length=pl.col("hypothesis").str.len_chars()).write_ndjson(
        folder / "scores.jsonl"
    )
    for name in ("challenge.parquet", "demetr.parquet"):
        pairs.unique(["item", "perturbation"], keep="first", maintain_order=True).write_parquet(folder / name)


def _write_verdicts(folder: Path) -> None:
    """Write verdicts of a judge that prefers the longer answer, in both orders, with human labels."""
    pairs = pl.DataFrame(
        {"item": [str(n) for n in range(30)], "output_1": ["a" * (3 + n % 5) for n in range(30)]}
        | {"output_2": ["b" * (3 + n % 4) for n in range(30)], "better": [1 + n % 2 for n in range(30)]}
    )
    winner = (
        pl.when(pl.col("output_1").str.len_chars() >= pl.col("output_2").str.len_chars()).then(1).otherwise(2)
    )
    verdicts = pl.concat(
        pairs.select("item", judge=pl.lit("longer"), winner=winner, swapped=pl.lit(value=swapped))
        for swapped in (False, True)
    )
    scores = [
        {
            "item": n,
            "judge": "j",
            "system": system,
            "vendor": vendor,
            "score": n % 5 + gap,
            "mqm": n % 4 + gap,
        }
        for n in range(30)
        for system, vendor, gap in (("a", "j", 1.0), ("b", "x", 0.0), ("c", "y", -1.0))
    ]
    pl.DataFrame(scores).write_csv(folder / "ratings.csv")
    pairs.write_parquet(folder / "pairs.parquet")
    verdicts.write_parquet(folder / "verdicts.parquet")
    verdicts.join(pairs, on="item").write_csv(folder / "verdicts.csv")


def _write_runs(folder: Path) -> None:
    """Write finished assays, and the data of the pages on rankings and speech."""
    shutil.copytree(get_bundled_sample_path("ranking") / "runs", folder / "rankings" / "runs")
    for name in ("qrels.txt", "topics.tsv"):
        shutil.copy(get_bundled_sample_path("ranking") / name, folder / "rankings" / name)
    (folder / "speech").mkdir()
    shutil.copy(get_bundled_sample_path("asr"), folder / "speech" / "outputs.parquet")
    settings = QUICK | {"metrics": "bleu,chrf,ter", "contexts": ["system", "domain"]}
    # The tutorial compares this run with one of its own, which needs the same perturbations.
    metassay.assay(folder / "mine.csv", out=folder / "next-run", **settings)
    for seed, name in enumerate(("RUN", "RUN_A", "RUN_B"), start=1):
        metassay.assay(folder / "mine.csv", seed=seed, out=folder / name, perturbations="removal", **settings)
    for name in ("RUN_A", "RUN_B"):
        shutil.copytree(folder / name, folder / "runs" / name)


def _write_examples(folder: Path) -> None:
    """Write the raw files of the page with five examples, as users of each field have them."""
    pl.read_parquet(get_bundled_sample_path("asr")).write_csv(folder / "transcripts.csv")
    pl.read_parquet(get_bundled_sample_path("text")).write_csv(folder / "summaries.csv")
