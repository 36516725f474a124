"""Finds the plug-ins of a folder: one file each, named by its file name, listed nowhere.

A folder may part its plug-ins into rooms, as ``formats/`` does by producer. What starts with ``_`` helps a plug-in and
is none, and the room ``common`` holds what several share.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

Contract = TypeVar("Contract")

COMMON = "common"


def discover(package: ModuleType, export: str, contract: type[Contract]) -> dict[str, Contract]:
    """Return the plug-ins of a package by file name, in name order.

    Raises:
        TypeError: a module of the folder does not export an object of the contract under that name.
    """
    kind: Any = contract
    return dict(_discover_once(package, export, kind))


@cache
def _discover_once(package: ModuleType, export: str, contract: type[Any]) -> dict[str, Any]:
    """Return the same, looked up once, as it is asked for thousands of times."""
    found = {}
    for file_name, module_name in module_names(package).items():
        plugin = getattr(importlib.import_module(module_name), export, None)
        if not isinstance(plugin, contract):
            raise TypeError(f"{module_name}: {export} is not a {contract.__name__}")
        found[file_name] = plugin
    return found


def module_names(package: ModuleType) -> dict[str, str]:
    """Return the full name of each plug-in's module by its file name, in the order of these; none is imported."""
    return dict(sorted(_module_names(package.__name__, list(package.__path__))))


def _module_names(package: str, folders: list[str]) -> Iterator[tuple[str, str]]:
    """Yield file names with full names; a package in the folder is a room of it."""
    for module in pkgutil.iter_modules(folders):
        if module.name.startswith("_") or module.name == COMMON:
            continue
        full_name = f"{package}.{module.name}"
        if module.ispkg:
            rooms = [f"{folder}/{module.name}" for folder in folders]
            inner = pkgutil.iter_modules(rooms)
            names = [each.name for each in inner if not each.ispkg and each.name[0] != "_"]
            yield from ((name, f"{full_name}.{name}") for name in names)
        else:
            yield module.name, full_name


def summaries(package: str) -> dict[str, str]:
    """Return the first line of each plug-in's docstring by file name, in name order; neither they nor it are imported.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"no package {package!r}")
    files = [
        file
        for folder in spec.submodule_search_locations
        for pattern in ("*.py", "*/*.py")
        for file in Path(folder).glob(pattern)
        if file.parent.name != COMMON and not file.stem.startswith("_")
    ]
    return {file.stem: _first_line(file) for file in sorted(files, key=lambda file: file.stem)}


def _first_line(file: Path) -> str:
    """Return the first line of the docstring that a file starts with; nothing where it starts otherwise."""
    for token in tokenize.generate_tokens(StringIO(file.read_text("utf-8")).readline):
        if token.type == tokenize.STRING:
            return str(ast.literal_eval(token.string)).strip().splitlines()[0]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            break
    return ""
