"""Scores that depend on nothing but the system, the item or the length of an output."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sacrebleu.metrics import BLEU, CHRF

import metassay
from metassay.data.uninformed_scores import (
    build_table_of_text_lengths,
    find_property_that_determines_scores,
)


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(0)
    words = np.array(["the", "cat", "sat", "on", "a", "mat"])
    rows = []
    for item in range(30):
        for system in "ABC":
            text = " ".join(rng.choice(words, rng.integers(3, 8)))
            rows.append({"item": str(item), "system": system, "output": text, "reference": "the cat sat"})
    return metassay.read(pl.DataFrame(rows), task="text")


def test_scores_of_system_names_items_and_lengths_are_found(dataset):
    outputs = dataset.outputs
    properties = build_table_of_text_lengths(dataset.outputs)
    by_name = (outputs["system"] == "B").cast(pl.Float64).to_numpy()
    by_item = outputs["item"].cast(pl.Float64).to_numpy() ** 2
    by_words = -outputs["output"].str.split(" ").list.len().cast(pl.Float64).to_numpy()
    by_characters = outputs["output"].str.len_chars().log1p().to_numpy()
    assert find_property_that_determines_scores(by_name, properties) == "system"
    assert find_property_that_determines_scores(by_item, properties) == "item"
    assert find_property_that_determines_scores(by_words, properties) == "number of words"
    assert find_property_that_determines_scores(by_characters, properties) == "number of characters"


def test_missing_scores_are_left_out(dataset):
    scores = (dataset.outputs["system"] == "B").cast(pl.Float64).to_numpy().copy()
    scores[::7] = np.nan
    assert (
        find_property_that_determines_scores(scores, build_table_of_text_lengths(dataset.outputs)) == "system"
    )


def test_real_metrics_and_small_data_are_not_found(dataset):
    properties = build_table_of_text_lengths(dataset.outputs)
    for metric in (CHRF(), BLEU(effective_order=True)):
        outputs = dataset.outputs["output"]
        scores = np.array([metric.sentence_score(output, ["the cat sat"]).score for output in outputs])
        assert find_property_that_determines_scores(scores, properties) is None
    assert find_property_that_determines_scores(np.zeros(20), properties.head(20)) is None


def test_scores_of_length_ratios_and_row_numbers_are_found(dataset):
    properties = build_table_of_text_lengths(dataset.outputs)
    outputs = dataset.outputs
    words = outputs["output"].str.split(" ").list.len().cast(pl.Float64).to_numpy()
    assert find_property_that_determines_scores(words / 3, properties) == "number of words"
    references = pl.Series("references", [["a " * (1 + row % 3)] for row in range(len(outputs))])
    varied = replace(dataset, outputs=outputs.with_columns(references))
    ratio = words / (1 + np.arange(len(outputs)) % 3)
    found = find_property_that_determines_scores(ratio, build_table_of_text_lengths(varied.outputs))
    assert found == "numbers of words of output and reference"
    row_numbers = np.arange(len(outputs), dtype=np.float64)
    assert find_property_that_determines_scores(row_numbers, properties) == "system and the item"
    by_system = outputs.with_row_index("row").sort("system", "item")["row"].arg_sort().to_numpy()
    assert (
        find_property_that_determines_scores(by_system.astype(np.float64), properties)
        == "system and the item"
    )


def test_equal_outputs_of_several_systems_do_not_make_a_metric_uninformed():
    """All systems recognise every utterance but three: equal scores come from equal texts."""
    rows = []
    for item in range(40):
        reference = "word " * item + "end"
        for system in ("A", "B", "C"):
            output = "wrong " + reference if (item, system) in {(3, "A"), (9, "B"), (20, "C")} else reference
            rows.append({"item": str(item), "system": system, "output": output, "reference": reference})
    dataset = metassay.read(pl.DataFrame(rows), task="asr")
    errors = (dataset.outputs["output"].str.starts_with("wrong")).cast(pl.Float64).to_numpy()
    assert find_property_that_determines_scores(errors, build_table_of_text_lengths(dataset.outputs)) is None
