"""Label errors: the package, the page and the readings agree, and default perturbations are mostly right."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from scripts.validity.readings import COLUMNS, VERDICTS
from sklearn.metrics import cohen_kappa_score

from metassay.data.dataset import Dataset
from metassay.perturbations.label_errors import look_up_perturbation_error_rate, wilson_interval
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.registry import list_default_perturbations, load_perturbations
from metassay.tasks import find_task

ROOT = Path(__file__).parents[2]
READINGS = ROOT / "benchmarks" / "readings"
PAGE = READINGS / "README.md"
TEXTS = ROOT / "scripts" / "validity" / "texts"
LANGUAGES = sorted(path.stem for path in READINGS.glob("*.tsv"))
FULLY_READ = ["en", "de", "ru"]
KEEP_GRAMMAR = {"pronoun", "entity", "negation", "negation_removal"}
"""Perturbations that should leave the output grammatical."""


def read_table(language: str) -> pl.DataFrame:
    content = (READINGS / f"{language}.tsv").read_bytes()
    return pl.read_csv(content, separator="\t", quote_char=None, infer_schema=False)


def count_verdicts(language: str) -> dict[str, tuple[int, int, int]]:
    """Count by method: pairs, pairs that both readers call worse, pairs that both call grammatical."""
    worse = (pl.col("first") == "worse") & (pl.col("second") == "worse")
    grammatical = (pl.col("first_grammatical") == "yes") & (pl.col("second_grammatical") == "yes")
    groups = read_table(language).group_by("method")
    rows = groups.agg(pl.len(), worse.sum().alias("worse"), grammatical.sum().alias("grammatical"))
    return {method: counts for method, *counts in rows.iter_rows()}


def read_page(language: str) -> dict[str, list[str]]:
    """Read the cells of each method's row on the page."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {language}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    return {method: cells.split(" | ") for method, cells in rows}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pair_has_two_verdicts(language: str) -> None:
    table = read_table(language)
    assert tuple(table.columns) == COLUMNS
    assert set(table["first"]) | set(table["second"]) <= set(VERDICTS)
    assert set(table["first_grammatical"]) | set(table["second_grammatical"]) <= {"yes", "no"}
    assert set(table["method"]) <= set(load_perturbations())
    assert (table["original"] != table["changed"]).all()
    assert table.select("method", "original", "changed").is_unique().all()


@pytest.mark.parametrize("language", LANGUAGES)
def test_package_and_page_have_the_counts_of_the_readings(language: str) -> None:
    cells = read_page(language)
    counts = count_verdicts(language)
    assert set(cells) == set(counts)
    for method, (pairs, worse, grammatical) in counts.items():
        error = look_up_perturbation_error_rate(method, language)
        if language in {"zh", "ja"} and method in WORD_EDITS:
            assert error is None
            continue
        assert error is not None
        assert (error.pairs_read, error.not_worse) == (pairs, pairs - worse)
        assert error.rate == pytest.approx(1 - worse / pairs)
        interval = binomtest(worse, pairs).proportion_ci(method="wilson")
        assert (error.low, error.high) == pytest.approx((1 - interval.high, 1 - interval.low))
        share = f"{worse / pairs:.2f} ({interval.low:.2f}–{interval.high:.2f})"
        assert cells[method][1:4] == [str(pairs), str(worse), share]
        assert cells[method][5] == f"{grammatical / pairs:.2f}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.filterwarnings("ignore:.*only one label in common", "ignore:A single label was found")
def test_page_states_the_agreement_of_the_readers(language: str) -> None:
    table = read_table(language)
    share = (table["first"] == table["second"]).mean()
    kappa = cohen_kappa_score(table["first"], table["second"])
    kappa_text = "Cohen's κ is not defined" if np.isnan(kappa) else f"Cohen's κ = {kappa:.2f}"
    expected = "Both readings by a language model gave the same verdict on "
    expected += f"{share:.1%} of the {table.height:,} pairs in this language ({kappa_text})."
    assert expected in PAGE.read_text(encoding="utf-8")


