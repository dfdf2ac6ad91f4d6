"""A desk with the files that the documentation names, all made of the bundled samples."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import polars as pl

import metassay
from metassay.sample import sample_path

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "scripts" / "fuzz" / "seeds"
QUICK = {"resamples": 20, "permutations": 19, "workers": 1}


def environment(folder: Path) -> dict[str, str]:
    """Variables under which a shell finds metassay and Python as programs, put into `folder`."""
    folder.mkdir(exist_ok=True)
    for name, arguments in {"metassay": "-m metassay", "python": "", "python3": ""}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (folder / name).chmod(0o755)
    package = str(Path(metassay.__file__).parents[1])
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": package}


def lay(desk: Path) -> None:
    """Everything that any page reads, under the names that the pages give it."""
    frame = pl.read_parquet(sample_path("mt"))
    few = frame.filter(pl.col("seg_id").is_in(frame["seg_id"].unique().sort()[::6].implode()))
    few = few.with_columns(domain=pl.col("domain").replace({few["domain"][0]: "news"}))
    for name in ("outputs.csv", "data.csv"):
        few.write_csv(desk / name)
    few.write_parquet(desk / "outputs.parquet")
    few.filter(pl.col("seg_id").is_in(few["seg_id"].unique().sort()[:40].implode())).write_csv(
        desk / "mine.csv"
    )
    _texts(desk, few)
    _scores(desk, few)
    _spans(desk, few)
    _pairs(desk, few)
    _verdicts(desk)
    _runs(desk)
    for year, seed in (("wmt23", "tree"), ("wmt25", "tree25")):
        shutil.copytree(SEEDS / seed / "wmt99", desk / "mt-metrics-eval-v2" / year)


def _texts(desk: Path, few: pl.DataFrame) -> None:
    systems = few["system"].unique().sort()[:2]
    for names in (("a", "b"), ("sysA", "sysB")):
        for name, system in zip(names, systems):
            own = few.filter(system=system).sort("seg_id")
            (desk / f"{name}.txt").write_text("\n".join(own["hyp"]) + "\n", encoding="utf-8")
            (desk / "ref.txt").write_text("\n".join(own["ref"]) + "\n", encoding="utf-8")


def _scores(desk: Path, few: pl.DataFrame) -> None:
    """A wide table of scores with people's, and one without them to be joined."""
    metassay.score(few, metrics="bleu,chrf,ter", per_segment=str(desk / "long.parquet"), workers=1)
    long = pl.read_parquet(desk / "long.parquet")
    metrics = long.pivot(on="metric", index=["item", "system"], values="score")
    metrics = metrics.with_columns(seg_id=pl.col("item").str.split("/").list.last().cast(few["seg_id"].dtype))
    named = metrics.drop("item").rename({"bleu": "BLEU", "chrf": "chrF", "ter": "TER"})
    wide = few.select("lp", "system", "seg_id", "domain", "doc_id", "mqm").join(
        named, on=["system", "seg_id"]
    )
    wide = wide.with_columns(TER=-pl.col("TER"))
    for name in ("scores.parquet", "wmt23_en-de_metrics.parquet"):
        wide.write_parquet(desk / name)
    vendors = pl.col("system").str.slice(0, 1).alias("vendor")
    wide.with_columns(vendors).write_csv(desk / "scores.csv")


def _spans(desk: Path, few: pl.DataFrame) -> None:
    """Errors that people and two metrics marked: the first word, or half of it."""
    rows = few.filter(pl.col("hyp").str.len_chars() > 8)
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
    people.write_csv(desk / "mqm_ratings.tsv", separator="\t", quote_style="never")
    for name, end in (("xcomet", 4), ("gemba", 6)):
        own = rows.select("lp", "seg_id", "system", start=pl.lit(0), end=pl.lit(end))
        own.write_csv(desk / f"{name}.tsv", separator="\t")


def _pairs(desk: Path, few: pl.DataFrame) -> None:
    """Pairs that somebody made, with the phenomenon; `pairs.csv` for a judge to be asked."""
    made = metassay.perturb(few, perturbations="removal,swapping", seed=1).to_frame()
    texts = few.select(
        item=pl.concat_str("lp", "seg_id", separator="/"), system="system", ref="ref", src="src"
    )
    pairs = made.join(texts, on=["item", "system"]).select(
        "item", "perturbation", "output", "worse", "ref", "src"
    )
    metassay.perturb(desk / "outputs.csv", out=desk / "made")
    texts_of = pl.read_ndjson(desk / "made" / "texts.jsonl")
    texts_of.select("id", length=pl.col("hypothesis").str.len_chars()).write_ndjson(desk / "scores.jsonl")
    for name in ("challenge.parquet", "demetr.parquet"):
        pairs.unique(["item", "perturbation"], keep="first", maintain_order=True).write_parquet(desk / name)


def _verdicts(desk: Path) -> None:
    """A judge that names the longer answer, in both orders, and what people say."""
    pairs = pl.DataFrame(
        {"item": [str(n) for n in range(30)], "output_1": ["a" * (3 + n % 5) for n in range(30)]}
        | {"output_2": ["b" * (3 + n % 4) for n in range(30)], "better": [1 + n % 2 for n in range(30)]}
    )
    winner = (
        pl.when(pl.col("output_1").str.len_chars() >= pl.col("output_2").str.len_chars()).then(1).otherwise(2)
    )
    asked = pl.concat(
        pairs.select("item", judge=pl.lit("longer"), winner=winner, swapped=pl.lit(value=swapped))
        for swapped in (False, True)
    )
    scored = [
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
    pl.DataFrame(scored).write_csv(desk / "ratings.csv")
    pairs.write_parquet(desk / "pairs.parquet")
    asked.write_parquet(desk / "verdicts.parquet")
    asked.join(pairs, on="item").write_csv(desk / "verdicts.csv")


def _runs(desk: Path) -> None:
    """Finished assays to compare and choose from, and rankings."""
    shutil.copytree(sample_path("ranking") / "runs", desk / "rankings" / "runs")
    for name in ("qrels.txt", "topics.tsv"):
        shutil.copy(sample_path("ranking") / name, desk / "rankings" / name)
    (desk / "speech").mkdir()
    shutil.copy(sample_path("asr"), desk / "speech" / "outputs.parquet")
    settings = QUICK | {
        "metrics": "bleu,chrf,ter",
        "contexts": ["system", "domain"],
        "perturbations": "removal",
    }
    for seed, name in enumerate(("next-run", "RUN", "RUN_A", "RUN_B")):
        metassay.assay(desk / "mine.csv", seed=seed, out=desk / name, **settings)
    for name in ("RUN_A", "RUN_B"):
        shutil.copytree(desk / name, desk / "runs" / name)
