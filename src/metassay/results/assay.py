"""Result of `assay`: how often each metric prefers the better of two outputs, by context.

Where the name of an attribute differs from the JSON key, the key is older and stays for its readers.
Accuracies, intervals and p-values are None where they are undefined: no pair, a single cluster, no variation.
"""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, Interval, ResultStruct, Share
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim

# The context of all outputs together.
GLOBAL = "global"


class MetricAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of one metric in one context, such as a domain: how often the metric prefers the better of
    two outputs, with a 95 % interval.

    `accuracy` is the mean over items; `micro` the mean over pairs; `standardised` is computed with the shares
    that the perturbations have among all pairs. The counts are of what this metric could score.
    """

    context: str
    metric: str
    accuracy: Share | None
    low: Share | None
    high: Share | None
    micro: Share | None
    standardised: Share | None
    ties: Share | None
    items: Count
    outputs: Count
    pairs: Count
    clusters: Count


class CorrectedAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of a metric, corrected for perturbed outputs that are not worse than the original output
    (Rogan and Gladen, 1978).
    """

    accuracy_corrected: Share | None = None
    corrected_low: Share | None = None
    corrected_high: Share | None = None
    label_error: Share | None = None


class GlobalAccuracy(MetricAccuracy, frozen=True, kw_only=True):
    """The accuracy of a metric over all outputs. If it is known how many pairs have a wrong label, the
    accuracy is also given corrected for them.
    """

    accuracy_corrected: Share | None = None
    corrected_low: Share | None = None
    corrected_high: Share | None = None
    label_error: Share | None = None


class AccuracyTest(msgspec.Struct, frozen=True, kw_only=True):
    """Tests of the hypothesis (H1) that one metric is equally accurate in all contexts, such as
    all domains.
    """

    metric: str
    chi2: float | None
    dof: Count
    p: Share | None
    cramers_v: Share | None
    p_permutation: Share | None
    p_cmh: Share | None
    p_holm: Share | None
    p_permutation_holm: Share | None
    p_cmh_holm: Share | None
    cluster_variance_ratio: float | None
    """How much more accuracy varies between clusters than its items explain; None if clusters are items."""


class ContextGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of contexts, such as domains, that rank the metrics similarly, and the metrics that may be best
    in all of them.
    """

    contexts: list[str]
    agreement: float | None
    metrics: list[str]


class AgreementPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """How well properties of contexts, such as the mean output length of domains, predict how similarly two
    contexts rank the metrics.

    `coefficients` say by how much the agreement changes when two contexts share a category, or per standard
    deviation between their numbers. `rmse` and `mae` are errors for pairs with a context left out of the fit;
    `baseline_rmse` is that of predicting the mean of the others. `explained` is 1 - (rmse / baseline_rmse)².
    `p` is how often contexts that exchange their facts at random are fitted as well (Mantel, 1967); None
    where some contexts share items and others do not, because shared noise would look like a prediction.
    """

    intercept: float
    coefficients: dict[str, float]
    rmse: float
    mae: float
    baseline_rmse: float
    explained: float | None
    pairs: Count
    p: Share | None


class RankAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How similarly the contexts of a column, such as domains, rank the metrics, and tests of the hypothesis
    (H2) that they rank the metrics alike.

    `contexts` are the rows and columns of `matrix`, "global" first. Of more than 300 contexts the matrix has
    only its first row, of more than 100 contexts also the interval (`low`, `high`). `ceiling` is the
    agreement that two samples of the same context would reach; `p_global` tests that a context orders the
    metrics as all outputs together do.
    """

    statistic: str
    contexts: list[str]
    matrix: list[list[float | None]]
    low: list[list[float | None]]
    high: list[list[float | None]]
    ceiling: list[float | None]
    p_global: list[Share | None]
    p_global_holm: list[Share | None]
    context_groups: list[ContextGroup] = msgspec.field(name="clusters")
    prediction: AgreementPrediction | None


class MetricRobustness(msgspec.Struct, frozen=True, kw_only=True):
    """How much the accuracy of one metric varies between the contexts of a column, such as domains, and how
    low it can become.

    `stability` is the standard deviation between contexts, net of sampling error; `worst_case` the lowest
    lower bound, in `worst_context`; `robust_accuracy` the accuracy under the worst mix of contexts near the
    observed one.
    """

    metric: str
    stability: float | None
    worst_case: Share | None
    worst_context: str
    robust_accuracy: Share | None


