"""Labels of metrics on a page."""

import copy

from metassay.reporting.labels import MetricLabel, MetricLabels


def test_a_label_is_in_the_spelling_of_the_field_and_remembers_the_spec() -> None:
    label = MetricLabels(["chrf(word_order=2)", "bleu"])["chrf(word_order=2)"]
    assert label == "chrF++"
    assert isinstance(label, MetricLabel)
    assert label.spec == "chrf(word_order=2)"
    assert copy.copy(label).spec == label.spec


def test_a_name_that_is_no_metric_of_ours_stays_as_it_is() -> None:
    labels = MetricLabels(["COMET-refA"])
    assert labels["COMET-refA"] == "COMET-refA"
    assert labels["elsewhere"] == "elsewhere"


def test_metrics_that_decided_alike_are_shown_once_under_all_their_labels() -> None:
    labels = MetricLabels(["wer", "wil", "wip"], [["wil", "wip"]])
    assert labels["wip"] == labels["wil"] == "WIL = WIP"
    assert [spec for spec in ("wer", "wil", "wip") if labels.has_own_table_row(spec)] == ["wer", "wil"]
    assert labels.list_labels_of_metrics(["wip", "wer", "wil"]) == ["WIL = WIP", "WER"]
    assert labels.single_labels["wip"] == "WIP"


def test_of_a_long_group_the_rest_is_counted() -> None:
    group = ["wer", "cer", "mer", "wil"]
    assert MetricLabels(group, [group])["wil"] == "WER = CER = 2 more"
