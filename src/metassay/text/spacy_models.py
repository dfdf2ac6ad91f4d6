"""Named entities by an installed spaCy model."""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Sequence
from typing import Any

# Start, end and type of a name: PER, LOC, ORG or NAME.
Entity = tuple[int, int, str]

_TYPES = {"PERSON": "PER", "PER": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}
_SIZES = ("trf", "lg", "md", "sm")


@functools.lru_cache(maxsize=64)
def find_spacy_model(language: str) -> str | None:
    """Return the name of the largest installed spaCy model for a language, or None if there is none."""
    if importlib.util.find_spec("spacy") is None:
        return None
    from spacy.util import get_installed_models

    models = sorted(name for name in get_installed_models() if name.startswith(f"{language}_core_"))
    for size in _SIZES:
        for name in models:
            if name.endswith(size):
                return str(name)
    return None


def find_names_with_spacy(texts: Sequence[str], language: str) -> list[list[Entity]]:
    """Find the names of persons, places and organisations with spaCy. Texts that are too long for spaCy
    have none.
    """
    model = _load_largest_spacy_model(language)
    entities = []
    # spaCy refuses texts of more than a million characters, because they need too much memory.
    for document in model.pipe(text if len(text) <= model.max_length else "" for text in texts):
        known = [entity for entity in document.ents if entity.label_ in _TYPES]
        entities.append([(entity.start_char, entity.end_char, _TYPES[entity.label_]) for entity in known])
    return entities


@functools.lru_cache(maxsize=4)
def _load_largest_spacy_model(language: str) -> Any:
    """Load the largest installed spaCy model of a language."""
    import spacy

    logging.getLogger("spacy").setLevel(logging.ERROR)
    return spacy.load(find_spacy_model(language) or "")
