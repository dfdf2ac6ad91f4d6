"""What must not change a contextual assay, what it refuses, and data at the edge of meaning."""

import json
from dataclasses import replace

import numpy as np
import pytest
from by_hand import (
    METHODS,
    METRICS,
    SYSTEMS,
    Pair,
    as_outcomes,
    assay,
    assay_pairs,
    columns_of,
    expected_row,
    random_pairs,
    same,
)

from metassay.errors import InputError
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.reporting.assay_sentences import list_context_warnings, warn_of_too_few_permutations


def test_law_is_exact_when_every_method_applies_everywhere():
    rng = np.random.default_rng(0)
    pairs = [
        Pair(item, item, system, method, 1.0, dict.fromkeys(METRICS, int(rng.choice([1, -1]))))
        for item in range(10)
        for system in SYSTEMS
        for method in METHODS
    ]
    for row in assay(pairs)["confounding"]:
        for entry in row["by_k"]:
            assert entry["variance"] == pytest.approx(entry["law"], abs=1e-12)


def test_order_of_pairs_and_workers_change_no_byte():
    pairs = random_pairs(7, weighted=True)
    shuffled = [pairs[i] for i in np.random.default_rng(0).permutation(len(pairs))]
    first = json.dumps(assay(pairs, weighted=True))
    assert first == json.dumps(assay(shuffled, weighted=True, workers=3))
    assert first != json.dumps(assay(pairs, weighted=True, seed=1))


def test_another_column_changes_no_number_of_a_column():
    pairs = random_pairs(8, weighted=False)
    judgements, columns = as_outcomes(pairs, weighted=False), columns_of(pairs)
    options = {"resamples": 50, "permutations": 49}
    both = assay_pairs(judgements, columns, **options).to_dict()["contexts"]["system"]
    alone = assay_pairs(judgements, columns[:1], **options).to_dict()["contexts"]["system"]
    assert both == alone


def test_constant_weights_are_no_weights():
    pairs = random_pairs(9, weighted=False)
    plain = as_outcomes(pairs, weighted=False)
    double = replace(plain, weights=np.full(len(pairs), 2.0))
    options = {"resamples": 50, "permutations": 9}
    first = assay_pairs(plain, columns_of(pairs), **options).to_dict()
    second = assay_pairs(double, columns_of(pairs), **options).to_dict()
    for column in ("system", "domain"):
        for a, b in zip(*(r["contexts"][column]["local_accuracy"] for r in (first, second)), strict=True):
            same(b, a)


def test_too_few_permutations_for_any_significant_difference_are_a_warning():
    """Two columns and three kinds of statements: 6 / (1 + permutations) must be at most .05."""
    pairs = random_pairs(0, weighted=False)
    warnings = {}
    for permutations in (118, 119):
        analysis = analyze_pairs(
            as_outcomes(pairs, weighted=False), columns_of(pairs), resamples=20, permutations=permutations
        )
        claims = build_context_statistics(analysis).claims
        assert sum(count > 0 for count in claims.tests.values()) == 3
        warnings[permutations] = warn_of_too_few_permutations(analysis, claims)
    assert warnings[119] == []
    assert "corrected for 2 columns and 3 kinds of statements. Add --permutations 119" in warnings[118][0]


def test_a_column_with_one_value_has_no_hypotheses_and_a_warning():
    pairs = random_pairs(0, weighted=False)
    year = PairContexts("year", ("2022",), np.zeros(len(pairs), dtype=int))
    analysis = analyze_pairs(as_outcomes(pairs, weighted=False), [year], resamples=20, permutations=9)
    result = build_context_statistics(analysis).to_dict()
    assert result["contexts"]["year"]["h1"] is None
    assert result["contexts"]["year"]["h2"] is None
    assert "year has only one value, so there are no contexts to compare." in list_context_warnings(analysis)


