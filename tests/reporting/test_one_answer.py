"""Report, `recommend` and terminal say the same of a run: samples, and 200 random small results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from assay_builders import make_content, make_perturbation
from metassay.cli.printing import format_cell, print_blocks
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.context_statistics import build_statistics
from metassay.meta.contexts.human_pairs import HumanPairs
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.metrics.base import COST_CLASSES
from metassay.reporting.answer import answer_lines
from metassay.reporting.assay_sentences import add_sentences, list_warnings
from metassay.reporting.findings import find
from metassay.reporting.html import summarize
from metassay.reporting.joined_page import joined_page
from metassay.reporting.terminal.assay import describe_assay
from metassay.reporting.wording import NOTHING, Sentence, in_labels
from metassay.store.run_folder import RunFolder
from metassay.workflows.assay import demo
from metassay.workflows.recommend import recommend

NAMES = ("bleu", "chrf", "ter", "wil", "wip", "meteor")
DANGLING = re.compile(r"[,;:] ?[.;]|\( ?\)|\bat least ?[.,]|\bin ?[.,;]|  |\.\.$|\bNone\b|\bnan\b")
SAID = {"answer", "caveats", "warnings", "remarks", "sentences", "agreement_sentences"}


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


def random_result(seed: int) -> dict[str, Any]:
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
    statistics = build_statistics(analysis)
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
        warnings=list_warnings(analysis),
    )
    return add_sentences(content).to_dict()


def stored(result: dict[str, Any], folder) -> RunFolder:
    run = RunFolder.open(folder, {"command": "assay"})
    run.write_json("results/assay.json", result)
    run.write_json("timings.json", {"seconds_per_1000_outputs": {}})
    run.write_manifest({"state": "finished"})
    return run


def sentences(value: Any, key: str = "") -> Iterator[str]:
    """Everything that is said on a page."""
    if isinstance(value, Sentence):
        yield str(value)
    elif isinstance(value, str) and key in SAID:
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from sentences(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from sentences(inner, key)


def check_people(result: dict[str, Any], said: list[str], lines: list[str]) -> None:
    """People are named wherever they were heard, and the first sentence is theirs where they are followed."""
    people = result["people"]
    if people is None:
        assert "people" not in " ".join([*said, *lines])
        return
    human = f"pairs judged by people ({people['human']}"
    assert human in said[0] if people["followed"] else human in said[1]
    assert human in lines[-1] or any(human in line for line in lines)
    if people["followed"]:
        assert result["answer"]["metric"] == people["by_people"]["metric"] != people["by_rule"]["metric"]
        assert "people are followed" in said[0]
        assert not result["answer"]["exceptions"]


def check(result: dict[str, Any], folder, capsys) -> int:
    """All doors against each other; the number of contexts where another metric is shown to be ahead."""
    page, findings = summarize(result), find(result)
    recommended = in_labels(recommend(folder).to_dict())
    capsys.readouterr()
    print_blocks(describe_assay(result))
    terminal = capsys.readouterr()
    lines = answer_lines(recommended)
    whys = [e["why"] for part in recommended["recommendation"].values() for e in part.values()]
    for said in (*sentences(page), *lines, *whys, *terminal.err.splitlines()):
        assert NOTHING not in said, said
        assert not DANGLING.search(said), said
    said = [str(each) for each in page["answer"]]
    assert terminal.out.splitlines()[1 : 1 + len(said)] == said
    assert list(joined_page({"assay": result}).lead) == said[:1]
    doubts = [*map(str, page["caveats"]), *page["warnings"]]
    assert all(f"- {doubt}" in terminal.out for doubt in doubts)
    assert terminal.err.count("Note: ") == len(page["remarks"]) == len(set(page["remarks"]))
    if findings.best is None:
        assert lines == []
        return 0
    first = findings.best.metric
    assert first not in findings.sentinels
    assert said[0].startswith(f"{first} tells a better ")
    assert re.fullmatch(rf"Use {re.escape(first)}(;.*)?\.", lines[0])
    exceptions, shown_ahead = {}, 0
    for column, entries in recommended["recommendation"].items():
        assert entries["global"]["choice"] == first
        if "cannot be told apart" in lines[0]:
            assert "It is the only metric in the top group" not in entries["global"]["why"]
        others = {c: e["choice"] for c, e in entries.items() if e["choice"] not in {first, None}}
        exceptions |= {(column, context): metric for context, metric in others.items()}
    assert exceptions == findings.exceptions
    check_people(result, said, lines)
    for column, part in zip(findings.columns, page["columns"]):
        where = next((text for text in said if f"y {column.name} nothing speaks" in text), "")
        own = {c: m for (name, c), m in exceptions.items() if name == column.name}
        scored = {c for c in own if column.estimates[c, first].accuracy is not None}
        assert len(re.findall(r" trust ", where)) == min(2, len(scored))
        shown_ahead += len(scored)
        for context, metric in re.findall(r"on (\S+) trust (.+?), right", where):
            assert own[context] == metric
        for shown, row in zip(part["h1"].rows if part["h1"] else (), column.h1, strict=True):
            assert shown["corrected"] == row["p_permutation_holm"]
            assert format_cell(row["p_permutation_holm"]) in terminal.out
    return shown_ahead


def test_random_results_contradict_themselves_nowhere(tmp_path, capsys):
    ahead, untested, alike, followed = 0, 0, 0, 0
    for seed in range(200):
        result = json.loads(json.dumps(random_result(seed), allow_nan=False))
        stored(result, tmp_path / str(seed))
        ahead += check(result, tmp_path / str(seed), capsys)
        alike += bool(result["same_decisions"])
        followed += bool(result["people"] and result["people"]["followed"])
        h1 = [part["h1"] or [] for part in result["contexts"].values()]
        untested += any(row["p_permutation"] is None for rows in h1 for row in rows)
    assert ahead >= 10
    assert untested >= 20
    assert alike >= 20
    assert followed >= 10


@pytest.mark.parametrize("task", ["mt", "asr", "text", "ranking"])
def test_the_samples_contradict_themselves_nowhere(task, tmp_path, capsys):
    result = demo(task=task, out=tmp_path / task)
    check(json.loads(result.to_json()), tmp_path / task, capsys)
