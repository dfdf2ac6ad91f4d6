"""Prepare a data set for scoring: leave out references that are listed as systems, normalise texts."""

from __future__ import annotations

from metassay.data.dataset import Dataset
from metassay.data.normalisation import choose_text_normalisation, normalise_texts
from metassay.data.reference_systems import drop_systems_equal_to_references
from metassay.text.words import is_in_script_without_spaces

# Number of outputs that are checked for spaces.
_LANGUAGE_SAMPLE = 1000


def prepare_dataset_for_scoring(dataset: Dataset, *, normalize: str | None, keep_references: bool) -> Dataset:
    """Prepare a data set for scoring: drop systems whose outputs equal the references, and normalise all
    texts.

    `normalize` names a scheme of `text.normalize`; None means the default of the task.
    """
    if not keep_references:
        dataset = drop_systems_equal_to_references(dataset)
    notes = warn_of_unknown_language(dataset)
    normalised = normalise_texts(dataset, choose_text_normalisation(dataset, normalize))
    return normalised.add_notes(*notes)


def warn_of_unknown_language(dataset: Dataset) -> list[str]:
    """Return a note if most texts are written without spaces between words and their language is unknown.

    Without the language, metrics split these texts at spaces, which makes a sentence one word.
    """
    if dataset.task_definition.is_ranking or None not in dataset.languages:
        return []
    texts = dataset.outputs["output"].head(_LANGUAGE_SAMPLE).drop_nulls().to_list()
    spaceless = sum(is_in_script_without_spaces(text) for text in texts)
    if 2 * spaceless <= len(texts):
        return []
    note = (
        "Most texts are written without spaces and their language is unknown, so metrics treat whole "
        "sentences as one word. Name the language with --language."
    )
    return [note]
