"""Prepare a data set for scoring: leave out references that are listed as systems, normalise texts."""

from __future__ import annotations

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.normalisation import choose_text_normalisation, normalise_texts
from metassay.data.reference_systems import drop_systems_equal_to_references
from metassay.data.text_cautions import warn_of_doubtful_texts
from metassay.text.languages import get_base_language
from metassay.text.words import WITHOUT_SPACES, is_in_script_without_spaces

# Number of texts that are checked for spaces, by language.
_SAMPLE_SIZE = 1000


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
