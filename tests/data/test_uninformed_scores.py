"""Scores that depend on nothing but the system, the item or the length of an output."""

import numpy as np
import polars as pl
import pytest
from sacrebleu.metrics import BLEU, CHRF

import metassay
from metassay.data.uninformed_scores import find_property_that_determines_scores, list_output_properties


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
    properties = list_output_properties(dataset)
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
    assert find_property_that_determines_scores(scores, list_output_properties(dataset)) == "system"


def test_real_metrics_and_small_data_are_not_found(dataset):
    properties = list_output_properties(dataset)
    for metric in (CHRF(), BLEU(effective_order=True)):
        outputs = dataset.outputs["output"]
        scores = np.array([metric.sentence_score(output, ["the cat sat"]).score for output in outputs])
        assert find_property_that_determines_scores(scores, properties) is None
    few = {name: values[:20] for name, values in properties.items()}
    assert find_property_that_determines_scores(np.zeros(20), {"item": few["item"]}) is None
