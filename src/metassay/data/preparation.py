"""Prepare a data set for scoring: leave out references that are listed as systems, normalise texts."""

from __future__ import annotations

import unicodedata

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.normalisation import choose_text_normalisation, normalise_texts
from metassay.data.reference_systems import drop_systems_equal_to_references
from metassay.errors import join_names
from metassay.text.languages import get_base_language
from metassay.text.words import WITHOUT_SPACES, is_in_script_without_spaces

# Number of texts that are checked for spaces, by language, and for their encoding.
_SAMPLE_SIZE = 1000
# What programs write for a missing text.
_WORDS_FOR_MISSING_TEXTS = frozenset({"nan", "NaN", "None", "null", "<NA>"})


def prepare_dataset_for_scoring(dataset: Dataset, *, normalize: str | None, keep_references: bool) -> Dataset:
    """Prepare a data set for scoring: drop systems whose outputs equal the references, and normalise all
    texts.

    `normalize` names a scheme of `text.normalize`; None means the default of the task.
    """
    if not keep_references:
        dataset = drop_systems_equal_to_references(dataset)
    notes = [*warn_of_unknown_language(dataset), *warn_of_doubtful_texts(dataset)]
    normalised = normalise_texts(dataset, choose_text_normalisation(dataset, normalize))
    return normalised.add_notes(*notes)


def warn_of_unknown_language(dataset: Dataset) -> list[str]:
    """Return a note for each language whose outputs have no spaces, although the language uses spaces or is
    unknown.
    """
    if dataset.task_definition.is_ranking:
        return []
    notes = []
    languages = pl.Series(dataset.languages, dtype=pl.String)
    for language in languages.unique(maintain_order=True):
        if get_base_language(language) in WITHOUT_SPACES:
            continue
        outputs = dataset.outputs["output"].filter(
            languages.eq_missing(pl.Series([language], dtype=pl.String))
        )
        texts = outputs.head(_SAMPLE_SIZE).drop_nulls().to_list()
        spaceless = sum(is_in_script_without_spaces(text) for text in texts)
        if 2 * spaceless > len(texts):
            belief = "is unknown" if language is None else f"is taken to be {language}"
            notes.append(
                f"Most texts are written without spaces and their language {belief}, so metrics treat whole "
                "sentences as one word. Name the language with --language."
            )
    return notes


def warn_of_doubtful_texts(dataset: Dataset) -> list[str]:
    """Return notes on outputs such as `nan` that may be missing, and on accents that outputs and references
    encode differently.
    """
    if dataset.task_definition.is_ranking or "references" not in dataset.outputs.columns:
        return []
    notes = []
    outputs = dataset.outputs
    may_be_missing = pl.col("output").is_in(list(_WORDS_FOR_MISSING_TEXTS))
    is_answer = pl.col("references").list.contains(pl.col("output"))
    counts = outputs.filter(may_be_missing & ~is_answer)["system"].value_counts().sort("system")
    if not counts.is_empty():
        systems = join_names([f"{system} {count:,}" for system, count in counts.iter_rows()])
        notes.append(
            f"Outputs that consist of a word such as nan or None were scored as texts: {systems}. "
            "If these outputs are missing, leave the cells empty."
        )
    share_of_outputs = _compute_share_of_decomposed_texts(outputs["output"])
    share_of_references = _compute_share_of_decomposed_texts(outputs["references"].explode())
    if min(share_of_outputs, share_of_references) == 0 and max(share_of_outputs, share_of_references) > 0.01:
        notes.append(
            "Letters with accents are encoded differently in outputs and references (Unicode NFC and NFD), "
            "so that equal words count as different. Convert all texts to NFC."
        )
    return notes


def _compute_share_of_decomposed_texts(texts: pl.Series) -> float:
    """Compute the share of texts in which letters and accents are separate characters (not in Unicode NFC).
    Looks only at the first texts of a column.
    """
    first_texts = texts.head(_SAMPLE_SIZE).drop_nulls()
    decomposed = sum(not unicodedata.is_normalized("NFC", text) for text in first_texts)
    return decomposed / max(len(first_texts), 1)
