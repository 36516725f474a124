"""What the modules of the product name, import and call: each is parsed once for all tests that look at it.

Only these facts stay: the syntax of the whole product is millions of objects, which cost more to keep than to read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.kit import places
from treewarden.ppdm_models import gc_control

PACKAGES = ("ppdm_models", "audit", "policies", "reports", "treewarden", "service")
FEWEST_POSITIONAL = 4
"""Calls with fewer positional arguments are not noted."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Import:
    """The full names that one statement imports."""

    names: tuple[str, ...]
    module: str | None
    line: int
    is_inside: bool
    """Whether it stands in a function."""


@dataclass(slots=True)
class ModuleFacts:
    """What one module names, imports and calls."""

    top_classes: list[str] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    """Kind and name of whatever is given a name in it."""
    annotated: list[tuple[str, str]] = field(default_factory=list)
    """The name of each argument that is annotated by one word, and the word."""
    imports: list[Import] = field(default_factory=list)
    function_lengths: dict[str, int] = field(default_factory=dict)
    """Lines by ``Class.method``."""
    record_sizes: dict[str, int] = field(default_factory=dict)
    """Annotated fields by class."""
    positional: dict[str, int] = field(default_factory=dict)
    """Most positional arguments by what is called."""


@cache
def product() -> dict[str, ModuleFacts]:
    """Return the facts of each module of the product by its path from the root."""
    with gc_control.paused():  # syntax is no garbage
        return {
            path.relative_to(places.ROOT).as_posix(): facts_of(path.read_text("utf-8"))
            for package in PACKAGES
            for path in sorted((places.ROOT / package).rglob("*.py"))
            if not any(parent.is_symlink() for parent in path.parents)
        }


def facts_of(source: str) -> ModuleFacts:
    """Return the facts of a module by its text."""
    module = ast.parse(source)
    facts = ModuleFacts([part.name for part in module.body if isinstance(part, ast.ClassDef)])
    _note(module, facts, "", is_inside=False)
    return facts


def lines_of(node: Function) -> int:
    """Return the lines of a function without its decorators and its docstring."""
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return lines
    docstring = node.body[0]
    return lines - (docstring.end_lineno - docstring.lineno + 1)


def field_count(node: ast.ClassDef) -> int:
    """Return how many annotated fields a class has; what is of the class itself is no field."""
    return sum(
        isinstance(part, ast.AnnAssign) and not ast.unparse(part.annotation).startswith("ClassVar")
        for part in node.body
    )


def _note(node: ast.AST, facts: ModuleFacts, place: str, *, is_inside: bool) -> None:
    """Note what stands below a node; ``place`` is the class or function around it."""
    for child in _children(node):
        inner, is_deeper = place, is_inside
        if isinstance(child, Function | ast.ClassDef):
            inner = f"{place}.{child.name}" if place else child.name
            is_deeper |= not isinstance(child, ast.ClassDef)
        noting = NOTED.get(type(child))
        if noting is not None:
            noting(child, facts, inner, is_inside)
        _note(child, facts, inner, is_inside=is_deeper)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node, as ``ast.iter_child_nodes`` does in twice the time."""
    for part in node.__dict__.values():
        if isinstance(part, list):
            for each in part:
                if isinstance(each, ast.AST):
                    yield each
        elif isinstance(part, ast.AST) and not isinstance(part, ast.expr_context):
            yield part


def _note_class(node: ast.ClassDef, facts: ModuleFacts, _: str, __: bool) -> None:
    facts.names.append(("classes", node.name))
    facts.record_sizes[node.name] = field_count(node)


def _note_function(node: Function, facts: ModuleFacts, place: str, is_inside: bool) -> None:
    facts.names.append(("functions", node.name))
    facts.function_lengths[place] = lines_of(node)
    _note_arguments(node, facts, place, is_inside)


def _note_arguments(node: Function | ast.Lambda, facts: ModuleFacts, _: str, __: bool) -> None:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for each in every:
        if each.arg not in ("self", "cls"):
            facts.names.append(("arguments", each.arg))
        if isinstance(each.annotation, ast.Name):
            facts.annotated.append((each.arg, each.annotation.id))


def _note_name(node: ast.Name, facts: ModuleFacts, _: str, __: bool) -> None:
    if isinstance(node.ctx, ast.Store):
        facts.names.append(("variables", node.id))


def _note_call(node: ast.Call, facts: ModuleFacts, _: str, __: bool) -> None:
    if len(node.args) >= FEWEST_POSITIONAL:
        called = ast.unparse(node.func)
        facts.positional[called] = max(len(node.args), facts.positional.get(called, 0))


def _note_import(
    node: ast.Import | ast.ImportFrom, facts: ModuleFacts, _: str, is_inside: bool
) -> None:
    module = getattr(node, "module", None)
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [f"{module}.{name}" for name in names]
    facts.imports.append(Import(tuple(names), module, node.lineno, is_inside))


NOTED = {
    ast.ClassDef: _note_class,
    ast.FunctionDef: _note_function,
    ast.AsyncFunctionDef: _note_function,
    ast.Lambda: _note_arguments,
    ast.Name: _note_name,
    ast.Call: _note_call,
    ast.Import: _note_import,
    ast.ImportFrom: _note_import,
}
"""What is noted of which kind of node."""
