"""The datasets known by name, and where their files are."""

import os
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from whence.data._paths import is_folder
from whence.errors import WhenceError

DATA_VARIABLE: Final = "WHENCE_DATA"


@dataclass(frozen=True)
class Entry:
    """A named dataset; the sizes are those of its files as published."""

    name: str
    title: str
    licence: str
    citation: str
    n_facts: int
    n_valid: int
    n_test: int
    n_entities: int
    """Over the training facts."""
    n_relations: int
    """Over the training facts."""
    bundled: bool = False
    """Whether the files come with the package."""
    layout: str = "triples"
    """Of the files: "triples", which are train, valid, test and labels, or "movielens"."""


_ENTRIES: Final = (
    Entry(
        name="nations",
        title="Nations: relations between 14 countries, 1950 to 1965",
        licence="none stated by its source",
        citation=(
            "R. J. Rummel: The Dimensionality of Nations Project, 1976; as used by C. Kemp, "
            "J. B. Tenenbaum, T. L. Griffiths, T. Yamada, N. Ueda: Learning systems of concepts "
            "with an infinite relational model, AAAI 2006"
        ),
        n_facts=1592,
        n_valid=199,
        n_test=201,
        n_entities=14,
        n_relations=55,
        bundled=True,
    ),
    Entry(
        name="kinship",
        title="Kinship: kin terms among 104 members of the Alyawarra",
        licence="none stated by its source",
        citation=(
            "W. W. Denham: The detection of patterns in Alyawarra nonverbal behavior, PhD thesis, "
            "University of Washington, 1973; as used by C. Kemp, J. B. Tenenbaum, T. L. Griffiths, "
            "T. Yamada, N. Ueda: Learning systems of concepts with an infinite relational model, "
            "AAAI 2006"
        ),
        n_facts=8544,
        n_valid=1068,
        n_test=1074,
        n_entities=104,
        n_relations=25,
    ),
    Entry(
        name="fb15k-237",
        title="FB15k-237: Freebase facts without inverse relations",
        licence="CC BY 2.5 (Freebase)",
        citation=(
            "K. Toutanova, D. Chen: Observed versus latent features for knowledge base and text "
            "inference, Workshop on Continuous Vector Space Models and their Compositionality, 2015"
        ),
        n_facts=272115,
        n_valid=17535,
        n_test=20466,
        n_entities=14505,
        n_relations=237,
    ),
    Entry(
        name="wn18rr",
        title="WN18RR: WordNet facts without inverse relations",
        licence="WordNet licence (Princeton University)",
        citation=(
            "T. Dettmers, P. Minervini, P. Stenetorp, S. Riedel: Convolutional 2D knowledge graph "
            "embeddings, AAAI 2018"
        ),
        n_facts=86835,
        n_valid=3034,
        n_test=3134,
        n_entities=40559,
        n_relations=11,
    ),
)

CATALOGUE: Final[dict[str, Entry]] = {entry.name: entry for entry in _ENTRIES}


def find_folder(entry: Entry, data_dir: Path | None) -> Path | Traversable:
    """The folder with a catalogue dataset's files: in the package, or below the data folder."""
    if entry.bundled:
        return resources.files("whence.data").joinpath(entry.name)
    root = data_dir or os.environ.get(DATA_VARIABLE)
    remedy = f"--data-dir DIR or {DATA_VARIABLE}: DIR/{entry.name}/train.txt"
    if not root:
        raise WhenceError(f"the data of {entry.name} is not here; say where it is with {remedy}")
    folder = Path(root).expanduser() / entry.name
    if not is_folder(folder):
        raise WhenceError(
            f"the data of {entry.name} is not here: no folder {folder}; "
            f"say where it is with {remedy}"
        )
    return folder
