"""Facts dropped together: the influence of groups of facts on held-out facts.

Joint rollback estimates it, or sums of single influences; retraining measures it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np

from whereof.evaluate.groupings import Grouping
from whereof.evaluate.held_out import HeldOutFacts, HeldOutQuality
from whereof.events import Events
from whereof.explain.method import joint_method
from whereof.explain.methods.rollback import roll_back_rows
from whereof.explain.suspicion import losses_under
from whereof.predict.scored import Trained
from whereof.retrain.engine import removed_key
from whereof.retrain.journal import recipe_key
from whereof.retrain.retrainer import Case
from whereof.run.files import Arrays, like
from whereof.training.results import Parameters
from whereof.types import FactIds, Numbers
from whereof.units import count

_SCORES = 1 << 28
"""Number of scores to compute for the influence of all groups of one kind."""


@dataclass(frozen=True)
class AuditedGroup:
    """Facts that belong together, and their influence on held-out facts."""

    kind: str
    """relation, entity, source or group; suspicious or blamed facts, if they were retrained."""
    name: str
    label: str
    n_facts: int
    influence: float | None
    """The quality of the held-out facts with all facts minus that without the group, as estimated;
    positive helps. Quality is the mean probability of the true answers among new answers; for
    ratings, minus the mean absolute error."""
    actual: float | None = None
    """The same by retraining."""
    mrr: float | None = None
    """Mean reciprocal rank of the held-out facts without the group, by retraining."""
    place: str | None = None
    """subject or object, for an entity of two-way data: a user or an item. Else None."""


_Retrainable = tuple[AuditedGroup, FactIds]
"""A group, and the facts to retrain without."""


def is_joint(trained: Trained) -> bool:
    """Whether groups are estimated as a whole, by rollback; otherwise as sums over facts."""
    return joint_method().fits(trained)


class DroppedFacts:
    """The influence of groups of facts on held-out facts."""

    def __init__(
        self,
        trained: Trained,
        facts: HeldOutFacts | None,
        sums: Numbers | None,
        most: int | None,
        case: Case | None,
        events: Events,
    ) -> None:
        """facts: held out; None if there are none. sums: (n_facts,) influences on them, if known.

        most: number of groups to list; None for all. case: retrains; None retrains nothing.
        """
        self.trained, self.data = trained, trained.dataset
        self.facts, self.sums, self.most, self.case = facts, sums, most, case
        self.events, self.notes = events, list[str]()
        self.n_retrainings, self.retrained = 0, dict[int, float]()

    @cached_property
    def quality(self) -> HeldOutQuality:
        """How well the trained model answers the held-out facts."""
        assert self.facts is not None
        return self.facts.measure()

    def audit(
        self, groupings: Sequence[Grouping], listed: Mapping[str, FactIds]
    ) -> tuple[list[AuditedGroup], list[AuditedGroup]]:
        """The strongest groups of every kind; and the listed facts, if they are retrained.

        listed: facts to retrain without, by kind.
        """
        found, verified = list[_Retrainable](), list[_Retrainable]()
        for grouping in groupings if self.facts else ():
            if self.sums is not None:
                found += self._strongest(grouping, self.sums)
            elif self.case is not None:
                found += self._largest(grouping)
        if self.case is not None:
            for kind, ids in listed.items():
                influence = None if self.sums is None else self._estimate(ids, self.sums)
                group = AuditedGroup(kind, kind, f"{kind} facts", len(ids), influence)
                verified += [(group, ids)] * bool(len(ids))
            found, verified = self._retrain(self.case, found, verified)
        groups = [group for group, _ in found]
        if self.sums is None:  # they are sorted by what was measured
            kinds = [it.kind for it in groupings]
            groups.sort(key=lambda it: (kinds.index(it.kind), -(it.actual or 0.0)))
        return groups, [group for group, _ in verified if self.facts]

    def _largest(self, grouping: Grouping) -> Iterator[_Retrainable]:
        """The groups with the most facts, without estimates."""
        sizes = grouping.sums(np.ones(self.data.n_facts))
        for group in np.argsort(-sizes, kind="stable")[: self.most].tolist():
            if len(fact_ids := grouping.facts_of(group)):
                yield self._group(grouping, group, len(fact_ids), None), fact_ids

    def _strongest(self, grouping: Grouping, sums: Numbers) -> list[_Retrainable]:
        """The groups that help most and those that harm most, the most helpful first.

        Of many groups, only those with the highest and the lowest sums are estimated as a whole.
        """
        assert self.facts is not None
        order, n_scores = grouping.filled, len(self.facts.asked) * self.data.n_entities
        order = order[np.argsort(-grouping.sums(sums)[order], kind="stable")]
        if self.most is not None:
            each_way = max(self.most, _SCORES // n_scores // 2)
            order = np.concatenate([order[:each_way], order[each_way:][-each_way:]])
        found = []
        for group in order.tolist():
            fact_ids = grouping.facts_of(group)
            influence = self._estimate(fact_ids, sums)
            found.append((self._group(grouping, group, len(fact_ids), influence), fact_ids))
        found.sort(key=lambda each: -(each[0].influence or 0.0))
        if self.most is None:
            return found
        helping = [each for each in found if (each[0].influence or 0.0) > 0]
        harming = [each for each in found if (each[0].influence or 0.0) < 0]
        return helping[: self.most] + harming[-self.most :]

    def _group(
        self, grouping: Grouping, group: int, n_facts: int, influence: float | None
    ) -> AuditedGroup:
        place = None
        if grouping.kind == "entity" and self.data.has_users:
            place = "subject" if group in self.data.subjects else "object"
        names = grouping.names[group], grouping.labels[group]
        return AuditedGroup(grouping.kind, *names, n_facts, influence, place=place)

    def _estimate(self, fact_ids: FactIds, sums: Numbers) -> float:
        """The quality minus that without some facts: by joint rollback, or as a sum."""
        assert self.facts is not None
        if not is_joint(self.trained):
            return float(sums[fact_ids].sum()) / len(self.facts.asked)
        return self.quality.value - self.facts.measure(roll_back_rows(self.trained, fact_ids)).value

    def _retrain(
        self, case: Case, groups: list[_Retrainable], listed: list[_Retrainable]
    ) -> tuple[list[_Retrainable], list[_Retrainable]]:
        """Retrain without each group, and without listed facts, and add the actual influence.

        The run stores the results.
        """
        n_facts = self.data.n_facts
        sets = [ids if len(ids) < n_facts else None for _, ids in (*listed, *groups)]
        if not any(ids is not None for ids in sets):
            self.notes.append(
                f"nothing was retrained: without all {count(n_facts, 'fact')}, nothing is left to "
                "train on; list fewer with --top"
            )
            return groups, listed
        removed = [np.zeros(0, np.int64), *(ids for ids in sets if ids is not None)]
        n_listed = sum(ids is not None for ids in sets[: len(listed)])
        control, *without = self._measure_all(case, removed, n_listed)
        after = iter(without)
        done = list[_Retrainable]()
        for (group, ids), possible in zip((*listed, *groups), sets, strict=True):
            if possible is not None:
                found = next(after)
                if "own" in found and group.kind == "suspicious":
                    self.retrained = dict(zip(ids.tolist(), found["own"].tolist(), strict=True))
                if "value" in found:
                    influence = float(control["value"]) - float(found["value"])
                    mrr = float(found["mrr"]) if "mrr" in found else None
                    group = replace(group, actual=influence, mrr=mrr)
            done.append((group, ids))
        return done[len(listed) :], done[: len(listed)]

    def _measure_all(
        self, case: Case, removed: Sequence[FactIds], n_listed: int
    ) -> Sequence[Arrays]:
        """The quality of the held-out facts without each set of facts; the control comes first.

        n_listed: number of sets after the control for which the model also scores their own facts.
        """
        asked = recipe_key(case.retrainer.recipe, case.retrainer.engine).encode()
        asked += self.facts.asked.places.tobytes() if self.facts else b""
        digests = [blake2b(asked + removed_key(ids).encode(), digest_size=8) for ids in removed]
        own = [ids if 0 < at <= n_listed else ids[:0] for at, ids in enumerate(removed)]
        keys = [
            f"audit-{'listed-' * bool(len(its))}{digest.hexdigest()}"
            for its, digest in zip(own, digests, strict=True)
        ]
        names = []
        if self.facts:
            names = [name for name, it in self.quality._asdict().items() if it is not None]
        shared: dict[str, tuple[tuple[int, ...], str]] = dict.fromkeys(names, ((), "float64"))
        sizes = [{"own": ((len(its),), "float64")} if len(its) else {} for its in own]

        def measure(missing: list[int]) -> Iterator[Arrays]:
            found = case.retrainer.rows([removed[at] for at in missing if at])
            control = next(found)
            for at in missing:
                yield self._measure(next(found) if at else control, own[at])

        fits = [like(**shared, **size) for size in sizes]
        self.n_retrainings = len({*keys})
        return self.trained.store.get_many(keys, measure, fits, self.events)

    def _measure(self, rows: Parameters, fact_ids: FactIds) -> Arrays:
        """The quality of the held-out facts, and the probabilities or ratings of some facts."""
        found = self.facts.measure(rows)._asdict() if self.facts else {}
        if len(fact_ids):
            loss, score = losses_under(self.trained, rows, fact_ids, self.events)
            found["own"] = score if self.trained.config.rated else np.exp(-loss)
        return {name: np.array(it) for name, it in found.items() if it is not None}
