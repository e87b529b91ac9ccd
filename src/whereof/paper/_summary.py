"""What the tables say, in plain words."""

from collections.abc import Iterator, Sequence

from whereof.paper._records import Figure, Table, figures_of
from whereof.paper._results import Results
from whereof.paper._text import paper_text, seeds_text, value_text
from whereof.paper._truth_tables import truth_sentences

_COMPARED = {
    "table1": "Table 1",
    "criage": "CRIAGE table",
    "models": "Model table",
}
_NAMED = 6
"""Figures outside the spread that are named; of more, the count tells."""
_LEVEL = 0.05


def summarise(results: Results, tables: Sequence[Table]) -> list[str]:
    """Sentences: where the paper's figures lie, and whether its claims hold."""
    by_name = {table.name: table for table in tables}
    return [
        *_unfinished(results),
        *_limited(results),
        *_spreads(by_name),
        *_rollback_against_random(results, by_name),
        *_further_than_the_paper(by_name),
        *_criage(by_name),
        *_constraints(by_name),
        *_theory(results),
        *truth_sentences(results),
    ]


def _unfinished(results: Results) -> Iterator[str]:
    """What is missing comes before all else."""
    titles = [part.title for part in results.missing]
    if titles:
        n_parts = len(titles) + len(results.parts)
        yield (
            f"Not finished: {len(titles)} of {n_parts} parts are missing ({'; '.join(titles)}). "
            "The same command goes on."
        )


def _limited(results: Results) -> Iterator[str]:
    """A try with few predictions says so first."""
    if results.options.limit is not None:
        yield (
            f"A try: {results.options.limit} predictions of each seed, drawn at random (--limit). "
            "The paper's figures are of more."
        )


def _spreads(tables: dict[str, Table]) -> Iterator[str]:
    for name, title in _COMPARED.items():
        if name not in tables:
            continue
        # Differences are not printed in the paper.
        printed = [
            each for each in figures_of([tables[name]]) if each.standing and each.unit != "points"
        ]
        if not printed:  # of the paper's optimizer nothing is finished
            continue
        beside = f"{title}, the paper's {len(printed)} figures beside"
        n_seeds = max(len(figure.seeds) for figure in printed)
        if n_seeds == 1:  # which has no spread to lie in
            yield f"{beside} our one seed: {_far(printed)}."
            continue
        found = [figure.standing for figure in printed]
        counts = ", ".join(f"{word} {found.count(word)}" for word in ("inside", "below", "above"))
        yield f"{beside} the spread of our {n_seeds} seeds: {counts}."
        yield from _outside(title, tables[name], "below")
        yield from _outside(title, tables[name], "above")


def _far(figures: Sequence[Figure]) -> str:
    """How far ours are from the paper's, all of them shares."""
    apart = [
        100 * abs(figure.ours - figure.paper)
        for figure in figures
        if figure.ours is not None and figure.paper is not None
    ]
    return f"{sum(apart) / len(apart):.1f} points apart on average"


def _outside(title: str, table: Table, side: str) -> Iterator[str]:
    """Which of the paper's figures lie on one side of ours."""
    found = [
        f"{' '.join(row.names)} {column} (paper {paper_text(figure)}, ours {seeds_text(figure)})"
        for row in table.rows
        for column, figure in zip(table.columns, row.figures, strict=True)
        if figure is not None and figure.unit != "points" and figure.standing == side
    ]
    if found:
        more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield f"{title}, the paper's {side} ours: {'; '.join(found[:_NAMED])}{more}."


def _rollback_against_random(results: Results, tables: dict[str, Table]) -> Iterator[str]:
    rows = {row.names: row for row in tables["table1"].rows} if "table1" in tables else {}
    for mine in results.removals:
        first, apart = rows[*mine.names, "rollback"], rows[*mine.names, "difference"]
        if first.figures[0] and apart.figures[0]:
            share, points = first.figures[0], apart.figures[0]
            word = "more" if (points.ours or 0) >= 0 else "less"
            yield (
                f"{mine.title}: without the one fact that rollback ranks first the probability "
                f"falls in {value_text(share.ours, 'share')}% of predictions, "
                f"{value_text(abs(points.ours or 0), 'share')} points {word} than without a random "
                f"one (paper {paper_text(points)})."
            )


def _further_than_the_paper(tables: dict[str, Table]) -> Iterator[str]:
    """In which columns the distance to random is larger than the paper's."""
    for row in tables["table1"].rows if "table1" in tables else ():
        if row.names[-1] != "difference":
            continue
        both = [
            (column, figure.ours > figure.paper)
            for column, figure in zip(tables["table1"].columns, row.figures, strict=True)
            if figure and figure.ours is not None and figure.paper is not None
        ]
        larger = [column for column, further in both if further]
        named = f" ({', '.join(larger)})" if larger else ""
        yield (
            f"{', '.join(row.names[:-1])}: rollback's distance to random is larger than the "
            f"paper's in {len(larger)} of {len(both)} columns{named}."
        )


def _criage(tables: dict[str, Table]) -> Iterator[str]:
    if "criage" not in tables:
        return
    rows = {row.names: row.figures for row in tables["criage"].rows}
    pairs = [
        (mine.ours, theirs.ours)
        for metric in ("PD", "TC")
        for mine, theirs in zip(
            rows.get(("rollback", metric), ()), rows.get(("criage", metric), ()), strict=False
        )
        if mine and theirs and mine.ours is not None and theirs.ours is not None
    ]
    level = sum(mine >= theirs for mine, theirs in pairs)
    values = [
        figure.ours
        for row in (tables["criage-p"].rows if "criage-p" in tables else ())
        if row.names[0] == "rollback, criage"
        for figure in row.figures
        if figure and figure.ours is not None
    ]
    sure = sum(value < _LEVEL for value in values)
    yield (
        f"CRIAGE table: rollback is at or above criage in {level} of {len(pairs)} figures; "
        f"{sure} of {len(values)} differences have p < {_LEVEL:g}."
    )


def _constraints(tables: dict[str, Table]) -> Iterator[str]:
    rows = (
        {row.names[-1]: row.figures for row in tables["approximation"].rows}
        if "approximation" in tables
        else {}
    )
    if {"none", "unit"} <= rows.keys():
        free, unit = rows["none"], rows["unit"]
        words = [
            f"{title} from {_number(a)} to {_number(b)}"
            for title, a, b in zip(
                ("r of probabilities", "r of changes", "the Lipschitz constant"),
                free,
                unit,
                strict=True,
            )
        ]
        yield f"Unit norm instead of no constraint takes {', '.join(words[:2])} and {words[2]}."


def _number(figure: Figure | None) -> str:
    return value_text(figure.ours if figure else None, "number")


def _theory(results: Results) -> Iterator[str]:
    theory = (results.evaluation("theory") or {}).get("theory")
    if not theory or theory["rollback_error"] is None or theory["original_error"] is None:
        return
    mine, before = theory["rollback_error"], theory["original_error"]
    word = "nearer to" if mine < before else "no nearer to"
    yield (
        f"Rollback is {word} retraining than the original model is: mean distance of the "
        f"probability {value_text(mine, 'number')} against {value_text(before, 'number')}."
    )
