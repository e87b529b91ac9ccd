"""Every model against its formula and against finite differences."""

import numpy as np
import pytest

from models.checks import check_query_vjp, check_score, check_slopes
from models.formulas import FORMULAS
from whereof.models import MODELS


@pytest.mark.parametrize("dim", [1, 5])
@pytest.mark.parametrize("name", MODELS)
def test_the_query_has_the_gradient_it_says(name: str, dim: int) -> None:
    check_query_vjp(MODELS[name], dim)


@pytest.mark.parametrize("dim", [1, 5])
@pytest.mark.parametrize("name", MODELS)
def test_the_query_gives_the_score_of_the_formula(name: str, dim: int) -> None:
    check_score(MODELS[name], FORMULAS[name], dim)


@pytest.mark.parametrize("name", MODELS)
def test_the_formula_has_the_slopes_it_says(name: str) -> None:
    check_slopes(MODELS[name], FORMULAS[name], 5)


def test_scores_known_by_hand() -> None:
    s, r, o = np.array([1.0, 2.0]), np.array([3.0, -1.0]), np.array([2.0, 0.5])
    wanted = {
        "complex": 5.0 * 2 + 5.0 * 0.5,  # (1 + 2i)(3 - i) = 5 + 5i, times conj(2 + i/2)
        "distmult": 6.0 - 1.0,
        "mf": 2.0 + 1.0,
        "mf-biased": 2.0 + 2.0 + 0.5,
        "simple": (1 * 3 * 0.5 + 2 * -1 * 2) / 2,
        "transe": -(2.0 + 0.5),
        "transe-l2": -np.sqrt(4 + 0.25),
    }
    for name, score in wanted.items():
        assert FORMULAS[name](s, r, o)[0] == pytest.approx(score), name
    assert FORMULAS["rotate"](s, np.array([np.pi / 2]), o)[0] == pytest.approx(-np.hypot(4, 0.5))
    assert FORMULAS["rescal"](s, np.arange(4.0), o)[0] == pytest.approx(4 * 2 + 7 * 0.5)
