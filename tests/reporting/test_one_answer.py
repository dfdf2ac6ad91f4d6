"""Report, `recommend` and terminal say the same of a run: samples, and 200 random small results."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from assay_builders import make_content, make_perturbation
from metassay.cli.printing import format_table_cell, print_lines_tables_and_notes
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.human_pairs import HumanPairs
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.metrics.base import COST_CLASSES
from metassay.reporting.assay_caveats import list_remarks_on_data
from metassay.reporting.assay_page import build_assay_page
from metassay.reporting.assay_report import AssayReport, prepare_assay_report
from metassay.reporting.assay_sentences import (
    add_sentences_that_explain_recommendations,
    list_context_warnings,
)
from metassay.reporting.assay_verdict import list_main_findings_of_assay
from metassay.reporting.joined_page import build_joined_page
from metassay.reporting.pages import Page
from metassay.reporting.sections.assay_tests import build_table_of_accuracy_tests
from metassay.reporting.terminal.assay import describe_assay_result
from metassay.reporting.wording import NO_VALUE
from metassay.results.assay import AssayContent
from metassay.results.verdict import Claim
from metassay.store.run_folder import RunFolder
from metassay.workflows.assay import demo
from metassay.workflows.recommend import recommend

NAMES = ("bleu", "chrf", "ter", "wil", "wip", "meteor")
DANGLING = re.compile(r"[,;:] ?[.;]|\( ?\)|\bat least ?[.,]|\bin ?[.,;]|  |\.\.$|\bNone\b|\bnan\b")


def random_people(rng: np.random.Generator, metrics: tuple[str, ...], columns, item, cluster) -> HumanPairs:
    """What people might say of the same outputs: pairs in some contexts, gaps, and at times systems to rank."""
    skill = (
        rng.choice([0.05, 0.95], (len(metrics), 1)) if rng.random() < 0.5 else rng.random((len(metrics), 1))
    )
    rated = np.flatnonzero(rng.random(len(item)) < rng.choice([0.3, 1.0]))
    rated = rated if len(rated) else np.arange(len(item))
    outcome = np.where(rng.random((len(metrics), len(rated))) < skill, 1, rng.choice([-1, 0]))
    outcome[rng.random(outcome.shape) < rng.choice([0, 0, 0.2])] = -2
    outcome[rng.random(len(metrics)) < 0.1] = -2
    pairs = PairOutcomes(
        metrics, ("human",), outcome, item[rated], rated, cluster[rated], np.zeros(len(rated), dtype=int)
    )
    contexts = [
        PairContexts(name, tuple(f"{name[0]}{value}" for value in range(int(codes.max()) + 1)), codes[rated])
        for name, codes in columns.items()
    ]
    units = np.unique(cluster)[:30]
    shape = (len(metrics), int(rng.integers(2, 5)), len(units))
    scores = np.round(rng.normal(size=shape), int(rng.integers(0, 3)))
    scores[rng.random(len(metrics)) < 0.1] = np.nan
    systems = ScoreArrays(np.round(rng.normal(size=shape[1:]), 1), scores, units)
    return HumanPairs("mqm", pairs, contexts, [systems] if rng.random() < 0.8 else [])


def random_result(seed: int) -> AssayContent:
    """An assay of random judgements: few items, gaps, metrics that agree, contexts of one item."""
    rng = np.random.default_rng(seed)
    clear = seed % 4 == 0  # items enough, and metrics different enough, to show that one is ahead
    items, per_item = 150 if clear else int(rng.integers(1, 60)), int(rng.integers(1, 4))
    item = np.repeat(np.arange(items), per_item)
    output = np.arange(len(item))
    metrics = (*NAMES[: int(rng.integers(1, len(NAMES) + 1))], "length")
    columns = {
        "system": output % per_item,
        "domain": rng.integers(0, 3 if clear else rng.integers(1, 9), items)[item],
        "speaker": item % max(1, items // 2),
    }
    skill = (
        rng.choice([0.1, 0.9], (len(metrics), 10)) if clear else rng.uniform(0.1, 0.95, (len(metrics), 10))
    )
    right = rng.random((len(metrics), len(item))) < skill[:, columns["domain"]]
    outcome = np.where(right, 1, rng.choice([-1, 0], (len(metrics), len(item))))
    outcome[rng.random(outcome.shape) < rng.choice([0, 0, 0.1, 0.6])] = -2
    if "wip" in metrics:
        outcome[metrics.index("wip")] = outcome[metrics.index("wil")]
    cluster = columns["speaker"] if rng.random() < 0.5 else item
    judgements = PairOutcomes(
        metrics, ("removal", "swap"), outcome, item, output, cluster, rng.integers(0, 2, len(item))
    )
    contexts = [
        PairContexts(name, tuple(f"{name[0]}{value}" for value in range(int(codes.max()) + 1)), codes)
        for name, codes in columns.items()
    ]
    analysis = analyze_pairs(
        judgements,
        contexts,
        seed=seed,
        resamples=200,
        permutations=19,
        cost_classes={name: COST_CLASSES[rng.integers(0, 3)] for name in metrics if name != "length"},
        sentinels=["length"],
        minimum_items=int(rng.choice([1, 5, 20])),
        pairs_from="rule",
        human_pairs=random_people(rng, metrics, columns, item, cluster) if seed % 3 else None,
    )
    statistics = build_context_statistics(analysis)
    fields = {name: getattr(statistics, name) for name in statistics.__struct_fields__}
    overall, contexts_found = fields.pop("overall"), fields.pop("contexts")
    content = make_content(
        overall,
        contexts_found,
        fields.pop("recommendation"),
        **fields,
        items=items,
        outputs=len(output),
        pairs=len(item),
        perturbations={"removal": 5},
        perturbation_statistics=[make_perturbation("removal", applied=5), make_perturbation("synonym")],
        notes=["a", "a"],
        warnings=list_context_warnings(analysis),
    )
    content = add_sentences_that_explain_recommendations(content)
    return msgspec.structs.replace(
        content, verdict=list_main_findings_of_assay(prepare_assay_report(content))
    )


def store(result: AssayContent, folder) -> RunFolder:
    run = RunFolder.open_for_writing(folder, {"command": "assay"})
    run.write_json("results/assay.json", result.to_dict())
    run.write_json("timings.json", {"seconds_per_1000_outputs": {}})
    run.write_manifest({"state": "finished"})
    return run


def list_sentences(page: Page) -> list[str]:
    """List every sentence on a page."""
    sentences = [*page.lead, *page.doubts]
    for section in page.list_all_sections():
        sentences += [*section.sentences, *section.bullets, *(note.text for note in section.footnotes)]
    return [str(sentence) for sentence in sentences]


def check_human_comparison(result: AssayContent, lead: list[str], lines: list[str]) -> None:
    """Human pairs are named wherever they were used, and decide where they are followed."""
    comparison = result.human_comparison
    if comparison is None:
        assert "human pairs" not in " ".join([*lead, *lines])
        return
    assert result.answer is not None
    assert any("of human pairs" in line or "human pair" in line for line in lines)
    if comparison.followed:
        assert result.answer.metric == comparison.by_human_pairs.metric
        assert result.answer.metric != comparison.by_perturbed_pairs.metric
        assert not result.answer.exceptions


def check_verdict(verdict: list[Claim]) -> None:
    """No claim of a verdict contradicts another one."""
    use = {metric for claim in verdict if claim.kind == "use" for metric in claim.metrics}
    avoid = {metric for claim in verdict if claim.kind == "avoid" for metric in claim.metrics}
    best = {claim.metrics[0] for claim in verdict if claim.kind == "answer"}
    assert not avoid & (use | best)
    questions = [claim.question for claim in verdict if claim.kind in {"answer", "unanswered"}]
    assert len(questions) == len(set(questions))
    assert "rank_systems" in questions
    assert sum(claim.kind in {"use", "none"} and claim.question is None for claim in verdict) == 1
    for claim in verdict:
        if claim.value is not None and claim.low is not None and claim.kind == "answer":
            assert claim.low <= claim.value <= claim.high


def check_tests(view: AssayReport, output: str) -> None:
    """Page and terminal show the same deciding p-values."""
    for column in view.context_columns:
        table = build_table_of_accuracy_tests(view, column)
        shown = [test for test in column.result.h1 or [] if view.labels.has_own_table_row(test.metric)]
        rows = () if table is None else table.rows
        for row, test in zip(rows, shown, strict=True):
            p = view.find_adjusted_p_value(column.name, test)
            assert row["p_deciding"] == p
            assert format_table_cell(p) in output
            assert row["differs"] == (None if p is None else "yes" if p <= 0.05 else "not shown")


def check(result: AssayContent, folder, capsys) -> int:
    """Compare all outputs; return the number of contexts where another metric is shown to be ahead."""
    view = prepare_assay_report(result)
    page = build_assay_page(result)
    recommendation = recommend(folder)
    capsys.readouterr()
    print_lines_tables_and_notes(describe_assay_result(result), verbose=True)
    terminal = capsys.readouterr()
    lines = [claim.sentence for claim in recommendation.verdict]
    reasons = [entry.why for part in recommendation.recommendation.values() for entry in part.values()]
    for sentence in (*list_sentences(page), *lines, *reasons, *terminal.err.splitlines()):
        assert NO_VALUE not in sentence, sentence
        assert not DANGLING.search(sentence), sentence
    lead = [str(sentence) for sentence in page.lead]
    assert terminal.out.splitlines()[1 : 1 + len(lead)] == lead
    assert all(str(sentence) in terminal.out for sentence in page.closing)
    assert set(lead) | set(page.closing) <= set(lines)
    assert all(f"- {doubt}" in terminal.out for doubt in page.doubts)
    assert terminal.err.count("Note: ") == len(list_remarks_on_data(view))
    if view.best_metric is None:
        assert lines == ["No metric can be recommended: no pair could be scored."]
        return 0
    if len({*view.labels.single_labels}) == len(view.all_metrics):  # no metrics that decided alike
        assert str(build_joined_page(assay=result).lead[0]) == lead[0]
    first = view.best_metric.metric
    assert first not in view.metrics_that_ignore_quality
    recommended = recommendation.verdict[0]
    if recommended.kind == "use":
        assert recommended.metrics[0] == first
        assert re.search(rf"\b[Uu]se {re.escape(view.labels[first])}[ ,.]", lines[0])
    check_verdict(recommendation.verdict)
    exceptions = {}
    for column, entries in recommendation.recommendation.items():
        assert entries["global"].choice == first
        if len(view.labels.list_labels_of_metrics(recommended.metrics)) > 1 and recommended.kind == "use":
            assert "It is the only metric in the top group" not in entries["global"].why
        for context, entry in entries.items():
            if entry.choice not in {first, None}:
                exceptions[column, context] = entry.choice
    assert exceptions == view.differing_recommendations_by_context
    check_human_comparison(result, lead, lines)
    check_tests(view, terminal.out)
    return len(exceptions)


def test_random_results_contradict_themselves_nowhere(tmp_path, capsys):
    ahead = 0
    untested = 0
    alike = 0
    followed = 0
    for seed in range(80):
        result = random_result(seed)
        store(result, tmp_path / str(seed))
        ahead += check(result, tmp_path / str(seed), capsys)
        alike += bool(result.same_decisions)
        followed += bool(result.human_comparison and result.human_comparison.followed)
        tests = [column.h1 or [] for column in result.contexts.values()]
        untested += any(test.p_permutation is None for column_tests in tests for test in column_tests)
    assert ahead >= 4
    assert untested >= 8
    assert alike >= 8
    assert followed >= 4


@pytest.mark.parametrize("task", ["mt", "asr", "text", "ranking"])
def test_the_samples_contradict_themselves_nowhere(task, tmp_path, capsys):
    result = demo(task=task, out=tmp_path / task)
    check(result.content, tmp_path / task, capsys)
