"""Noise channels: each turns a good translation into a worse one and says which errors it made."""

from __future__ import annotations

import difflib
import random
from dataclasses import dataclass

from .confusions import CONFUSIONS, FUNCTION_WORDS, NAMES, NUMBERS

MINOR, MAJOR = 1.0, 5.0  # the weights of the MQM guidelines for WMT (Freitag et al., 2021)


@dataclass(frozen=True)
class Noised:
    """An output and the weight of every error that is known to be in it."""

    text: str
    errors: tuple[float, ...] = ()


def bare(word: str) -> str:
    """The word without case and without punctuation at its ends."""
    return word.strip(".,;:!?\"'()«»*#").lower()


def is_content(word: str) -> bool:
    """Whether losing this word loses meaning."""
    return bool(bare(word)) and bare(word) not in FUNCTION_WORDS


def span_errors(words: list[str]) -> list[float]:
    """A wrong span's errors: one major per untranslated word and per two content words, else one minor."""
    unknown = sum(word.startswith("*") for word in words)
    content = sum(map(is_content, words)) - unknown
    major = [MAJOR] * (unknown + content // 2)
    return major if major and content % 2 == 0 else [*major, MINOR]


def differing_spans(draft: list[str], target: list[str]) -> list[tuple[str, list[str], list[str]]]:
    """Word alignment of two translations as (`equal` or other, draft's words, target's words)."""
    matcher = difflib.SequenceMatcher(None, [*map(bare, draft)], [*map(bare, target)], autojunk=False)
    return [(tag, draft[i:j], target[k:l]) for tag, i, j, k, l in matcher.get_opcodes()]


def remaining_errors(draft: str, targets: tuple[str, ...]) -> tuple[float, ...]:
    """Error weights of a real system's output: its spans that differ from the closest target."""
    alignments = [differing_spans(draft.split(), target.split()) for target in targets]
    weights = [
        tuple(
            weight for tag, mine, theirs in spans if tag != "equal" for weight in span_errors(mine or theirs)
        )
        for spans in alignments
    ]
    return min(weights, key=sum)


def post_edit(draft: str, target: str, corrected: float, rng: random.Random) -> Noised:
    """Corrects each span of the draft that differs from the target with probability `corrected`."""
    words: list[str] = []
    errors: list[float] = []
    for tag, mine, theirs in differing_spans(draft.split(), target.split()):
        if tag == "equal" or rng.random() < corrected:
            words += theirs
        else:
            words += mine
            errors += span_errors(mine or theirs)
    return Noised(sentence(words), tuple(errors))


def omit(text: str, spans_per_word: float, rng: random.Random) -> Noised:
    """Leaves out spans of one to four words, never the first word nor everything."""
    words, stop = unstopped(text)
    errors: list[float] = []
    for _ in range(_count(len(words) * spans_per_word, rng)):
        length = rng.randint(1, 4)
        if len(words) < length + 3:
            continue
        start = rng.randrange(1, len(words) - length + 1)
        errors.append(MAJOR if any(map(is_content, words[start : start + length])) else MINOR)
        del words[start : start + length]
    return Noised(sentence(words, stop), tuple(errors))


def confuse(text: str, probability: float, rng: random.Random) -> Noised:
    """Swaps numbers, names and easily confused words for others: fluent, and wrong."""
    words = text.split()
    errors: list[float] = []
    for position, word in enumerate(words):
        other = _confusable(bare(word), rng)
        if other is not None and rng.random() < probability:
            words[position] = _dressed_like(word, other)
            errors.append(MAJOR)
    return Noised(sentence(words), tuple(errors))


def jumble(text: str, moves_per_word: float, rng: random.Random) -> Noised:
    """Moves words up to three places away, or says a word twice."""
    words, stop = unstopped(text)
    errors: list[float] = []
    for _ in range(_count(len(words) * moves_per_word, rng)):
        position = rng.randrange(len(words))
        if rng.random() < 0.25:
            words.insert(position, words[position].rstrip(",;:"))
            errors.append(MINOR)
            continue
        word = words.pop(position)
        words.insert(max(0, min(len(words), position + rng.choice((-3, -2, -1, 1, 2, 3)))), word)
        errors.append(MAJOR if is_content(word) and rng.random() < 0.4 else MINOR)
    return Noised(sentence(words, stop), tuple(errors))


def slip(text: str, probability: float, rng: random.Random) -> Noised:
    """Small slips of a good translator: an article left out, or the wrong one."""
    words = text.split()
    places = [i for i, word in enumerate(words) if bare(word) in {"a", "an", "the"} and i > 0]
    if not places or rng.random() >= probability:
        return Noised(text)
    place = rng.choice(places)
    words[place : place + 1] = [] if rng.random() < 0.5 else ["a" if bare(words[place]) == "the" else "the"]
    return Noised(sentence(words), (MINOR,))


def unstopped(text: str) -> tuple[list[str], str]:
    """The words of a sentence, and the full stop, question or exclamation mark at its end."""
    stop = text[-1] if text[-1] in ".!?" else ""
    return text.removesuffix(stop).split(), stop


def sentence(words: list[str], stop: str = "") -> str:
    """The words as a sentence: capital first, `stop` last."""
    text = " ".join(words)
    if stop:
        text = text.rstrip(",;:") + stop
    return text[:1].upper() + text[1:]


def _count(expected: float, rng: random.Random) -> int:
    """A whole number with this mean: its floor, or one more."""
    return int(expected) + (rng.random() < expected % 1)


def _confusable(word: str, rng: random.Random) -> str | None:
    if word in CONFUSIONS:
        return rng.choice(CONFUSIONS[word])
    for group in (*NUMBERS, *NAMES):
        if word in group:
            return rng.choice([other for other in group if other != word])
    if word.replace(",", "").isdigit():
        return str(int(word.replace(",", "")) + rng.choice((-2, -1, 1, 2, 10, 30)))
    return None


def _dressed_like(model: str, word: str) -> str:
    """`word` with the capital and the punctuation of `model`."""
    start = model.lower().find(bare(model))
    dressed = word.title() if model[start].isupper() else word
    return model[:start] + dressed + model[start + len(bare(model)) :]
