"""A model's functions, declared in Python, as C: so a scoring function is written once.

Only what such functions are made of is known: loops over ranges, numbers, vectors and `math`. A
loop whose rounds write to places of their own is shared out among the threads of a block; what
is not sure to be so is left to one thread (_sharing.py).
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from whereof.errors import WhereofError
from whereof.retrain.cuda._least import Least, all_given, ends_of
from whereof.retrain.cuda._sharing import (
    can_nest,
    can_share,
    names_in,
    names_set,
    vectors_in,
    width_of,
)

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
    function: Callable[..., None],
    name: str,
    widths: Mapping[str, str],
    least: Mapping[str, int],
    real: str,
) -> str:
    """A C function for all threads of a block.

    widths: of every vector, as a macro, in order; least: what these can be, at the least.
    """
    try:
        return _Translation(_parsed(function), widths, least, real).function(name)
    except _Unknown as error:
        raise WhereofError(
            f"{function.__module__}.{function.__name__} cannot be put on a card ({error}); "
            "leave out cuda"
        ) from None


class _Unknown(Exception):
    """Something that has no translation."""


def _parsed(function: Callable[..., None]) -> ast.FunctionDef:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError):
        raise _Unknown("its source is not at hand") from None
    if not isinstance(tree, ast.FunctionDef):
        raise _Unknown("it is no plain function")
    return tree


class _Translation:
    """One function on its way from Python to C."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        widths: Mapping[str, str],
        least: Mapping[str, int],
        real: str,
    ) -> None:
        self.tree, self.real = tree, real
        names = [argument.arg for argument in tree.args.args]
        self.widths = dict(zip(names, widths.values(), strict=True))
        self.names = sorted(names_set(tree))
        self.numbers: set[str] = set()
        """Of the loops around."""
        self.whole = self.find_whole()
        self.least = Least(tree.body, self.widths, least)

    def find_whole(self) -> set[str]:
        """Names that never stand for anything but whole numbers."""
        loops = [part for part in ast.walk(self.tree) if isinstance(part, ast.For)]
        self.whole = {*self.names, *(name for loop in loops for name in names_in(loop.target))}
        before = None
        while before != self.whole:
            before = set(self.whole)
            for given in all_given(self.tree.body):
                if not self.is_whole(given.value):
                    self.whole.discard(given.name)
        return self.whole

    def function(self, name: str) -> str:
        vectors = ", ".join(f"{self.real} *{_own(vector)}" for vector in self.widths)
        lines = [f"DEVICE void {name}({vectors}) {{"]
        for own in self.names:
            lines.append(f"  {'int' if own in self.whole else self.real} {_own(own)} = 0;")
        body = [part for part in self.tree.body if not _is_text(part)]
        made = self.alone(body) if self.needs_one_thread(body) else self.together(body)
        return "\n".join([*lines, *(f"  {line}" for line in made), "}"])

    def needs_one_thread(self, body: list[ast.stmt]) -> bool:
        """Whether names that one thread alone comes to know are used later on."""
        return any(
            names_set(part) & names_in(later)
            for number, part in enumerate(body)
            if self.is_for_one(part)
            for later in body[number + 1 :]
        )

    def is_for_one(self, part: ast.stmt) -> bool:
        """Whether a statement outside all loops is left to one thread."""
        if not vectors_in(part, stored=True):
            return False
        shared = isinstance(part, ast.For) and (
            can_share(part, self.tree) or can_nest(part, self.tree)
        )
        return not shared

    def alone(self, parts: list[ast.stmt]) -> Iterator[str]:
        yield "if (THREAD == 0) {"
        for part in parts:
            yield from (f"  {line}" for line in self.statement(part))
        yield "}"

    def together(self, body: list[ast.stmt]) -> Iterator[str]:
        """Statements that wait for each other where one touches what another wrote."""
        read: set[str] = set()
        written: set[str] = set()
        for part in body:
            reads, writes = vectors_in(part), vectors_in(part, stored=True)
            if reads & written or writes & read:
                yield "BARRIER();"
                read, written = set(), set()
            read, written = read | reads, written | writes
            yield from self.outer(part)

    def outer(self, part: ast.stmt) -> Iterator[str]:
        """A statement outside all loops: its work is shared out, or one thread does it."""
        if self.is_for_one(part):
            yield from self.alone([part])
        elif isinstance(part, ast.For) and vectors_in(part, stored=True):
            shared = can_share(part, self.tree)
            yield from self.loop(part, shared=shared, inner_shared=not shared)
        else:
            yield from self.statement(part)  # every thread has names of its own

    def loop(
        self, part: ast.For, *, shared: bool = False, inner_shared: bool = False
    ) -> Iterator[str]:
        target, own = part.target, names_set(part)
        if not isinstance(target, ast.Name) or part.orelse or target.id in self.names:
            raise _Unknown("a loop of another kind")
        if target.id in self.numbers:
            raise _Unknown(f"two loops over {target.id}, one in the other")
        if own & names_in(part.iter):
            raise _Unknown("a loop whose end changes on the way")
        name, (start, stop) = _own(target.id), self.ends(part)
        first, step = (f"{start} + THREAD", "N_THREADS") if shared else (start, "1")
        yield f"for (int {name} = {first}; {name} < {stop}; {name} += {step}) {{"
        self.numbers.add(target.id)
        self.least.enter(part)
        for inner in part.body:
            made = (
                self.loop(inner, shared=True)
                if inner_shared and isinstance(inner, ast.For)
                else self.statement(inner)
            )
            yield from (f"  {line}" for line in made)
        self.least.leave(part)
        self.numbers.discard(target.id)
        yield "}"

    def ends(self, loop: ast.For) -> tuple[str, str]:
        ends = ends_of(loop)
        if ends is None:
            raise _Unknown("a loop over something else than a range")
        return self.expression(ends[0]), self.expression(ends[1])

    def statement(self, part: ast.stmt) -> Iterator[str]:
        if isinstance(part, ast.For):
            yield from self.loop(part)
        elif isinstance(part, ast.Assign) and len(part.targets) == 1:
            yield from self.assign(part.targets[0], part.value)
        elif isinstance(part, ast.AugAssign) and type(part.op) in _OPERATORS:
            target = self.expression(part.target)
            if isinstance(part.op, ast.FloorDiv):
                raise _Unknown(f"`{ast.unparse(part)}`")
            yield f"{target} {_OPERATORS[type(part.op)]}= {self.expression(part.value)};"
        elif not _is_text(part):
            raise _Unknown(f"`{ast.unparse(part).splitlines()[0]}`")

    def assign(self, target: ast.expr, value: ast.expr) -> Iterator[str]:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for number, (one, other) in enumerate(zip(target.elts, value.elts, strict=True)):
                if any(_head(one) in names_in(later) for later in value.elts[number + 1 :]):
                    raise _Unknown(f"`{ast.unparse(target)} = {ast.unparse(value)}`")
                yield from self.assign(one, other)
            return
        yield f"{self.expression(target)} = {self.expression(value)};"

    def is_whole(self, node: ast.expr) -> bool:
        """Whether an expression is made of whole numbers alone."""
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Div):
            return self.is_whole(node.left) and self.is_whole(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_whole(node.operand)
        if isinstance(node, ast.Name):
            return node.id in self.whole
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        return width_of(node) != ""

    def is_below_0(self, node: ast.expr) -> bool:
        """Whether a whole number may be."""
        least = self.least.of(node)
        return least is None or least < 0

    def expression(self, node: ast.expr) -> str:
        match node:
            case _ if (vector := width_of(node)) in self.widths:
                return self.widths[vector]
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return repr(value) if type(value) is int else f"({self.real}){value!r}"
            case ast.Name(id=name) if name in self.names or name in self.numbers:
                return _own(name)
            case ast.Subscript(value=ast.Name(id=name), slice=place) if name in self.widths:
                if self.is_whole(place):
                    return f"{_own(name)}[{self.place(node)}]"
            case ast.BinOp(op=op) if type(op) in _OPERATORS:
                return self.operation(node)
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

    def place(self, node: ast.Subscript) -> str:
        found = self.expression(node.slice)
        if self.is_below_0(node.slice):
            raise _Unknown(f"the place in `{ast.unparse(node)}` may be below 0")
        return found

    def operation(self, node: ast.BinOp) -> str:
        left, right = self.expression(node.left), self.expression(node.right)
        whole = self.is_whole(node.left) and self.is_whole(node.right)
        if isinstance(node.op, ast.FloorDiv):
            if not whole:
                raise _Unknown(f"`{ast.unparse(node)}`")
            if self.is_below_0(node.left) or self.is_below_0(node.right):
                return f"(int)floor((double){left} / {right})"  # C rounds towards 0
        if isinstance(node.op, ast.Div) and whole:
            left = f"({self.real}){left}"
        return f"({left} {_OPERATORS[type(node.op)]} {right})"


def _own(name: str) -> str:
    """A name of Python's that none of C's can be."""
    return f"{name}_"


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _head(node: ast.AST) -> str:
    """The name that an expression such as x[0] or x.shape[0] begins with."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def declared(model: Any, real: str) -> str:
    """A model's query, in two precisions, and its vector-Jacobian product."""
    of_query = {"s": "WIDTH", "r": "RELATION_WIDTH", "q": "QUERY_WIDTH"}
    of_vjp = {"s": "WIDTH", "r": "RELATION_WIDTH", "dq": "QUERY_WIDTH"}
    of_vjp |= {"ds": "WIDTH", "dr": "RELATION_WIDTH"}
    widths = model.widths(1)  # no dimension has narrower rows
    least = {"WIDTH": widths.entity, "RELATION_WIDTH": widths.relation, "QUERY_WIDTH": widths.query}
    return "\n\n".join(
        (
            translate(model.query, "query", of_query, least, real),
            translate(model.query, "query_in_double", of_query, least, "double"),
            translate(model.query_vjp, "query_vjp", of_vjp, least, real),
        )
    )
