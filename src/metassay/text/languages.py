"""Language tags (BCP 47): recognise a language however it is written, alone or in a language pair."""

from __future__ import annotations

import functools
import re
from importlib.resources import files

# Language, script, region, variants. Other parts are rare and would make `en-fil` a tag, which is a pair.
_TAG = re.compile(r"[a-z]{2,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|\d{3}))?(?:-[a-z0-9]{4,8})*")

# What people write between the languages of a pair, such as `en→de`.
_PAIR_SEPARATOR = re.compile(r"\s*(?:→|⇒|[-=]*>|–|—|/|\|)\s*")


def parse_language(text: str) -> str | None:
    """Return the lower-case tag of a language from a tag or an English name, or None if the language is
    unknown.

    Only the languages in `language_names.tsv` are known. With all ISO codes, many short words would be
    languages.

    >>> [parse_language(text) for text in ("English", "deu_Latn", "cmn", "zh_TW", "pt-BR", "news")]
    ['en', 'de', 'zh', 'zh-tw', 'pt-br', None]
    """
    name = text.strip().lower()
    codes = _load_language_codes()
    if name in codes:
        return codes[name]
    tag = _standardize_language_tag(name)
    if tag is None or get_base_language(tag) not in codes:
        return None
    return tag


def find_target_language(language_pair: str) -> str | None:
    """Return the tag of the target language of a pair such as `en-de`, or None if the text has no hyphen.

    The target begins at the first hyphen after which a language tag stands. In tags, languages are written in
    small letters and regions in capitals, so `CA` in `fr-CA-es` is Canada and not Catalan.

    Arrows, dashes and slashes count as hyphens. A tag of a single language, such as `ja-JP`, is also
    accepted.

    >>> [find_target_language(pair) for pair in ("en-zh-Hans", "zh-TW-en", "de-en-US", "fr-CA-es", "en-cmn")]
    ['zh-hans', 'en', 'en-us', 'es', 'zh']
    >>> [find_target_language(pair) for pair in ("en→zh", "English > German", "ja-JP", "zh-Hant-HK")]
    ['zh', 'de', 'ja-jp', 'zh-hant-hk']
    """
    language_pair = _PAIR_SEPARATOR.sub("-", language_pair.strip())
    parts = language_pair.split("-")
    if len(parts) == 1:
        return None
    for position in range(1, len(parts)):
        is_region = parts[position].isupper() and not language_pair.isupper()
        target = parse_language("-".join(parts[position:]))
        if target is not None and not (is_region and position < len(parts) - 1):
            return target
    is_tag = len(parts) > 2 or (parts[-1].isupper() and not language_pair.isupper())
    if is_tag and parse_language(language_pair) is not None:
        return parse_language(language_pair)
    last_part = parts[-1].lower()
    return _standardize_language_tag(last_part) or last_part or None


def is_language_pair(text: str) -> bool:
    """Return whether a text names a source and a target language.

    >>> [is_language_pair(text) for text in ("en-de", "English→Thai", "pt-BR-en", "zh-CN", "news-talk", "en")]
    [True, True, True, False, False, False]
    """
    pair = _PAIR_SEPARATOR.sub("-", text.strip())
    for match in re.finditer("-", pair):
        source, target = pair[: match.start()], pair[match.end() :]
        if parse_language(source) is not None and parse_language(target) is not None:
            return True
    return False


def parse_target_language(text: str) -> str:
    """Return the language in which outputs are written, given as a tag, an English name or a pair such as
    `en-de`.

    `en-th` is the pair of English and Thai, `en-TH` the English of Thailand.

    >>> [parse_target_language(text) for text in ("Thai", "en-th", "en-TH", "pt-br", "en-zh-TW", "tlh")]
    ['th', 'th', 'en-th', 'pt-br', 'zh-tw', 'tlh']
    """
    source, _, target = text.partition("-")
    has_region = target.isupper() and not source.isupper()
    is_pair = not has_region and _are_different_languages(source, target)
    tag = None if is_pair else parse_language(text)
    return tag or find_target_language(text) or _standardize_language_tag(text) or text.lower()


def get_base_language(language_tag: str | None) -> str:
    """Return the language of a tag without its script and region, in lower case. The result is empty for
    None.

    Mandarin (`cmn`) is Chinese (`zh`), and likewise for other languages that stand for a group.

    >>> [get_base_language(tag) for tag in ("zh_TW", "cmn-Hans", "en-GB", None)]
    ['zh', 'zh', 'en', '']
    """
    text = language_tag or ""
    standard_tag = _standardize_language_tag(text) or text.lower().replace("_", "-")
    return standard_tag.partition("-")[0]


def _are_different_languages(first_language: str, second_language: str) -> bool:
    """Return whether two texts name two different languages."""
    codes = {parse_language(first_language), parse_language(second_language)}
    return len(codes) == 2 and None not in codes


@functools.lru_cache(maxsize=1024)
def _standardize_language_tag(text: str) -> str | None:
    """Return the shortest form of a language tag, in lower case, or None if the tag is not valid."""
    tag = text.strip().lower().replace("_", "-")
    if not _TAG.fullmatch(tag):
        return None
    if tag in _load_language_codes():  # saves the import of langcodes, which takes 40 ms
        return _load_language_codes()[tag]

    from langcodes import Language, tag_is_valid

    if not tag_is_valid(tag):
        return None
    return Language.get(tag).prefer_macrolanguage().simplify_script().to_tag().lower()


@functools.cache
def _load_language_codes() -> dict[str, str]:
    """Load the language code for every two- or three-letter code and English name of a language."""
    text = files("metassay.text").joinpath("language_names.tsv").read_text(encoding="utf-8")
    codes = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            code, names = line.split("\t")
            codes.update(dict.fromkeys([code, *names.split()], code))
    return codes
