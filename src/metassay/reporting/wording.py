r"""Numbers and lists in the words a colleague would use, and sentences that know what they emphasise.

>>> format_percent(0.9134), format_percent_interval(0.9012, 0.9249)
('91\u202f%', '90–92')
>>> join_names(["news", "social", "speech"])
'news, social and speech'

Results as people read them: metrics by their labels, and those that decide alike as one opinion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Self, TypeVar

from metassay.metrics.labels import AS_ASKED, LEAVES, LISTS, MAPPINGS, ROWS, find_metric_labels
from metassay.tasks import load_tasks
from metassay.tasks.base import Task

THIN_SPACE = "\u202f"
DASH = "–"
NOTHING = "—"


def find_task(task_name: str | None) -> Task | None:
    """Find a task by its name; None for a task of a plug-in that is not installed here."""
    return load_tasks().get(task_name or "")


@dataclass(frozen=True)
class Span:
    """A part of a sentence that is shown in one way.

    `kind` is empty, `metric`, `context`, `column`, `figure`, `cite`, `note` (the name of a footnote) or
    `link ANCHOR`.
    """

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence in parts of several kinds, so that a page can emphasise names of metrics and contexts."""

    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return "".join(span.text for span in self.spans if span.kind != "note")


def format_sentence(pattern: str, /, **values: object) -> Sentence:
    """Fill the fields of a pattern such as `"{best:metric} is right in {share} of pairs."`.

    The part after the colon is the span's kind. A value may itself be a `Sentence`.
    """
    spans: list[Span] = []
    for literal, field, kind, _ in Formatter().parse(pattern):
        spans.append(Span(literal))
        if field is not None:
            value = values[field]
            spans.extend(value.spans if isinstance(value, Sentence) else [Span(str(value), kind or "")])
    return Sentence(tuple(span for span in spans if span.text))


def join_phrases(phrases: Sequence[Sentence], *, between: str = ", ", last: str = " and ") -> Sentence:
    """Join phrases to one: `a, b and c`."""
    spans: list[Span] = []
    for position, part in enumerate(phrases):
        if position:
            spans.append(Span(last if position == len(phrases) - 1 else between))
        spans.extend(part.spans)
    return Sentence(tuple(spans))


def list_names(names: Sequence[str], span_kind: str, *, at_most: int = 4) -> Sentence:
    """List names, each as a span of a kind; after `at_most` names only say how many more there are."""
    shown = [Sentence((Span(name, span_kind),)) for name in names[:at_most]]
    if len(names) > at_most:
        shown.append(Sentence((Span(f"{len(names) - at_most} more"),)))
    return join_phrases(shown)


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence: `a, b and c`."""
    return str(join_phrases([Sentence((Span(str(name)),)) for name in names]))


def format_percent(share: float | None, *, digits: int = 0) -> str:
    """Write a share in per cent: `91 %`. Only 0 and 1 are written as 0 % and 100 %."""
    if share is None:
        return NOTHING
    return f"{_format_hundredths(share, digits)}{THIN_SPACE}%"


def format_percent_interval(low: float | None, high: float | None, *, digits: int = 0) -> str:
    """Write the two ends of an interval of shares in per cent, without the sign: `90–92`."""
    if low is None or high is None:
        return NOTHING
    return f"{_format_hundredths(low, digits)}{DASH}{_format_hundredths(high, digits)}"


def choose_percent_digits(low: float | None, high: float | None) -> int:
    """Choose the decimals of a percentage: one if its interval is narrower than 1.75 points, else none."""
    return 1 if low is not None and high is not None and high - low < 0.0175 else 0


def _format_hundredths(share: float, digits: int) -> str:
    text = f"{100 * share:.{digits}f}"
    if 0 < share < 1 and float(text) in {0.0, 100.0} and digits < 2:
        return f"{100 * share:.{digits + 1}f}"
    return text


def format_count(number: float | None) -> str:
    """Write a count with thin spaces between thousands: `12 345`."""
    return NOTHING if number is None else f"{round(number):,}".replace(",", THIN_SPACE)


def format_number(value: float | None, *, digits: int = 2) -> str:
    """Write a number with a fixed number of decimals and a typographic minus sign: `−0.40`."""
    return NOTHING if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def format_p_value(p: float | None) -> str:
    """Write a p-value with three decimals: `.023`, or `< .001`."""
    if p is None:
        return NOTHING
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def join_percent_signs(text: str) -> str:
    """Replace the space before each per cent sign by a thin one that does not break the line."""
    return text.replace(" %", f"{THIN_SPACE}%")


def format_plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """Write a number with its noun: `1 context`, `4 contexts`."""
    return f"{format_count(number)} {singular if number == 1 else plural_form or singular + 's'}"


Labels = Mapping[str, "Label"]
Content = TypeVar("Content")
_NAMES = frozenset({"metric", "metrics", "choice", "robust_choice", "top_group", "behind", "pareto", "by"})
"""Keys under which results name a metric, a list of them, or one for each column."""
_COMPARED = frozenset({"a", "b"})
"""Keys of two metrics that are compared; where the row is about one metric they are systems."""
_CLAIMED = frozenset({"better", "worse"})
"""Keys of two metrics in a claim about a context; elsewhere they are systems."""
_KEYED = frozenset({"trend", "trend_p", "cost", "cost_class", "price", "judgements"})
"""Keys of mappings from metrics."""
_NAMED = {
    (about_one, in_context): _NAMES
    | (frozenset() if about_one else _COMPARED)
    | (_CLAIMED if in_context else frozenset())
    for about_one in (False, True)
    for in_context in (False, True)
}
"""Keys that name metrics in a row, by whether it is about one metric, and about a context."""
_SENTENCES = frozenset({"why", "sentence", "sentences", "x", "y"})

EQUAL = " = "
"""Between the names of metrics that decided every pair alike."""


class Label(str):
    """A metric's label that remembers the spec, for tables that other programs read."""

    spec: str
    __slots__ = ("spec",)

    def __new__(cls, label: str, spec: str) -> Self:
        """The label of a spec."""
        made = super().__new__(cls, label)
        made.spec = spec
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """What a copy is made of."""
        return super().__str__(), self.spec

    def __str__(self) -> str:
        """The label itself, so that `str` does not forget the spec."""
        return self


