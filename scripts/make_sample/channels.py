"""Noise channels: each makes a good translation worse and returns the errors that it made."""

from __future__ import annotations

import difflib
import random
from dataclasses import dataclass

from .confusions import CONFUSIONS, FUNCTION_WORDS, NAMES, NUMBERS

MINOR, MAJOR = 1.0, 5.0  # the weights of the MQM guidelines for WMT (Freitag et al., 2021)


@dataclass(frozen=True)
class NoisyText:
    """An output and the weight of every error that is known to be in it."""

    text: str
    errors: tuple[float, ...] = ()


def strip_word(word: str) -> str:
    """Return a word in lower case, without punctuation at its ends."""
    return word.strip(".,;:!?\"'()«»*#").lower()


def is_content_word(word: str) -> bool:
    """Return whether a word carries meaning, unlike articles and prepositions."""
    return bool(strip_word(word)) and strip_word(word) not in FUNCTION_WORDS


def weigh_errors(words: list[str]) -> list[float]:
    """Weigh the errors of a wrong span: major per untranslated word and two content words, else minor."""
    unknown = sum(word.startswith("*") for word in words)
    content = sum(map(is_content_word, words)) - unknown
    major = [MAJOR] * (unknown + content // 2)
    return major if major and content % 2 == 0 else [*major, MINOR]


def align_words(draft: list[str], target: list[str]) -> list[tuple[str, list[str], list[str]]]:
    """Align two translations word by word; returns (kind, words of the draft, words of the target)."""
    matcher = difflib.SequenceMatcher(
        None, [*map(strip_word, draft)], [*map(strip_word, target)], autojunk=False
    )
    return [(tag, draft[i:j], target[k:l]) for tag, i, j, k, l in matcher.get_opcodes()]


def find_errors(draft: str, targets: tuple[str, ...]) -> tuple[float, ...]:
    """Return the weights of the errors of a real system: of the spans that differ from the closest target."""
    alignments = [align_words(draft.split(), target.split()) for target in targets]
    weights = [
        tuple(
            weight for tag, mine, theirs in spans if tag != "equal" for weight in weigh_errors(mine or theirs)
        )
        for spans in alignments
    ]
    return min(weights, key=sum)


def post_edit(draft: str, target: str, corrected: float, rng: random.Random) -> NoisyText:
    """Correct each span of the draft that differs from the target with probability `corrected`."""
    words: list[str] = []
    errors: list[float] = []
    for tag, mine, theirs in align_words(draft.split(), target.split()):
        if tag == "equal" or rng.random() < corrected:
            words += theirs
        else:
            words += mine
            errors += weigh_errors(mine or theirs)
    return NoisyText(build_sentence(words), tuple(errors))


def omit(text: str, spans_per_word: float, rng: random.Random) -> NoisyText:
    """Leave out spans of one to four words, never the first word nor everything."""
    words, stop = split_final_mark(text)
    errors: list[float] = []
    for _ in range(_draw_count(len(words) * spans_per_word, rng)):
        length = rng.randint(1, 4)
        if len(words) < length + 3:
            continue
        start = rng.randrange(1, len(words) - length + 1)
        errors.append(MAJOR if any(map(is_content_word, words[start : start + length])) else MINOR)
        del words[start : start + length]
    return NoisyText(build_sentence(words, stop), tuple(errors))


def confuse(text: str, probability: float, rng: random.Random) -> NoisyText:
    """Swap numbers, names and easily confused words for others: fluent, but wrong."""
    words = text.split()
    errors: list[float] = []
    for position, word in enumerate(words):
        other = _choose_confusable(strip_word(word), rng)
        if other is not None and rng.random() < probability:
            words[position] = _copy_style(word, other)
            errors.append(MAJOR)
    return NoisyText(build_sentence(words), tuple(errors))


def jumble(text: str, moves_per_word: float, rng: random.Random) -> NoisyText:
    """Move words up to three places away, or repeat a word."""
    words, stop = split_final_mark(text)
    errors: list[float] = []
    for _ in range(_draw_count(len(words) * moves_per_word, rng)):
        position = rng.randrange(len(words))
        if rng.random() < 0.25:
            words.insert(position, words[position].rstrip(",;:"))
            errors.append(MINOR)
            continue
        word = words.pop(position)
        words.insert(max(0, min(len(words), position + rng.choice((-3, -2, -1, 1, 2, 3)))), word)
        errors.append(MAJOR if is_content_word(word) and rng.random() < 0.4 else MINOR)
    return NoisyText(build_sentence(words, stop), tuple(errors))


def slip(text: str, probability: float, rng: random.Random) -> NoisyText:
    """Make a slip of a good translator: leave out an article, or use the wrong one."""
    words = text.split()
    places = [i for i, word in enumerate(words) if strip_word(word) in {"a", "an", "the"} and i > 0]
    if not places or rng.random() >= probability:
        return NoisyText(text)
    place = rng.choice(places)
    words[place : place + 1] = (
        [] if rng.random() < 0.5 else ["a" if strip_word(words[place]) == "the" else "the"]
    )
    return NoisyText(build_sentence(words), (MINOR,))


def split_final_mark(text: str) -> tuple[list[str], str]:
    """Return the words of a sentence and the punctuation mark at its end."""
    stop = text[-1] if text[-1] in ".!?" else ""
    return text.removesuffix(stop).split(), stop


def build_sentence(words: list[str], stop: str = "") -> str:
    """Join words to a sentence with a capital letter, and `stop` at the end."""
    text = " ".join(words)
    if stop:
        text = text.rstrip(",;:") + stop
    return text[:1].upper() + text[1:]


def _draw_count(expected: float, rng: random.Random) -> int:
    """Draw a whole number with this mean: its floor, or one more."""
    return int(expected) + (rng.random() < expected % 1)


def _choose_confusable(word: str, rng: random.Random) -> str | None:
    if word in CONFUSIONS:
        return rng.choice(CONFUSIONS[word])
    for group in (*NUMBERS, *NAMES):
        if word in group:
            return rng.choice([other for other in group if other != word])
    if word.replace(",", "").isdigit():
        return str(int(word.replace(",", "")) + rng.choice((-2, -1, 1, 2, 10, 30)))
    return None


def _copy_style(model: str, word: str) -> str:
    """Give `word` the capital letter and the punctuation of `model`."""
    start = model.lower().find(strip_word(model))
    styled = word.title() if model[start].isupper() else word
    return model[:start] + styled + model[start + len(strip_word(model)) :]
