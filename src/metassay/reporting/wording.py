r"""Numbers and lists in the words a colleague would use, and sentences that know what they emphasise.

>>> percent(0.9134), interval(0.9012, 0.9249)
('91\u202f%', '90–92')
>>> listing(["news", "social", "speech"])
'news, social and speech'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter

from metassay.tasks.base import Task
from metassay.tasks.registry import known_tasks

THIN_SPACE = "\u202f"
DASH = "–"
NOTHING = "—"


def about(task: str | None) -> Task | None:
    """The task of that name; None for a task that is not known here (a plug-in's, on another machine)."""
    return known_tasks().get(task or "")


@dataclass(frozen=True)
class Span:
    """A stretch of a sentence.

    `kind` is empty, `metric`, `context`, `column`, `figure`, `section` or `note`.
    """

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence in spans, so that a page can emphasise names without anyone writing HTML."""

    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return "".join(span.text for span in self.spans if span.kind != "note")


def sentence(pattern: str, /, **values: object) -> Sentence:
    """A sentence from a pattern such as `"{best:metric} is right in {share} of pairs."`.

    The part after the colon is the span's kind. A value may itself be a `Sentence`.
    """
    spans: list[Span] = []
    for literal, field, kind, _ in Formatter().parse(pattern):
        spans.append(Span(literal))
        if field is not None:
            value = values[field]
            spans.extend(value.spans if isinstance(value, Sentence) else [Span(str(value), kind or "")])
    return Sentence(tuple(span for span in spans if span.text))


def joined(parts: Sequence[Sentence], *, between: str = ", ", last: str = " and ") -> Sentence:
    """Several phrases as one: `a, b and c`."""
    spans: list[Span] = []
    for position, part in enumerate(parts):
        if position:
            spans.append(Span(last if position == len(parts) - 1 else between))
        spans.extend(part.spans)
    return Sentence(tuple(spans))


def named(names: Sequence[str], kind: str, *, at_most: int = 4) -> Sentence:
    """The names, emphasised; beyond `at_most` the rest are counted."""
    shown = [Sentence((Span(name, kind),)) for name in names[:at_most]]
    if len(names) > at_most:
        shown.append(Sentence((Span(f"{len(names) - at_most} more"),)))
    return joined(shown)


def listing(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return str(joined([Sentence((Span(str(name)),)) for name in names]))


def percent(share: float | None, *, digits: int = 0) -> str:
    """A share as per cent, never rounded to a certainty that it is not."""
    if share is None:
        return NOTHING
    return f"{_hundredths(share, digits)}{THIN_SPACE}%"


def interval(low: float | None, high: float | None, *, digits: int = 0) -> str:
    """Both ends in per cent, without the sign: `90–92`."""
    if low is None or high is None:
        return NOTHING
    return f"{_hundredths(low, digits)}{DASH}{_hundredths(high, digits)}"


def digits_for(low: float | None, high: float | None) -> int:
    """One decimal where the interval is narrower than a whole per cent would show."""
    return 1 if low is not None and high is not None and high - low < 0.0175 else 0


def _hundredths(share: float, digits: int) -> str:
    text = f"{100 * share:.{digits}f}"
    if 0 < share < 1 and float(text) in {0.0, 100.0} and digits < 2:
        return f"{100 * share:.{digits + 1}f}"
    return text


def count(number: float | None) -> str:
    """A count with thin spaces between thousands."""
    return NOTHING if number is None else f"{round(number):,}".replace(",", THIN_SPACE)


def number(value: float | None, *, digits: int = 2) -> str:
    """A statistic with a true minus sign."""
    return NOTHING if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def probability(p: float | None) -> str:
    """A p-value: three decimals, or that it is below .001."""
    if p is None:
        return NOTHING
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def tidy(text: str) -> str:
    """Text written elsewhere, with its per cent signs kept on the line of their number."""
    return text.replace(" %", f"{THIN_SPACE}%")


def plural(amount: int, one: str, many: str | None = None) -> str:
    """`1 context`, `4 contexts`."""
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"
