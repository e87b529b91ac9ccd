"""How small the whole numbers of a model's function can be, whatever its dimension.

Below 0 Python counts places from the end and divides towards less; C does neither. So places have
to be at or above 0 for sure, and divisions to know whether they are.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whereof.retrain.cuda._sharing import names_in, width_of

Form = dict[str, int]
"""A sum: how often each of its parts is taken; of numbers, under ""."""


@dataclass(frozen=True)
class Given:
    """A value that a name is given somewhere."""

    name: str
    value: ast.expr
    loops: tuple[ast.For, ...]
    """Around it, outermost first."""


def all_given(body: list[ast.stmt], loops: tuple[ast.For, ...] = ()) -> Iterator[Given]:
    """Every value that a name is given."""
    for part in body:
        if isinstance(part, ast.For):
            yield from all_given(part.body, (*loops, part))
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield Given(part.target.id, ast.BinOp(part.target, part.op, part.value), loops)
        elif isinstance(part, ast.Assign):
            for target in part.targets:
                pairs = [(target, part.value)]
                if isinstance(target, ast.Tuple) and isinstance(part.value, ast.Tuple):
                    pairs = list(zip(target.elts, part.value.elts, strict=True))
                for one, value in pairs:
                    if isinstance(one, ast.Name):
                        yield Given(one.id, value, loops)


def ends_of(loop: ast.For) -> tuple[ast.expr, ast.expr] | None:
    """Where a loop over a range starts and stops; None where it is of another kind."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            return ast.Constant(0), stop
        case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]):
            return start, stop
    return None


class Least:
    """The least that whole numbers of one function can be.

    least: of each vector's width, by its macro. Loops around are entered and left.
    """

    def __init__(
        self, body: list[ast.stmt], widths: Mapping[str, str], least: Mapping[str, int]
    ) -> None:
        self._widths = widths
        self._least: dict[str, int | None] = {f"{macro}.": n for macro, n in least.items()}
        """Of the parts of sums; None where they may be anything."""
        self._loops: dict[str, tuple[Form, Form]] = {}
        given = list(all_given(body))
        self._fixed: dict[str, Form] = {}
        """Names that stand for one value all along."""
        self._fix(given)
        self._least |= {it.name: 0 for it in given if it.name not in self._fixed}
        while not all(self._holds(it) for it in given):
            pass

    def _fix(self, given: list[Given]) -> None:
        names = [it.name for it in given]
        for it in given:
            if names.count(it.name) == 1 and not it.loops:
                known = {*self._fixed, *self._widths}
                if names_in(it.value) <= known:
                    self._fixed[it.name] = self._form(it.value)

    def _holds(self, it: Given) -> bool:
        """Whether a name stays at or above 0 by this value, if all do that are thought to."""
        if self._least.get(it.name) is None:
            return True
        for loop in it.loops:
            self.enter(loop)
        found = self.of(it.value)
        for loop in it.loops:
            self.leave(loop)
        if found is None or found < 0:
            self._least[it.name] = None
            return False
        return True

    def enter(self, loop: ast.For) -> None:
        ends = ends_of(loop)
        if ends is not None:
            self._loops[ast.unparse(loop.target)] = self._form(ends[0]), self._form(ends[1])

    def leave(self, loop: ast.For) -> None:
        self._loops.pop(ast.unparse(loop.target), None)

    def of(self, node: ast.expr) -> int | None:
        """The least that an expression of whole numbers can be; None where that is not known."""
        form = self._form(node)
        for number, (start, stop) in reversed(self._loops.items()):
            times = form.pop(number, 0)
            if times > 0:
                form = _sum(form, start, times)
            elif times < 0:
                form = _sum(_sum(form, stop, times), {"": -1}, times)
        total = 0
        for part, times in form.items():
            least = 1 if part == "" else self._least.get(part)
            if times and (least is None or (times < 0 and part)):
                return None
            total += times * (least or 0)
        return total

    def _form(self, node: ast.expr) -> Form:
        """An expression as a sum; what is no sum is one part of it."""
        match node:
            case ast.Constant(value=int(value)):
                return {"": value}
            case _ if (vector := width_of(node)) in self._widths:
                return {f"{self._widths[vector]}.": 1}
            case ast.Name(id=name):
                return dict(self._fixed.get(name, {name: 1}))
            case ast.UnaryOp(op=ast.USub()):
                return _sum({}, self._form(node.operand), -1)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                sign = 1 if isinstance(node.op, ast.Add) else -1
                return _sum(self._form(node.left), self._form(node.right), sign)
            case ast.BinOp(op=ast.Mult()):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    times = self._form(one)
                    if not {part for part, n in times.items() if part and n}:
                        return _sum({}, self._form(other), times.get("", 0))
        text = ast.unparse(node)
        self._least[text] = self._of_part(node)
        return {text: 1}

    def _of_part(self, node: ast.expr) -> int | None:
        """The least of a product or of a quotient."""
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self.of(node.left), self.of(node.right)
        if left is None or right is None or left < 0 or right < 0:
            return None
        if isinstance(node.op, ast.FloorDiv):
            return left // right if isinstance(node.right, ast.Constant) and right else 0
        return left * right if isinstance(node.op, ast.Mult) else None


def _sum(one: Form, other: Form, times: int) -> Form:
    return {part: one.get(part, 0) + times * other.get(part, 0) for part in {**one, **other}}
