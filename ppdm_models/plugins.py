"""Finds the plug-ins of a folder: one file each, named by its file name, listed nowhere."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import tokenize
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

Contract = TypeVar("Contract")


def discover(package: ModuleType, export: str, contract: type[Contract]) -> dict[str, Contract]:
    """Return the plug-ins of a package by file name, in name order.

    Raises:
        TypeError: a module of the folder does not export an object of the contract under that name.
    """
    kind: Any = contract
    return dict(_found(package, export, kind))


@cache
def _found(package: ModuleType, export: str, contract: type[Any]) -> dict[str, Any]:
    """Return the same, looked up once, as it is asked for thousands of times."""
    found = {}
    for name in _names(package):
        plugin = getattr(importlib.import_module(f"{package.__name__}.{name}"), export, None)
        if not isinstance(plugin, contract):
            raise TypeError(f"{package.__name__}.{name}: {export} is not a {contract.__name__}")
        found[name] = plugin
    return found


def _names(package: ModuleType) -> tuple[str, ...]:
    """Return the modules of a folder in name order."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(name for name in names if not name.startswith("_"))


def summaries(package: str) -> dict[str, str]:
    """Return the first line of each plug-in's docstring by file name, in name order; neither they nor it are imported.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"no package {package!r}")
    files = [
        file for folder in spec.submodule_search_locations for file in Path(folder).glob("*.py")
    ]
    return {file.stem: _first_line(file) for file in sorted(files) if not file.stem.startswith("_")}


def _first_line(file: Path) -> str:
    """Return the first line of the docstring that a file starts with; nothing where it starts otherwise."""
    for token in tokenize.generate_tokens(StringIO(file.read_text("utf-8")).readline):
        if token.type == tokenize.STRING:
            return str(ast.literal_eval(token.string)).strip().splitlines()[0]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            break
    return ""
