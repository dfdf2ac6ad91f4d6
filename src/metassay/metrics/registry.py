"""Which metrics exist, and from text to metric and back."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from metassay import plugins
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Metric
from metassay.metrics.function_metric import convert_to_metric
from metassay.metrics.sentinels import SENTINELS
from metassay.specs import parse_spec, parse_value, reject_duplicates, split_specs

MODULES = (
    "bleu",
    "rouge",
    "meteor",
    "word_error_rates",
    "sentinels",
    "ranking",
    "neural.comet",
    "neural.unified_network",
    "neural.bertscore",
    "neural.bleurt",
    "neural.metricx",
    "neural.embedding_cosine",
    "judge",
)
"""The modules of this package that define metrics; each lists its classes in `METRICS`."""

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "chrf++": ("chrf", {"word_order": 2}),
    "ap": ("map", {}),
    "rr": ("recip_rank", {}),
    "mrr": ("recip_rank", {}),
    "setp": ("set_p", {}),
    "setr": ("set_recall", {}),
    "setap": ("set_map", {}),
    "setf": ("set_f", {}),
}
"""Other spellings of a metric with parameters."""
CUT_ALIASES = {
    "ap": ("map_cut", "k"),
    "ndcg": ("ndcg_cut", "k"),
    "p": ("p", "k"),
    "r": ("recall", "k"),
    "recall": ("recall", "k"),
    "success": ("success", "k"),
    "iprec": ("iprec_at_recall", "level"),
    "rr": ("recip_rank", "depth"),
    "mrr": ("recip_rank", "depth"),
    "err": ("err", "k"),
    "judged": ("judged", "k"),
    "rbp": ("rbp", "depth"),
}
"""`NAME@VALUE`, as ir_measures writes cut-offs: the metric, and the parameter that the value sets."""
_CUT = re.compile(r"\s*(?P<name>[^\s()@]+)\s*(?P<inside>\(.*\))?\s*@\s*(?P<value>\d*\.?\d+)\s*")
_SUFFIXED = re.compile(r"(?P<stem>.+)_(?P<value>\d*\.?\d+)")

LISTS = ("metrics", "top_group", "behind", "pareto")
AS_ASKED = frozenset({"manifest", "notes", "warnings"})
"""Keys of what people may want to type again, where specs stay."""
MetricChoice = str | Metric | Callable[..., Any] | Sequence[str | Metric | Callable[..., Any]] | None


@functools.cache
def load_metric_classes() -> dict[str, type[Metric]]:
    """Every metric class by lower-case name: ours, then those of installed packages."""
    found: dict[str, type[Metric]] = {}
    for module in MODULES:
        for metric in importlib.import_module(f"metassay.metrics.{module}").METRICS:
            found[metric.name.lower()] = metric
    for name, metric in plugins.load_entry_points("metrics").items():
        found.setdefault(name.lower(), metric)
    return found


def parse_metric(text: Any) -> Metric:
    """The metric that a spec names: `parse_metric(str(metric)) == metric`; or one's own, as it is."""
    if not isinstance(text, str):
        return convert_to_metric(text)
    cut = _CUT.fullmatch(text)
    name, parameters = parse_spec(f"{cut['name']}{cut['inside'] or ''}" if cut else text)
    family, implied = _cut_family(name, cut["value"]) if cut else _family(name)
    if family is None:
        raise UnknownName("metric", text, map(format_metric_name, load_metric_classes().values()))
    return _with_parameters(family, implied | parameters)


def _family(name: str) -> tuple[type[Metric] | None, dict[str, Any]]:
    """The metric class behind a name, and the parameters that the name implies: `p_5` is p with k = 5."""
    known = load_metric_classes()
    if name in ALIASES:
        stem, implied = ALIASES[name]
        return known[stem], implied
    suffixed = _SUFFIXED.fullmatch(name)
    if name in known or suffixed is None:
        return known.get(name), {}
    family = known.get(suffixed["stem"])
    parameter = getattr(family, "suffix", "")
    return (family, {parameter: parse_value(suffixed["value"])}) if parameter else (None, {})


def _cut_family(name: str, value: str) -> tuple[type[Metric] | None, dict[str, Any]]:
    if name not in CUT_ALIASES:
        return None, {}
    stem, parameter = CUT_ALIASES[name]
    return load_metric_classes()[stem], {parameter: parse_value(value)}


def format_metric_name(family: type[Metric], name: str = "") -> str:
    """The name (or another one) in lists; with the parameter that is part of it, as in `ndcg_cut_k`."""
    parameter = getattr(family, "suffix", "")
    return f"{name or family.name}_{parameter}" if parameter else name or family.name


@functools.cache
def label_metric(spec: str) -> str:
    """The label of the metric that a canonical spec names; any other name, such as of scores made elsewhere,
    stays exactly what it is.
    """
    try:
        metric = parse_metric(spec)
    except InputError:
        return spec
    return metric.label if metric.spec == spec else spec