def in_labels(result: Content, labels: Mapping[str, str] | None = None) -> Content:
    """A result (its JSON object, or a list of rows) with every metric under its label, in sentences too.

    Two metrics of one result never share a label: those that would keep their specs. `labels` are those of
    `find_metric_labels`, where they are known. Metrics that decided every pair alike (`same_decisions`) stand
    on one line, under all their labels.
    """
    known = find_metric_labels(result) if labels is None else labels
    found = {spec: Label(label, spec) for spec, label in known.items()}
    groups = result.get("same_decisions") if isinstance(result, Mapping) else None
    if not groups:
        shown: Content = _shown(result, found)
        return shown
    first = {metric: group[0] for group in groups for metric in group}
    together = {
        group[0]: Label(_together([found.get(metric, metric) for metric in group]), EQUAL.join(group))
        for group in groups
    }
    one: Content = _one_opinion(result, first)
    shown = _shown(one, {**found, **together})
    if isinstance(result, Mapping) and isinstance(shown, dict) and isinstance(result.get("metrics"), list):
        shown["metrics"] = _shown(result["metrics"], found)  # each has a signature of its own
    return shown


def _together(names: Sequence[str], at_most: int = 3) -> str:
    """`WIL = WIP`; of many names the first, and how many more."""
    more = [f"{len(names) - at_most + 1} more"] if len(names) > at_most else []
    return EQUAL.join([*names[: at_most - 1], *more] if more else names)


def _one_opinion(value: Any, first: Mapping[str, str], key: str = "") -> Any:
    """A result in which the first of each group stands for all of it."""
    if isinstance(value, Mapping):
        if key in _KEYED:
            return {name: inner for name, inner in value.items() if first.get(name, name) == name}
        inside = {k: v if k in AS_ASKED else _one_opinion(v, first, k) for k, v in value.items()}
        if isinstance(value.get("matrix"), list) and isinstance(value.get("metrics"), list):
            kept = [n for n, name in enumerate(value["metrics"]) if first.get(name, name) == name]
            inside["matrix"] = [[value["matrix"][i][j] for j in kept] for i in kept]
        return inside
    if isinstance(value, list | tuple):
        if key in LISTS and all(isinstance(name, str) for name in value):
            return list(dict.fromkeys(first.get(name, name) for name in value))
        choices = key == "exceptions"  # one row for each context, not for each metric
        return [_one_opinion(each, first, key) for each in value if choices or not _repeated(each, first)]
    return first.get(value, value) if key in _NAMES and isinstance(value, str) else value


def _repeated(row: Any, first: Mapping[str, str]) -> bool:
    """Whether a row is about a metric for which another stands."""
    if not isinstance(row, Mapping):
        return False
    names = [row.get("metric"), *((row.get("better"), row.get("worse")) if "context" in row else ())]
    return any(isinstance(name, str) and first.get(name, name) != name for name in names)


def _shown(value: Any, labels: Labels) -> Any:
    if isinstance(value, LEAVES):
        return value
    if isinstance(value, MAPPINGS):
        names = _NAMED["metric" in value, "context" in value]
        return {
            key: inner
            if isinstance(inner, LEAVES) and key not in names and key not in _SENTENCES
            else _entry(key, inner, labels, names)
            for key, inner in value.items()
        }
    if isinstance(value, ROWS):
        return [inner if isinstance(inner, LEAVES) else _shown(inner, labels) for inner in value]
    return value


def _entry(key: str, value: Any, labels: Labels, names: frozenset[str]) -> Any:
    """The value of a key in labels."""
    if key in AS_ASKED:
        return value
    if key in _KEYED and isinstance(value, MAPPINGS):
        return {labels.get(name, name): inner for name, inner in value.items()}
    if key in names:
        return _named(value, labels)
    if key in _SENTENCES:
        return [_said(text, labels) for text in value] if isinstance(value, list) else _said(value, labels)
    return _shown(value, labels)


def _named(value: Any, labels: Labels) -> Any:
    """A metric, or several; rows under a key of that name are gone through as any others."""
    if isinstance(value, str):
        return labels.get(value, value)
    if isinstance(value, Mapping):
        return (
            {key: _named(inner, labels) for key, inner in value.items()}
            if _plain(value.values())
            else _shown(value, labels)
        )
    if isinstance(value, list | tuple):
        return [_named(inner, labels) if isinstance(inner, str) else _shown(inner, labels) for inner in value]
    return value


def _plain(values: Any) -> bool:
    return all(isinstance(value, str | None) for value in values)


def _said(text: Any, labels: Labels) -> Any:
    """A sentence with labels; a word after `on`, `under` or `its` is a context or a method, not a metric."""
    if not isinstance(text, str) or not labels:
        return text
    names = "|".join(re.escape(spec) for spec in sorted(labels, key=len, reverse=True))
    pattern = rf"(?<!on )(?<!under )(?<!its )(?<![\w(=.])(?:{names})(?![\w(=])"
    return re.sub(pattern, lambda match: labels[match[0]], text)
