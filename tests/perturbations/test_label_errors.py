"""Readings of pairs: the table gives the rates that the page shows, and every default method is valid."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from metassay.data.dataset import Dataset
from metassay.perturbations.base import default_perturbations, known_perturbations
from metassay.perturbations.pairs import make_pairs
from metassay.perturbations.validity import COLUMNS, VERDICTS, label_error, readings, wilson_interval
from metassay.tasks import find_task

TABLES = files("metassay.perturbations").joinpath("readings")
ROOT = Path(__file__).parents[2]
PAGE, TEXTS = ROOT / "docs" / "validity.md", ROOT / "scripts" / "validity" / "texts"
LANGUAGES = sorted(path.name.removesuffix(".tsv") for path in TABLES.iterdir() if path.name.endswith(".tsv"))
FULL = ["en", "de", "ru"]
PROMISED = {"pronoun", "entity", "negation", "negation_removal"}
"""Methods that promise grammatical copies."""


def table(language: str) -> pl.DataFrame:
    text = TABLES.joinpath(f"{language}.tsv").read_text(encoding="utf-8")
    return pl.read_csv(text.encode(), separator="\t", quote_char=None, infer_schema=False)


def counted(language: str) -> dict[str, tuple[int, int, int]]:
    """By method, counted from the file: pairs, those worse by both readings, those grammatical by both."""
    worse = (pl.col("first") == "worse") & (pl.col("second") == "worse")
    grammatical = (pl.col("first_grammatical") == "yes") & (pl.col("second_grammatical") == "yes")
    rows = (
        table(language).group_by("method").agg(pl.len(), worse.sum().alias("w"), grammatical.sum().alias("g"))
    )
    return {method: (pairs, w, g) for method, pairs, w, g in rows.iter_rows()}


def shown(language: str) -> dict[str, list[str]]:
    """By method, the cells of its row on the page."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {language}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    return {method: cells.split(" | ") for method, cells in rows}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pair_has_two_verdicts(language: str) -> None:
    frame = table(language)
    assert tuple(frame.columns) == COLUMNS
    assert set(frame["first"]) | set(frame["second"]) <= set(VERDICTS)
    assert set(frame["first_grammatical"]) | set(frame["second_grammatical"]) <= {"yes", "no"}
    assert set(frame["method"]) <= set(known_perturbations())
    assert (frame["original"] != frame["changed"]).all()
    assert frame.select("method", "original", "changed").is_unique().all()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_gives_the_rates_of_the_page_and_the_label_errors(language: str) -> None:
    cells = shown(language)
    assert set(cells) == set(counted(language))
    for method, (pairs, worse, grammatical) in counted(language).items():
        found = label_error(method, language)
        assert found is not None
        assert (found.read, found.not_worse) == (pairs, pairs - worse)
        assert found.rate == pytest.approx(1 - worse / pairs)
        interval = binomtest(worse, pairs).proportion_ci(method="wilson")
        assert found.interval == pytest.approx((1 - interval.high, 1 - interval.low))
        share = f"{worse / pairs:.2f} ({interval.low:.2f}–{interval.high:.2f})"
        assert cells[method][1:4] == [str(pairs), str(worse), share]
        assert cells[method][5] == f"{grammatical / pairs:.2f}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.filterwarnings("ignore:.*only one label in common", "ignore:A single label was found")
def test_the_page_states_how_far_the_readings_agree(language: str) -> None:
    frame = table(language)
    share = (frame["first"] == frame["second"]).mean()
    kappa = cohen_kappa_score(frame["first"], frame["second"])
    stated = "Cohen's κ is not defined" if np.isnan(kappa) else f"Cohen's κ = {kappa:.2f}"
    expected = f"{frame.height:,} pairs. Equal verdicts: {share:.1%}; {stated}."
    assert expected in PAGE.read_text(encoding="utf-8")


def defaults(language: str) -> set[str]:
    tasks = [find_task(name) for name in ("mt", "text", "asr")]
    methods = {method.name: method for task in tasks for method in default_perturbations(task)}
    return {name for name, own in methods.items() if own.languages is None or language in own.languages}


@pytest.mark.parametrize("language", FULL)
def test_every_default_method_is_worse_in_nine_of_ten_pairs(language: str) -> None:
    own = counted(language)
    for method in defaults(language):
        pairs, worse, grammatical = own[method]
        assert pairs >= 100
        assert worse >= 0.9 * pairs
        assert wilson_interval(worse, pairs)[0] >= 0.8
        assert method not in PROMISED or grammatical >= 0.85 * pairs


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - set(FULL)))
def test_every_default_method_of_a_pack_is_worse_in_22_of_25(language: str) -> None:
    own = counted(language)
    for method in defaults(language):
        pairs, worse, _ = own[method]
        assert pairs >= 25
        assert worse >= 0.88 * pairs


TAGGED = {"entity", "negation", "antonym", "synonym"}
"""Methods that wait for taggers or dictionaries."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pairs_that_were_read_are_what_the_methods_make_today(language: str) -> None:
    read = {(r.method, r.original, r.changed) for r in readings(language)}
    untagged = TAGGED if language in FULL else set()
    wanted = {pair for pair in read if pair[0] not in untagged}
    made: set[tuple[str, str, str]] = set()
    for path in sorted(TEXTS.glob(f"{language}.txt")) + sorted(TEXTS.glob(f"{language}-*.txt")):
        texts = path.read_text(encoding="utf-8").splitlines()
        rows = {"item": [str(i) for i in range(len(texts))], "system": ["author"] * len(texts)}
        frame = pl.DataFrame(rows | {"output": texts})
        for task, turn in itertools.product(("text", "asr"), range(12 if path.stem.endswith("-2") else 3)):
            own = sorted({pair[0] for pair in wanted} & set(find_task(task).perturbations))
            if own:
                data = Dataset(task, frame, language=language)
                pairs = make_pairs(data, perturbations=own, per_output=None, seed=14 + turn).frame
                made |= set(zip(pairs["perturbation"], pairs["output"], pairs["worse"]))
    assert wanted <= made


def test_nothing_is_known_of_what_was_not_read() -> None:
    assert label_error("removal", None) is None
    assert label_error("removal", "tlh") is None
    assert label_error("removal(strength=3)", "en") is None
    assert label_error("removal", "en-GB") == label_error("removal", "en")
    assert all(reading.verdicts[0] in VERDICTS for reading in readings("en"))