def test_documentation_has_the_shares_of_the_readings() -> None:
    lines = (ROOT / "docs" / "validity.md").read_text(encoding="utf-8").splitlines()
    (heading,) = [line for line in lines if line.startswith("| Perturbation | en |")]
    languages = heading.strip("| ").split(" | ")[1:]
    assert sorted(languages) == LANGUAGES
    counts = {language: count_verdicts(language) for language in languages}
    table = lines[lines.index(heading) + 2 :]
    rows = {line.split("`")[1]: line for line in table[: table.index("")]}
    for method in {method for verdicts in counts.values() for method in verdicts}:
        cells = [cell.strip() for cell in rows[method].strip("|").split("|")]
        for language, share in zip(languages, cells[1:], strict=True):
            pairs, worse, _ = counts[language].get(method, (0, 0, 0))
            assert share == (f"{worse / pairs:.2f}" if pairs else "")


def list_defaults(language: str) -> set[str]:
    defaults = set()
    for task in ("mt", "text", "asr"):
        for perturbation in list_default_perturbations(find_task(task)):
            if perturbation.languages is None or language in perturbation.languages:
                defaults.add(perturbation.name)
    return defaults


@pytest.mark.parametrize("language", FULLY_READ)
def test_default_perturbations_are_worse_in_nine_of_ten_pairs(language: str) -> None:
    counts = count_verdicts(language)
    for method in list_defaults(language):
        pairs, worse, grammatical = counts[method]
        assert pairs >= 100
        assert worse >= 0.9 * pairs
        assert wilson_interval(worse, pairs)[0] >= 0.8
        assert method not in KEEP_GRAMMAR or grammatical >= 0.85 * pairs


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - set(FULLY_READ)))
def test_default_perturbations_of_a_language_pack_are_worse_in_22_of_25_pairs(language: str) -> None:
    counts = count_verdicts(language)
    for method in list_defaults(language):
        pairs, worse, _ = counts[method]
        assert pairs >= 25
        assert worse >= 0.88 * pairs


SLOW = {"entity", "negation", "antonym", "synonym"}
"""Perturbations that load taggers or dictionaries."""
WORD_EDITS = {"removal", "insertion", "swapping", "untranslated"}
"""Read in Chinese and Japanese before words were found by jieba or fugashi, which make other pairs."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_perturbations_still_make_the_pairs_that_were_read(language: str) -> None:
    read_pairs = set(read_table(language).select("method", "original", "changed").iter_rows())
    skipped = SLOW if language in FULLY_READ else set()
    if language in {"zh", "ja"}:
        skipped = WORD_EDITS
    expected = {pair for pair in read_pairs if pair[0] not in skipped}
    pairs: set[tuple[str, str, str]] = set()
    for path in sorted(TEXTS.glob(f"{language}.txt")) + sorted(TEXTS.glob(f"{language}-*.txt")):
        texts = path.read_text(encoding="utf-8").splitlines()
        items = [str(i) for i in range(len(texts))]
        frame = pl.DataFrame({"item": items, "system": ["author"] * len(texts), "output": texts})
        rounds = 12 if path.stem.endswith("-2") else 3
        for task, turn in itertools.product(("text", "asr"), range(rounds)):
            methods = sorted({pair[0] for pair in expected} & set(find_task(task).perturbations))
            if methods:
                dataset = Dataset(task, frame, language=language)
                made = make_perturbed_output_pairs(
                    dataset, perturbations=methods, per_output=None, seed=14 + turn
                ).frame
                pairs |= set(zip(made["perturbation"], made["output"], made["worse"]))
    assert expected <= pairs


def test_perturbations_that_were_not_read_have_no_label_error() -> None:
    assert look_up_perturbation_error_rate("removal", None) is None
    assert look_up_perturbation_error_rate("removal", "tlh") is None
    assert look_up_perturbation_error_rate("removal(strength=3)", "en") is None
    assert look_up_perturbation_error_rate("removal", "en-GB") == look_up_perturbation_error_rate(
        "removal", "en"
    )
