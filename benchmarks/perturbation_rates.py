"""Print how often each perturbation applies on all of WMT22, by language and domain, with examples.

python benchmarks/perturbation_rates.py                             prints the table
python benchmarks/perturbation_rates.py --examples 25 synonym       prints random examples of one method
python benchmarks/perturbation_rates.py --year 23 --pairs en-de he-en -- entity    other texts
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.meta.contexts.perturbation_validity import (
    average_edits_by_perturbation,
    compute_human_score_differences,
    measure_edit_distances,
    summarize_perturbations,
)
from metassay.perturbations.pairs import Pairs, make_perturbed_output_pairs
from metassay.results.assay import PerturbationStatistics

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAIRS = ("zh-en", "en-de", "en-ru")


def load_dataset(pair: str, year: int = 22) -> Dataset:
    frame = pl.read_parquet(DATA / f"wmt{year}" / f"wmt{year}_{pair}.parquet")
    columns = frame.select(
        "system",
        "domain",
        "lp",
        "mqm",
        item=pl.col("seg_id").cast(str),
        output="hyp",
        references=pl.concat_list("ref"),
    )
    return Dataset("mt", columns, human=("mqm",))


def summarize_pairs(pairs: Pairs, dataset: Dataset) -> list[PerturbationStatistics]:
    """Count and describe the pairs of every perturbation."""
    names = sorted(pairs.counts)
    edits = measure_edit_distances(pairs.frame["output"], pairs.frame["worse"])
    codes = pairs.frame["perturbation"].cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int32)
    return summarize_perturbations(
        pairs.counts,
        average_edits_by_perturbation(edits, names, codes),
        compute_human_score_differences(pairs.frame, dataset),
        pairs.validity,
    )


def print_rates(data: Dataset, pairs: Pairs) -> None:
    domains = sorted(data.outputs["domain"].unique())
    totals = dict(data.outputs["domain"].value_counts().iter_rows())
    applied = pairs.frame.join(data.outputs.select("item", "system", "domain"), on=["item", "system"])
    print(
        f"{'perturbation':18}{'all':>8}"
        + "".join(f"{domain:>14}" for domain in domains)
        + f"{'edited':>10}{'judged':>8}{'disagree':>10}"
    )
    for row in summarize_pairs(pairs, data):
        own = applied.filter(pl.col("perturbation") == row.perturbation)["domain"].value_counts()
        shares = [dict(own.iter_rows()).get(domain, 0) / totals[domain] for domain in domains]
        cells = "".join(f"{share:14.1%}" for share in shares)
        edited = "" if row.edit_distance is None else f"{row.edit_distance:.1f}"
        applied_share = row.applied / max(row.outputs, 1)
        counts = f"{row.human_scored:8}{row.disagreements:10}"
        print(f"{row.perturbation:18}{applied_share:8.1%}{cells}{edited:>10}{counts}")


def print_examples(pairs: Pairs, count: int, method: str, seed: int) -> None:
    own = pairs.frame.filter(pl.col("perturbation") == method).unique("output", maintain_order=True)
    for output, worse in own.sample(min(count, own.height), seed=seed).select("output", "worse").iter_rows():
        print(f"  {output}\n→ {worse}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", help="default: all rule-based ones")
    parser.add_argument("--examples", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1, help="of the choice of examples")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pairs", nargs="*", default=list(PAIRS))
    parser.add_argument("--year", type=int, default=22, help="21, 22 or 23")
    options = parser.parse_args()
    for pair in options.pairs:
        data = load_dataset(pair, options.year)
        pairs = make_perturbed_output_pairs(
            data, perturbations=options.methods or None, per_output=None, workers=options.workers
        )
        print(
            f"\n{pair}: {len(data):,} outputs, {data.outputs['output'].n_unique():,} distinct",
            *pairs.notes,
            sep="\n",
        )
        if options.examples:
            for method in pairs.counts:
                print(f"\n== {method}")
                print_examples(pairs, options.examples, method, options.seed)
        else:
            print_rates(data, pairs)


if __name__ == "__main__":
    main()
