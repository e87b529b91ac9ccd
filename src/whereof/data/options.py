"""Options for reading data, in one table for command options, docs and checks."""

from dataclasses import dataclass
from pathlib import Path

from whereof.errors import WhereofError
from whereof.settings import Settings, choice, number

FORMATS = "tsv csv parquet ntriples turtle graphml"
OTHERS = ("source", "rating", "weight", "time")
"""Options that name one column, besides the columns of a fact."""


@dataclass(frozen=True)
class ReadOptions(Settings):
    """What to read, and how. Values are checked on creation."""

    name: str | None = choice(None, "name of the dataset  [default: the file's name]", "Data")
    data_dir: str | Path | None = choice(
        None, "folder of named datasets  [default: $WHEREOF_DATA, else downloaded]", "Data"
    )
    entity_labels: str | Path | dict | None = choice(  # type: ignore[type-arg]
        None, "file of entity labels: FILE, or FILE:NAME_COLUMN,LABEL_COLUMN", "Data"
    )
    relation_labels: str | Path | dict | None = choice(  # type: ignore[type-arg]
        None, "file of relation labels: FILE, or FILE:NAME_COLUMN,LABEL_COLUMN", "Data"
    )
    format: str | None = choice(None, "format of files  [default: from the name]", "Data", FORMATS)
    columns: str | None = choice(
        None, "columns of a fact, by name or number: head,relation,tail or 1,2,3", "Data"
    )
    header: bool | None = choice(None, "line 1 names the columns  [default: detected]", "Data")
    rating: str | None = choice(None, "column with ratings, by name or number", "Data")
    source: str | None = choice(None, "column with the source of a fact, by name or number", "Data")
    weight: str | None = choice(None, "column with the weight of a fact, by name or number", "Data")
    time: str | None = choice(
        None, "column with the time of a fact, to hold out the latest facts", "Data"
    )
    ratings_as_objects: bool | None = choice(
        None, "read facts as (user, item, rating) and predict the rating, as in the paper", "Data"
    )
    valid_fraction: float = number(0.0, "share of the facts to hold out for validation", "Data", 0)
    test_fraction: float = number(0.0, "share of the facts to hold out for test metrics", "Data", 0)
    split_seed: int = number(0, "seed that selects the held-out facts", "Data", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.name
        if name is not None and (not name.strip() or {*name} & {*"/\\\0"} or not _is_unicode(name)):
            raise WhereofError(f"name is {name!r}; give a non-empty name without / or \\")
        if self.split_seed and not self.held_out:
            raise WhereofError(
                f"split_seed is {self.split_seed}, and nothing is held out; "
                "give valid_fraction or test_fraction, or leave it out"
            )
        if self.time is not None and not self.held_out:
            raise WhereofError(
                "time chooses which facts to hold out, but nothing is held out; "
                "give valid_fraction or test_fraction too"
            )
        if self.time is not None and self.split_seed:
            raise WhereofError("time already chooses which facts to hold out; leave out split_seed")
        if self.valid_fraction + self.test_fraction >= 1:
            raise WhereofError(
                f"valid_fraction {self.valid_fraction:g} and test_fraction "
                f"{self.test_fraction:g} leave nothing to train on; choose less than 1 in all"
            )

    def refuse(self, names: tuple[str, ...], why: str) -> None:
        """Raise an error for the first of these options that was given."""
        for name in names:
            if getattr(self, name) is not None:
                raise WhereofError(f"{why}; leave out {name}")

    @property
    def held_out(self) -> bool:
        return self.valid_fraction + self.test_fraction > 0


def _is_unicode(text: str) -> bool:
    """Whether a text has no bytes that could not be decoded."""
    return text == text.encode(errors="ignore").decode()
