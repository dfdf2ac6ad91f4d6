"""What `annotate` shows on its page and in the terminal: which items to have rated next, and why so many."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.pages import Page, Section
from metassay.reporting.tables import Field, build_grid
from metassay.reporting.terminal.blocks import (
    Block,
    Line,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.reporting.wording import format_percent, format_plural, join_names
from metassay.results.annotate import AnnotateContent
from metassay.results.verdict import Claim

METHOD = (
    "Items for which the metrics probably predict the human score badly are chosen with higher probability."
    " The command estimate weights each label by 1 / probability, so that its estimates stay unbiased (active"
    " inference, Zrnic and Candès, 2024). A fifth of the probability is the same for all items."
)
MOST_ITEMS = 20


def explain_number_of_items_to_rate(requested_items: int, unlabelled_items: int) -> str:
    """Say how many items the user wants to have rated, out of those without a human label."""
    if not unlabelled_items:
        return "There is nothing to rate: every item has a label."
    return (
        f"You asked for {requested_items} of the {format_plural(unlabelled_items, 'item')} without a label."
    )


def explain_items_needed_for_interval_width(
    needed_items: int,
    labelled_items: int,
    all_items: int,
    interval_width: float,
    systems_with_widest_interval: Sequence[str],
) -> str:
    """Say how many items must be labelled so that the intervals of all systems are at most as wide as
    requested.
    """
    goal = f"the 95 % interval of every system is at most {interval_width:g} wide"
    return (
        f"{_describe_number_of_needed_items(needed_items, labelled_items, all_items, goal)} The widest is"
        f" that of {join_names(systems_with_widest_interval)}."
    )


def explain_items_needed_to_show_difference(
    needed_items: int,
    labelled_items: int,
    all_items: int,
    difference: float,
    power: float,
    systems_that_need_most: Sequence[str],
) -> str:
    """Say how many items must be labelled to show a difference of a given size between two systems."""
    goal = (
        f"a difference of {difference:g} between two systems is shown with probability"
        f" {format_percent(power)}"
    )
    needed = _describe_number_of_needed_items(needed_items, labelled_items, all_items, goal)
    return f"{needed} Most are needed for {join_names(systems_that_need_most)}."


def _describe_number_of_needed_items(
    needed_items: int, labelled_items: int, all_items: int, goal: str
) -> str:
    if labelled_items == all_items:
        return (
            f"With {format_plural(needed_items, 'labelled item')} like these, {goal}; all {all_items} items"
            " here are labelled."
        )
    if needed_items <= labelled_items:
        return f"You can stop: with the {labelled_items} items that are labelled, {goal}."
    verb = "is" if labelled_items == 1 else "are"
    needed = format_plural(needed_items, "labelled item")
    return f"With {needed}, {goal}; {labelled_items} of {all_items} {verb} labelled now."


def build_annotate_verdict(annotate_result: AnnotateContent) -> list[Claim]:
    """Write the main sentences of an `annotate` report: how many items people should rate, why so many, and
    how to continue with the ratings.
    """
    reason = Claim(kind="finding", sentence=annotate_result.reason)
    if not annotate_result.items:
        return [reason]
    request = f"Have {format_plural(len(annotate_result.items), 'more item')} rated."
    if annotate_result.file is not None:
        file, human = annotate_result.file, annotate_result.human
        contents = f"{file} lists their outputs. Fill in the column {human}"
        if annotate_result.labelled:
            labelled = format_plural(annotate_result.labelled, "item")
            verb = "has" if annotate_result.labelled == 1 else "have"
            contents = (
                f"{file} lists their outputs, and those of {labelled} that {verb} labels already. Fill in the"
                f" empty cells of the column {human}"
            )
        next_step = f"{contents}, then run: metassay estimate DATA --labels {file}"
    else:
        next_step = "Add --csv FILE to write a table that raters can fill in."
    return [Claim(kind="finding", sentence=request), reason, Claim(kind="next", sentence=next_step)]


def build_annotate_page(annotate_result: AnnotateContent) -> Page:
    """Build the report page of the command `annotate`, which lists the items that people should rate next."""
    fields = (
        Field("item", "item", "name"),
        Field("probability", "probability", "decimal", "of being labelled in this or an earlier round"),
    )
    rows = [{"item": entry.item, "probability": entry.probability} for entry in annotate_result.items]
    sections = []
    if rows:
        table = build_grid("items to rate", "Items to have rated next", fields, rows)
        sections.append(Section("Items to rate", sentences=[METHOD], grids=[table]))
    return Page(
        kicker="Ratings to collect",
        title="Which items should people rate next?",
        lead=[claim.sentence for claim in annotate_result.verdict],
        sections=sections,
        notes=[*describe_data_used(annotate_result.data), *annotate_result.notes],
    )


def describe_annotate_result(annotate_result: AnnotateContent) -> list[Block]:
    """Describe for the terminal how many items people should rate and why, and list the first of these
    items.
    """
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in annotate_result.verdict)]
    rows = [
        {"item": entry.item, "probability": entry.probability} for entry in annotate_result.items[:MOST_ITEMS]
    ]
    blocks.append(Table(rows, title="Items to rate"))
    if len(annotate_result.items) > MOST_ITEMS:
        more = format_plural(len(annotate_result.items) - MOST_ITEMS, "more item")
        blocks.append(Line(f"{more}; --json and --csv list them all."))
    return [
        *blocks,
        *summarize_data_in_note(annotate_result.data),
        *convert_sentences_to_notes(annotate_result.notes),
    ]
