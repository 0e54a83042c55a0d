"""The capture rule of a patched or development SGLang, followed in the target's own source and never executed.

A target class turns a drafter's ids into layers in `set_eagle3_layers_to_capture(layer_ids)`, and keeps those at whose
entry a state is taken in `layers_to_capture`. The few forms of expression that occur there are worked out on the ids at
hand; anything else is not understood, and said so.
"""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from specdoctor.core.errors import CheckpointError
from specdoctor.core.model import Frozen
from specdoctor.core.server import Source

FUNCTION = "set_eagle3_layers_to_capture"
RESULT = "layers_to_capture"
LAYERS = "num_hidden_layers"
MOST_STEPS = 2000
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "list": list, "tuple": tuple, "sorted": sorted, "set": set, "len": len, "max": max, "min": min,
}  # fmt: skip
_TRUE_HERE = ("is_last_rank",)
_OTHER = object()


class NotUnderstood(Exception):
    """A form of code that is not followed."""


class _Returned(Exception):
    """The function ended."""


class SourceRule(Frozen):
    """The functions of one source file that decide which states are taken."""

    where: str
    text: str

    @property
    def line(self) -> int:
        return _functions(self.text)[0].lineno

    def entries(self, ids: Sequence[int] | None, layers: int) -> list[int]:
        """The entries taken for these ids (None: the drafter's config gave none). Raises CheckpointError."""
        return self._followed(ids, layers)[0]

    def cited(self, ids: Sequence[int] | None, layers: int) -> Source:
        """The line that sets them. Raises CheckpointError."""
        line = self._followed(ids, layers)[1]
        return Source(where=self.where, line=line, quote=self.text.split("\n")[line - 1].strip())

    def _followed(self, ids: Sequence[int] | None, layers: int) -> tuple[list[int], int]:
        try:
            found = [_Follow(layers).run(function, ids) for function in _functions(self.text)]
        except (NotUnderstood, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise CheckpointError(
                f"{self.where}:{self.line}: {FUNCTION} does what is not followed here ({error})",
                next_step="read it by eye, and give what it captures with --training on the other side",
            ) from error
        results = [one for one in found if one is not None]
        if not results or any(one[0] != results[0][0] for one in results):
            raise CheckpointError(
                f"{self.where}:{self.line}: {FUNCTION} sets no {RESULT}, or several classes set others",
                next_step="give the source file of the language model that runs",
            )
        return results[0]


def source_rule(text: str, where: str) -> SourceRule:
    """The rule in a source file. Raises CheckpointError for a file without it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CheckpointError(
            f"{where}: this is not Python source ({error})", next_step="give the target's file below sglang/srt/models"
        ) from error
    if not _deciding(tree):
        raise CheckpointError(
            f"{where}: no {FUNCTION} in it that sets {RESULT}",
            next_step="give the language model's file below sglang/srt/models; a wrapper only passes the ids on",
        )
    return SourceRule(where=where, text=text)


@cache
def _functions(text: str) -> tuple[ast.FunctionDef, ...]:
    return _deciding(ast.parse(text))


def _deciding(tree: ast.Module) -> tuple[ast.FunctionDef, ...]:
    return tuple(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == FUNCTION and _assigns(node) and len(node.args.args) == 2
    )


def _assigns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == RESULT for node in ast.walk(function))


@dataclass
class _Follow:
    """Works one function out."""

    layers: int
    names: dict[str, Any] = field(default_factory=dict)
    result: tuple[list[int], int] | None = None
    steps: int = 0

    def run(self, function: ast.FunctionDef, ids: Sequence[int] | None) -> tuple[list[int], int] | None:
        """The entries, and the line that set them; None for a function that sets none."""
        self.names = {function.args.args[1].arg: None if ids is None else list(ids)}
        with contextlib.suppress(_Returned):
            self._body(function.body)
        return self.result

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._step()
            match statement:
                case ast.If(test=test, body=body, orelse=orelse):
                    self._body(body if self._value(test) else orelse)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.names[name] = self._value(value)
                case ast.Assign(targets=[ast.Attribute(attr=attr)], value=value):
                    if attr == RESULT:
                        self.result = [int(entry) for entry in self._value(value)], statement.lineno
                case ast.Return():
                    raise _Returned
                case ast.Expr() | ast.Pass() | ast.Assert() | ast.Import() | ast.ImportFrom():
                    pass
                case _:
                    raise NotUnderstood(f"line {statement.lineno}: {type(statement).__name__}")

    def _value(self, node: ast.expr) -> Any:
        self._step()
        for follow in (self._simple, self._operation, self._collected):
            value = follow(node)
            if value is not _OTHER:
                return value
        raise NotUnderstood(f"line {node.lineno}: {ast.unparse(node)[:80]}")

    def _simple(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Attribute(attr=attr) if attr == LAYERS:
                return self.layers
            case ast.Attribute(attr=attr) if attr in _TRUE_HERE:
                return True
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test) else orelse)
        return _OTHER

    def _operation(self, node: ast.expr) -> Any:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return self._sum(type(op), self._value(left), self._value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.BoolOp(op=op, values=values):
                return (all if isinstance(op, ast.And) else any)(self._value(value) for value in values)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return _COMPARISONS[type(op)](self._value(left), self._value(right))
        return _OTHER

    def _collected(self, node: ast.expr) -> Any:
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._value(part) for part in parts]
            case ast.Subscript(value=value, slice=index):
                return self._value(value)[self._value(index)]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                return _CALLS[name](*(self._value(argument) for argument in args))
            case ast.ListComp(elt=elt, generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=ifs)]):
                return list(self._each(name, self._value(over), elt, ifs))
        return _OTHER

    def _each(self, name: str, over: Sequence[Any], elt: ast.expr, ifs: Sequence[ast.expr]) -> list[Any]:
        outer = dict(self.names)
        out = []
        for item in over:
            self.names = {**outer, name: item}
            if all(self._value(test) for test in ifs):
                out.append(self._value(elt))
        self.names = outer
        return out

    def _sum(self, op: type[ast.operator], left: Any, right: Any) -> Any:
        if op is ast.Mult and not (isinstance(left, int) and isinstance(right, int)):
            raise NotUnderstood("a product of other things than numbers")
        return _ARITHMETIC[op](left, right)

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotUnderstood("it takes too many steps")
