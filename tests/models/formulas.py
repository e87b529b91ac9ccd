"""Every model's score and its slopes, in plain NumPy, as the papers write them.

Each takes the rows of subject, relation and object and returns the score and its gradients with
respect to the three. None knows of queries.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Slopes = tuple[Vector, Vector, Vector]
Formula = Callable[[Vector, Vector, Vector], tuple[float, Slopes]]


def distmult(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    return float(np.sum(s * r * o)), (r * o, s * o, s * r)


def complex_(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    S, R, O = _complex(s), _complex(r), _complex(o)  # noqa: E741
    score = np.sum(S * R * O.conj()).real
    return float(score), (_real((R * O.conj()).conj()), _real((S * O.conj()).conj()), _real(S * R))


def rescal(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    R = r.reshape(len(s), len(o))
    return float(s @ R @ o), (R @ o, np.outer(s, o).ravel(), R.T @ s)


def simple(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    (s_head, s_tail), (there, back), (o_head, o_tail) = (np.split(x, 2) for x in (s, r, o))
    score = (np.sum(s_head * there * o_tail) + np.sum(o_head * back * s_tail)) / 2
    d_s = np.concatenate([there * o_tail, o_head * back]) / 2
    d_r = np.concatenate([s_head * o_tail, o_head * s_tail]) / 2
    d_o = np.concatenate([back * s_tail, s_head * there]) / 2
    return float(score), (d_s, d_r, d_o)


def transe(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    way = np.sign(s + r - o)
    return -float(np.sum(np.abs(s + r - o))), (-way, -way, way)


def transe_l2(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    way = _direction(s + r - o)
    return -float(np.linalg.norm(s + r - o)), (-way, -way, way)


def rotate(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    turn = np.exp(1j * r)
    turned = _complex(s) * turn
    way = _complex(_direction(_real(turned) - o))
    score = -float(np.linalg.norm(_real(turned) - o))
    return score, (_real(-way * turn.conj()), -(way.conj() * 1j * turned).real, _real(way))


def mf(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    return float(s @ o), (o, np.zeros(0), s)


def mf_biased(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    score = s[:-1] @ o[:-1] + s[-1] + o[-1]
    return float(score), (np.append(o[:-1], 1.0), np.zeros(0), np.append(s[:-1], 1.0))


FORMULAS: dict[str, Formula] = {
    "complex": complex_,
    "distmult": distmult,
    "mf": mf,
    "mf-biased": mf_biased,
    "rescal": rescal,
    "rotate": rotate,
    "simple": simple,
    "transe": transe,
    "transe-l2": transe_l2,
}


def _complex(row: Vector) -> NDArray[np.complex128]:
    half = len(row) // 2
    return row[:half] + 1j * row[half:]


def _real(row: NDArray[np.complex128]) -> Vector:
    return np.concatenate([row.real, row.imag])


def _direction(vector: Vector) -> Vector:
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else np.zeros_like(vector)
