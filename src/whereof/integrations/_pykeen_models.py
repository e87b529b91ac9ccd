"""Models of PyKEEN as rows of Whereof: complex numbers, inverse relations, several tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.errors import WhereofError, need
from whereof.models import find_model
from whereof.models.scoring import Scorer
from whereof.types import Rows

torch = need("torch", "pykeen", "whereof.pykeen")
Turn = Callable[[Rows], Rows]
_N_CHECKED = 32
"""Number of scores that are compared with PyKEEN's."""


@dataclass(frozen=True)
class Import:
    """How the tables of a model become rows. All functions are linear, so changes convert alike."""

    name: str
    """The model of Whereof."""
    entities: Turn
    relations: Turn
    inverted: Turn
    """Relation rows of Whereof to those of the inverse: score(s, r, o) = score(o, inverse, s)."""


def _same(rows: Rows) -> Rows:
    return rows


def _parts(rows: Rows) -> Rows:
    """Real and imaginary parts that take turns, to all real parts, then all imaginary ones."""
    return np.concatenate([rows[:, 0::2], rows[:, 1::2]], axis=1)


def _conjugate(rows: Rows) -> Rows:
    half = rows.shape[1] // 2
    return np.concatenate([rows[:, :half], -rows[:, half:]], axis=1)


def _transposed(rows: Rows) -> Rows:
    dim = round(rows.shape[1] ** 0.5)
    return rows.reshape(-1, dim, dim).transpose(0, 2, 1).reshape(rows.shape)


def _negative(rows: Rows) -> Rows:
    return -rows


def _half(rows: Rows) -> Rows:
    return rows / 2


_IMPORTS = {
    "DistMult": Import("distmult", _same, _same, _same),
    "ComplEx": Import("complex", _parts, _parts, _conjugate),
    "TransE": Import("transe", _same, _same, _negative),
    "RESCAL": Import("rescal", _same, _same, _transposed),
    "RotatE": Import("rotate", _parts, _parts, _negative),  # relations: see `_phases`
    # PyKEEN scores both places with the same table: 1/2 (<s0, r0, o0> + <s1, r1, o1>).
    "SimplE": Import("distmult", _same, _half, _same),
}
KNOWN = tuple(_IMPORTS)


@dataclass(frozen=True, eq=False)
class ImportedModel:
    """A model of PyKEEN: its tables by name, and its rows."""

    model: Any
    how: Import

    @classmethod
    def of(cls, model: Any) -> "ImportedModel":
        """A trained model, or one to train; an error for other models and settings."""
        name = type(model).__name__
        if name not in _IMPORTS:
            raise WhereofError(f"PyKEEN's {name} is not supported; choose from {', '.join(KNOWN)}")
        how, interaction = _IMPORTS[name], model.interaction
        if name == "TransE":
            if interaction.power_norm or interaction.p not in (1, 2):
                raise WhereofError(
                    "this TransE is not supported; use scoring_fct_norm 1 or 2, without power_norm"
                )
            how = Import("transe" if interaction.p == 1 else "transe-l2", _same, _same, _negative)
        if getattr(interaction, "clamp", None) or getattr(interaction, "clamp_score", None):
            raise WhereofError("SimplE with clamp_score is not supported; leave clamp_score out")
        for each in (*model.entity_representations, *model.relation_representations):
            if not hasattr(each, "_embeddings"):
                raise WhereofError(
                    f"rows of {name} come from {type(each).__name__}; only plain embeddings are "
                    "supported"
                )
            if each.normalizer is not None:
                raise WhereofError(
                    f"{name} has a normalizer, so scores are not those of its rows; use a "
                    "constrainer, or leave it out"
                )
        return cls(model, how)

    def tables(self, kind: str) -> list[str]:
        """The names of the tables of entities or relations."""
        places = range(len(getattr(self.model, f"{kind}_representations")))
        return [f"{kind}_representations.{at}._embeddings" for at in places]

    @property
    def is_inverse(self) -> bool:
        """Whether it has rows for inverse relations: 2r is a relation and 2r + 1 its inverse."""
        return bool(self.model.use_inverse_triples)

    def scorer(self) -> Scorer:
        """The model with its rows: entities; relations, then inverses.

        If it has no inverse relations, those that give the same score are added.
        """
        entities, relations = (self._join(kind) for kind in ("entity", "relation"))
        rows = self.how.entities(entities)
        convert = _phases if self.how.name == "rotate" else self.how.relations
        related = convert(relations)
        if self.is_inverse:
            related = np.concatenate([related[0::2], related[1::2]])
        else:
            related = np.concatenate([related, self.how.inverted(related)])
        rows, related = (np.ascontiguousarray(each) for each in (rows, related))
        scorer = Scorer(find_model(self.how.name), rows, related)
        self._check_scores(scorer)
        return scorer

    def _check_scores(self, scorer: Scorer) -> None:
        """Compare some scores with PyKEEN's own."""
        n_entities, n_relations = len(scorer.entity_rows), len(scorer.relation_rows) // 2
        each = np.arange(_N_CHECKED)
        facts = np.column_stack([each % n_entities, each % n_relations, 7 * each % n_entities])
        found, training = scorer.fact_scores(facts.astype(np.int32)), self.model.training
        asked = facts * [1, 1 + self.is_inverse, 1]
        with torch.no_grad():
            scores = self.model.eval().score_hrt(torch.tensor(asked, device=self.model.device))
        self.model.train(training)
        if not np.allclose(found, scores[:, 0].cpu().numpy(), rtol=1e-3, atol=1e-4):
            raise WhereofError(
                f"the rows of {type(self.model).__name__} give other scores here than in PyKEEN; "
                "Whereof knows PyKEEN 1.11: check the version, and settings such as dropout"
            )

    def changes(self, slots: tuple[Rows, ...], facts: Any) -> tuple[Rows, ...]:
        """A tracker's trace, of facts and of their inverses, as slots of a run.

        slots: subject, relation, object of `facts`, (n, 3) as PyKEEN trains on them: first all
        facts and then, if there are inverse relations, all inverse facts.
        """
        ends = (slots[0], slots[2])
        subjects, objects = (self.how.entities(each) for each in ends)
        if self.how.name == "rotate":
            rows = self._join("relation")[facts[:, 1]]
            between = _phase_changes(slots[1], rows)
        else:
            between = self.how.relations(slots[1])
        if not self.is_inverse:
            return subjects, between, objects, self.how.inverted(between)
        n = len(facts) // 2
        turned = objects[n:], subjects[n:]  # an inverse fact has the two ends in the other order
        return subjects[:n] + turned[0], between[:n], objects[:n] + turned[1], between[n:]

    def _join(self, kind: str) -> Rows:
        tables = [self.model.get_submodule(name).weight for name in self.tables(kind)]
        rows = [each.detach().cpu().numpy() for each in tables]
        return np.concatenate(rows, axis=1)


def _phases(rows: Rows) -> Rows:
    """Angles of complex numbers of modulus 1, whose two parts take turns."""
    real, imaginary = rows[:, 0::2], rows[:, 1::2]
    if np.abs(np.hypot(real, imaginary) - 1).max(initial=0) > 1e-4:
        raise WhereofError(
            "relations of RotatE do not have modulus 1; keep the constrainer complex_normalize"
        )
    return np.arctan2(imaginary, real)


def _phase_changes(changes: Rows, rows: Rows) -> Rows:
    """Changes of complex numbers as changes of their angles, to first order."""
    real, imaginary = rows[:, 0::2], rows[:, 1::2]
    return real * changes[:, 1::2] - imaginary * changes[:, 0::2]