def test_pairs_in_no_context_count_globally_only():
    pairs = random_pairs(1, weighted=False)
    codes = np.array([0 if p.system == "A" else 1 if p.system == "B" else -1 for p in pairs])
    contexts = PairContexts("some", ("A", "B"), codes)
    result = assay_pairs(
        as_outcomes(pairs, weighted=False), [contexts], resamples=20, permutations=9
    ).to_dict()
    same(result["global"][0], expected_row("global", pairs, pairs, "bleu", 0.0))
    members = [p for p in pairs if p.system == "B"]
    row = next(r for r in result["contexts"]["some"]["local_accuracy"] if r["context"] == "B")
    same(row, expected_row("B", members, pairs, "bleu", 0.0))


def test_crossed_columns_are_tested_at_both_levels():
    pairs = random_pairs(2, weighted=False)
    names = tuple(f"{s}+{d}" for s in SYSTEMS for d in ("news", "talk"))
    codes = np.array([names.index(f"{p.system}+{p.domain}") for p in pairs])
    contexts = PairContexts("system+domain", names, codes)
    column = assay_pairs(
        as_outcomes(pairs, weighted=False), [contexts], resamples=20, permutations=9, minimum_items=9
    )
    assert column.to_dict()["contexts"]["system+domain"]["h1_exchanges"] == [
        "contexts within clusters",
        "clusters",
    ]


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (lambda n: PairContexts("domain", ("a", "b"), np.arange(n) % 2), "belongs to two contexts"),
        (lambda n: PairContexts("domain", ("a",), np.zeros(n - 1, dtype=int)), "one code for each pair"),
        (lambda n: PairContexts("domain", ("global",), np.zeros(n, dtype=int)), "called 'global'"),
    ],
)
def test_contexts_that_do_not_fit_are_refused(contexts, message):
    pairs = random_pairs(0, weighted=False)
    with pytest.raises(InputError, match=message):
        assay_pairs(as_outcomes(pairs, weighted=False), [contexts(len(pairs))])


def test_unknown_agreement_and_no_metric_are_refused():
    pairs = random_pairs(0, weighted=False)
    with pytest.raises(InputError, match="unknown rank agreement"):
        assay(pairs, agreement="spearman")
    with pytest.raises(InputError, match="no metric to assay"):
        assay(pairs, sentinels=METRICS)
    with pytest.raises(InputError, match="unknown treatment of ties"):
        assay(pairs, ties="third")


@pytest.mark.parametrize("seed", range(40))
def test_tiny_and_degenerate_data_give_valid_json(seed):
    rng = np.random.default_rng(seed)
    items, systems, methods, metrics = rng.integers(1, [8, 4, 4, 4])
    slots = [(i, s, k) for i in range(items) for s in range(systems) for k in range(methods)]
    item, system, method = np.array([slot for slot in slots if rng.random() < 0.8] or slots[:1]).T
    outcome = rng.choice([1, 0, -1, -2], size=(metrics, len(item)), p=[0.5, 0.1, 0.2, 0.2])
    outcome[0] = [-2, 0, 1, outcome[0], outcome[0]][seed % 5]  # never scored, always tied, always right
    judgements = PairOutcomes(
        metrics=tuple(f"m{m}" for m in range(metrics)),
        perturbation_names=tuple(f"k{k}" for k in range(methods)),
        outcomes=outcome,
        items=item,
        outputs=item * systems + system,
        clusters=item // 2,
        perturbations=method,
    )
    names = tuple(f"s{s}" for s in range(systems + 1))  # the last has no pair
    columns = [PairContexts("system", names, system), PairContexts("half", ("a", "b"), item % 2)]
    facts = {"system": {"size": list(range(systems + 1))}}
    result = assay_pairs(
        judgements, columns, resamples=20, permutations=9, context_properties=facts
    ).to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert len(result["contexts"]["system"]["local_accuracy"]) == metrics * len(np.unique(system))
