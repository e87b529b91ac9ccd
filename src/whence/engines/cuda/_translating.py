"""A model's functions, declared in Python, as C: so a scoring function is written once.

Only what such functions are made of is known: loops over ranges, numbers, vectors and `math`. A
loop whose rounds write to places of their own is shared out among the threads of a block; what
is not sure to be so is left to one thread.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from whence.errors import WhenceError

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "/",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_FUNCTIONS = ("cos", "exp", "fabs", "log", "sin", "sqrt", "tan", "tanh")


def translate(
    function: Callable[..., None], name: str, widths: Mapping[str, str], real: str
) -> str:
    """A C function for all threads of a block; widths: of every vector, as a macro, in order."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise _Unknown("it is no plain function")
        return _Translation(tree, widths, real).function(name)
    except (OSError, _Unknown) as error:
        raise WhenceError(
            f"{function.__module__}.{function.__name__} cannot be put on a card ({error}); "
            "choose engine local"
        ) from None


class _Unknown(Exception):
    """Something that has no translation."""


class _Translation:
    """One function on its way from Python to C."""

    def __init__(self, tree: ast.FunctionDef, widths: Mapping[str, str], real: str) -> None:
        self.tree, self.real = tree, real
        names = [argument.arg for argument in tree.args.args]
        self.widths = dict(zip(names, widths.values(), strict=True))
        self.whole: set[str] = set()
        """Names that stand for whole numbers."""

    def function(self, name: str) -> str:
        vectors = ", ".join(f"{self.real} *{_own(vector)}" for vector in self.widths)
        body = [part for part in self.tree.body if not _is_text(part)]
        lines = [f"DEVICE void {name}({vectors}) {{"]
        for number, part in enumerate(body):
            if _stores(part) and any(map(_stores, body[:number])):
                lines.append("  BARRIER();")
            lines += (f"  {line}" for line in self.outer(part))
        return "\n".join([*lines, "}"])

    def outer(self, part: ast.stmt) -> Iterator[str]:
        """A statement outside all loops: its work is shared out, or one thread does it."""
        if isinstance(part, ast.For):
            if _can_share(part):
                yield from self.loop(part, shared=True)
                return
            if all(isinstance(inner, ast.For) and _can_nest(part, inner) for inner in part.body):
                yield from self.loop(part, inner_shared=True)
                return
        elif isinstance(part, ast.Assign) and not _stores(part):
            yield from self.statement(part)  # every thread has names of its own
            return
        yield "if (THREAD == 0) {"
        yield from (f"  {line}" for line in self.statement(part))
        yield "}"

    def loop(
        self, part: ast.For, *, shared: bool = False, inner_shared: bool = False
    ) -> Iterator[str]:
        if not isinstance(part.target, ast.Name) or part.orelse:
            raise _Unknown("a loop of another kind")
        name, (start, stop) = _own(part.target.id), self.bounds(part.iter)
        self.whole.add(part.target.id)
        first, step = (f"{start} + THREAD", "N_THREADS") if shared else (start, "1")
        yield f"for (int {name} = {first}; {name} < {stop}; {name} += {step}) {{"
        for inner in part.body:
            made = (
                self.loop(inner, shared=True)
                if inner_shared and isinstance(inner, ast.For)
                else self.statement(inner)
            )
            yield from (f"  {line}" for line in made)
        yield "}"

    def bounds(self, node: ast.expr) -> tuple[str, str]:
        if not (isinstance(node, ast.Call) and _name(node.func) == "range" and len(node.args) < 3):
            raise _Unknown("a loop over something else than a range")
        ends = [self.expression(end) for end in node.args]
        return (ends[0], ends[1]) if len(ends) == 2 else ("0", ends[0])

    def statement(self, part: ast.stmt) -> Iterator[str]:
        if isinstance(part, ast.For):
            yield from self.loop(part)
        elif isinstance(part, ast.Assign) and len(part.targets) == 1:
            yield from self.assign(part.targets[0], part.value)
        elif isinstance(part, ast.AugAssign) and type(part.op) in _OPERATORS:
            target = self.expression(part.target)
            yield f"{target} {_OPERATORS[type(part.op)]}= {self.expression(part.value)};"
        elif not _is_text(part):
            raise _Unknown(f"`{ast.unparse(part).splitlines()[0]}`")

    def assign(self, target: ast.expr, value: ast.expr) -> Iterator[str]:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=True):
                yield from self.assign(one, other)
            return
        if not isinstance(target, ast.Name):
            yield f"{self.expression(target)} = {self.expression(value)};"
            return
        if self.is_whole(value) and not _divides(value):
            self.whole.add(target.id)
        kind = "int" if target.id in self.whole else self.real
        yield f"{kind} {_own(target.id)} = {self.expression(value)};"

    def is_whole(self, node: ast.expr) -> bool:
        """Whether an expression is made of whole numbers alone."""
        if isinstance(node, ast.BinOp):
            return self.is_whole(node.left) and self.is_whole(node.right)
        if isinstance(node, ast.Name):
            return node.id in self.whole
        return _is_width(node) or (isinstance(node, ast.Constant) and type(node.value) is int)

    def expression(self, node: ast.expr) -> str:
        if _is_width(node):
            return self.widths[node.value.value.id]  # type: ignore[attr-defined]
        match node:
            case ast.Constant(value=int() | float()):
                return (
                    repr(node.value) if type(node.value) is int else f"({self.real}){node.value!r}"
                )
            case ast.Name():
                return _own(node.id)
            case ast.Subscript(value=ast.Name(id=name), slice=place) if name in self.widths:
                return f"{_own(name)}[{self.expression(place)}]"
            case ast.BinOp(op=op) if type(op) in _OPERATORS:
                left, right = self.expression(node.left), self.expression(node.right)
                if isinstance(op, ast.Div) and self.is_whole(node):
                    left = f"({self.real}){left}"
                return f"({left} {_OPERATORS[type(op)]} {right})"
            case ast.UnaryOp(op=ast.USub()):
                return f"(-{self.expression(node.operand)})"
            case ast.Compare(ops=[op]) if type(op) in _OPERATORS:
                right = self.expression(node.comparators[0])
                return f"({self.expression(node.left)} {_OPERATORS[type(op)]} {right})"
            case ast.IfExp():
                parts = (self.expression(part) for part in (node.test, node.body, node.orelse))
                return "({} ? {} : {})".format(*parts)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[only]):
                if name in _FUNCTIONS:
                    suffix = "f" if self.real == "float" else ""
                    return f"{name}{suffix}({self.expression(only)})"
            case ast.Call(func=ast.Name(id="abs"), args=[only]):
                return f"{'fabsf' if self.real == 'float' else 'fabs'}({self.expression(only)})"
        raise _Unknown(f"`{ast.unparse(node)}`")


