"""Predicting agreement from metadata, and its error on contexts left out."""

import numpy as np
import pytest
from by_hand import as_outcomes, random_pairs
from sklearn.linear_model import LinearRegression

from metassay.errors import InputError
from metassay.meta.contexts.agreement_prediction import (
    are_contexts_exchangeable,
    find_columns_with_one_value_per_context,
    predict_rank_correlation_of_two_contexts,
)
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes

FAMILY = ["mf", "knn", "mf", "knn", "mf", "knn", "mf"]
YEAR = [2019.0, 2020.0, 2021.0, 2022.0, 2019.0, 2020.0, 2021.0]


def matrix(noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    same = np.array([[a == b for a in FAMILY] for b in FAMILY])
    table = 0.3 + 0.5 * same + rng.normal(0, noise, same.shape)
    table = (table + table.T) / 2
    np.fill_diagonal(table, 1)
    return table


def test_error_is_that_of_refitting_without_each_context():
    table = matrix()
    found = predict_rank_correlation_of_two_contexts(table, {"family": FAMILY, "year": YEAR})
    years = np.array(YEAR) / np.std(YEAR)
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)]
    features = np.array([[FAMILY[i] == FAMILY[j], abs(years[i] - years[j])] for i, j in pairs], dtype=float)
    target = np.array([table[i, j] for i, j in pairs])
    errors, baseline = [], []
    for left_out in range(7):
        out = np.array([left_out in pair for pair in pairs])
        model = LinearRegression().fit(features[~out], target[~out])
        errors += (target[out] - model.predict(features[out])).tolist()
        baseline += (target[out] - target[~out].mean()).tolist()
    assert found.rmse == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert found.mae == pytest.approx(np.mean(np.abs(errors)))
    assert found.baseline_rmse == pytest.approx(np.sqrt(np.mean(np.square(baseline))))
    model = LinearRegression().fit(features, target)
    assert list(found.coefficients.values()) == pytest.approx(model.coef_.tolist())
    assert found.intercept == pytest.approx(model.intercept_)
    assert found.explained > 0.8
    assert found.pairs == 21


def test_metadata_that_say_nothing_predict_nothing():
    rng = np.random.default_rng(1)
    found = predict_rank_correlation_of_two_contexts(matrix(), {"noise": rng.random(7).tolist()})
    assert found.explained < 0.3


def test_nothing_to_learn_from():
    assert predict_rank_correlation_of_two_contexts(matrix(), {}) is None
    assert predict_rank_correlation_of_two_contexts(matrix(), {"same": ["x"] * 7}) is None
    assert predict_rank_correlation_of_two_contexts(matrix()[:3, :3], {"family": FAMILY[:3]}) is None


def test_agreements_that_are_all_alike_leave_nothing_to_predict():
    """Up to rounding: a fit of rounding errors would have a p-value of its own."""
    agreement = np.ones((8, 8)) + np.arange(64).reshape(8, 8) * 1e-16
    assert (
        predict_rank_correlation_of_two_contexts(agreement, {"length": [float(n) for n in range(8)]}) is None
    )
    agreement[2, 5] = 0.9
    assert (
        predict_rank_correlation_of_two_contexts(agreement, {"length": [float(n) for n in range(8)]})
        is not None
    )


def test_one_value_per_context_is_needed():
    with pytest.raises(InputError, match="3 values for 7 contexts"):
        predict_rank_correlation_of_two_contexts(matrix(), {"family": FAMILY[:3]})


def test_enclosing_columns_are_metadata():
    speaker = PairContexts("speaker", ("s1", "s2", "s3"), np.array([0, 0, 1, 2, 2, -1]))
    sex = PairContexts("sex", ("f", "m"), np.array([0, 0, 1, 0, 0, 1]))
    system = PairContexts("system", ("A", "B"), np.array([0, 1, 0, 1, 0, 1]))
    assert find_columns_with_one_value_per_context(speaker, [sex, system]) == {"sex": ["f", "m", "f"]}