class ContextColumn(msgspec.Struct, frozen=True, kw_only=True):
    """All results for one column, such as the domain, each value of which is a context.

    `h1` and `h2` are None where the column has one value. `h1_exchanges` names the units whose contexts the
    permutation test exchanged. `perturbation_shares` are the shares of the perturbations among the pairs of
    each context. `trend` is Spearman's correlation of accuracy with the order of the contexts, by metric;
    None where they have no order. `regret` is what it costs, in accuracy, to use the metric of the answer in
    all contexts instead of the best metric in each; None where it could not be computed.
    """

    local_accuracy: list[MetricAccuracy]
    h1: list[AccuracyTest] | None
    h1_exchanges: list[str] | None
    h2: RankAgreement | None
    perturbation_shares: dict[str, dict[str, float]] = msgspec.field(name="method_mix")
    robustness: list[MetricRobustness]
    trend: dict[str, float | None] | None
    trend_p: dict[str, Share | None] | None
    regret: Interval | None
    sentinels: list[MetricAccuracy]


class CombinationVariance(msgspec.Struct, frozen=True, kw_only=True):
    """How much the accuracy of a metric varies between combinations of `k` perturbations (rules that make
    outputs worse), and how much sampling theory predicts.
    """

    k: Count
    variance: float | None
    law: float | None
    combinations: Count


