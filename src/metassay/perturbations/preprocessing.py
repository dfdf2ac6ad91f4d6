"""Text changes before outputs are perturbed."""

from __future__ import annotations

from metassay.errors import UnknownName
from metassay.text.tokens import tokenize_words

# Every kind of preprocessing by name. `paper` is that of Deviyani and Diaz (2025).
PREPROCESSING = {
    "none": "the raw text is edited and nothing else is touched",
    "paper": "both members of a pair are lower-cased and tokenised",
    "paper-asymmetric": "only the worse member is lower-cased and tokenised",
}


def check_preprocessing_name(name: str) -> None:
    """Raise an error if the name of a preprocessing is not known."""
    if name not in PREPROCESSING:
        raise UnknownName("preprocessing", name, PREPROCESSING)


def preprocess_text(text: str, preprocessing: str) -> str:
    """Convert a text to lower-case words without punctuation, unless `preprocessing` is `none`."""
    if preprocessing == "none":
        return text
    return " ".join(tokenize_words(text.lower()))
