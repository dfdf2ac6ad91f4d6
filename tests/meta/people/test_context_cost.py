"""The cost of one metric in all contexts: how often its interval contains the truth, and its sentence."""

from __future__ import annotations

import numpy as np
import pytest

import metassay
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.registry import parse_meta_metric

SYSTEMS = 8
ITEMS = 60
"""Items of each context."""
SPA = parse_meta_metric("spa")
QUALITY = np.linspace(0, 1, SYSTEMS)[:, None]
SKILLS = {
    "equal": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
    "one metric is best everywhere": [[1.0, 0.6, 0.4], [1.0, 0.6, 0.4]],
    "the best metric changes": [[1.0, 0.2, 0.4], [0.3, 1.0, 0.4]],
}
"""How much of the true quality each metric sees, for every context."""


def draw_context(rng, skills, items=ITEMS) -> ScoreArrays:
    human = QUALITY + rng.normal(0, 2, (SYSTEMS, items))
    metrics = [skill * QUALITY + rng.normal(0, 2, (SYSTEMS, items)) for skill in skills]
    return ScoreArrays(human, np.stack(metrics))


def make_rows(contexts) -> list[dict]:
    """Write the scores of contexts as a table with a column for each metric."""
    rows = []
    for number, scores in enumerate(contexts):
        for item in range(scores.human.shape[1]):
            for system in range(SYSTEMS):
                metrics = {f"M{m}": scores.metrics[m, system, item] for m in range(len(scores.metrics))}
                human = scores.human[system, item]
                identity = {"seg_id": f"{number}-{item}", "system": f"s{system}", "domain": f"d{number}"}
                rows.append({**identity, "human": human, **metrics})
    return rows


def compute_true_values(skills) -> np.ndarray:
    """Average SPA over many data sets of the same size: `[contexts, metrics]`."""
    rng = np.random.default_rng(7)
    return np.array(
        [
            np.mean([SPA.evaluate_metrics(draw_context(rng, row)) for _ in range(400)], axis=0)
            for row in skills
        ]
    )


def measure_coverage(skills, trials: int) -> float:
    """Measure how often the interval of the cost contains the cost of the metric that was best overall."""
    true_values = compute_true_values(skills)
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(trials):
        rows = make_rows([draw_context(rng, row) for row in skills])
        result = metassay.rank(
            rows, human="human", context="domain", significance="none", draws=200, seed=trial
        )
        (cost,) = result.context_costs
        metric = int(cost.metric[1:])
        truth = np.maximum(true_values - true_values[:, [metric]], 0).max(axis=1).mean()
        covered += cost.low - 1e-9 <= truth <= cost.high + 1e-9
    return covered / trials


@pytest.mark.slow
@pytest.mark.parametrize("design", SKILLS)
def test_the_interval_contains_the_true_cost(design):
    assert measure_coverage(SKILLS[design], trials=100) >= 0.9


def test_the_cost_is_that_of_the_best_metric_and_is_said():
    rng = np.random.default_rng(5)
    contexts = [draw_context(rng, row, items=80) for row in [[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]]]
    result = metassay.rank(make_rows(contexts), human="human", context="domain", draws=199)
    (cost,) = result.context_costs
    assert cost.metric == "M0"
    assert cost.low <= cost.value <= cost.high
    values = np.array([SPA.evaluate_metrics(scores) for scores in contexts])
    observed = np.maximum(values[:, 1] - values[:, 0], 0).mean()
    assert cost.value == pytest.approx(observed, abs=0.06)
    assert observed > 0.05
    (claim,) = [claim for claim in result.verdict if claim.kind == "regret"]
    assert f"using M0 everywhere costs {cost.value:.2f} of SPA" in claim.sentence


def test_one_context_has_no_cost():
    rng = np.random.default_rng(6)
    rows = make_rows([draw_context(rng, [1.0, 0.5])])
    assert metassay.rank(rows, human="human", context="domain", draws=99).context_costs == []