def test_random_metadata_predict_by_chance_as_often_as_said():
    rng = np.random.default_rng(1)
    reached = []
    for _ in range(100):
        noise = rng.random((12, 12))
        table = (noise + noise.T) / 2
        found = predict_rank_correlation_of_two_contexts(
            table, {"word": rng.choice(list("abc"), 12).tolist()}
        )
        reached.append(found is not None and found.p <= 0.1)
    assert 0.03 <= np.mean(reached) <= 0.19


def test_what_agreement_is_made_of_predicts_it():
    words = list("aaaabbbbcccc")
    table = np.where(np.equal.outer(words, words), 0.9, 0.2)
    assert predict_rank_correlation_of_two_contexts(table, {"word": words}).p == pytest.approx(1 / 500)


def test_the_share_explained_is_one_less_the_ratio_of_squared_errors():
    rng = np.random.default_rng(3)
    ages = rng.normal(size=12)
    matrix = 0.8 - 0.3 * np.abs(ages[:, None] - ages) + 0.1 * rng.normal(size=(12, 12))
    found = predict_rank_correlation_of_two_contexts((matrix + matrix.T) / 2, {"age": ages.tolist()})
    assert 0 < found.rmse < found.baseline_rmse
    assert found.explained == pytest.approx(1 - found.rmse**2 / found.baseline_rmse**2)


def draw_pairs_of_two_columns(rng):
    """Draw outcomes of five metrics by two systems on documents of four domains, crossed."""
    documents = np.arange(40)
    item, system = np.divmod(np.arange(80), 2)
    outcomes = np.where(rng.random((5, 80)) < 0.7, 1, -1)
    pairs = PairOutcomes(tuple("abcde"), ("x",), outcomes, item, np.arange(80), documents[item], item * 0)
    domain = documents[item] % 4
    return pairs, system, domain


def test_contexts_that_share_documents_unequally_get_no_p_value():
    pairs, system, domain = draw_pairs_of_two_columns(np.random.default_rng(0))
    names = tuple(f"{s}+{d}" for s in "AB" for d in range(4))
    crossed = PairContexts("system+domain", names, system * 4 + domain)
    assert not are_contexts_exchangeable(pairs, crossed)
    assert are_contexts_exchangeable(pairs, PairContexts("system", ("A", "B"), system))
    assert are_contexts_exchangeable(pairs, PairContexts("domain", tuple("0123"), domain))


def test_no_claim_is_made_about_crossed_contexts_that_share_noise():
    domain = np.arange(8) % 4
    agreements = np.where(domain[:, None] == domain, 0.9, 0.1)
    facts = {"domain": [str(c % 4) for c in range(8)]}
    assert predict_rank_correlation_of_two_contexts(agreements, facts).p <= 0.05
    unequal = predict_rank_correlation_of_two_contexts(agreements, facts, are_contexts_exchangeable=False)
    assert unequal.p is None
    assert unequal.rmse == predict_rank_correlation_of_two_contexts(agreements, facts).rmse


@pytest.mark.parametrize("columns", [1, 12])
def test_many_columns_draw_as_many_exchanges_as_their_correction_needs(columns):
    """With 499 exchanges, no claim on twelve columns and three kinds of claims could be significant."""
    pairs = random_pairs(3, weighted=False)
    outcomes = as_outcomes(pairs, weighted=False)
    names = tuple(f"document {n}" for n in range(8))
    contexts = [PairContexts(f"copy {n}", names, outcomes.clusters) for n in range(columns)]
    facts = {"year": [float(n) for n in range(8)]}
    analysis = analyze_pairs(
        outcomes,
        contexts,
        resamples=20,
        permutations=19,
        minimum_items=1,
        context_properties={context.column: facts for context in contexts},
    )
    statistics = build_context_statistics(analysis)
    tests = statistics.claims.tests
    assert tests["predict"] == columns
    factor = columns * sum(count > 0 for count in tests.values())
    orders = 500 if factor <= 25 else 40 * factor
    for column in statistics.contexts.values():
        assert column.h2.prediction.p * orders == pytest.approx(round(column.h2.prediction.p * orders))
    assert factor / orders <= 0.05
