"""What happens to texts before they are perturbed."""

from __future__ import annotations

from metassay.errors import UnknownName
from metassay.text.tokens import word_tokens

PREPROCESSING = {
    "none": "the raw text is edited and nothing else is touched",
    "paper": "both members of a pair are lower-cased and tokenised",
    "paper-asymmetric": "only the worse member is lower-cased and tokenised",
}


def check_preprocessing(name: str) -> None:
    """Refuses an unknown name, with the known ones."""
    if name not in PREPROCESSING:
        raise UnknownName("preprocessing", name, PREPROCESSING)


def prepared(text: str, preprocessing: str) -> str:
    """The text that perturbations edit."""
    return text if preprocessing == "none" else " ".join(word_tokens(text.lower()))
