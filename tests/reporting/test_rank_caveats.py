"""The notes of `rank` on metrics that were left out, and on too little data."""

import pytest

from metassay.meta.people.caveats import (
    MissingSpans,
    PermutedMetrics,
    ReplacedMetaMetrics,
    SmallContexts,
    SparseMetrics,
    TooLittleData,
)
from metassay.reporting.rank_caveats import list_caveats_as_notes
from metassay.results.insufficient_data import InsufficientData


@pytest.mark.parametrize(
    ("caveat", "note"),
    [
        (
            SparseMetrics({"BLEU": 3, "TER": 1}, 9),
            "wmt: metrics with scores for less than half of the 9 segments were left out: BLEU (3), TER (1).",
        ),
        (
            SmallContexts("domain", ("news", "chat"), fewest_items=20),
            "wmt: contexts with fewer than 20 segments were left out: domain news, chat.",
        ),
        (
            SmallContexts("topic", tuple("abcdefg"), fewest_items=20),
            "wmt: contexts with fewer than 20 segments were left out: topic a, b, c, d, e and 2 more.",
        ),
        (
            ReplacedMetaMetrics(("spa", "pa"), "pearson:segment"),
            (
                "wmt: there is only one system, so metrics are ranked by pearson:segment over items instead of "
                "spa, pa."
            ),
        ),
        (
            PermutedMetrics("spa", ("BLEU", "TER"), 1000, 0.01234),
            (
                "wmt: the p-values of SPA for BLEU, TER come from 1000 permutations. The closed form would be off"
                " by up to 0.012 per pair of systems, because a few items account for most differences."
            ),
        ),
        (
            TooLittleData("spa", InsufficientData("few_systems", 1)),
            "wmt: 1 system is too few to compute intervals of spa or to name a best metric.",
        ),
        (
            TooLittleData("spa", InsufficientData("few_clusters", 3)),
            "wmt: 3 clusters of items are too few to compute intervals of spa or to name a best metric.",
        ),
        (
            MissingSpans("BLEU", ratings_with_spans=2, ratings=3),
            "wmt: BLEU has spans for the outputs of 2 of 3 ratings.",
        ),
    ],
)
def test_each_caveat_is_described_in_a_note(caveat, note) -> None:
    assert list_caveats_as_notes("wmt", [caveat], "mqm") == [note]
