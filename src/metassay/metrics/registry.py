"""Which metrics there are, and how the text form of a metric is parsed.

A metric is one line in `METRIC_CLASSES` and one class in the module that the line names. Modules are imported
when a metric of theirs is first used: scoring with BLEU never imports a neural network.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Metric, Parameters, ParameterValue
from metassay.metrics.conversion import convert_to_metric
from metassay.specs import (
    parse_name_and_parameters,
    parse_parameter_value,
    reject_duplicate_metrics,
    split_metric_names,
)

# The module, below `metassay.metrics`, and the class of every metric, by name.
METRIC_CLASSES = {
    "bleu": "bleu:Bleu",
    "chrf": "chrf:Chrf",
    "rouge1": "rouge:Rouge1",
    "rouge2": "rouge:Rouge2",
    "rougel": "rouge:RougeL",
    "meteor": "meteor:Meteor",
    "nltk_bleu": "nltk_bleu:NltkBleu",
    "wer": "word_error_rates:WordErrorRate",
    "mer": "word_error_rates:MatchErrorRate",
    "wil": "word_error_rates:WordInformationLost",
    "wip": "word_error_rates:WordInformationPreserved",
    "cer": "character_error_rates:CharacterErrorRate",
    "sclite_cer": "character_error_rates:ScliteCharacterErrorRate",
    "ter": "ter:TranslationEditRate",
    "length": "sentinels:Length",
    "random": "sentinels:Random",
    "constant": "sentinels:Constant",
    "random_per_system": "sentinels:RandomPerSystem",
    "map": "ranking:AveragePrecision",
    "map_cut": "ranking:CutAveragePrecision",
    "rprec": "ranking:RPrecision",
    "recip_rank": "ranking:ReciprocalRank",
    "iprec_at_recall": "ranking:InterpolatedPrecision",
    "p": "ranking:Precision",
    "relative_p": "ranking:RelativePrecision",
    "recall": "ranking:Recall",
    "success": "ranking:Success",
    "ndcg": "ranking:NDCG",
    "ndcg_cut": "ranking:CutNDCG",
    "bpref": "ranking:BinaryPreference",
    "set_p": "ranking:SetPrecision",
    "set_relative_p": "ranking:SetRelativePrecision",
    "set_recall": "ranking:SetRecall",
    "set_map": "ranking:SetAveragePrecision",
    "set_f": "ranking:SetF",
    "rbp": "ranking:RankBiasedPrecision",
    "err": "ranking:ExpectedReciprocalRank",
    "judged": "ranking:Judged",
    "comet": "neural.comet:Comet",
    "comet_qe": "neural.comet:CometQE",
    "unite": "neural.unite:Unite",
    "unite_src": "neural.unite:UniteSource",
    "unite_ref": "neural.unite:UniteReference",
    "xcomet": "neural.xcomet:XComet",
    "xcomet_qe": "neural.xcomet:XCometQE",
    "xcomet_ref": "neural.xcomet:XCometReference",
    "bertscore": "neural.bertscore:BertScore",
    "bleurt": "neural.bleurt:Bleurt",
    "metricx": "neural.metricx:MetricX",
    "metricx_qe": "neural.metricx:MetricXQE",
    "bartscore": "neural.bartscore:BartScore",
    "bartscore_src": "neural.bartscore:BartScoreSource",
    "embedding_cosine": "neural.embedding_cosine:EmbeddingCosine",
    "embedding_cosine_src": "neural.embedding_cosine:EmbeddingCosineSource",
    "judge": "judge:Judge",
}


class Alias(NamedTuple):
    """Another name of a metric, and the parameter values that this name stands for."""

    metric: str
    parameters: Parameters


class CutoffAlias(NamedTuple):
    """A metric that the package ir_measures writes as `NAME@VALUE`, and the parameter that gets the value."""

    metric: str
    parameter: str


ALIASES = {
    "chrf++": Alias("chrf", {"word_order": 2}),
    "ap": Alias("map", {}),
    "rr": Alias("recip_rank", {}),
    "mrr": Alias("recip_rank", {}),
    "setp": Alias("set_p", {}),
    "setr": Alias("set_recall", {}),
    "setap": Alias("set_map", {}),
    "setf": Alias("set_f", {}),
}
CUTOFF_ALIASES = {
    "ap": CutoffAlias("map_cut", "k"),
    "ndcg": CutoffAlias("ndcg_cut", "k"),
    "p": CutoffAlias("p", "k"),
    "r": CutoffAlias("recall", "k"),
    "recall": CutoffAlias("recall", "k"),
    "success": CutoffAlias("success", "k"),
    "iprec": CutoffAlias("iprec_at_recall", "level"),
    "rr": CutoffAlias("recip_rank", "depth"),
    "mrr": CutoffAlias("recip_rank", "depth"),
    "err": CutoffAlias("err", "k"),
    "judged": CutoffAlias("judged", "k"),
    "rbp": CutoffAlias("rbp", "depth"),
}
_WITH_CUTOFF = re.compile(r"\s*(?P<name>[^\s()@]+)\s*(?P<parameters>\(.*\))?\s*@\s*(?P<value>\d*\.?\d+)\s*")
_WITH_SUFFIX = re.compile(r"(?P<name>.+)_(?P<value>\d*\.?\d+)")

# What users may name metrics by: specs, metrics, functions, or several of these; None for the defaults.
MetricChoice = str | Metric | Callable[..., Any] | Sequence[str | Metric | Callable[..., Any]] | None


def load_metric_class(metric_name: str) -> type[Metric] | None:
    """Import the class of the metric with this name; None if there is no such metric."""
    if metric_name not in METRIC_CLASSES:
        return load_plugin_metric_classes().get(metric_name)
    module, _, class_name = METRIC_CLASSES[metric_name].partition(":")
    metric_class: type[Metric] = getattr(importlib.import_module(f"metassay.metrics.{module}"), class_name)
    return metric_class


def load_metric_classes() -> dict[str, type[Metric]]:
    """Import the classes of all metrics, including those of installed plug-ins. Returns the classes by
    lower-case name.
    """
    classes: dict[str, type[Metric]] = {}
    for name in dict.fromkeys((*METRIC_CLASSES, *load_plugin_metric_classes())):
        metric_class = load_metric_class(name)
        if metric_class is not None:
            classes[name] = metric_class
    return classes


@functools.cache
def load_plugin_metric_classes() -> dict[str, type[Metric]]:
    """Import the metric classes of installed plug-ins. Returns the classes by lower-case name."""
    return {name.lower(): metric for name, metric in plugins.load_entry_points("metrics").items()}


def parse_metric(spec: Any) -> Metric:
    """Create a metric from a text such as `chrf(word_order=2)`; raise an error if there is no such metric.

    A metric, a metric class, a function or an object with `compute` is converted to a metric.
    """
    if not isinstance(spec, str):
        return convert_to_metric(spec)
    metric = find_metric(spec)
    if metric is None:
        raise UnknownName("metric", spec, map(format_metric_name, load_metric_classes().values()))
    return metric


def parse_metrics(specs: Any) -> tuple[Metric, ...]:
    """Create several metrics from a text with commas, or from a list of what `parse_metric` accepts.

    A metric that is named twice is an error.
    """
    metrics = tuple(parse_metric(part) for part in split_metric_names(specs))
    if not metrics:
        raise InputError("no metric was named.", remedy="See: metassay list metrics")
    reject_duplicate_metrics([metric.spec for metric in metrics])
    return metrics


def find_metric(spec: str) -> Metric | None:
    """Create a metric from a text such as `chrf(word_order=2)`. None if no metric has this name; wrong
    parameters raise an error.
    """
    cutoff = _WITH_CUTOFF.fullmatch(spec)
    if cutoff is None:
        name, parameters = parse_name_and_parameters(spec)
        metric_class, implied = _find_metric_class(name)
    else:
        name, parameters = parse_name_and_parameters(f"{cutoff['name']}{cutoff['parameters'] or ''}")
        metric_class, implied = _find_metric_class_with_cutoff(name, cutoff["value"])
    if metric_class is None:
        return None
    return _create_metric(metric_class, implied | parameters)


def format_metric_name(metric_class: type[Metric], name: str = "") -> str:
    """Return the name of a metric as lists of metrics show it. A letter stands for a number in the name:
    `ndcg_cut_k`.

    `name` replaces the metric's own name, for example by its title.
    """
    name = name or metric_class.name
    suffix = getattr(metric_class, "suffix", "")
    return f"{name}_{suffix}" if suffix else name


def look_up_score_directions(metric_names: Iterable[str]) -> dict[str, bool]:
    """Return, for each name that `metassay score` writes for a metric, whether higher scores of this metric
    are better. Other names are left out.

    Tables of scores have columns with such names.
    """
    directions = {}
    for name in metric_names:
        try:
            metric = find_metric(name)
        except InputError:
            continue
        if metric is not None and metric.spec == name:
            directions[name] = metric.higher_is_better
    return directions


def _find_metric_class(metric_name: str) -> tuple[type[Metric] | None, Parameters]:
    """Return the class of a metric and the parameters that its name implies: `p_5` is the metric `p` with k =
    5.
    """
    if metric_name in ALIASES:
        alias = ALIASES[metric_name]
        return load_metric_class(alias.metric), alias.parameters
    metric_class = load_metric_class(metric_name)
    suffixed = _WITH_SUFFIX.fullmatch(metric_name)
    if metric_class is not None or suffixed is None:
        return metric_class, {}
    metric_class = load_metric_class(suffixed["name"])
    parameter = getattr(metric_class, "suffix", "")
    if not parameter:
        return None, {}
    return metric_class, {parameter: parse_parameter_value(suffixed["value"])}


def _find_metric_class_with_cutoff(metric_name: str, cutoff: str) -> tuple[type[Metric] | None, Parameters]:
    """Return the class of a metric that ir_measures writes with a cut-off, such as `p@5`, and the parameter
    that gets the cut-off.
    """
    if metric_name not in CUTOFF_ALIASES:
        return None, {}
    alias = CUTOFF_ALIASES[metric_name]
    return load_metric_class(alias.metric), {alias.parameter: parse_parameter_value(cutoff)}


def _create_metric(metric_class: type[Metric], parameters: Parameters) -> Metric:
    """Create a metric of a class with these parameters; raise an error for unknown or wrong parameters."""
    fields = {field.name: field for field in dataclasses.fields(metric_class)}
    converted = {}
    for name, value in parameters.items():
        if name not in fields:
            raise UnknownName(f"parameter of {metric_class.name}", name, fields)
        converted[name] = _convert_parameter_value(metric_class, fields[name], value)
    return metric_class(**converted)


def _convert_parameter_value(
    metric_class: type[Metric], field: dataclasses.Field[Any], value: ParameterValue
) -> ParameterValue:
    """Convert the value of a metric's parameter, as parsed from text, to the type of the parameter.

    Text stays text (`none` is a tokeniser), and whole numbers become floats where the parameter is one.
    """
    expected = str(field.type).removesuffix(" | None")
    is_optional = str(field.type).endswith(" | None")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{metric_class.name}: {field.name} is {value}, but it must be finite.")
    if value is None and is_optional:
        return None
    if expected == "str":
        return "none" if value is None else str(value)
    if expected == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if expected in {"int", "bool", "float"} and type(value).__name__ != expected:
        kind = {"int": "a whole number", "bool": "true or false", "float": "a number"}[expected]
        raise InputError(f"{metric_class.name}: {field.name} is {kind}, not {value!r}.")
    return value
