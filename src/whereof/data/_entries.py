"""The table of named datasets."""

from collections.abc import Callable
from typing import Final

from whereof.data._entry import Entry, File
from whereof.data._label_files import before_comma, from_json

_SPLITS: Final = ("train.txt", "valid.txt", "test.txt")
_GITHUB: Final = "https://raw.githubusercontent.com"
_CONVE: Final = f"{_GITHUB}/TimDettmers/ConvE/master"
_CODEX: Final = f"{_GITHUB}/tsafavi/codex/master/data"
_KG_BERT: Final = f"{_GITHUB}/yao8839836/kg-bert/master/data"
_VILLMOW: Final = f"{_GITHUB}/villmow/datasets_knowledge_embedding/master"
_MOVIELENS: Final = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"

_UNSTATED: Final = "its source states none"
_IRM: Final = (
    "C. Kemp, J. B. Tenenbaum, T. L. Griffiths, T. Yamada, N. Ueda: Learning systems of concepts "
    "with an infinite relational model, AAAI 2006"
)
_DETTMERS: Final = (
    "T. Dettmers, P. Minervini, P. Stenetorp, S. Riedel: Convolutional 2D knowledge graph "
    "embeddings, AAAI 2018"
)


def _splits(url: str, *sha256: str) -> tuple[File, ...]:
    """Train, valid and test of one archive, or below one address that ends in a slash."""
    sums = sha256 or (None, None, None)
    return tuple(
        File(name, url + name if url.endswith("/") else url, checksum)
        for name, checksum in zip(_SPLITS, sums, strict=True)
    )


def _labels(
    kind: str, url: str, convert: Callable[[bytes], bytes] | None, sha256: str | None = None
) -> File:
    return File(f"{kind}2text.txt", url, sha256, convert)


def _codex(size: str, n_entities: int, n_relations: int, *splits: int) -> Entry:
    n_facts, n_valid, n_test = splits
    return Entry(
        name=f"codex-{size}",
        title=f"CoDEx-{size.upper()}: Wikidata facts with English labels",
        licence="MIT",
        terms="that of its repository",
        citation=(
            "T. Safavi, D. Koutra: CoDEx: a comprehensive knowledge graph completion benchmark, "
            "EMNLP 2020"
        ),
        homepage="https://github.com/tsafavi/codex",
        n_facts=n_facts,
        n_valid=n_valid,
        n_test=n_test,
        n_entities=n_entities,
        n_relations=n_relations,
        files=(
            *_splits(f"{_CODEX}/triples/codex-{size}/"),
            _labels("entity", f"{_CODEX}/entities/en/entities.json", from_json),
            _labels("relation", f"{_CODEX}/relations/en/relations.json", from_json),
        ),
    )


