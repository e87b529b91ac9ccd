"""What the tables say, in sentences."""

from collections.abc import Iterator, Mapping, Sequence

from whereof import units
from whereof.evaluate.protocol import protocols
from whereof.paper.figures import Comparison
from whereof.paper.measure import Results
from whereof.paper.published import METRICS

_COMPARED = {"table1": "Table 1", "criage": "CRIAGE table", "models": "Model table"}
_NAMED = 6
"""The most figures outside our range that a sentence names."""
_LEVEL = 0.05


def summarise(results: Results, tables: Sequence[Comparison]) -> list[str]:
    """Sentences: what is missing, where the paper's figures lie, whether its claims hold."""
    found = {table.name: table for table in tables}
    said = [*_unfinished(results)]
    said += [each for name in _COMPARED if name in found for each in _range(found[name])]
    if "table1" in found:
        said += _distances(found["table1"])
    if "criage" in found:
        said.append(_criage(found))
    for mine in results.find("approximation theory"):
        for protocol in protocols(mine.part.options.protocols):
            said += [*protocol.headlines(mine.evaluation)] or protocol.sentences(mine.evaluation)
    if "truth" in found:
        said += _truth(results, found["truth"])
    return said


def _unfinished(results: Results) -> Iterator[str]:
    if titles := [part.title for part in results.missing]:
        n_parts = len(titles) + len(results.finished)
        yield (
            f"Not finished: {len(titles)} of {n_parts} parts are missing ({'; '.join(titles)}). "
            "Run the same command again to continue."
        )
    if limit := results.options.limit:
        per_seed = f"{limit} predictions per seed, drawn at random (--limit)"
        yield f"A trial: {per_seed}. The paper uses more."


def _range(table: Comparison) -> Iterator[str]:
    """Where the paper's figures lie in our range of seeds; it does not print differences."""
    named = [
        (f"{' '.join(row.names)} {column}", figure)
        for row in table.rows
        for column, figure in zip(table.columns, row.figures, strict=True)
        if figure and figure.paper_is and figure.unit != "points"
    ]
    if not named:
        return
    title, n_seeds = _COMPARED[table.name], max(len(figure.seeds) for _, figure in named)
    beside = f"{title}, the paper's {len(named)} figures beside"
    if n_seeds == 1:
        apart = [100 * abs((figure.mean or 0) - (figure.paper or 0)) for _, figure in named]
        yield f"{beside} our one seed: {sum(apart) / len(apart):.1f} points apart on average."
        return
    sides: dict[str, list[str]] = {"inside": [], "below": [], "above": []}
    for name, figure in named:
        text = f"{name} (paper {figure.paper_text}, ours {figure.seeds_text})"
        sides[figure.paper_is or ""].append(text)
    counts = ", ".join(f"{side} {len(texts)}" for side, texts in sides.items())
    yield f"{beside} the range of our {n_seeds} seeds: {counts}."
    for side in ("below", "above"):
        if texts := sides[side]:
            more = f", and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
            yield f"{title}, the paper's {side} ours: {'; '.join(texts[:_NAMED])}{more}."


def _distances(table: Comparison) -> Iterator[str]:
    """Rollback against random removals, without the first fact and in all columns."""
    rows = {row.names[:-1]: row.figures for row in table.rows if row.names[-1] == "difference"}
    for names, (points, *_) in rows.items():
        share = table.figures(*names, "rollback")[0]
        if share and points:
            ours = points.mean or 0
            yield (
                f"{', '.join(names)}: without the fact that rollback ranks first, the probability "
                f"falls in {units.show(share.mean, 'percent')} of predictions, "
                f"{units.points(ours)} {'more' if ours >= 0 else 'less'} than without a random "
                f"fact (paper {points.paper_text})."
            )
    for names, figures in rows.items():
        larger = {
            column: figure.mean > figure.paper
            for column, figure in zip(table.columns, figures, strict=True)
            if figure and figure.mean is not None and figure.paper is not None
        }
        columns = [column for column in larger if larger[column]]
        yield (
            f"{', '.join(names)}: rollback's distance to random is larger than the paper's in "
            f"{len(columns)} of {len(larger)} columns"
            + (f" ({', '.join(columns)})." if columns else ".")
        )


def _criage(tables: Mapping[str, Comparison]) -> str:
    compared = (("criage", "rollback"), ("criage", "criage"), ("criage-p", "rollback, criage"))
    mine, theirs, p_values = (
        [
            figure.mean or 0.0
            for metric in METRICS.values()
            for figure in tables[name].figures(method, metric)
            if figure
        ]
        for name, method in compared
    )
    at_least = sum(a >= b for a, b in zip(mine, theirs, strict=True))
    return (
        f"CRIAGE table: rollback is at or above criage in {at_least} of {len(mine)} figures; "
        f"{sum(p < _LEVEL for p in p_values)} of {len(p_values)} differences have p < {_LEVEL:g}."
    )


def _truth(results: Results, table: Comparison) -> Iterator[str]:
    found = {row.names[0]: [it.mean or 0 for it in row.figures if it] for row in table.rows}
    truth, *_ = results.find("truth")[0].evaluation.leave_one_out
    # One retraining may serve two predictions.
    best = next(iter(found.values()))[-1]
    which = f"all {truth.n_facts:,} facts adjacent to {len(truth.orders)} predictions"
    yield (
        f"The truth: {which}, each removed alone. The best fact of a prediction lowers its "
        f"probability by {100 * best:.0f}% on average."
    )
    for method, (_, _, most, first, _) in found.items():
        yield (
            f"The truth, {method}: removing the fact it ranks first "
            f"{'lowers' if first >= 0 else 'raises'} the probability by {100 * abs(first):.0f}% on "
            f"average, and the best fact is always among its first {most:,}."
        )