class OverlookedPerturbation(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of error that a metric overlooks: the metric prefers the better output in significantly less
    than half of the pairs.
    """

    perturbation: str = msgspec.field(name="method")
    accuracy: Share
    p_holm: Share


class MetricConfounding(msgspec.Struct, frozen=True, kw_only=True):
    """How much the accuracy of one metric depends on the perturbation, which is the rule by which the worse
    output of a pair was made.

    `variance` is that of the accuracies by perturbation, `variance_net` without sampling error, `share` the
    net variance as a share of a(1 - a), the most that is possible at mean accuracy a. `p_family` is p
    adjusted for all metrics together; `flag` says that it is at most 0.05. `responsible` are the
    perturbations that cause at least half of the variance.
    """

    metric: str
    variance: float | None
    low: float | None
    high: float | None
    flag: bool
    by_perturbation: dict[str, Share | None] = msgspec.field(name="by_method")
    by_k: list[CombinationVariance]
    variance_net: float | None
    share: float | None
    share_low: float | None
    p: Share | None
    p_holm: Share | None
    p_family: Share | None = None
    responsible: list[str]
    overlooked: list[OverlookedPerturbation] = msgspec.field(name="unseen")
    sentence: str = ""
    sentinel: bool


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """The metric to use in one context such as a domain, and the metrics that may be equally good.

    `metrics` are ordered by accuracy. `top_group` are those that may be the best, in order of preference;
    `behind` are members of it that a paired comparison puts behind another. `robust_choice` is given for
    "global" only: the metric that holds up best when the mix of contexts shifts.
    """

    metrics: list[str]
    top_group: list[str]
    behind: list[str]
    choice: str | None
    why: str = ""
    robust_choice: str | None = None


class ContextException(msgspec.Struct, frozen=True, kw_only=True):
    """A context, such as a domain, in which another metric is recommended than over all outputs."""

    column: str
    context: str
    metric: str


class OverallRecommendation(msgspec.Struct, frozen=True, kw_only=True):
    """The metric that is recommended over all outputs, the metrics that are not shown to be worse, and the
    contexts with another recommendation.
    """

    metric: str
    top_group: list[str]
    exceptions: list[ContextException]


class MetricLead(msgspec.Struct, frozen=True, kw_only=True):
    """The claim that one metric is more accurate than another, in one context (such as a domain) or over all
    outputs.
    """

    column: str | None
    context: str
    better: str
    worse: str
    p: Share


class AccuracyVariation(msgspec.Struct, frozen=True, kw_only=True):
    """The claim that the accuracy of a metric differs between the contexts of a column, such as domains."""

    column: str
    metric: str
    p: Share


class AccuracyTrend(msgspec.Struct, frozen=True, kw_only=True):
    """The claim that the accuracy of a metric rises or falls along the ordered contexts of a column, such as
    years.
    """

    column: str
    metric: str
    p: Share


class PredictableAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """The claim that properties of contexts, such as their language, predict which contexts rank the metrics
    similarly.
    """

    column: str
    p: Share


class PerturbationDependence(msgspec.Struct, frozen=True, kw_only=True):
    """The claim that the accuracy of a metric depends on the rule by which outputs were made worse."""

    metric: str
    p: Share


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """All differences that a report may state. One error rate limits the probability that any of these
    statements is wrong.

    `tests` counts what could have been claimed, by kind; `small_contexts` names, by column, contexts too
    small to take part; `order` has, by column and context, the p-value of the clearest lead against the order
    of the metrics over all outputs; `variation_p` has, by column and metric, the p-value that decides whether
    accuracy differs between contexts.
    """

    error_rate: float
    tests: dict[str, Count]
    small_contexts: dict[str, list[str]] = msgspec.field(name="set_aside")
    leads: list[MetricLead] = msgspec.field(name="lead")
    variations: list[AccuracyVariation] = msgspec.field(name="vary")
    trends: list[AccuracyTrend] = msgspec.field(name="trend")
    predictions: list[PredictableAgreement] = msgspec.field(name="predict")
    perturbation_dependences: list[PerturbationDependence] = msgspec.field(name="method")
    human_leads: list[MetricLead] = msgspec.field(name="people", default_factory=list)
    order: dict[str, dict[str, Share]]
    variation_p: dict[str, dict[str, Share]] = msgspec.field(default_factory=dict)


class BestMetric(msgspec.Struct, frozen=True, kw_only=True):
    """The metric that is best by one criterion, for example by soft pairwise accuracy."""

    metric: str


class HumanChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The metric that most often prefers the output with the higher human score, and the metrics that are not
    shown to be worse.
    """

    metric: str
    top_group: list[str]


class SavingChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The metric that saves the most human labels when two systems are compared, and the metrics not shown to
    save fewer.

    `p` tests that it saves none, corrected for the number of metrics; None for a single cluster.
    """

    metric: str
    top_group: list[str]
    p: Share | None


class HumanAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How well one metric agrees with human scores on pairs of outputs (accuracy) and of systems (soft
    pairwise accuracy, SPA).

    `labels_saved` is the share of human labels that the metric saves when two systems are compared.
    """

    metric: str
    accuracy: Share | None
    low: Share | None
    high: Share | None
    ties: Share | None
    pairs: Count
    rank: Count | None
    spa: Share | None
    spa_low: Share | None
    spa_high: Share | None
    rank_spa: Count | None
    labels_saved: float | None = None
    labels_saved_low: float | None = None
    labels_saved_high: float | None = None


class OrderAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How similar two rankings of the metrics are: Kendall's tau-b with its 95 % interval.

    The corrected value is what tau would be if both orders were measured without noise; None where one of
    the orders is little more than noise.
    """

    tau: float | None
    low: float | None
    high: float | None
    corrected_tau: float | None
    corrected_low: float | None
    corrected_high: float | None


class RankingAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How similar three rankings of the metrics are: by accuracy on outputs that were made worse, by accuracy
    on outputs with different human scores, and by soft pairwise accuracy (SPA) on systems.
    """

    statistic: str
    perturbed_with_human: OrderAgreement = msgspec.field(name="rule_pairs")
    perturbed_with_spa: OrderAgreement = msgspec.field(name="rule_spa")
    human_with_spa: OrderAgreement = msgspec.field(name="pairs_spa")


class SecondSampleCeiling(msgspec.Struct, frozen=True, kw_only=True):
    """How well a second sample of human scores of the same size would agree with the first, as a ceiling for
    metrics.
    """

    pairs: float | None
    spa: float | None


class ContextHumanAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How often one metric prefers the output with the higher human score, in one context such as
    a domain.
    """

    metric: str
    accuracy: Share | None
    low: Share | None
    high: Share | None


class ContextHumanAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How similar two rankings of the metrics are in one context, such as a domain: by accuracy on outputs
    that were made worse, and on outputs with different human scores.
    """

    context: str
    tau: float | None
    low: float | None
    high: float | None
    ceiling: float | None
    items: Count
    pairs: Count
    metrics: list[ContextHumanAccuracy]


class HumanComparison(msgspec.Struct, frozen=True, kw_only=True):
    """How well the metrics agree with human scores of outputs and systems, compared with their accuracy on
    outputs that were made worse.

    A human pair is two systems' outputs for one item with different human scores. `followed`: the best metric
    on human pairs is shown to be ahead of the one chosen on perturbed pairs, and takes its place.
    """

    human: str
    items: Count
    pairs: Count
    systems: Count | None
    segments: Count | None
    followed: bool
    by_perturbed_pairs: BestMetric = msgspec.field(name="by_rule")
    by_human_pairs: HumanChoice = msgspec.field(name="by_people")
    by_spa: BestMetric | None
    by_labels_saved: SavingChoice | None = None
    spa_constant: Share | None = None
    """SPA of a metric that gives all outputs the same score: what needs no skill."""
    metrics: list[HumanAccuracy]
    agreement: RankingAgreement
    ceiling: SecondSampleCeiling
    contexts: dict[str, list[ContextHumanAgreement]]


class SharedErrors(msgspec.Struct, frozen=True, kw_only=True):
    """How often two metrics are wrong on the same pairs, as a correlation (phi) for every two metrics."""

    metrics: list[str]
    matrix: list[list[float | None]]


class AssayedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of an assay, with the signature that identifies its version and parameters."""

    metric: str
    signature: str
    higher_is_better: bool


class PerturbationStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """How often one perturbation (a rule that makes outputs worse) could be applied, how much it changed, and
    how often human scores contradict that the result is worse.

    For rankings, `worse`, `equal` and `better` count perturbed rankings by their change in discounted gain,
    `clearly_worse` those with less gain at every rank or the same; `refused` marks a perturbation that
    improved rankings as often as not, so that its pairs were dropped.
    """

    perturbation: str
    outputs: Count
    applied: Count
    not_applicable: Count
    unchanged: Count
    pairs: Count
    edit_distance: float | None = None
    edit_share: float | None = None
    human_scored: Count = msgspec.field(name="judged")
    disagreements: Count
    ties: Count
    worse: Count | None = None
    clearly_worse: Count | None = None
    equal: Count | None = None
    better: Count | None = None
    refused: Count | None = None


class LabelErrorRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many perturbed outputs are not worse than the original, according to people who read them, for one
    perturbation and language.
    """

    perturbation: str
    language: str | None
    read: Count
    not_worse: Count
    rate: Share
    low: Share
    high: Share


class DifficultyBin(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of similar difficulty: the share of edited characters lies between `low` and `high`."""

    low: float
    median: float
    high: float
    pairs: Count


class BinAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How often one metric prefers the better output, among pairs of similar difficulty."""

    metric: str
    bin: Count
    accuracy: Share | None
    low: Share | None
    high: Share | None
    ties: Share | None
    items: Count
    pairs: Count


class HumanPairDistances(msgspec.Struct, frozen=True, kw_only=True):
    """How much two outputs of the same item differ if people scored them differently: quartiles of the share
    of characters that differ.
    """

    human: str
    pairs: Count
    low: float
    median: float
    high: float


class Difficulty(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of the metrics by the difficulty of pairs. A pair is hard if few characters of the output
    were edited.
    """

    measure: str
    median: float
    bins: list[DifficultyBin]
    accuracy: list[BinAccuracy]
    human_pairs: HumanPairDistances | None = msgspec.field(name="people")


class ClusterChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The column that says which items are resampled together, such as the document or speaker, and why it
    was chosen.
    """

    column: str
    why: str


class ContextStatistics(ResultStruct, frozen=True, kw_only=True):
    """Results on pairs of a better and a worse output, such as the accuracies of metrics, tests and
    recommendations.

    `pairs_from` says what the pairs are: perturbed by "rule", also by a language "model", chosen by "people",
    or, where it is empty, given by the user. `same_decisions` are groups of metrics that decided every pair
    alike. `pareto` are the metrics that no other beats in both accuracy and cost class.
    """

    contexts: dict[str, ContextColumn]
    overall: list[GlobalAccuracy] = msgspec.field(name="global")
    sentinels: list[MetricAccuracy]
    confounding: list[MetricConfounding]
    answer: OverallRecommendation | None
    human_comparison: HumanComparison | None = msgspec.field(name="people")
    recommendation: dict[str, dict[str, Recommendation]]
    cost_class: dict[str, str]
    same_decisions: list[list[str]]
    pareto: list[str] | None
    shared_errors: SharedErrors = msgspec.field(name="phi")
    claims: Claims
    pairs_from: str
    uninformed: list[str] = msgspec.field(default_factory=list)
    """Metrics whose scores one property of the output determines, and sentinels; never recommended."""


class AssayContent(ContextStatistics, frozen=True, kw_only=True):
    """The result of the command `metassay assay`: how accurate each metric is, and which metric to use."""

    task: str
    items: Count
    outputs: Count
    pairs: Count
    left_out: dict[str, Count]
    named_left_out: dict[str, list[str]]
    perturbations: dict[str, Count]
    metrics: list[AssayedMetric]
    price: dict[str, list[float]]
    perturbation_statistics: list[PerturbationStatistics] = msgspec.field(name="validity")
    label_errors: list[LabelErrorRate]
    difficulty: Difficulty | None
    valid_pairs_only: bool
    notes: list[str]
    cluster: ClusterChoice
    warnings: list[str]
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
