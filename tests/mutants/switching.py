"""A module with mutants built in, each asleep until its number is named."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from tests.mutants.mutations import LEFT_ALONE, Mutation, mutations_of

IMPORT = "from mutant_switch import is_on as __mutant__"
WHEN_LOADED = ("__init_subclass__", "__set_name__")
"""What runs while modules are loaded, before any mutant is awake."""
SWITCH = '''"""Which mutant is awake, and which were evaluated since the last look."""

import os

awake = int(os.environ.get("TREEWARDEN_MUTANT", "0"))
evaluated = set()


def is_on(number):
    evaluated.add(number)
    return number == awake
'''


def sites_of(module: ast.Module) -> Iterator[tuple[str, Mutation]]:
    """Yield every mutation of expressions in functions, with the name of the function, in the order of the source."""
    for name, body in _functions(module, ""):
        for node in _expressions(body):
            for mutation in mutations_of(node):
                yield name, mutation


def with_mutants(source: str, chosen: dict[int, int]) -> str:
    """Return a module's source with some of its mutations, by place in ``sites_of``, under their numbers."""
    module = ast.parse(source)
    of_node: dict[ast.expr, list[tuple[int, Mutation]]] = {}
    for place, (_, mutation) in enumerate(sites_of(module)):
        if place in chosen:
            of_node.setdefault(mutation.original, []).append((chosen[place], mutation))
    built = _Building(of_node).visit(module)
    after = next(n for n, statement in enumerate(built.body) if not _must_be_first(statement))
    built.body.insert(after, ast.parse(IMPORT).body[0])
    return ast.unparse(ast.fix_missing_locations(built)) + "\n"


def _must_be_first(statement: ast.stmt) -> bool:
    is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    return is_docstring or is_future


class _Building(ast.NodeTransformer):
    """Puts ``mutant if is_on(number) else original`` where something was chosen."""

    def __init__(self, of_node: dict[ast.expr, list[tuple[int, Mutation]]]) -> None:
        self.of_node = of_node

    def visit(self, node: ast.AST) -> ast.AST:
        mutants = self.of_node.get(node, ())
        alternatives = [(number, copy.deepcopy(mutation.mutant)) for number, mutation in mutants]
        built = self.generic_visit(node)
        for number, mutant in alternatives:
            test = ast.Call(ast.Name("__mutant__", ast.Load()), [ast.Constant(number)], [])
            built = ast.IfExp(test, mutant, built)
        return built


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the bodies of functions and methods; what stands in a function belongs to it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if child.name not in WHEN_LOADED:
                yield prefix + child.name, child.body
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _expressions(body: list[ast.stmt]) -> Iterator[ast.expr]:
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, LEFT_ALONE):
            continue
        if isinstance(node, ast.expr):
            yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            children = list(node.body)  # neither decorators nor defaults, which are evaluated once
        if isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        waiting.extend(reversed(children))
