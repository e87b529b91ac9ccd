"""A training problem: model, config and facts, and the numbers that a step needs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.errors import WhereofError
from whereof.models import Model, Widths, find_model
from whereof.models.match import MATCH_IDS
from whereof.training._forget import LEAST_RETAINED
from whereof.training._update import CONSTRAINT_IDS, project
from whereof.training.config import NEGATIVES_UNSET, Phase, TrainConfig
from whereof.training.losses import LOSS_IDS
from whereof.training.optimizers import MOMENTS, OPTIMIZER_IDS
from whereof.training.phases import Calendar
from whereof.training.sampling import ENTITY_STREAM, RELATION_STREAM, fill_uniform
from whereof.training.tables import N_TAILS, Draw, Ledgers, RowTable, Rule
from whereof.training.timeline import NO_WEIGHTS, Timeline
from whereof.types import FactIds, Facts, Numbers, Rows


@dataclass(frozen=True)
class Problem:
    """A model, a complete config, and the facts to train on."""

    model: Model
    config: TrainConfig
    facts: Facts
    n_entities: int
    n_relations: int
    subjects: range
    objects: range
    targets: Numbers | None = None
    """(n_facts,) targets of the squared loss."""
    weights: Numbers = field(default_factory=lambda: NO_WEIGHTS)
    """(n_facts,) the factor of each fact's gradient, 0 to skip it; empty if all are 1."""

    @classmethod
    def of(cls, dataset: Dataset, config: TrainConfig) -> "Problem":
        """The problem of training on a dataset with a config."""
        return cls(
            model=find_model(config.model),
            config=config,
            facts=dataset.train,
            n_entities=dataset.n_entities,
            n_relations=dataset.n_relations,
            subjects=dataset.subjects,
            objects=dataset.objects,
            targets=dataset.ratings.standardised() if dataset.ratings else None,
            weights=NO_WEIGHTS if dataset.weights is None else dataset.weights,
        )

    def __post_init__(self) -> None:
        self.model.check_columns(two_way=self.n_relations == 0)
        if self.config.rated and not self.model.two_way:
            raise WhereofError(
                f"loss squared requires mf or mf-biased; choose one instead of {self.model.name}, "
                "or another loss"
            )
        if self.config.rated and self.targets is None:
            raise WhereofError("loss squared learns ratings, and the data has none: choose softmax")
        negatives, batch_size = self.config.negatives, min(self.config.batch_size, len(self.facts))
        if negatives is None:
            others = min(len(rows) for rows in self._sources) - 1
            if others < 1 and not self.config.rated:
                raise WhereofError(
                    "the data has only one subject, so subjects cannot be ranked; "
                    "leave out --inverse"
                )
            negatives = 0 if self.config.rated else min(NEGATIVES_UNSET, others)
        settled = self.config.replace(negatives=negatives, batch_size=batch_size)
        if settled.optimizer == "adagrad" and settled.accumulator is None:
            settled = settled.replace(accumulator=0.0)  # `whereof train` chooses a better one first
        object.__setattr__(self, "config", settled)
        n_steps = self.calendar.before(self.config.epochs)
        if self.config.keep_checkpoints > n_steps:
            raise WhereofError(
                f"keep_checkpoints is {self.config.keep_checkpoints}; "
                f"training has {n_steps} steps: choose at most that many"
            )
        self.draw  # noqa: B018 - raises if there are fewer entities than negatives

    @property
    def _sources(self) -> tuple[range, range]:
        """The ranges of entities from which each direction draws its negatives."""
        if self.config.negatives_from == "entities":
            return range(self.n_entities), range(self.n_entities)
        return self.objects, self.subjects if self.config.inverse else self.objects

    @cached_property
    def calendar(self) -> Calendar:
        """How many facts every epoch has."""
        return Calendar(len(self.facts), tuple(self.config.phases or ()))

    @cached_property
    def widths(self) -> Widths:
        return self.model.widths(self.config.dim)

    @property
    def n_directions(self) -> int:
        return 2 if self.config.inverse else 1

    @property
    def n_relation_rows(self) -> int:
        """Number of relation rows, with inverses; two-way data has one empty row."""
        return max(self.n_relations, 1) * self.n_directions

    @property
    def weighted(self) -> bool:
        return len(self.weights) > 0

    @property
    def trace_width(self) -> int:
        """Number of values in a fact's trace."""
        return int(self.widths.slots(self.n_directions)[-1].stop)

    @property
    def fact_cost(self) -> int:
        """Numbers that training on one fact computes, roughly: those of its candidates' rows."""
        negatives = (self.draw.objects[2], self.draw.subjects[2])[: self.n_directions]
        return self.widths.entity * sum(1 + n for n in negatives)

    @property
    def row_bytes(self) -> int:
        """Bytes of all rows, with their moments and ledgers."""
        rows = self.n_entities * self.widths.entity + self.n_relation_rows * self.widths.relation
        copies = 2 + MOMENTS[self.config.optimizer] + self.config.forgets
        return rows * copies * np.dtype(self.config.precision).itemsize

    @property
    def trace_bytes(self) -> int:
        item = np.dtype(self.config.trace_dtype).itemsize
        return len(self.facts) * self.trace_width * item * self.config.trace

    @property
    def n_bytes(self) -> int:
        """Upper bound of the disk space that training needs, in bytes."""
        # The memory-mapped file, two checkpoints, their best epochs and a later best epoch.
        return 6 * self.trace_bytes + (7 + self.config.keep_checkpoints) * self.row_bytes

    @cached_property
    def rule(self) -> Rule:
        config, model, widths = self.config, self.model, self.widths
        return Rule(
            loss=LOSS_IDS[config.loss],
            match=MATCH_IDS[model.match],
            optimizer=OPTIMIZER_IDS[config.optimizer],
            deferred=config.optimizer == "adam",
            beta1=config.beta1,
            beta2=config.beta2,
            epsilon=config.epsilon,
            constraint=CONSTRAINT_IDS[config.constraint.partition(":")[0]],
            max_norm=config.max_norm or math.inf,
            l2=float(config.l2),
            n3=float(config.n3),
            source_credit=config.credit != "step",
            least_retained=LEAST_RETAINED[config.trace_dtype],
            batch_size=config.batch_size,
            n_directions=self.n_directions,
            entity_width=widths.entity,
            relation_width=widths.relation,
            query_width=widths.query,
            entity_parts=model.entity_parts,
            relation_parts=0 if model.relation_phases else model.relation_parts,
            constrained=config.max_norm is not None,
            constrained_relations=config.max_norm is not None
            and not (model.two_way or model.relation_phases),
        )

    @cached_property
    def draw(self) -> Draw:
        """How negatives are drawn in the end, when there are the most entities."""
        return self._draw(None)

    def draw_in(self, epoch: int) -> Draw:
        """How negatives are drawn in an epoch: from the entities that there are by then."""
        phase = self.calendar.phase(epoch)
        return self.draw if phase is None else self._draw(phase)

    def _draw(self, phase: Phase | None) -> Draw:
        """How negatives are drawn from the entities of a phase, or from all."""
        ranges = (rows if phase is None else self._then(rows, phase) for rows in self._sources)
        objects, subjects = ((rows.start, len(rows), self._n_negatives(rows)) for rows in ranges)
        return Draw(
            seed=np.uint64(self.config.seed),
            distinct=self.config.sampling == "distinct" or self.config.negatives == "all",
            redraw=self.config.redraw,
            objects=objects,
            subjects=subjects,
        )

    def _then(self, rows: range, phase: Phase) -> range:
        """The entities of a range that a phase has; items have the numbers of the last phase."""
        n_later, are_users = self.n_later_users(phase), rows.stop <= self.objects.start
        stop = rows.stop - n_later if are_users else phase.n_entities + n_later
        return range(rows.start, stop)

    def n_later_users(self, phase: Phase) -> int:
        """Number of users that come after a phase."""
        return 0 if phase.n_subjects is None else len(self.subjects) - phase.n_subjects

    def _n_negatives(self, rows: range) -> int:
        others, asked = len(rows) - 1, self.config.negatives
        n = others if asked in (None, "all") else int(asked)
        if n > others:
            raise WhereofError(
                f"{n} negatives are more than the {others} other entities; "
                f"choose at most {others}, or all"
            )
        return n

    def initial_rows(self) -> tuple[Rows, Rows]:
        """Initial entity and relation rows."""
        entities, relations = self.tables()
        widths = self.widths
        return entities.state[:, : widths.entity], relations.state[:, : widths.relation]

    def weights_without(self, removed: FactIds, factor: float = 0.0) -> Numbers:
        """The weights, with those of some facts multiplied by a factor; 0 removes them."""
        if not len(removed):
            return self.weights
        weights = np.array(self.weights) if len(self.weights) else np.ones(len(self.facts))
        weights[removed] *= factor
        return weights

    def timeline(self, weights: Numbers | None = None) -> Timeline:
        """The updates of training, by default with the weights of the problem."""
        weights = self.weights if weights is None else weights
        return Timeline(self.config, self.calendar, self.n_directions, weights)

    def tables(
        self, ledgers: Ledgers = Ledgers.SHARES, *, traced: bool = True
    ) -> tuple[RowTable, RowTable]:
        """The initial tables of entities and relations; without a trace nothing is forgotten."""
        rule, init = self.rule, self.config.init
        angle = math.pi if self.model.relation_phases else init
        entities = (self.n_entities, rule.entity_width)
        relations = (self.n_relation_rows, rule.relation_width)
        made = (
            self._table(entities, ENTITY_STREAM, init, ledgers, rule.constrained),
            self._table(relations, RELATION_STREAM, angle, ledgers, rule.constrained_relations),
        )
        if self.config.phases:
            self._start_in_phases(made[0], ENTITY_STREAM, init, rule.constrained)
            self._start_in_phases(made[1], RELATION_STREAM, angle, rule.constrained_relations)
        # With a distance, training that forgets rounds in another way: retraining repeats it.
        if traced or self.model.match != "dot":
            return made
        first, second = (table._replace(retained=table.retained[:0].copy()) for table in made)
        return first, second

    def _start_in_phases(
        self, table: RowTable, stream: Any, bound: float, constrained: bool
    ) -> None:
        """Give rows the initial values of their numbers in their first phase, if it had others."""
        moved = self._moved_items() if stream == ENTITY_STREAM else self._moved_inverses()
        width = self.widths.entity if stream == ENTITY_STREAM else self.widths.relation
        for now, then in moved:
            rows = np.zeros((then.stop, width), table.state.dtype)
            fill_uniform(np.uint64(self.config.seed), stream, float(bound), width, rows)
            table.state[now.start : now.stop, :width] = rows[then.start : then.stop]
            for row in now if constrained else ():
                project(table, row, width, self.rule)
        table.projection[:] = 0

    def _moved_items(self) -> Iterator[tuple[range, range]]:
        """Items that are new in a phase: their numbers, and those that they had then."""
        start, n_before = self.objects.start, 0
        for phase in self.config.phases or ():
            if phase.n_subjects is not None:
                n_items = phase.n_entities - phase.n_subjects
                then = range(phase.n_subjects + n_before, phase.n_entities)
                yield range(start + n_before, start + n_items), then
                n_before = n_items

    def _moved_inverses(self) -> Iterator[tuple[range, range]]:
        """Inverse relations that are new in a phase; they come after all other relations."""
        start, n_before = self.n_relations, 0
        for phase in (self.config.phases or ()) if self.config.inverse else ():
            n_then = phase.n_relations
            yield range(start + n_before, start + n_then), range(n_then + n_before, 2 * n_then)
            n_before = n_then

    def _table(
        self, shape: tuple[int, int], stream: Any, bound: float, ledgers: Ledgers, constrained: bool
    ) -> RowTable:
        """A table with uniform rows within +-bound."""
        (n_rows, width), rule, dtype = shape, self.rule, np.dtype(self.config.precision)
        n_deferred = n_rows if rule.deferred else 0

        def ledger(least: Ledgers, there: bool = True) -> Any:
            return np.zeros((n_rows if there and ledgers >= least else 0, width), dtype)

        table = RowTable(
            state=np.zeros((n_rows, width * (1 + MOMENTS[self.config.optimizer])), dtype),
            touched=np.zeros(n_deferred, np.int64),
            tails=np.zeros((n_deferred, N_TAILS), np.float64),
            owned=ledger(Ledgers.SHARES),
            negatives=ledger(Ledgers.ALL),
            drift=ledger(Ledgers.SHARES, rule.deferred),
            projection=ledger(Ledgers.SHARES, rule.constrained),
            retained=ledger(Ledgers.NONE, self.config.forgets),
        )
        table.retained[:] = 1
        fill_uniform(np.uint64(self.config.seed), stream, float(bound), width, table.state)
        if self.config.optimizer == "adagrad":
            table.state[:, width:] = self.config.accumulator
        if constrained:
            for row in range(n_rows):
                project(table, row, width, rule)
            table.projection[:] = 0
        return table
