"""`perturb`: make outputs worse, by rules or with a language model."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.normalisation import choose_text_normalisation
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.data.reference_systems import has_only_reference_systems
from metassay.data.summary import summarize_dataset
from metassay.engine.workers import choose_worker_count
from metassay.llm.budget import read_token_price
from metassay.llm.prompts import read_user_prompt
from metassay.llm.settings import LlmSettings
from metassay.metrics.precomputed_scores import list_distinct_texts
from metassay.options import replace_options_parameter_by_keywords
from metassay.perturbations.pairs import Pairs, make_perturbed_output_pairs
from metassay.reporting.terminal.blocks import Block
from metassay.reporting.terminal.perturb import build_perturb_verdict, describe_perturbed_pairs
from metassay.results.perturb import AppliedPerturbation, PerturbContent
from metassay.specs import split_metric_names
from metassay.store.remote import upload_file_in_background
from metassay.store.run_folder import RunFolder
from metassay.store.versions import collect_code_and_package_versions, collect_versions
from metassay.workflows.options import PerturbOptions, PerturbSettings
from metassay.workflows.pair_scoring import list_texts_of_pairs
from metassay.workflows.read import Source, read
from metassay.workflows.run_files import Result

ANSWERS = "llm-answers.jsonl"
# What others must score.
TEXTS = "texts.jsonl"


def build_llm_settings(
    url: str | None,
    model: str | None,
    local: str | None,
    prompt: Path | None,
    concurrency: int,
    prices: Path | None = None,
    budget: float | None = None,
) -> LlmSettings | None:
    """Build the settings of a language model from options of the command line. Returns None if the options
    name no model.
    """
    if url is None and local is None:
        return None
    name = model or ""
    price = None if prices is None else read_token_price(prices, name)
    return LlmSettings(url, name, local, prompt, concurrency=concurrency, price=price, budget=budget)


def describe_language_model(llm_settings: LlmSettings | None) -> dict[str, str | None] | None:
    """Describe a language model for the record of a run. Its address and key are left out."""
    if llm_settings is None:
        return None
    prompt = None if llm_settings.prompt is None else read_user_prompt(llm_settings.prompt)
    return {"model": llm_settings.model_name, "prompt": prompt}


def cache_llm_answers_in_run_folder(
    llm_settings: LlmSettings | None, run_folder: RunFolder | None
) -> LlmSettings | None:
    """Let a language model store its answers in the run folder, so that a resumed run does not ask the same
    question again. Returns the changed settings.
    """
    if llm_settings is None or llm_settings.cache is not None or run_folder is None:
        return llm_settings
    upload_file_in_background(run_folder.path / ANSWERS)
    return replace(llm_settings, cache=run_folder.path / ANSWERS)


@dataclass(frozen=True, repr=False)
class PerturbResult(Result):
    """Result of `perturb`: pairs of an output and a worse version of it, and how often each perturbation
    could be applied.
    """

    dataset: Dataset
    pairs: Pairs
    folder: Path | None = None

    @functools.cached_property
    def content(self) -> PerturbContent:
        """The numbers of outputs and pairs for each perturbation."""
        perturbations = [
            AppliedPerturbation(name, count.pairs, count.applied, count.not_applicable, count.unchanged)
            for name, count in sorted(self.pairs.counts.items())
        ]
        content = PerturbContent(
            task=self.dataset.task,
            outputs=len(self.dataset),
            pairs=len(self.pairs),
            left_out=dict(self.dataset.left_out),
            perturbations=perturbations,
            usage={name: dict(usage) for name, usage in self.pairs.usage.items()},
            notes=[*self.dataset.notes, *self.pairs.notes],
            data=summarize_dataset(self.dataset),
        )
        return msgspec.structs.replace(content, verdict=build_perturb_verdict(content))

    def to_frame(self) -> pl.DataFrame:
        """Return the pairs as a table with the columns `item, system, perturbation, output, worse`."""
        return self.pairs.frame

    def describe_result_for_terminal(self) -> list[Block]:
        """Describe the result in the lines, tables and notes that the command line prints."""
        return describe_perturbed_pairs(self.content)


@replace_options_parameter_by_keywords(PerturbOptions)
def perturb(dataset: Dataset | Source, options: PerturbOptions) -> PerturbResult:
    """Make each output worse in several ways.

    With `out`, the pairs are written to `pairs.parquet` in this folder. The file `texts.jsonl` gets all texts
    that an assay of the same data and settings scores: the outputs and all their perturbed versions,
    including those beyond `per_output`, but not those of systems whose outputs are the references.

    - `perturbations` names the perturbations to apply. By default they are those of the task.
    - `per_output` is the number of perturbed versions of each output.

    >>> rows = [{"seg_id": 1, "system": "a", "hyp": "red fox", "ref": "the red fox"}]
    >>> len(perturb(rows, perturbations="removal").to_frame())
    1
    """
    source = read(dataset)
    data = prepare_dataset_for_scoring(
        source, normalize=options.normalize, keep_references=options.keep_references
    )
    # An assay leaves out systems that are the reference itself, unless there are no others.
    keeps_references = options.keep_references and has_only_reference_systems(source)
    assayed = prepare_dataset_for_scoring(
        source, normalize=options.normalize, keep_references=keeps_references
    )
    named = None if options.perturbations is None else split_metric_names(options.perturbations)
    configuration = options.to_dict(PerturbSettings) | {
        "perturbations": None if named is None else [str(part) for part in named],
        "normalize": choose_text_normalisation(data, options.normalize),
        "llm": describe_language_model(options.llm),
        "seed": options.seed,
    }
    del configuration["strict_resources"]  # decides whether there is a result, not which
    identity = {"command": "perturb", "configuration": configuration, "input": data.content_hash}
    run = None if options.out is None else RunFolder.open_for_writing(options.out, identity)
    make = functools.partial(
        make_perturbed_output_pairs,
        perturbations=named,
        per_output=None,
        seed=options.seed,
        preprocess=options.preprocess,
        workers=choose_worker_count(options.workers),
        strict_resources=options.strict_resources,
        llm=cache_llm_answers_in_run_folder(options.llm, run),
        store=None
        if run is None
        else run.open_stored_texts(json.dumps(collect_code_and_package_versions(data.languages))),
        progress=None if options.progress is None else functools.partial(options.progress, "perturbing"),
    )
    every = make(data)
    pairs = every.sample_pairs_per_output(options.per_output)
    result = PerturbResult(data, pairs, None if run is None else run.path)
    if run is not None:
        run.write_table("pairs.parquet", pairs.frame)
        if not data.task_definition.is_ranking:
            texts = list_texts_of_pairs(assayed, every if len(assayed) == len(data) else make(assayed))
            run.write_text(TEXTS, list_distinct_texts(texts).write_ndjson())
        run.write_json("resources.json", dict(pairs.resources))
        run.write_manifest({"state": "finished", "versions": collect_versions(), "result": result.to_dict()})
    return result
