"""Suites: protocols, methods and sizes that belong together, and one table of all results."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whereof.chart import Bar, Chart
from whereof.errors import WhereofError
from whereof.evaluate.protocol import best
from whereof.evaluate.variant import find_variant, installed_variant
from whereof.table import Column, Table
from whereof.units import is_number, show

if TYPE_CHECKING:
    from whereof.evaluate.evaluation import Evaluation
    from whereof.predict.scored import Trained

_LARGE = 10_000
"""From this number of facts on, not every fact is removed."""
_SAMPLED = {"facts": 500, "limit": 30}
_ESTIMATING = (
    "random",
    "gradient-dot",
    "gradient-cos",
    "tracin",
    "influence-function",
    "criage",
    "rollback",
)
_CREDITS = "step", "forget"
"""Traces of rollback that are compared with the run's own."""
_THOROUGH = "unrolled", "unrolled:sweep-epochs=1", "verified", "retrain"


class Faithfulness:
    """Compares every method with retraining.

    See `docs/faithfulness.md`.
    """

    name = "faithfulness"
    title = "Faithfulness: what methods say, and what retraining shows"

    def choose(self, trained: "Trained") -> dict[str, Any]:
        """Options for `EvaluateOptions`, by the size of the data and by what the run has."""
        sampled = trained.dataset.n_facts > _LARGE
        return {
            "methods": [text for text in self._methods(trained) if not _lack(text, trained)],
            "protocols": "leave-one-out,datamodelling,removal",
            "k": "1,10",
            "drop": "1%,10%,50%",
            **(_SAMPLED if sampled else {}),
        }

    def notes(self, trained: "Trained") -> list[str]:
        """Which methods are left out, and what the run lacks for them."""
        lacks = {text: _lack(text, trained) for text in self._methods(trained)}
        return [f"{text} is left out: {said}" for text, said in lacks.items() if said]

    def _methods(self, trained: "Trained") -> list[str]:
        config = trained.config
        credits = [f"rollback:credit={each}" for each in _CREDITS if each != config.credit]
        precision = "float32" if config.precision == "float64" else "float64"
        return [*_ESTIMATING, *credits, *_THOROUGH, f"retrain:precision={precision}"]

    def sentences(self, found: "Evaluation") -> Iterator[str]:
        """The best estimate, and the noise ceiling."""
        rows = {row.method: row for row in found.leave_one_out}
        variants = {text: each for text in rows if (each := installed_variant(text))}
        estimates = [rows[text] for text, each in variants.items() if not each.method.retrains]
        row = best(estimates, "rho_all") or best(estimates, "rho_adjacent")
        if row is None:
            return
        rho = row.rho_all if is_number(row.rho_all) else row.rho_adjacent
        yield (
            f"Of the methods that do not retrain, {row.method} is closest to the truth: Spearman's "
            f"rho {show(rho, 'correlation')}, and its first fact achieves "
            f"{show(row.share_of_best, 'percent')} of the largest fall that any one fact causes."
        )
        if is_number(row.size_error):
            yield (
                f"Its estimates are {show(row.size_error, 'number')} times the true falls "
                f"({show(row.size_worst, 'number')} in the worst tenth of degrees)."
            )
        again = (rows[text] for text, each in variants.items() if each.exact and each.trained)
        if ceiling := next(again, None):
            rho = ceiling.rho_all if is_number(ceiling.rho_all) else ceiling.rho_adjacent
            yield f"The noise ceiling is rho {show(rho, 'correlation')}."

    def headline(self, found: "Evaluation") -> str:
        """The best estimate, in one sentence."""
        return next(self.sentences(found), "")

    def tables(self, found: "Evaluation") -> Iterator[Table]:
        """One row per method, with the figures of all protocols; then sizes by degree."""
        from whereof.evaluate.protocols.leave_one_out import sizes_tables  # which imports this

        single = (
            Column("rho_all", "rho all", "correlation"),
            Column("rho_adjacent", "rho adj.", "correlation"),
            Column("share_of_best", "of best", "percent"),
            Column("size_error", "size", "number"),
            Column("size_worst", "worst tenth", "number"),
        )
        drops = [*dict.fromkeys(row.drop for row in found.datamodelling)]
        sizes = [*dict.fromkeys(row.k for row in found.removal)]
        columns = [Column("method", "method"), *single]
        columns += [Column(f"lds_{d:g}", f"LDS {100 * d:g}%", "correlation") for d in drops]
        for k in sizes:
            columns += [
                Column(f"pd_{k}", f"PD {k}", "percent"),
                Column(f"tc_{k}", f"TC {k}", "percent"),
            ]
        columns.append(Column("seconds", "time", "seconds"))
        scores = {(row.method, row.drop): row.score for row in found.datamodelling}
        removed = {(row.method, row.k): row for row in found.removal}
        rows = []
        for row in found.leave_one_out:
            cells = [row.method, *(getattr(row, column.name) for column in single)]
            cells += [scores.get((row.method, drop)) for drop in drops]
            for k in sizes:
                mine = removed.get((row.method, k))
                cells += [mine and mine.pd, mine and mine.tc]
            rows.append([*cells, row.seconds])
        note = (
            "rho: Spearman's correlation of estimated and true influence, over all or adjacent "
            "facts. of best: the true fall without the method's first fact, as a share of the "
            "largest fall by any fact. size: median of estimated over true fall; worst tenth: that "
            "of the tenth of facts, by degree, that is furthest from 1. LDS: linear datamodelling "
            "score, by the share of facts dropped. PD, TC: share of predictions that fall, and "
            "whose top answer changes, without the first 1 and 10 facts. time: for one prediction. "
            "retrain is the truth; retrain in another precision is its noise ceiling."
        )
        yield Table(self.name, "", columns, rows, note)
        yield from sizes_tables(found)

    def charts(self, found: "Evaluation") -> Iterator[Chart]:
        """Bars of the order of facts and of the first fact."""
        rows = found.leave_one_out
        every = any(is_number(row.rho_all) for row in rows)
        groups = {"rho_all": "rho, all facts"} if every else {"rho_adjacent": "rho, adjacent facts"}
        groups["share_of_best"] = "share of the largest fall"
        bars = [
            Bar(title, row.method, value, getattr(row, f"{name}_interval", None))
            for name, title in groups.items()
            for row in rows
            if is_number(value := getattr(row, name))
        ]
        yield Chart(self.name, self.title, bars, Column("value", "1 is best", "correlation"))


SUITES = {each.name: each for each in (Faithfulness(),)}
"""By name; the option `suite` chooses one."""


def _lack(text: str, trained: "Trained") -> str:
    """What a run lacks for a method; empty if nothing."""
    variant = find_variant(text)
    if variant.trained and trained.n_trained is None:
        return f"other software trained this run, without {' and '.join(variant.trained)}"
    try:
        variant.method.check(trained)
    except WhereofError as error:
        return str(error)
    return ""
