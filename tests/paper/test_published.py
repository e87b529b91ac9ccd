"""The paper's figures, copied from the paper a second time."""

import pytest

from whereof.paper.figures import Figure
from whereof.paper.plan import DATASETS

TABLE_1 = """
nations   distmult random   54 66 82   18 36 70
nations   distmult rollback 93 97 100  38 83 97
nations   complex  random   59 68 80   13 47 76
nations   complex  rollback 90 95 100  38 85 99
fb15k-237 distmult random   59 67 83   35 45 59
fb15k-237 distmult rollback 77 82 96   38 58 85
fb15k-237 complex  random   72 83 91   69 70 79
fb15k-237 complex  rollback 80 88 99   65 81 91
movielens distmult random   53 52 92   3 14 72
movielens distmult rollback 68 82 100  20 38 100
movielens complex  random   53 61 91   5 13 77
movielens complex  rollback 73 71 100  29 48 100
"""

CRIAGE = """
random     49 50 51 60   3 13 14 20
criage     91 93 94 95   16 36 48 68
rollback-o 92 94 97 97   25 48 62 68
rollback   92 96 97 98   27 51 66 73
"""


TITLES = {"distmult": "DistMult", "complex": "ComplEx"}


@pytest.mark.parametrize("line", TABLE_1.strip().splitlines())
def test_table_1(line: str) -> None:
    dataset, model, method, *percents = line.split()
    found = DATASETS[dataset].row("table1", (TITLES[model], "adam", method))
    assert found == tuple(map(int, percents))


def test_the_difference_is_that_of_the_printed_figures() -> None:
    for optimizer in ("adam", "adam-lazy"):
        names = ("DistMult", optimizer, "difference")
        assert DATASETS["nations"].row("table1", names)[0] == 39
    assert DATASETS["fb15k-237"].row("table1", ("ComplEx", "adam", "difference"))[3] == -4


@pytest.mark.parametrize("line", CRIAGE.strip().splitlines())
def test_the_criage_table(line: str) -> None:
    method, *percents = line.split()
    found = [
        each for it in ("PD", "TC") for each in DATASETS["nations"].row("criage", (method, it))
    ]
    assert found == [*map(int, percents)]


@pytest.mark.parametrize(
    ("dataset", "model", "mrr", "hits1", "hits10"),
    [
        ("nations", "DistMult", 0.5888, 0.3831, 0.9751),
        ("nations", "ComplEx", 0.6041, 0.3980, 0.9701),
        ("fb15k-237", "DistMult", 0.2584, 0.1916, 0.4018),
        ("fb15k-237", "ComplEx", 0.2511, 0.1815, 0.4005),
        ("movielens", "DistMult", 0.6181, 0.3760, None),
        ("movielens", "ComplEx", 0.6176, 0.3751, None),
    ],
)
def test_the_model_table(
    dataset: str, model: str, mrr: float, hits1: float, hits10: float | None
) -> None:
    found = DATASETS[dataset].row("models", (model, "adam", "paper's"))
    papers = [Figure(0.5).beside("share", it).paper for it in found]
    assert papers == [each for each in (mrr, hits1, hits10) if each]


@pytest.mark.parametrize("table", ["table1", "models", "times"])
def test_other_optimizers_stand_beside_nothing(table: str) -> None:
    for printed in DATASETS.values():
        assert printed.row(table, ("DistMult", "adam-lazy", "rollback")) == ()


@pytest.mark.parametrize(
    ("dataset", "training", "explaining", "adjacent", "removed"),
    [
        ("nations", 1, (0.07, 0.02), (508, 101), (261, 56)),
        ("fb15k-237", 17, (6, 7), (5500, 4500), (2900, 2300)),
        ("movielens", 7, (12, 4), (23700, 7800), (16700, 5000)),
    ],
)
def test_times_and_sizes(
    dataset: str,
    training: float,
    explaining: tuple[float, float],
    adjacent: tuple[int, int],
    removed: tuple[int, int],
) -> None:
    printed = DATASETS[dataset]
    seconds, minutes, *explained = printed.row("times", ("ComplEx", "adam"))
    assert (seconds, minutes) == (60 * training, training)
    assert explained == [tuple(60 * each for each in explaining), explaining]
    # The paper gives the number of removed facts for DistMult only.
    assert printed.row("sizes", ("DistMult", "adam")) == (removed, adjacent)
    assert printed.row("sizes", ("ComplEx", "adam-lazy"))[1:] == (adjacent,)
