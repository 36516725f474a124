"""Measures the shapes of the code: lines of a function, fields of a record, positional arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.kit.language import sources

Found = dict[str, int]
"""A number by ``path:name``."""


def function_lengths(most: int) -> Found:
    """Return how many lines each function over ``most`` has, from its name to its end without its docstring."""
    return {
        place: lines
        for path, tree in sources().items()
        for place, lines in _lengths(tree, path)
        if lines > most
    }


def record_sizes(most: int) -> Found:
    """Return how many annotated fields each class over ``most`` has; what is of the class itself is no field."""
    return {
        f"{path}:{node.name}": fields
        for path, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and (fields := field_count(node)) > most
    }


def positional_calls(most: int) -> Found:
    """Return how many positional arguments the calls with more than ``most`` have, by what is called and where."""
    found: Found = {}
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and len(node.args) > most:
                place = f"{path}:{ast.unparse(node.func)}"
                found[place] = max(len(node.args), found.get(place, 0))
    return found


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its decorators and its docstring."""
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return lines
    docstring = node.body[0]
    return lines - (docstring.end_lineno - docstring.lineno + 1)


def field_count(node: ast.ClassDef) -> int:
    """Return how many annotated fields a class has."""
    return sum(
        isinstance(part, ast.AnnAssign) and not ast.unparse(part.annotation).startswith("ClassVar")
        for part in node.body
    )


def _lengths(node: ast.AST, place: str) -> Iterator[tuple[str, int]]:
    """Yield the functions below a node by where they stand: ``path:Class.method``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{place}{'.' if ':' in place else ':'}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield inner, lines_of(child)
            yield from _lengths(child, inner)
        else:
            yield from _lengths(child, place)
