"""The interface of protocols: what they need, what they cost, and how results are shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, get_origin, get_type_hints

from whereof import registry
from whereof.chart import Chart
from whereof.table import Column, Table
from whereof.units import is_number

if TYPE_CHECKING:
    from whereof.evaluate.evaluation import Evaluation
    from whereof.evaluate.options import EvaluateOptions
    from whereof.evaluate.sample import Sample, Task
    from whereof.evaluate.variant import MethodVariant
    from whereof.retrain.engine import Job
    from whereof.settings import Settings
    from whereof.types import Numbers

PAPER = (
    "Lawrence, Sztyler and Niepert, Explaining Neural Matrix Factorization with Gradient Rollback, "
    "AAAI 2021"
)
MethodName = Annotated[str, Column("method", "method")]
Size = Annotated[int | str, Column("k", "k", "count")]
"""The number of facts that are removed, or `all` that support."""


class SampleSize(NamedTuple):
    """How large a sample of predictions is."""

    n_predictions: int
    n_facts: int
    n_adjacent: int
    """Distinct facts that are adjacent to some prediction."""
    default_method: str
    """Of the run."""


class Retrainings(NamedTuple):
    """The largest number of retrainings that one model needs, by what they remove."""

    adjacent: int = 0  # one fact that is adjacent to a prediction
    single: int = 0  # any one fact
    sets: int = 0  # several facts


class Protocol:
    """A way to evaluate methods. Subclasses set the attributes and write `count` and `run`."""

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str] = ""
    fields: ClassVar[Mapping[str, Any]]
    """Fields of the JSON document, with their types: `tuple[Row, ...]` or `Row | None`, where Row
    is a dataclass. The values are attributes of the `Evaluation` too."""
    by_method: ClassVar[bool] = False
    by_size: ClassVar[bool] = False
    """Whether it uses every method, and every size `k`, of the options."""
    uses: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    """Fields of `EvaluateOptions` that only this protocol reads."""
    settings: ClassVar["type[Settings] | None"] = None
    """A table of further options, given by `--settings NAME=VALUE`."""
    repeated: ClassVar[bool] = False
    """Whether a method that is exact retrains all that the protocol retrains."""
    note: ClassVar[str] = ""
    """What the columns of its table mean."""

    def variants(self, options: "EvaluateOptions") -> Mapping[str, Mapping[str, Any]]:
        """Settings to change, by name; these runs are evaluated instead: see `Task.variants`."""
        return {}

    def count(self, options: "EvaluateOptions", size: SampleSize) -> Retrainings:
        """The largest number of retrainings for one sample, without the control."""
        raise NotImplementedError

    def jobs(self, sample: "Sample", options: "EvaluateOptions") -> list["Job"]:
        """Retrainings that are known beforehand; those of all protocols run in one batch."""
        return []

    def run(self, task: "Task") -> Mapping[str, Any]:
        """Retrain and measure; the result has a value for every field."""
        raise NotImplementedError

    def arrays(self, found: "Evaluation") -> Mapping[str, "Numbers"]:
        """Arrays to keep beside the document in the run's folder, by the end of their name."""
        return {}

    def tables(self, found: "Evaluation") -> Iterable[Table]:
        """The results as tables; unless overridden, the rows of the first field."""
        rows = getattr(found, next(iter(self.fields)))
        if isinstance(rows, tuple):
            yield table_of(self.name, found, rows, "", self.note)

    def sentences(self, found: "Evaluation") -> Iterable[str]:
        """What the results mean."""
        return ()

    def headline(self, found: "Evaluation") -> str:
        """One sentence for the top of a report; unless overridden, the first of `sentences`."""
        return next(iter(self.sentences(found)), "")

    def charts(self, found: "Evaluation") -> Iterable[Chart]:
        """The results as charts."""
        return ()


def protocols(names: Sequence[str] | None = None) -> list[Protocol]:
    """Protocols in the order in which they run; by name, or all that are registered."""
    return [
        registry.load(registry.PROTOCOLS, name, Protocol)
        for name in registry.names(registry.PROTOCOLS)
        if names is None or name in names
    ]


def best(rows: Iterable[Any], name: str) -> Any:
    """The row with the largest value of a field; None if no value is known."""
    known = (row for row in rows if is_number(getattr(row, name)))
    return max(known, key=attrgetter(name), default=None)


def no_results() -> dict[str, Any]:
    """The results of protocols that did not run: an empty tuple, or None."""
    return {
        name: () if get_origin(kind) is tuple else None
        for each in protocols()
        for name, kind in each.fields.items()
    }


def count_retrainings(names: Iterable[str], options: "EvaluateOptions", size: SampleSize) -> int:
    """The largest number of retrainings of one model, the control included."""
    asked = protocols([*names])
    counts = [each.count(options, size) for each in asked]
    if any(each.by_method for each in asked):
        from whereof.evaluate.variant import find_variant  # slow to import

        mine = (each for each in map(find_variant, options.methods) if not each.trained)
        own = (_count_own(each, options, size) for each in mine if each.method.retrains)
        counts.append(Retrainings(single=sum(own)))
    adjacent, single, sets = map(sum, zip(Retrainings(), *counts, strict=True))
    return 1 + min(min(adjacent, size.n_adjacent) + single, size.n_facts) + sets


def count_single(options: "EvaluateOptions", size: SampleSize) -> int:
    """The largest number of facts that are removed one by one; see `Sample.removable`."""
    pool = size.n_adjacent if options.adjacent_only else size.n_facts
    if options.facts is None:
        return pool
    n_draws = size.n_predictions if options.adjacent_only else 1
    n_first = options.top_facts * len(options.methods) * size.n_predictions
    return min(options.facts * n_draws, pool) + n_first


def count_method(
    variant: "MethodVariant", names: Iterable[str], options: "EvaluateOptions", size: SampleSize
) -> int:
    """The same for the model of a method variant that was trained with its own settings."""
    if not variant.method.retrains:
        return 0
    repeated = (each for each in protocols([*names]) if each.repeated and variant.exact)
    n_sets = sum(each.count(options, size).sets for each in repeated)
    return 1 + min(_count_own(variant, options, size), size.n_facts) + n_sets


def _count_own(variant: "MethodVariant", options: "EvaluateOptions", size: SampleSize) -> int:
    """The largest number of facts that a method removes, each alone."""
    if variant.exact:
        return count_single(options, size)
    return size.n_predictions * (variant.budget.n_retrainings or size.n_facts)


def table_of(
    name: str, found: "Evaluation", records: Sequence[Any], title: str = "", note: str = ""
) -> Table:
    """A table of dataclasses whose fields carry their column: `Annotated[float, Column(...)]`.

    Titles and the note may contain {quantity} and {quantities}: probability or rating.
    """
    words = {"quantity": found.quantity, "quantities": found.quantities}
    columns, values = [], []
    for path, column in _columns(type(records[0])):
        named = {"name": path.split(".")[-1], "title": column.title.format(**words)}
        columns.append(replace(column, **named))
        deviation = (path.replace("_mean", "_std"),) if column.pair == "deviation" else ()
        values.append(attrgetter(path, *deviation))
    rows = [[value(row) for value in values] for row in records]
    return Table(name, title, columns, rows, note.format(**words))


def _columns(kind: type) -> Iterator[tuple[str, Column]]:
    """The columns of a dataclass, by the dotted path of attributes that leads to each."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if isinstance(hint, type) and is_dataclass(hint):
            yield from ((f"{name}.{path}", column) for path, column in _columns(hint))
        for part in getattr(hint, "__metadata__", ()):
            if isinstance(part, Column):
                yield name, part
