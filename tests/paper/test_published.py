"""The paper's figures, copied by hand a second time."""

import pytest

from whereof.paper import _published as published

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


@pytest.mark.parametrize("line", TABLE_1.strip().splitlines())
def test_table_1(line: str) -> None:
    dataset, model, method, *percents = line.split()
    shares = [int(percent) / 100 for percent in percents]
    found = [published.removal(dataset, model, method, metric) for metric in ("pd", "tc")]
    assert found[0] == pytest.approx(dict(zip(("1", "10", "all"), shares[:3], strict=True)))
    assert found[1] == pytest.approx(dict(zip(("1", "10", "all"), shares[3:], strict=True)))


@pytest.mark.parametrize("line", CRIAGE.strip().splitlines())
def test_the_criage_table(line: str) -> None:
    method, *percents = line.split()
    shares, sizes = [int(percent) / 100 for percent in percents], ("1", "3", "5", "10")
    assert published.criage(method, "pd") == pytest.approx(
        dict(zip(sizes, shares[:4], strict=True))
    )
    assert published.criage(method, "tc") == pytest.approx(
        dict(zip(sizes, shares[4:], strict=True))
    )


@pytest.mark.parametrize(
    ("dataset", "model", "mrr", "hits1", "hits10"),
    [
        ("nations", "distmult", 0.5888, 0.3831, 0.9751),
        ("nations", "complex", 0.6041, 0.3980, 0.9701),
        ("fb15k-237", "distmult", 0.2584, 0.1916, 0.4018),
        ("fb15k-237", "complex", 0.2511, 0.1815, 0.4005),
        ("movielens", "distmult", 0.6181, 0.3760, None),
        ("movielens", "complex", 0.6176, 0.3751, None),
    ],
)
def test_the_model_table(
    dataset: str, model: str, mrr: float, hits1: float, hits10: float | None
) -> None:
    found = published.model_metrics(dataset, model)
    assert found == {"mrr": mrr, "hits@1": hits1, "hits@10": hits10}


@pytest.mark.parametrize(
    ("dataset", "training", "mean", "std"),
    [("nations", 60, 4.2, 1.2), ("fb15k-237", 1020, 360, 420), ("movielens", 420, 720, 240)],
)
def test_the_time_table(dataset: str, training: float, mean: float, std: float) -> None:
    each = published.explaining_seconds(dataset)
    found = (published.training_seconds(dataset), each.mean, each.std)
    assert found == pytest.approx((training, mean, std))


@pytest.mark.parametrize(
    ("dataset", "adjacent", "removed"),
    [
        ("nations", (508, 101), (261, 56)),
        ("fb15k-237", (5500, 4500), (2900, 2300)),
        ("movielens", (23700, 7800), (16700, 5000)),
    ],
)
def test_sizes(dataset: str, adjacent: tuple[int, int], removed: tuple[int, int]) -> None:
    assert published.ADJACENT[dataset] == published.Spread(*adjacent)
    assert published.REMOVED_BY_ALL[dataset] == published.Spread(*removed)
