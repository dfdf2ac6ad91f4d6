"""Write how well metrics ranked systems on WMT21–23: the prior evidence that a verdict quotes.

    python -m scripts.prior_evidence DATA_FOLDER [OUTPUT]

SPA of the metrics that are the default for translations on all eight test sets with MQM scores, and of the
metrics that took part in the shared tasks of 2022 and 2023. For 2023 also the share of human labels saved
when two systems are compared. Systems that are the reference are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import metassay

OUTPUT = Path(__file__).parents[1] / "src" / "metassay" / "reporting" / "prior_evidence.json"
COMPUTED_METRICS = "bleu,chrf,chrf++,ter,rouge1,rouge2,rougel"
TEST_SETS = {
    "2021/en-de": "wmt21/wmt21_en-de",
    "2021/zh-en": "wmt21/wmt21_zh-en",
    "2022/en-de": "wmt22/wmt22_en-de",
    "2022/en-ru": "wmt22/wmt22_en-ru",
    "2022/zh-en": "wmt22/wmt22_zh-en",
    "2023/en-de": "wmt23/wmt23_en-de",
    "2023/he-en": "wmt23/wmt23_he-en",
    "2023/zh-en": "wmt23/wmt23_zh-en",
}
_REFERENCE_SUFFIXES = ("-refA", "-refB", "-src")
_SKIPPED_METRICS = ("Random-sysname",)


def rank_test_set(folder: Path, test_set: str) -> dict[str, dict[str, float]]:
    """Compute SPA, and for 2023 labels saved, of every metric on one test set: {metric: {measure: value}}."""
    table = folder / f"{TEST_SETS[test_set]}.parquet"
    results = _rank(table, None, COMPUTED_METRICS, "spa")
    task_scores = folder / f"{TEST_SETS[test_set]}_metrics.parquet"
    if task_scores.exists():
        meta = "spa,labels_saved" if test_set.startswith("2023") else "spa"
        results |= _rank(table, task_scores, None, meta)
    return results


def _rank(table: Path, join: Path | None, metrics: str | None, meta: str) -> dict[str, dict[str, float]]:
    result = metassay.rank(
        str(table),
        join=None if join is None else str(join),
        human="mqm",
        metrics=metrics,
        meta=meta,
        significance="none",
    )
    values: dict[str, dict[str, float]] = {}
    for ranking in result.rankings:
        for row in ranking.metrics:
            name = _shorten_name(row.metric)
            if not row.baseline and row.value is not None and name not in _SKIPPED_METRICS:
                values.setdefault(name, {})[ranking.meta_metric] = round(row.value, 4)
    return values


def _shorten_name(metric: str) -> str:
    """Remove the suffix that says what a metric of a shared task reads: `COMET-refA` is `COMET`."""
    for suffix in _REFERENCE_SUFFIXES:
        metric = metric.removesuffix(suffix)
    return metric


def main(folder: str, output: str | None = None) -> None:
    """Rank the metrics on all test sets and write the file."""
    metrics: dict[str, dict[str, dict[str, float]]] = {}
    for test_set in TEST_SETS:
        for metric, values in rank_test_set(Path(folder), test_set).items():
            for measure, value in values.items():
                metrics.setdefault(metric, {}).setdefault(measure, {})[test_set] = value
    rows = [{"metric": metric, **values} for metric, values in sorted(metrics.items())]
    path = OUTPUT if output is None else Path(output)
    path.write_text(json.dumps({"test_sets": list(TEST_SETS), "metrics": rows}, indent=1) + "\n")
    print(f"{path}: {len(rows)} metrics")


if __name__ == "__main__":
    main(*sys.argv[1:])