def label_metrics(specs: Iterable[str]) -> dict[str, str]:
    """The label of each metric; those that would share one keep their specs, so that no two look alike."""
    found = {spec: label_metric(spec) for spec in specs}
    taken = Counter(found.values())
    told_apart = {spec: label if taken[label] == 1 else spec for spec, label in found.items()}
    return told_apart if len({*told_apart.values()}) == len(told_apart) else {spec: spec for spec in found}


def find_metric_labels(result: Any) -> dict[str, str]:
    """The label of each metric that a result (its JSON object, or a list of rows) is about."""
    return label_metrics(sorted(_specs(result)))


LEAVES = (str, int, float, type(None))
"""Most of a result, and no metric is in them."""
MAPPINGS, ROWS = (dict, Mapping), (list, tuple)
_NAMING = frozenset({"metric", *LISTS})


def _specs(result: Any) -> set[str]:
    """Every metric that rows are about."""
    found: set[str] = set()
    left = [result]
    while left:
        value = left.pop()
        if isinstance(value, ROWS):
            left += [inner for inner in value if not isinstance(inner, LEAVES)]
        elif isinstance(value, MAPPINGS):
            left += [v for key, v in value.items() if not isinstance(v, LEAVES) and key not in AS_ASKED]
            if not value.keys().isdisjoint(_NAMING):
                lists = [own for key in LISTS if isinstance(own := value.get(key), ROWS)]
                named = (value.get("metric"), *chain.from_iterable(lists))
                found.update(name for name in named if isinstance(name, str))
    return found


def find_metric_directions(names: Iterable[str]) -> dict[str, bool]:
    """Whether higher is better, of names that are, to the letter, specs of ours: what `score` writes."""
    found = {}
    for name in names:
        try:
            metric = parse_metric(name)
        except InputError:
            continue
        if metric.spec == name:
            found[name] = metric.higher_is_better
    return found


def parse_metrics(texts: Any) -> tuple[Metric, ...]:
    """Several metrics, from a comma-separated text or any mixture of texts and one's own; none twice."""
    metrics = tuple(parse_metric(part) for part in split_specs(texts))
    if not metrics:
        raise InputError("no metric was named.", remedy="See: metassay list metrics")
    reject_duplicates([metric.spec for metric in metrics])
    return metrics


def _with_parameters(family: type[Metric], parameters: dict[str, Any]) -> Metric:
    fields = {f.name: f for f in dataclasses.fields(family)}
    for key in parameters:
        if key not in fields:
            raise UnknownName(f"parameter of {family.name}", key, fields)
    return family(**{key: _fitting(family, fields[key], value) for key, value in parameters.items()})


def _fitting(family: type[Metric], parameter: dataclasses.Field[Any], value: Any) -> Any:
    """A parsed value as the parameter's type wants it: text stays text (`none`), whole numbers are floats."""
    wanted = str(parameter.type).removesuffix(" | None")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{family.name}: {parameter.name} is {value}, which is no number to compute with.")
    if value is None and str(parameter.type).endswith(" | None"):
        return None
    if wanted == "str":
        return "none" if value is None else str(value)
    if wanted == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if wanted in {"int", "bool", "float"} and type(value).__name__ != wanted:
        kind = {"int": "a whole number", "bool": "true or false", "float": "a number"}[wanted]
        raise InputError(f"{family.name}: {parameter.name} is {kind}, not {value!r}.")
    return value


def choose_metrics(dataset: Dataset, metrics: MetricChoice, *changes: str) -> tuple[Metric, ...]:
    """The metrics asked for, by default those of the data's task, as they are used on this data.

    `changes` are what was done to the texts (`none` is nothing): signatures name them, and what was chosen by
    language.
    """
    chosen = parse_metrics(dataset.task_definition.default_metrics if metrics is None else metrics)
    if dataset.task_definition.is_ranking:
        return chosen
    text = "+".join(change for change in changes if change != "none")
    return tuple(metric.bind_to_data(dataset.languages, text) for metric in chosen)


def choose_sentinels(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """The metrics that know nothing, but for those that were asked for as metrics."""
    asked = {metric.spec for metric in metrics}
    return tuple(sentinel for kind in SENTINELS if (sentinel := kind()).spec not in asked)


class MetricCosts(NamedTuple):
    """Of each metric its class of cost, and of those that are paid for what requests cost."""

    classes: dict[str, str]
    prices: dict[str, tuple[float, ...]]


def collect_costs(metrics: Sequence[Metric]) -> MetricCosts:
    """The costs of metrics, by spec."""
    prices = {metric.spec: tuple(metric.price) for metric in metrics if metric.price is not None}
    return MetricCosts({metric.spec: metric.cost_class for metric in metrics}, prices)
