"""Find claims that contradict each other: within the verdict of one result, and between two results."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.results.verdict import Claim, select_claims_of_kinds

LEVEL = 0.05


def find_contradictions(verdict: Sequence[Claim]) -> list[str]:
    """Describe every contradiction between the claims of one verdict; empty where there is none."""
    claims = list(verdict)
    return [
        *_check_recommendation_claims(claims),
        *_check_claims_that_answer_questions(claims),
        *_check_numbers_of_claims(claims),
        *_check_repeated_sentences(claims),
    ]


def find_contradictions_between_verdicts(first: Sequence[Claim], second: Sequence[Claim]) -> list[str]:
    """Describe contradictions between two verdicts on the same data and metrics.

    The best metric for a question in one verdict must be the best or tied with it in the other. A test
    without correction separates more metrics than a corrected one, so one of the two directions is enough.
    """
    problems = []
    for answer in select_claims_of_kinds(list(first), "answer"):
        for other in select_claims_of_kinds(list(second), "answer"):
            if answer.question is None or answer.question != other.question:
                continue
            is_tied = answer.metrics[0] in other.metrics or other.metrics[0] in answer.metrics
            if not is_tied:
                best = f"{answer.metrics[0]} and {other.metrics[0]}"
                problems.append(f"{answer.question}: {best} are both best, and not tied in either verdict")
    return problems


def _check_recommendation_claims(claims: list[Claim]) -> list[str]:
    """Check that one recommendation is made, that it is not to be avoided, and that others agree with it."""
    problems = []
    general = [claim for claim in select_claims_of_kinds(claims, "use", "none") if claim.question is None]
    if len(general) > 1:
        problems.append(f"{len(general)} general recommendations")
    used = {metric for claim in select_claims_of_kinds(claims, "use") for metric in claim.metrics}
    best = {claim.metrics[0] for claim in select_claims_of_kinds(claims, "answer") if claim.metrics}
    avoided = {metric for claim in select_claims_of_kinds(claims, "avoid") for metric in claim.metrics}
    problems += [f"{metric} is recommended and to be avoided" for metric in sorted(used & avoided)]
    problems += [f"{metric} is best for a question and to be avoided" for metric in sorted(best & avoided)]
    if not general or general[0].kind != "use":
        return problems
    recommended = general[0].metrics[0]
    for claim in select_claims_of_kinds(claims, "regret"):
        if claim.metrics[:1] != [recommended]:
            problems.append(f"the cost is that of {claim.metrics}, not of {recommended}")
    exceptions = {
        claim.question for claim in select_claims_of_kinds(claims, "use") if claim.question is not None
    }
    for claim in select_claims_of_kinds(claims, "answer"):
        is_tied = recommended in claim.metrics
        if claim.question is not None and not is_tied and claim.question not in exceptions:
            problems.append(
                f"{claim.question}: {claim.metrics[0]} is ahead of {recommended}, which is not said"
            )
    return problems


def _check_claims_that_answer_questions(claims: list[Claim]) -> list[str]:
    """Check that each question has one answer in each scope, and none where it cannot be answered."""
    problems = []
    seen: dict[tuple[str, str | None, str | None], Claim] = {}
    for claim in select_claims_of_kinds(claims, "answer", "unanswered"):
        if claim.question is None:
            continue
        key = (claim.question, claim.scope, claim.context)
        if key in seen:
            problems.append(f"{claim.question} is answered twice: {seen[key].sentence} {claim.sentence}")
        seen[key] = claim
    return problems


def _check_numbers_of_claims(claims: list[Claim]) -> list[str]:
    """Check that values lie in their intervals, and that what is claimed with a p-value is significant."""
    problems = []
    for claim in claims:
        has_interval = claim.value is not None and claim.low is not None and claim.high is not None
        if has_interval and not (claim.low or 0.0) <= (claim.value or 0.0) <= (claim.high or 0.0):
            problems.append(f"{claim.value} is outside {claim.low} to {claim.high}: {claim.sentence}")
        if claim.kind == "avoid" and claim.p is not None and claim.p > LEVEL:
            problems.append(f"p is {claim.p}: {claim.sentence}")
        if len(set(claim.metrics)) < len(claim.metrics):
            problems.append(f"a metric is named twice: {claim.sentence}")
    return problems


def _check_repeated_sentences(claims: list[Claim]) -> list[str]:
    """Check that no sentence is empty or said twice."""
    sentences = [claim.sentence for claim in claims]
    problems = [
        f"said twice: {sentence}" for sentence in sorted({s for s in sentences if sentences.count(s) > 1})
    ]
    if not all(sentence.strip() for sentence in sentences):
        problems.append("an empty sentence")
    return problems
