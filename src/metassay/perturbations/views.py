"""From a data set to what perturbations see: texts preprocessed, each distinct output of an item once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.perturbations.base import KeptTexts, Perturbation, View, is_ours, parse_perturbation
from metassay.plugins import hash_user_source
from metassay.stats.streams import Keys, hash_outputs
from metassay.text import helpers_for, shared_out
from metassay.text.tokens import word_tokens

PREPROCESSING = {
    "none": "the raw text is edited and nothing else is touched",
    "paper": "both members of a pair are lower-cased and tokenised",
    "paper-asymmetric": "only the worse member is lower-cased and tokenised",
}
STUDIED_AT_ONCE = 4096
"""So many texts are searched for names before what was found is put away."""
Output = Any
"""A text, or a tuple of document ids."""


def check_preprocessing(name: str) -> None:
    """Refuses an unknown name, with the known ones."""
    if name not in PREPROCESSING:
        raise UnknownName("preprocessing", name, PREPROCESSING)


def prepared(text: str, preprocessing: str) -> str:
    """The text that perturbations edit."""
    return text if preprocessing == "none" else " ".join(word_tokens(text.lower()))


@dataclass(frozen=True)
class Views:
    """The distinct outputs of a data set, and which of them each row has."""

    views: tuple[View[Output], ...]
    row: NDArray[np.int64]
    """For each row of the data set, the position of its view."""
    keys: Keys
    """One per view."""

    def some(self, positions: NDArray[np.int64]) -> list[View[Output]]:
        """Those at these positions."""
        return [self.views[position] for position in positions.tolist()]

    @cached_property
    def by_language(self) -> dict[str | None, NDArray[np.int64]]:
        """Each language and the positions of its views."""
        groups: defaultdict[str | None, list[int]] = defaultdict(list)
        for position, view in enumerate(self.views):
            groups[view.language].append(position)
        ordered = sorted(groups, key=lambda name: name or "")
        return {language: np.asarray(groups[language], dtype=np.int64) for language in ordered}


@dataclass(frozen=True)
class Gathered:
    """What methods collect from a whole data set, by language and method, and the hash of its content."""

    collected: Mapping[str | None, Mapping[str, Any]]
    about: str


def make_views(
    dataset: Dataset,
    methods: Sequence[Perturbation[Any]],
    *,
    preprocess: str,
    seed: int,
    workers: int,
    kept: KeptTexts | None = None,
    gathered: Gathered | None = None,
) -> Views:
    """The views of all outputs, with what the methods collect from the data set, or `gathered` from more."""
    needs = frozenset[str]().union(*(method.needs for method in methods))
    if "rivals" in needs and not dataset.human:
        which = next(method.spec for method in methods if "rivals" in method.needs)
        raise InputError(f"{which} needs human scores, which this data does not have.")
    outputs = [_output(value, preprocess) for value in dataset.outputs["output"]]
    collected = (gathered or gather(dataset, methods, preprocess, workers, kept)).collected
    rivals = _rivals(dataset, outputs) if "rivals" in needs else {}
    siblings = _siblings(dataset, outputs) if "siblings" in needs else {}
    grades = _grades(dataset) if "grades" in needs else {}
    sources, references = _column(dataset, "source"), _column(dataset, "references")
    position: dict[tuple[str, Output, str | None], int] = {}
    views: list[View[Output]] = []
    row = np.empty(len(dataset), np.int64)
    for i, (item, output, language) in enumerate(
        zip(dataset.outputs["item"], outputs, base_languages(dataset))
    ):
        identity = (item, output, language)
        if identity not in position:
            position[identity] = len(views)
            views.append(
                View(
                    output,
                    item,
                    language,
                    source=sources[i],
                    references=tuple(references[i] or ()),
                    rivals=rivals.get((item, output), ()),
                    siblings=siblings.get(item, ()),
                    grades=grades.get(item, {}),
                    collected=collected.get(language, {}),
                )
            )
        row[i] = position[identity]
    texts = (v.output if isinstance(v.output, str) else "\0".join(v.output) for v in views)
    return Views(tuple(views), row, hash_outputs(seed, (view.item for view in views), texts))


def _output(value: Any, preprocess: str) -> Output:
    return prepared(value or "", preprocess) if isinstance(value, str | None) else tuple(value)


def base_languages(dataset: Dataset) -> list[str | None]:
    """The language of each row without its region: en-GB is en."""
    tags = dataset.languages
    base = {tag: tag and tag.replace("_", "-").partition("-")[0].lower() for tag in set(tags)}
    return [base[tag] for tag in tags]


def _column(dataset: Dataset, name: str) -> Sequence[Any]:
    return dataset.outputs[name].to_list() if name in dataset.outputs.columns else [None] * len(dataset)


def gather(
    dataset: Dataset,
    methods: Sequence[Perturbation[Any]],
    preprocess: str,
    workers: int = 1,
    kept: KeptTexts | None = None,
) -> Gathered:
    """By language, what each method gathers from all outputs and references in it."""
    collected: dict[str | None, dict[str, Any]] = {}
    if dataset.task_definition.is_ranking:
        return Gathered(collected, dataset.content_hash)
    ours = dataset.outputs.select(
        pl.col("^output|references$"), pl.Series("language", base_languages(dataset), pl.String)
    )
    for language in sorted(ours["language"].unique(), key=lambda name: name or ""):
        distinct = _distinct(ours.filter(pl.col("language").eq_missing(language)), preprocess)
        about = f"{language} {preprocess} {dataset.content_hash}"
        for method in methods:
            found = _gathered(method, distinct, language, workers, about, keeper(method, kept))
            collected.setdefault(language, {})
            if found is not None:
                collected[language][method.gathers_for] = found
    return Gathered(collected, dataset.content_hash)


class _Texts(Sequence[str]):
    """Texts of a column, made one by one or a stretch at a time as they are asked for."""

    def __init__(self, column: pl.Series) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[str]:
        return iter(self.column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return self.column[place].to_list()
        text: str = self.column[place]
        return text


def _distinct(outputs: pl.DataFrame, preprocess: str) -> Sequence[str]:
    """The distinct texts among outputs and references, sorted."""
    texts = [outputs["output"].fill_null("")]
    if "references" in outputs.columns:
        texts.append(outputs["references"].explode().drop_nulls().alias("output"))
    distinct = pl.concat(texts).unique().sort()
    if preprocess == "none":
        return _Texts(distinct)
    return sorted({prepared(text, preprocess) for text in distinct})


def _gathered(
    method: Perturbation[Any],
    texts: Sequence[str],
    language: str | None,
    workers: int,
    about: str,
    kept: KeptTexts | None,
) -> Any:
    """What a method collects; what it finds in single texts is kept part by part, if it takes long."""
    if kept is None:
        return method.collect(texts, language, workers)
    name = f"{identity(method)} collected {about}"
    before = kept.load(name)
    missing = []
    for number in range(-(-len(texts) // STUDIED_AT_ONCE)):
        found = kept.load(f"{identity(method)} studied {number} {about}")
        if found is None:
            missing.append(number)
        else:
            told = json.loads(f"[{','.join(own or 'null' for own in found)}]")
            method.recall(_stretch(texts, number), language, told)
    if before is None:
        for number, own in _studied(method, texts, missing, language, workers):
            written = [json.dumps(each, ensure_ascii=False) for each in own]
            kept.save(f"{identity(method)} studied {number} {about}", written)
            method.recall(_stretch(texts, number), language, own)
    if before is not None:
        return json.loads(before[0] or "null")
    found = method.collect(texts, language, workers)
    if found is not None:
        kept.save(name, [json.dumps(found, ensure_ascii=False)])
    return found


def _stretch(texts: Sequence[str], number: int) -> Sequence[str]:
    return texts[number * STUDIED_AT_ONCE : (number + 1) * STUDIED_AT_ONCE]


def _studied(
    method: Perturbation[Any],
    texts: Sequence[str],
    missing: Sequence[int],
    language: str | None,
    workers: int,
) -> Iterator[tuple[int, list[Any]]]:
    """What a method finds in stretches of texts, by several processes where that is worth it.

    Nothing where it looks for nothing in single texts.
    """
    helpers = helpers_for(len(missing) * STUDIED_AT_ONCE, workers) if workers > 1 and is_ours(method) else 0
    if not helpers:
        for number in missing:
            own = method.study(_stretch(texts, number), language)
            if own is None:
                return
            yield number, own
        return
    if method.study([], language) is None:
        return
    task = lambda n: (method.spec, language, list(_stretch(texts, missing[n])))  # noqa: E731
    here = lambda n: method.study(_stretch(texts, missing[n]), language)  # noqa: E731
    for n, found in shared_out(f"{__name__}:studied", len(missing), task, helpers, here):
        yield missing[n], found


def studied(spec: str, language: str | None, texts: Sequence[str]) -> list[Any]:
    """What a method finds in each text."""
    return parse_perturbation(spec).study(texts, language) or []


def keeper(method: Perturbation[Any], kept: KeptTexts | None) -> KeptTexts | None:
    """Where the work of a method is kept."""
    return kept if kept is None or not hash_user_source(method) else kept.private()


def identity(method: Perturbation[Any]) -> str:
    """A method with its parameters, and with the hash of its source where it is not ours."""
    return f"{method.spec} {hash_user_source(method)}".strip()


def _grades(dataset: Dataset) -> dict[str, dict[str, int]]:
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    if dataset.qrels is not None:
        for item, document, grade in dataset.qrels.select("item", "document", "grade").iter_rows():
            grades[item][document] = grade
    return grades


def _siblings(dataset: Dataset, outputs: Sequence[Output]) -> dict[str, tuple[Output, ...]]:
    """The distinct outputs of each item."""
    found: defaultdict[str, set[Output]] = defaultdict(set)
    for item, output in zip(dataset.outputs["item"], outputs):
        found[item].add(output)
    return {item: tuple(sorted(own)) for item, own in found.items()}


def _rivals(dataset: Dataset, outputs: Sequence[Output]) -> dict[tuple[str, Output], tuple[Output, ...]]:
    """For each output, the other outputs of its item that are known to be worse, worst first.

    The score of an output is the mean over the systems that returned it and the human scores it has; of an
    item that was not rated, the mean of those systems over all items.
    """
    table = dataset.outputs.select("item", "system", score=pl.mean_horizontal(dataset.human)).with_columns(
        system_score=pl.col("score").mean().over("system"),
        rated=pl.col("score").is_not_null().any().over("item"),
    )
    known = table.select(pl.when("rated").then("score").otherwise("system_score")).to_series()
    scores: defaultdict[str, defaultdict[Output, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item, output, score in zip(table["item"], outputs, known):
        if score is not None:
            scores[item][output].append(score)
    rivals: dict[tuple[str, Output], tuple[Output, ...]] = {}
    for item, own in scores.items():
        ranked = sorted((float(np.mean(values)), output) for output, values in own.items())
        for score, output in ranked:
            rivals[item, output] = tuple(other for lower, other in ranked if lower < score)
    return rivals
