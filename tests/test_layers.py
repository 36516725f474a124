"""The order of the packages, checked on the source: who may import whom."""

from __future__ import annotations

import ast

import pytest

from tests import places

TOP = places.ROOT
ORDER = ("ppdm_models", "audit", "policies", "reports", "treewarden")
SOLVERS = {"casadi", "cyipopt"}
TOUCHES_SOLVERS = (
    "audit/ipopt/casadi_door.py",
    "audit/ipopt/cyipopt_door.py",
    "audit/ipopt/derivatives.py",
    "audit/ipopt/loaded.py",
)
PLUGIN_FOLDERS = (
    "ppdm_models/formats",
    "audit/constraints",
    "audit/measures",
    "policies/rules",
    "policies/remedies",
    "reports/renderers",
    "treewarden/commands",
)
SOURCES = sorted(path for package in ORDER for path in (TOP / package).rglob("*.py"))


def imported(tree):
    """Yield the full name of each module that a syntax tree imports, and of each name taken from one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path):
    return path.relative_to(TOP).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_point_left_only(path):
    place = ORDER.index(path.relative_to(TOP).parts[0])
    to_the_right = {*ORDER[place + 1 :], "tests", "benchmarks"}
    assert not [used for used in imported(parsed(path)) if used.split(".")[0] in to_the_right]


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_import_hides_inside_a_function(path):
    functions = (
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    hidden = [inner for function in functions for inner in ast.walk(function)]
    assert not [node.lineno for node in hidden if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_only_loading_and_solving_touch_a_solver(path):
    touched = {used.split(".")[0] for used in imported(parsed(path))} & SOLVERS
    assert not touched or name(path) in TOUCHES_SOLVERS


@pytest.mark.parametrize("folder", PLUGIN_FOLDERS)
def test_plug_ins_do_not_import_each_other(folder):
    package = folder.replace("/", ".")
    modules = [path for path in (TOP / folder).glob("*.py") if path.name != "__init__.py"]
    siblings = {f"{package}.{path.stem}" for path in modules if not path.name.startswith("_")}
    crossing = [
        (path.name, used)
        for path in modules
        for used in imported(parsed(path))
        if used in siblings or used.rpartition(".")[0] in siblings
    ]
    assert not crossing
