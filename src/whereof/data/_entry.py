"""What the catalogue says of a dataset."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

"""Called as a download goes on: with its address, the bytes so far, and all of them or None."""


@dataclass(frozen=True)
class File:
    """One file of a dataset, and where to get it."""

    name: str
    """As it lies in the dataset's folder."""
    url: str
    """The address of the file, or of an archive with a file of this name in it."""
    sha256: str | None = None
    """Of its plain content; None where the project does not hold the bytes."""
    convert: Callable[[bytes], bytes] | None = None
    """From the content at the address to the file's."""


@dataclass(frozen=True)
class Entry:
    """A named dataset; the sizes are those of its files as published."""

    name: str
    title: str
    licence: str
    """In a word or two."""
    terms: str
    """What the licence is, or is that of."""
    citation: str
    homepage: str
    n_facts: int
    n_valid: int
    n_test: int
    n_entities: int
    """Over the training facts; where no file has a checksum, as published, over all facts."""
    n_relations: int
    """Counted like the entities; 0 in two-way data."""
    files: tuple[File, ...] = ()
    """Empty where the files come with the package."""
    layout: str = "triples"
    """Of the files: "triples", which are train, valid, test and labels, or "movielens"."""

    @property
    def bundled(self) -> bool:
        """Whether the files come with the package."""
        return not self.files

    @property
    def labelled(self) -> bool:
        """Whether there are labels beside the names."""
        return any(file.name in ("entity2text.txt", "u.item") for file in self.files)

    def n_lines(self, file: str) -> int | None:
        """The facts in one of the files; None for a file of other things."""
        sizes = {"train.txt": self.n_facts, "valid.txt": self.n_valid, "test.txt": self.n_test}
        return sizes.get(file)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "layout": self.layout,
            "n_facts": self.n_facts,
            "n_valid": self.n_valid,
            "n_test": self.n_test,
            "n_entities": self.n_entities,
            "n_relations": self.n_relations,
            "labelled": self.labelled,
            "licence": self.licence,
            "terms": self.terms,
            "citation": self.citation,
            "homepage": self.homepage,
            "files": [
                {"name": file.name, "url": file.url, "sha256": file.sha256} for file in self.files
            ],
        }