ENTRIES: Final = (
    Entry(
        name="nations",
        title="Nations: relations between 14 countries, 1950 to 1965",
        licence="unstated",
        terms=_UNSTATED,
        citation=f"R. J. Rummel: The Dimensionality of Nations Project, 1976; as used by {_IRM}",
        homepage="https://github.com/TimDettmers/ConvE",
        n_facts=1592,
        n_valid=199,
        n_test=201,
        n_entities=14,
        n_relations=55,
    ),
    Entry(
        name="kinship",
        title="Kinship: kin terms among 104 members of the Alyawarra",
        licence="unstated",
        terms=_UNSTATED,
        citation=(
            "W. W. Denham: The detection of patterns in Alyawarra nonverbal behavior, PhD thesis, "
            f"University of Washington, 1973; as used by {_IRM}"
        ),
        homepage="https://github.com/TimDettmers/ConvE",
        n_facts=8544,
        n_valid=1068,
        n_test=1074,
        n_entities=104,
        n_relations=25,
        files=_splits(
            f"{_CONVE}/kinship.tar.gz",
            "738612111a6acf0e39662bde24c7e72a4d1edf20931beea077da367dda689731",
            "c56f8630a583178b1e569f11a64aa535ae1ce0b0912d8b1e24716be2b37f04da",
            "05e5733265761d55be9c05bfaff5a8d0808df46f9c1e9d66cc3f2fe114e43d88",
        ),
    ),
    Entry(
        name="umls",
        title="UMLS: relations between 135 biomedical concepts",
        licence="unstated",
        terms=_UNSTATED,
        citation=(
            "A. T. McCray: An upper-level ontology for the biomedical domain, Comparative and "
            f"Functional Genomics 4, 2003; as used by {_IRM}"
        ),
        homepage="https://github.com/TimDettmers/ConvE",
        n_facts=5216,
        n_valid=652,
        n_test=661,
        n_entities=135,
        n_relations=46,
        files=_splits(f"{_CONVE}/umls.tar.gz"),
    ),
    Entry(
        name="fb15k-237",
        title="FB15k-237: Freebase facts without inverse relations",
        licence="CC BY 2.5",
        terms="that of Freebase",
        citation=(
            "K. Toutanova, D. Chen: Observed versus latent features for knowledge base and text "
            "inference, Workshop on Continuous Vector Space Models and their Compositionality, 2015"
        ),
        homepage="https://www.microsoft.com/en-us/download/details.aspx?id=52312",
        n_facts=272115,
        n_valid=17535,
        n_test=20466,
        n_entities=14505,
        n_relations=237,
        files=(
            *_splits(
                f"{_VILLMOW}/FB15k-237/",
                "61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a",
                "749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9",
                "e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b",
            ),
            _labels(
                "entity",
                f"{_KG_BERT}/FB15K/entity2text.txt",
                None,
                "16beedcfad3d32696e8b0b98cfa0f5eeb144f5142225f227a64fd9ce37447da5",
            ),
        ),
    ),
    Entry(
        name="wn18rr",
        title="WN18RR: WordNet facts without inverse relations",
        licence="WordNet",
        terms="the WordNet licence of Princeton University",
        citation=_DETTMERS,
        homepage="https://github.com/TimDettmers/ConvE",
        n_facts=86835,
        n_valid=3034,
        n_test=3134,
        n_entities=40559,
        n_relations=11,
        files=(
            *_splits(
                f"{_CONVE}/WN18RR.tar.gz",
                "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df",
                "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab",
                "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5",
            ),
            _labels("entity", f"{_KG_BERT}/WN18RR/entity2text.txt", before_comma),
        ),
    ),
    _codex("s", 2034, 42, 32888, 1827, 1828),
    _codex("m", 17050, 51, 185584, 10310, 10311),
    _codex("l", 77951, 69, 551193, 30622, 30622),
    Entry(
        name="yago3-10",
        title="YAGO3-10: YAGO 3 facts of entities with ten relations or more",
        licence="CC BY",
        terms="that of YAGO",
        citation=(
            "F. Mahdisoltani, J. Biega, F. M. Suchanek: YAGO3: a knowledge base from multilingual "
            f"Wikipedias, CIDR 2015; as used by {_DETTMERS}"
        ),
        homepage="https://yago-knowledge.org/downloads/yago-3",
        n_facts=1079040,
        n_valid=5000,
        n_test=5000,
        n_entities=123182,
        n_relations=37,
        files=_splits(f"{_CONVE}/YAGO3-10.tar.gz"),
    ),
    Entry(
        name="movielens-100k",
        title="MovieLens 100k: ratings of movies, 1 to 5, in its ua split",
        licence="research",
        terms="no redistribution, and no commercial use without permission",
        citation=(
            "F. M. Harper, J. A. Konstan: The MovieLens datasets: history and context, ACM "
            "Transactions on Interactive Intelligent Systems 5(4), 2015"
        ),
        homepage="https://grouplens.org/datasets/movielens/100k/",
        n_facts=90570,
        n_valid=5000,
        n_test=4430,
        n_entities=2623,
        n_relations=0,
        files=(
            File(
                "ua.base",
                _MOVIELENS,
                "67b5bcdb380c29f85d56a012ecd88612ae020f30a6730d117a334ee8203b91f2",
            ),
            File(
                "ua.test",
                _MOVIELENS,
                "d0497e202417720f57a184ec8c66be2d1afa4ff41bb53787c57b28d6bf79bc42",
            ),
            File(
                "u.item",
                _MOVIELENS,
                "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701",
            ),
        ),
        layout="movielens",
    ),
)
