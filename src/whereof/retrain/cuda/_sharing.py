"""Which loops of a model's function the threads of a block can share out.

A round of such a loop touches places of vectors, and uses names, that no other round does. What is
not sure to be so is not shared out.
"""

import ast
from collections.abc import Iterator

_LINEAR = (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Name, ast.Constant, ast.Load)


def names_in(node: ast.AST) -> set[str]:
    """Every name that is mentioned."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def names_set(node: ast.AST) -> set[str]:
    """Names that are given a value, those of loops left out."""
    loops = [part.target for part in ast.walk(node) if isinstance(part, ast.For)]
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part not in loops
    }


def width_of(node: ast.AST) -> str:
    """The vector whose width is x.shape[0]; empty for all else."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=vector), attr="shape"),
            slice=ast.Constant(value=0),
        ):
            return vector
    return ""


def places(node: ast.AST, *, stored: bool = False) -> list[ast.Subscript]:
    """The places of vectors that are read or written, or written alone."""
    return [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.value, ast.Name)
        and (not stored or isinstance(part.ctx, ast.Store))
    ]


def vectors_in(node: ast.AST, *, stored: bool = False) -> set[str]:
    """The vectors that are read or written, or written alone."""
    return {vector for place in places(node, stored=stored) for vector in names_in(place.value)}


def end_of(loop: ast.For) -> str:
    """Where a loop over a range stops; empty where it is of another kind, or begins below 0."""
    match loop:
        case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[end])):
            return ast.unparse(end)
        case ast.For(
            target=ast.Name(),
            iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int()), end]),
        ):
            return ast.unparse(end)
    return ""


def can_share(loop: ast.For, function: ast.FunctionDef) -> bool:
    """Whether the rounds of a loop have nothing to do with each other."""
    own = names_set(loop)
    return (
        end_of(loop) != ""
        and not own & names_in(loop.iter)
        and not any(_is_used_outside(name, loop, function) for name in own)
        and not any(_carries(name, loop.body) for name in own)
        and all(_is_apart(vector, loop) for vector in vectors_in(loop, stored=True))
    )


def can_nest(outer: ast.For, function: ast.FunctionDef) -> bool:
    """Whether the loops in a loop can be shared out alike in every round of it."""
    inner = [part for part in outer.body if isinstance(part, ast.For)]
    if len(inner) < len(outer.body) or not isinstance(outer.target, ast.Name):
        return False
    if len({ast.unparse(part.iter) + ast.unparse(part.target) for part in inner}) > 1:
        return False
    written = vectors_in(outer, stored=True)
    touched = [place for place in places(outer) if names_in(place.value) & written]
    return (
        outer.target.id not in names_in(inner[0].iter)
        and all(can_share(part, function) for part in inner)
        and all(_times_end(place.slice, inner[0]) is not None for place in touched)
    )


def _is_used_outside(name: str, loop: ast.For, function: ast.FunctionDef) -> bool:
    def mentions(node: ast.AST) -> int:
        return sum(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))

    return mentions(function) > mentions(loop)


def _carries(name: str, body: list[ast.stmt]) -> bool:
    """Whether a round may take over a name as another round left it."""
    first, *later = [part for part in body if name in names_in(part)]
    if isinstance(first, ast.For):
        return bool(later) or _carries(name, first.body)
    return not isinstance(first, ast.Assign) or name in names_in(first.value)


def _is_apart(vector: str, loop: ast.For) -> bool:
    """Whether rounds never meet at a place of a vector."""
    found = [place.slice for place in places(loop) if vector in names_in(place.value)]
    if all(_times_end(place, loop) is not None for place in found):
        return not names_set(loop) & names_in(loop.iter)
    alike = len({ast.unparse(place) for place in found}) == 1
    return alike and (_is_of_round(found[0], loop) or _is_row_of_round(found[0], loop))


def _times_end(place: ast.expr, loop: ast.For) -> int | None:
    """How often a loop's end is added to its number, as in k, h + k and 2 * h + k; else None."""
    end, terms = end_of(loop), list(_terms(place, end_of(loop)))
    numbers = [part for part in terms if ast.unparse(part) == ast.unparse(loop.target)]
    if not end or len(numbers) != 1:
        return None
    total = 0
    for part in terms:
        match part:
            case _ if part is numbers[0]:
                continue
            case _ if ast.unparse(part) == end:
                total += 1
            case ast.BinOp(ast.Constant(value=int(times)), ast.Mult(), by) if (
                times >= 0 and ast.unparse(by) == end
            ):
                total += times
            case _:
                return None
    return total


def _terms(place: ast.expr, end: str) -> Iterator[ast.expr]:
    """What is added up to a place; the end of a loop stays whole."""
    if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Add) and ast.unparse(place) != end:
        yield from _terms(place.left, end)
        yield from _terms(place.right, end)
    else:
        yield place


def _is_of_round(place: ast.expr, loop: ast.For) -> bool:
    """Whether a place moves with a loop's number and with nothing else, as h - k and 2 * k + 1."""
    number = ast.unparse(loop.target)
    inner = {ast.unparse(part.target) for part in ast.walk(loop) if isinstance(part, ast.For)}
    moving = (inner | names_set(loop)) - {number}
    return (
        all(isinstance(part, _LINEAR) for part in ast.walk(place))
        and sum(isinstance(part, ast.Name) and part.id == number for part in ast.walk(place)) == 1
        and not names_in(place) & moving
        and not any(
            isinstance(part, ast.BinOp)
            and isinstance(part.op, ast.Mult)
            and number in names_in(part)
            and not _is_factor(part)
            for part in ast.walk(place)
        )
    )


def _is_factor(product: ast.BinOp) -> bool:
    """Whether one of the two is a number other than 0."""
    sides = (product.left, product.right)
    return any(isinstance(side, ast.Constant) and side.value for side in sides)


def _is_row_of_round(place: ast.expr, loop: ast.For) -> bool:
    """Whether a place is `i * h + k`, where i is the loop's number and k stays below h."""
    match place:
        case ast.BinOp(ast.BinOp(ast.Name(id=i), ast.Mult(), by), ast.Add(), ast.Name(id=k)):
            inner = [part for part in ast.walk(loop) if isinstance(part, ast.For)]
            ends = {end_of(part) for part in inner if ast.unparse(part.target) == k}
            fixed = not names_in(by) & names_set(loop)
            return i == ast.unparse(loop.target) and i != k and fixed and ends == {ast.unparse(by)}
    return False
