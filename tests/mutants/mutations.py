"""Mutations of expressions: what each makes of one, as the syntax tree of a module."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OTHER_END = {
    "low": "high",
    "high": "low",
    "lower": "upper",
    "upper": "lower",
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
}
LEFT_ALONE = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Match)
"""What is said to people or checked for tools, and patterns, which are no expressions."""


@dataclass(frozen=True)
class Mutation:
    """One expression, what becomes of it, and how this is called."""

    operator: str
    original: ast.expr
    mutant: ast.expr

    def __str__(self) -> str:
        return f"{self.operator}: {ast.unparse(self.original)} -> {ast.unparse(self.mutant)}"


def mutations_of(node: ast.expr) -> Iterator[Mutation]:
    """Yield the mutations of one expression itself, not of what it is made of."""
    for operator, mutants in OPERATORS.items():
        for mutant in mutants(node):
            yield Mutation(operator, node, mutant)


def flip_comparison(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            other = _copied(node)
            other.ops[place] = COMPARISONS[type(operator)]()
            yield other


def change_constant(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 2 + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)


def drop_condition(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            rest = [value for other, value in enumerate(node.values) if other != place]
            kept = ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
            yield _copied(kept)


def swap_and_or(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        other = _copied(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other


def drop_sign_or_not(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield _copied(node.operand)


def change_arithmetic(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if any(
            isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
            for side in (node.left, node.right)
        ):
            return
        other = _copied(node)
        other.op = ARITHMETIC[type(node.op)]()
        yield other


def take_other_end(node: ast.expr) -> Iterator[ast.expr]:
    """An interval's other end, by an attribute; the other of two functions, where one is called."""
    if isinstance(node, ast.Attribute) and _has_other_end(node):
        yield ast.Attribute(_copied(node.value), OTHER_END[node.attr], ast.Load())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OTHER_END:
        other = _copied(node)
        other.func = ast.Name(OTHER_END[node.func.id], ast.Load())
        yield other


def _has_other_end(node: ast.Attribute) -> bool:
    """Only libraries have ``floor`` and ``ceil``: an attribute of ours of that name has no counterpart."""
    is_ours = not (isinstance(node.value, ast.Name) and node.value.id in ("np", "math"))
    is_rounding = node.attr in ("floor", "ceil")
    return (
        node.attr in OTHER_END and isinstance(node.ctx, ast.Load) and not (is_ours and is_rounding)
    )


OPERATORS: dict[str, Callable[[ast.expr], Iterator[ast.expr]]] = {
    "comparison": flip_comparison,
    "constant": change_constant,
    "dropped condition": drop_condition,
    "and/or": swap_and_or,
    "sign or not": drop_sign_or_not,
    "arithmetic": change_arithmetic,
    "other end": take_other_end,
}


def _copied(node):
    return copy.deepcopy(node)
