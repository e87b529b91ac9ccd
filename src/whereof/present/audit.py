"""An audit: in words, and as tables for the terminal, notebooks and pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from whereof.evaluate.audit import Audit
from whereof.evaluate.dropped import AuditedGroup
from whereof.explain.explanation import NamedFact
from whereof.present import html, names
from whereof.present.names import SPLITS
from whereof.present.terminal import heading, show
from whereof.table import Cell, Column, Table
from whereof.units import count, percent, seconds
from whereof.units import show as written

Link = Callable[[NamedFact | AuditedGroup], str]
"""The address of what a row is about; empty if there is none."""
_RANKINGS = {
    "loss-without": "the loss that a fact would have if the model had not trained on it",
    "self-influence": "how much training on a fact lowers the loss of this fact",
    "loss": "the loss of a fact, which is large if the model learned the fact badly",
    "score": "the score of a fact, the lowest first",
    "degree": "the number of facts of the rarer of a fact's two entities, the smallest first",
}
_KINDS = {
    "relation": "Relations",
    "entity": "Entities",
    "source": "Sources",
    "group": "Groups of entities",
}


def audit_words(audit: Audit) -> str:
    """What the audit found, in a few sentences."""
    return " ".join(_audit_sentences(audit))


def _audit_sentences(audit: Audit) -> Iterator[str]:
    held_out, checked = audit.held_out, audit.consistency
    if held_out is not None:
        some = "all" if held_out.n_facts == held_out.n_all else f"{held_out.n_facts:,} of"
        facts = count(held_out.n_all, f"{SPLITS[held_out.split]} fact")
        yield f"The model predicts {_predicted(audit)} of {some} {facts}."
        asked = count(held_out.n_predictions, "prediction")
        verb = "is" if held_out.n_wrong == 1 else "are"
        above = ": the error is above the RMSE" * _is_rated(audit)
        yield f"{held_out.n_wrong:,} of these {asked} {verb} wrong{above}."
    if audit.n_idle:
        verb = "supports" if audit.n_idle == 1 else "support"
        said = f"{count(audit.n_idle, 'fact')} {verb} none of these predictions"
        yield f"Estimates say that {said}."
    elif audit.n_idle == 0:
        yield "Estimates say that every fact supports at least one of these predictions."
    found = (
        (len(checked.copies), "copied relation"),
        (len(checked.same_entities), "group"),
        (len(checked.contradictions), "near-contradiction"),
    )
    parts = [count(n, noun) for n, noun in found]
    yield f"In the data: {parts[0]}, {parts[1]} of entities with the same facts, {parts[2]}."
    for each in audit.verified:
        if each.mrr is not None and held_out is not None and held_out.mrr is not None:
            change = f"{percent(held_out.mrr)} to {percent(each.mrr)}"
            change = f"the MRR (paper's filter) goes from {change}"
            yield f"Retrained without the {each.label}, {change}."


def _predicted(audit: Audit) -> str:
    """What is predicted of each held-out fact."""
    held_out, words = audit.held_out, names.Words.of(two_way=audit.suspicious[0].relation is None)
    if _is_rated(audit):
        return "the rating"
    if held_out is not None and held_out.n_predictions > held_out.n_facts:
        return f"the {words.object} and the {words.subject}"
    return f"the {words.object}"


def audit_tables(
    audit: Audit, most: int | None = None, link: Link | None = None
) -> Iterator[Table]:
    """All tables of an audit that have rows; link: what a page links its rows to."""
    found = [_suspicious(audit, link), _blamed(audit, link), *_groups(audit, link)]
    found += _consistency(audit)
    if audit.idle:
        columns = _fact_columns(audit.idle, link)
        found.append(Table.by_columns("idle", "Facts that support nothing", [*columns]))
    for table in found:
        if table.rows:  # the groups that harm stand at the end, so groups are never cut
            yield table if table.name in _KINDS else replace(table, most=most)


def _fact_columns(
    facts: Sequence[NamedFact], link: Link | None
) -> Iterable[tuple[Column, list[Any]]]:
    """The facts: on a page, which may be narrow, in one column."""
    if link is None:
        return names.fact_columns(facts)
    cells = [Cell(names.fact_text(fact), link=link(fact)) for fact in facts]
    return [(Column("fact", names.noun_of(facts)), cells)]


def audit_parts(audit: Audit, link: Link | None = None) -> Iterator[html.Part]:
    """The audit in words and tables, for pages."""
    yield "paragraphs", [audit_words(audit)], "lead"
    if audit.n_retrainings:
        said = "Columns named actual are measured by retraining. Other influences are"
        yield "marked", said, "estimates"
    elif audit.method is not None:
        yield "marked", "Influences are", "estimates"
    for table in audit_tables(audit, most=25, link=link or (lambda _: "")):
        yield "titled", table, table.name
    took = f"In {seconds(audit.seconds)}; {_methods_of(audit)}."
    yield "paragraphs", [*audit.notes, took], "quiet"


def audit_file(audit: Audit) -> str:
    """A whole HTML file."""
    return html.page(audit_parts(audit), title="Audit", heading="Audit")


def show_audit(out: Console, audit: Audit, *, can_verify: bool = True) -> None:
    """Print an audit. can_verify: whether the command line can retrain the run."""
    show(out, audit_words(audit))
    for table in audit_tables(audit, most=max(len(audit.suspicious), 20)):
        show(out, heading(table.title), replace(table, title=""))
    effort = f"in {seconds(audit.seconds)}; {_methods_of(audit)}"
    if audit.n_retrainings:
        effort = f"{count(audit.n_retrainings, 'retraining')}, {effort}"
    said = []
    if audit.n_retrainings:
        said = ["Columns named actual are measured by retraining; other influences are estimates."]
    elif audit.ranking_method is not None or audit.method is not None:
        said = ["The numbers are estimates, not confirmed by retraining."]
    part = audit.held_out is not None and audit.held_out.n_facts < audit.held_out.n_all
    other = ["--ranking loss"] * (audit.ranking == "loss-without")
    more = (
        ["--verify"] * (can_verify and not audit.n_retrainings)
        + ["--limit all"] * part
        + other
        + ["--json"]
    )
    show(out, "", *audit.notes, effort, *said, f"next: {', '.join(more)}")


def _methods_of(audit: Audit) -> str:
    """The methods behind the numbers of an audit."""
    methods = {
        "suspicious facts": audit.ranking_method,
        "influence of single facts": audit.method,
        "influence of groups": audit.group_method,
    }
    used = [f"{method} ({what})" for what, method in methods.items() if method is not None]
    return f"methods: {', '.join(used)}" if used else "no estimates"


def audit_html(audit: Audit) -> str:
    """The audit in words and tables, for notebooks."""
    parts: list[tuple[Any, ...]] = [
        ("sentence", audit_words(audit)),
        ("paragraphs", audit.notes),
        *(("titled", table) for table in audit_tables(audit, most=50)),
    ]
    return html.page(parts, title="Audit", template="notebook")


def _suspicious(audit: Audit, link: Link | None) -> Table:
    facts, title = audit.suspicious, audit.ranking.replace("-without", " without it")
    columns = [
        *_fact_columns(facts, link),
        (Column("suspicion", title, "number"), [fact.suspicion for fact in facts]),
        (Column("source", "source"), [fact.source for fact in facts]),
        (Column("rating", "rating", "rating"), [fact.rating for fact in facts]),
        (
            Column("predicted_rating", "predicted rating", "score"),
            [fact.predicted_rating for fact in facts],
        ),
        (Column("probability", "probability", "chance"), [fact.probability for fact in facts]),
        (
            Column("probability_without", "estimated without it", "chance"),
            [fact.probability_without for fact in facts],
        ),
        (
            Column("actual_probability", "after retraining without all of these", "chance"),
            [fact.actual_probability for fact in facts],
        ),
        (
            Column("actual_rating", "after retraining without all of these", "score"),
            [fact.actual_rating for fact in facts],
        ),
    ]
    note = f"Ranked by {audit.ranking}: {_RANKINGS[audit.ranking]}. The first facts are the most "
    note += "likely to be wrong."
    if any(fact.probability is not None for fact in facts):
        note += " These probabilities leave out other answers that are known from training. Those "
        note += "of `whereof explain` do not, so they differ."
    return Table.by_columns("suspicious", "Suspicious facts", columns, note=note)


def _is_rated(audit: Audit) -> bool:
    return audit.held_out is not None and audit.held_out.mrr is None


def _blamed(audit: Audit, link: Link | None) -> Table:
    facts = audit.blamed
    columns = [
        *_fact_columns(facts, link),
        (Column("blame", "estimated harm", "number"), [fact.blame for fact in facts]),
        (Column("source", "source"), [fact.source for fact in facts]),
        (Column("influence", "estimated influence", "signed"), [fact.influence for fact in facts]),
    ]
    note = (
        "The margin of a prediction is the score of the true answer minus the highest score of a "
        "wrong answer. Harm: how far the fact lowers the margins of wrong predictions, in total. "
        "Influence: how far it raises the margins of all predictions, in total."
    )
    if _is_rated(audit):
        note = (
            "Harm: how far the fact moves wrong predictions away from the true ratings, in total. "
            "Influence: how far it moves all predictions towards the true ratings, in total."
        )
    return Table.by_columns(
        "blamed", "Facts most responsible for wrong answers", columns, note=note
    )


def _groups(audit: Audit, link: Link | None) -> Iterator[Table]:
    unit = "signed" if _is_rated(audit) else "points"
    first = next((kind for kind in _KINDS if any(it.kind == kind for it in audit.groups)), None)
    for kind, title in _KINDS.items():
        groups = [group for group in audit.groups if group.kind == kind]
        table = _group_table(kind, f"{title}: what if they were dropped?", groups, unit, link)
        note = _influence_note(rated=_is_rated(audit)) if kind == first else ""
        yield replace(table, note=f"{note} {_listed_groups(audit, groups, kind)}".strip())
    title = "Without the listed facts, all together"
    table = _group_table("verified", title, audit.verified, unit, None)
    yield table if first else replace(table, note=_influence_note(rated=_is_rated(audit)))


def _listed_groups(audit: Audit, groups: Sequence[AuditedGroup], kind: str) -> str:
    """How many groups of a kind are listed, and which; empty if the audit does not say."""
    n_all = audit.n_groups.get(kind, 0)
    if len(groups) >= n_all:
        return f"All {n_all:,} are listed." if n_all > 1 else ""
    helping = sum((group.influence or 0.0) > 0 for group in groups)
    if all(group.influence is None for group in groups):
        return f"{len(groups):,} of {n_all:,} are listed: those with the most facts."
    harming = len(groups) - helping
    which = [
        f"{n:,} that {verb}{'s' * (n == 1)} most"
        for n, verb in ((helping, "help"), (harming, "harm"))
        if n
    ]
    said = f"{len(groups):,} of {n_all:,} are listed: {', and '.join(which)}."
    none = "helps" if not helping else "harms" if not harming else ""
    return f"{said} By these estimates, none {none}." if none else said


def _group_table(
    name: str, title: str, groups: Sequence[AuditedGroup], unit: str, link: Link | None
) -> Table:
    cells = [Cell(group.label, link=link(group) if link else "") for group in groups]
    words = names.Words.of(two_way=True)
    columns: list[tuple[Column, list[Any]]] = [
        (Column("place", "user or item"), [it.place and words.place(it.place) for it in groups]),
        (Column("name", name if name in _KINDS else "facts"), cells),
        (Column("n_facts", "facts", "count"), [group.n_facts for group in groups]),
        (Column("influence", "estimated influence", unit), [it.influence for it in groups]),
        (Column("actual", "actual influence", unit), [group.actual for group in groups]),
        (Column("mrr", "MRR without, paper's filter", "percent"), [group.mrr for group in groups]),
    ]
    return Table.by_columns(name, title, columns)


def _influence_note(*, rated: bool) -> str:
    """What the influence of a group means."""
    if rated:
        return (
            "Influence: how far the mean error of predicted ratings grows without these facts. A "
            "negative influence means that it shrinks: the facts harm."
        )
    return (
        "Influence: how far the mean probability of the true answers falls without these facts, in "
        "percentage points. A negative influence means that it rises: the facts harm. The "
        "probability leaves out answers that are known from training or validation."
    )


def _consistency(audit: Audit) -> Iterator[Table]:
    found = audit.consistency
    yield Table(
        "copies",
        "Relations that repeat each other",
        [
            Column("relation", "relation"),
            Column("copy", "repeated by"),
            Column("swapped", "places swapped"),
            Column("n_shared", "pairs in common", "count"),
            Column("share", "of the smaller", "percent"),
        ],
        [(it.relation, it.copy, it.swapped, it.n_shared, it.share) for it in found.copies],
    )
    yield Table(
        "same",
        "Entities with the same facts",
        [Column("entities", "entities"), Column("n_facts", "facts of each", "count")],
        [(", ".join(it.labels), it.n_facts) for it in found.same_entities],
    )
    facts = {fact.fact_id: fact for fact in audit.conflicting}
    listed = [it for it in found.contradictions if facts.keys() >= {*it.fact_ids}]
    yield Table(
        "contradictions",
        "Near-contradictions",
        [
            Column("relation", "relation"),
            Column("rule", "nearly always"),
            Column("share", "followed by", "percent"),
            Column("facts", "facts that break it"),
        ],
        [(it.relation, it.rule, it.share, _listed(it.fact_ids, facts)) for it in listed],
        note=f"{len(listed):,} of {written(len(found.contradictions), 'count')} are listed.",
    )


def _listed(fact_ids: Sequence[int], facts: dict[int, Any]) -> str:
    return "; ".join(f"{i} {names.fact_text(facts[i])}" for i in fact_ids)
