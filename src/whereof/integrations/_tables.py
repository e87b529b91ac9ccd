"""Which embedding tables of a PyTorch model hold the rows of subjects, relations and objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.errors import WhereofError, need
from whereof.types import PLACES, Facts, Rows

torch = need("torch", "torch", "whereof.torch")


@dataclass(frozen=True)
class Tables:
    """The names of a model's tables, by place. The row of an entity is all its rows in a line."""

    subject: tuple[str, ...]
    relation: tuple[str, ...]
    object: tuple[str, ...]

    @classmethod
    def find(cls, module: Any, given: Sequence[Any], n_columns: int | None = None) -> "Tables":
        """The tables that are given as modules or names, one or several a place, or the only ones.

        given: for subject, relation and object; all None if they can be guessed.
        """
        names = {id(each): name for name, each in module.named_modules() if is_table(each)}
        if all(each is None for each in given):
            every = list(names.values())
            if len(every) == 2 and n_columns == 3:
                return cls((every[0],), (every[1],), (every[0],))
            if len(every) in (1, 2) and n_columns == 2:
                return cls((every[0],), (), (every[-1],))
            raise WhereofError(
                f"the model has {len(every)} embedding tables ({', '.join(every)}) for facts of "
                f"{n_columns} columns; say which is which: subject=, relation=, object="
            )
        subject, relation, answer = given
        places = (subject, relation, answer if answer is not None else subject)
        found = (_names(names, place, each) for place, each in zip(PLACES[3], places, strict=True))
        return cls(*found)

    @property
    def by_column(self) -> tuple[tuple[str, ...], ...]:
        """The names for each column of a fact; two-way facts have no relation."""
        return tuple(each for each in (self.subject, self.relation, self.object) if each)

    @property
    def is_shared(self) -> bool:
        """Whether subjects and objects are the same entities."""
        return self.subject == self.object

    def rows(self, module: Any) -> tuple[Rows, Rows]:
        """Entity rows and relation rows; objects of other tables follow the subjects."""
        subjects, objects = (_join(module, names) for names in (self.subject, self.object))
        relations = _join(module, self.relation) if self.relation else np.zeros((1, 0))
        entities = subjects
        if not self.is_shared:
            width = max(subjects.shape[1], objects.shape[1])
            entities = np.concatenate([widened(subjects, width), widened(objects, width)])
        return entities, relations.astype(entities.dtype)

    def n_subjects(self, module: Any) -> int | None:
        """The number of subjects, if objects are other entities."""
        return None if self.is_shared else module.get_submodule(self.subject[0]).num_embeddings

    def shifted(self, module: Any, facts: Any) -> Facts:
        """Facts, with objects counted after the subjects if they have tables of their own."""
        ids = np.array(facts, np.int64)
        ids[:, -1] += self.n_subjects(module) or 0
        return ids.astype(np.int32)

    def widths(self, module: Any) -> tuple[int, int, int]:
        """Widths of the rows of subject, relation and object."""
        names = (self.subject, self.relation, self.object)
        widths = (sum(module.get_submodule(it).embedding_dim for it in each) for each in names)
        subject, relation, answer = widths
        return subject, relation, answer


def is_table(module: Any) -> bool:
    """Whether a module is an embedding table."""
    return isinstance(module, torch.nn.Embedding)


def _names(names: dict[int, str], place: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    found = []
    for each in given if isinstance(given, list | tuple) else [given]:
        name = each if isinstance(each, str) else names.get(id(each))
        if name not in names.values():
            raise WhereofError(
                f"{place} is no embedding table of the model; choose from "
                f"{', '.join(names.values()) or 'none: the model has no nn.Embedding'}"
            )
        found.append(str(name))
    return tuple(found)


def _join(module: Any, names: tuple[str, ...]) -> Rows:
    tables = [module.get_submodule(name).weight.detach() for name in names]
    return np.asarray(torch.cat(tables, dim=1).cpu().numpy())


def widened(rows: Rows, width: int) -> Rows:
    """Rows of a width, filled with zeros."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
