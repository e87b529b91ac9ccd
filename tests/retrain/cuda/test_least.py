"""What is said to be the least a number can be is never above what it is, in any round."""

import ast
import random

import pytest

from whereof.retrain.cuda._least import Least

LEAST = {"WIDTH": 3, "RELATION_WIDTH": 1}
VECTORS = {"s": "WIDTH", "r": "RELATION_WIDTH", "ds": "WIDTH"}
ATOMS = ("i", "k", "h", "n", "m", "s.shape[0]", "r.shape[0]", "ds.shape[0]", "1", "2", "3", "0")


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(ATOMS)
    left, right = expression(rng, depth - 1), expression(rng, depth - 1)
    sign = rng.choice(["+", "+", "-", "-", "*", "//"])
    return f"({left} // {rng.randint(1, 3)})" if sign == "//" else f"({left} {sign} {right})"


def function(rng: random.Random) -> str:
    """A function that notes an expression in every round of two loops."""
    outer = rng.choice(["h", "r.shape[0]", "h - 1", "2, h + 2"])
    inner = rng.choice(["i", "h", "i, h", "1, s.shape[0]", "h - i", "n", "1 - i, h"])
    change = rng.choice(
        ["n += 1", "n = n + i", "n -= 1", "m = k + 1", "m = h - k - 1", "m = i * 2"]
    )
    return (
        f"h, n, m = {rng.choice(['s.shape[0]', 's.shape[0] // 2', 'r.shape[0] - 1'])}, 0, 1\n"
        f"for i in range({outer}):\n"
        f"    for k in range({inner}):\n"
        f"        note({expression(rng, 3)})\n"
        f"    for k in range({rng.choice(['h', '2, 5', '0'])}):\n"
        f"        {change}\n"
    )


class Vector:
    def __init__(self, width: int) -> None:
        self.shape = (width,)


def noted(source: str) -> list[int]:
    """The numbers that come up, by any widths that are not too small."""
    found: list[int] = []
    for width in range(LEAST["WIDTH"], 7):
        for relation_width in range(LEAST["RELATION_WIDTH"], 6):
            vectors = {"s": Vector(width), "ds": Vector(width), "r": Vector(relation_width)}
            exec(source, {**vectors, "note": found.append})
    return found


def said(source: str) -> int | None:
    body = ast.parse(source).body
    least = Least(body, VECTORS, LEAST)
    outer = body[1]
    assert isinstance(outer, ast.For)
    inner = outer.body[0]
    assert isinstance(inner, ast.For)
    call = inner.body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    for loop in (outer, inner):
        least.enter(loop)
    return least.of(call.value.args[0])


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_below_what_is_said(seed: int) -> None:
    rng, n_said, n_met = random.Random(seed), 0, 0
    for _ in range(250):
        source = function(rng)
        least, found = said(source), noted(source)
        if least is not None and found:
            assert least <= min(found), source
            n_said += 1
            n_met += least == min(found)
    assert n_said > 50
    assert n_met > 25, "it is near, too"