def _own(name: str) -> str:
    """A name of Python's that none of C's can be."""
    return f"{name}_"


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _is_width(node: ast.expr) -> bool:
    """Whether it is x.shape[0]."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "shape"
        and isinstance(node.value.value, ast.Name)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == 0
    )


def _divides(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Div) for part in ast.walk(node))


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _stores(part: ast.AST) -> list[ast.Subscript]:
    """The places of vectors that a statement writes to."""
    return [
        node
        for node in ast.walk(part)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]


def _can_share(loop: ast.For) -> bool:
    """Whether every round writes to places, and adds to names, of its own."""
    name, inner = _name(loop.target) or "", _loops_in(loop)
    if not all(_is_apart(store.slice, name, inner) for store in _stores(loop)):
        return False
    assigned = {
        _name(target)
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign)
        for target in _targets(node)
    }
    adds = [node.target for node in ast.walk(loop) if isinstance(node, ast.AugAssign)]
    return all(not isinstance(target, ast.Name) or target.id in assigned for target in adds)


def _loops_in(loop: ast.For) -> dict[str, str]:
    """Loops inside one: their names, and where each stops."""
    return {
        _name(node.target) or "": ast.unparse(node.iter.args[-1])
        for node in ast.walk(loop)
        if isinstance(node, ast.For) and node is not loop and isinstance(node.iter, ast.Call)
    }


def _is_apart(place: ast.expr, name: str, inner: Mapping[str, str]) -> bool:
    """Whether rounds of a loop never meet at a place: `h + k`, or `i * h + k` with k below h."""
    met = [other for other in inner if _mentions(place, other)]
    if not met:
        return _mentions(place, name) and _is_linear(place)
    match place:
        case ast.BinOp(
            ast.BinOp(ast.Name(id=outer), ast.Mult(), by), ast.Add(), ast.Name(id=other)
        ):
            return outer == name and inner.get(other) == ast.unparse(by)
    return False


def _can_nest(outer: ast.For, inner: ast.For) -> bool:
    """Whether the inner loop can be shared out alike in every round of the outer."""
    return _can_share(inner) and not _mentions(inner.iter, _name(outer.target) or "")


def _targets(node: ast.Assign) -> list[ast.expr]:
    return [
        part
        for target in node.targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]


def _is_linear(place: ast.AST) -> bool:
    """Whether a place is made by adding and multiplying alone."""
    allowed = (ast.Name, ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Load)
    return all(isinstance(part, allowed) for part in ast.walk(place))


def declared(model: Any, real: str) -> str:
    """A model's query, in two precisions, and its vector-Jacobian product."""
    of_query = {"s": "WIDTH", "r": "RELATION_WIDTH", "q": "QUERY_WIDTH"}
    of_vjp = {"s": "WIDTH", "r": "RELATION_WIDTH", "dq": "QUERY_WIDTH"}
    of_vjp |= {"ds": "WIDTH", "dr": "RELATION_WIDTH"}
    return "\n\n".join(
        (
            translate(model.query, "query", of_query, real),
            translate(model.query, "query_in_double", of_query, "double"),
            translate(model.query_vjp, "query_vjp", of_vjp, real),
        )
    )
