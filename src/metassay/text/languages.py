"""Language codes: recognise a language however it is written."""

from __future__ import annotations

import functools
from importlib.resources import files


def parse_language(text: str) -> str | None:
    """Return the tag of a language in lower case, from a code or an English name; None if it is not known.

    The list of languages is ours (`language_names.tsv`). With all ISO codes, many short words would be
    languages.

    >>> [parse_language(text) for text in ("English", "deu", "zh_TW", "pt-BR", "news")]
    ['en', 'de', 'zh-tw', 'pt-br', None]
    """
    language, _, region = text.strip().lower().replace("_", "-").partition("-")
    code = _load_codes().get(language)
    if code is None or not region:
        return code
    return f"{code}-{region}"


def get_base_language(tag: str | None) -> str:
    """Return the language of a tag such as `zh-Hant` or `zh_TW`, in lower case; empty if it is not known."""
    return (tag or "").lower().replace("_", "-").partition("-")[0]


@functools.cache
def _load_codes() -> dict[str, str]:
    """Load the code of each language by code, three-letter code and English name."""
    text = files("metassay.text").joinpath("language_names.tsv").read_text(encoding="utf-8")
    codes = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            code, names = line.split("\t")
            codes.update(dict.fromkeys([code, *names.split()], code))
    return codes
