"""Notice texts that look as if something had gone wrong before they were read."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.errors import join_with_commas

# Number of outputs of each system that are looked at, with their references.
_SAMPLE_SIZE = 1_000
# A defect is noted if one side has it in a larger share of its texts and the other side never has it.
_CLEAR_SHARE = 0.01
# Number of outputs of each system that are compared with the references of neighbouring rows.
_COMPARED_ROWS = 200
# With fewer outputs, words may agree by chance.
_FEWEST_OUTPUTS = 10
# Shorter references, such as yes and no, agree with many outputs.
_FEWEST_WORDS = 4
# Outputs are shifted if the words that they share with the next or previous references are more than 10 % of
# all words and 1.5 times those shared with their own. In data of WMT, LibriSpeech and REALSumm, they are at
# most 0.35 times those.
_CLEAR_DIFFERENCE = 0.1
_CLEAR_RATIO = 1.5
# References in several scripts are noted if at least this share is in another script than most.
_CONSIDERABLE_SHARE = 0.1
# Scripts of languages, as classes of characters. Chinese and Japanese share one.
_SCRIPTS = {
    "Latin": r"\p{Latin}",
    "Cyrillic": r"\p{Cyrillic}",
    "Greek": r"\p{Greek}",
    "Arabic": r"\p{Arabic}",
    "Hebrew": r"\p{Hebrew}",
    "Chinese or Japanese": r"[\p{Han}\p{Hiragana}\p{Katakana}]",
    "Korean": r"\p{Hangul}",
    "Devanagari": r"\p{Devanagari}",
    "Thai": r"\p{Thai}",
}
# What programs write for a missing text.
_WORDS_FOR_MISSING_TEXTS = frozenset({"nan", "NaN", "None", "null", "<NA>"})
# Words, and single characters where words are written without spaces.
_WORD = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]|\w+"
_HTML_ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d{2,5}|#x[0-9a-f]{2,5});", re.IGNORECASE)


@dataclass(frozen=True)
class _Defect:
    """Something that goes wrong when texts are written or converted."""

    find: Callable[[str], str | None]
    """Returns an example of the defect in a text, or None."""
    note: str
    """The note for the user, in which {texts} stands for the texts that have the defect."""


def warn_of_doubtful_texts(dataset: Dataset) -> list[str]:
    """Return notes on texts that may be wrong: outputs such as `nan` that may be missing, defects that only
    outputs or only references have, such as HTML entities, outputs that belong to other references, and
    references in several scripts.
    """
    if dataset.task_definition.is_ranking or "references" not in dataset.outputs.columns:
        return []
    return [
        *_warn_of_words_for_missing_texts(dataset.outputs),
        *_warn_of_defects(dataset.outputs),
        *_warn_of_shifted_outputs(dataset.outputs),
        *_warn_of_several_scripts(dataset),
    ]


def _warn_of_words_for_missing_texts(outputs: pl.DataFrame) -> list[str]:
    """Return a note on outputs that consist of a word such as `nan`, if it is not the right answer."""
    may_be_missing = pl.col("output").is_in(list(_WORDS_FOR_MISSING_TEXTS))
    is_answer = pl.col("references").list.contains(pl.col("output"))
    counts = outputs.filter(may_be_missing & ~is_answer)["system"].value_counts().sort("system")
    if counts.is_empty():
        return []
    systems = join_with_commas([f"{system} {count:,}" for system, count in counts.iter_rows()])
    note = (
        f"Outputs that consist of a word such as nan or None were scored as texts: {systems}. "
        "If these outputs are missing, leave the cells empty."
    )
    return [note]


def _warn_of_defects(outputs: pl.DataFrame) -> list[str]:
    """Return a note for each defect that the outputs of some systems have and the references do not, or the
    other way round.
    """
    first_outputs = outputs.group_by("system").head(_SAMPLE_SIZE).sort("system", maintain_order=True)
    texts_by_system = {
        str(system): rows["output"].to_list()
        for (system,), rows in first_outputs.group_by("system", maintain_order=True)
    }
    references = first_outputs["references"].list.first().unique(maintain_order=True).to_list()
    notes = []
    for defect in _DEFECTS:
        share, example = _find_examples(references, defect)
        found = {system: _find_examples(texts, defect) for system, texts in texts_by_system.items()}
        if share == 0:
            systems = [system for system, (share, _) in found.items() if share > _CLEAR_SHARE]
            if systems:
                example = found[systems[0]][1]
                notes.append(
                    defect.note.format(texts=f"outputs of {join_with_commas(systems)}", example=example)
                )
        elif share > _CLEAR_SHARE and not any(share for share, _ in found.values()):
            notes.append(defect.note.format(texts="references", example=example))
    return notes


def _find_examples(texts: Sequence[str | None], defect: _Defect) -> tuple[float, str]:
    """Return the share of texts that have a defect, and the first example of the defect."""
    examples = [defect.find(text) for text in texts if text]
    found = [example for example in examples if example is not None]
    return len(found) / max(len(examples), 1), next(iter(found), "")


def _warn_of_shifted_outputs(outputs: pl.DataFrame) -> list[str]:
    """Return a note on systems whose outputs share more words with the reference of the next row than with
    their own, or with that of the previous row, as if a line were missing.

    Rows are sorted by item as text, in which most numbers are followed by the next number.
    """
    output_words = _list_distinct_words(pl.col("output"))
    reference_words = _list_distinct_words(pl.col("references").list.first())
    words = outputs.group_by("system", maintain_order=True).head(_COMPARED_ROWS)
    words = words.select("system", output=output_words, reference=reference_words)
    shares = {}
    for neighbour, distance in (("own", 0), ("next", 1), ("previous", -1)):
        references = pl.col("reference").shift(-distance).over("system")
        shared = pl.col("output").list.set_intersection(references).list.len()
        share = 2 * shared / (pl.col("output").list.len() + references.list.len())
        shares[neighbour] = share.filter(references.list.len() >= _FEWEST_WORDS).mean()
    compared = (pl.col("reference").list.len() >= _FEWEST_WORDS).sum()
    systems = words.group_by("system").agg(compared=compared, **shares).sort("system")
    systems = systems.filter(pl.col("compared") >= _FEWEST_OUTPUTS)
    notes = []
    for neighbour in ("next", "previous"):
        gain = pl.col(neighbour) - pl.col("own")
        ratio = pl.col(neighbour) / pl.col("own")
        shifted = systems.filter(gain > _CLEAR_DIFFERENCE, ratio > _CLEAR_RATIO)
        if shifted.is_empty():
            continue
        names = join_with_commas(shifted["system"].to_list())
        own_share, neighbour_share = shifted.select(pl.col("own", neighbour).mean()).row(0)
        notes.append(
            f"Outputs of {names} share {100 * own_share:.0f} % of their words with their references, but"
            f" {100 * neighbour_share:.0f} % with the references of the {neighbour} rows. Check that outputs"
            " and references are in the same order: a row may be missing or too many."
        )
    return notes


def _warn_of_several_scripts(dataset: Dataset) -> list[str]:
    """Return a note for each language in which a considerable share of the references is in another script
    than most, as if the data had several languages.
    """
    references = dataset.outputs.select(
        language=pl.Series(dataset.languages, dtype=pl.String), text=pl.col("references").list.first()
    )
    notes = []
    for (language,), rows in references.group_by("language", maintain_order=True):
        # Spread over all rows, because those of one language may come first.
        texts = rows["text"].gather_every(rows.height // _SAMPLE_SIZE + 1)
        shares = _compute_share_of_each_script(texts)
        share = sum(shares.values()) - max(shares.values(), default=0)
        if len(texts) < _FEWEST_OUTPUTS or share < _CONSIDERABLE_SHARE:
            continue
        names = [name for name, share in shares.items() if share > _CLEAR_SHARE]
        belief = "as if they were in one language" if language is None else f"as texts in {language}"
        notes.append(
            f"References are written in several scripts ({join_with_commas(names)}), {100 * share:.0f} % of"
            f" them in another than most, but all are compared {belief}. If the data has several languages,"
            " add a column lp."
        )
    return notes


def _compute_share_of_each_script(texts: pl.Series) -> dict[str, float]:
    """Return the share of the texts in which each script has the most letters, the largest share first."""
    counts = pl.DataFrame({name: texts.str.count_matches(script) for name, script in _SCRIPTS.items()})
    letters = counts.to_numpy()
    main_scripts = letters[letters.sum(axis=1) > 0].argmax(axis=1)
    shares = np.bincount(main_scripts, minlength=len(_SCRIPTS)) / max(len(main_scripts), 1)
    largest_first = np.argsort(-shares, kind="stable")
    return {list(_SCRIPTS)[position]: float(shares[position]) for position in largest_first}


def _list_distinct_words(texts: pl.Expr) -> pl.Expr:
    """Return an expression for the distinct words of each text, in lower case."""
    return texts.str.to_lowercase().str.extract_all(_WORD).list.unique()


def _find_decomposed_text(text: str) -> str | None:
    """Return a text in which letters and accents are separate characters (not in Unicode NFC)."""
    return None if unicodedata.is_normalized("NFC", text) else text


def _find_misread_word(text: str) -> str | None:
    """Return a word of a text whose UTF-8 bytes were read as Latin-1 or Windows-1252.

    >>> _find_misread_word("fÃ¼r uns"), _find_misread_word("für «uns»")
    ('fÃ¼r', None)
    """
    if text.isascii():
        return None
    for encoding in ("latin-1", "cp1252"):
        try:
            text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return next(word for word in text.split() if not word.isascii())
    return None


def _find_html_entity(text: str) -> str | None:
    """Return an HTML entity of a text.

    >>> _find_html_entity("Tom &amp; Anna"), _find_html_entity("R&D; AT&T")
    ('&amp;', None)
    """
    for match in _HTML_ENTITY.finditer(text):
        if html.unescape(match.group()) != match.group():
            return match.group()
    return None


_DEFECTS = (
    _Defect(
        _find_decomposed_text,
        "Letters with accents are encoded differently in outputs and references (Unicode NFC and NFD), "
        "so that equal words count as different. Convert all texts to NFC.",
    ),
    _Defect(
        _find_misread_word,
        "The {texts} contain words such as {example!r}, in which UTF-8 was read in another encoding. Metrics"
        " count such words as errors. Save the texts again, as UTF-8.",
    ),
    _Defect(
        _find_html_entity,
        "The {texts} contain HTML entities such as {example}. Metrics count them as errors. Replace them by"
        " the characters that they stand for.",
    ),
)
