"""Finds the plug-ins of a folder: one file each, named by its file name, listed nowhere.

A folder may part its plug-ins into rooms, as ``formats/`` does by producer. What starts with ``_`` helps a plug-in and
is none, and the room ``common`` holds what several share.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

Contract = TypeVar("Contract")

COMMON = "common"


class PluginIndex(Mapping[str, Contract]):
    """The plug-ins of a package by file name, in name order; one is imported when it is first looked up."""

    def __init__(self, package: ModuleType, export: str, contract: type[Contract]) -> None:
        """Find the modules of the package; each has to export an object of the contract under one name."""
        self._modules = module_names(package)
        self._export, self._contract = export, contract
        self._loaded: dict[str, Contract] = {}

    def __getitem__(self, name: str) -> Contract:
        """Return a plug-in.

        Raises:
            KeyError: there is none of this name.
            TypeError: its module does not export an object of the contract.
        """
        if name not in self._loaded:
            module_name = self._modules[name]
            plugin = getattr(importlib.import_module(module_name), self._export, None)
            if not isinstance(plugin, self._contract):
                raise TypeError(f"{module_name}: {self._export} is not a {self._contract.__name__}")
            self._loaded[name] = plugin
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def room_name(self, name: str) -> str:
        """Return what the package is called that holds a plug-in, without importing either."""
        return self._modules[name].split(".")[-2]

    def room(self, name: str) -> ModuleType:
        """Return the package that holds a plug-in, without importing the plug-in."""
        return importlib.import_module(self._modules[name].rpartition(".")[0])


def discover(package: ModuleType, export: str, contract: type[Contract]) -> PluginIndex[Contract]:
    """Return the plug-ins of a package by file name, in name order; none is imported before it is looked up."""
    kind: Any = contract
    index: PluginIndex[Contract] = _discover_once(package, export, kind)
    return index


@cache
def _discover_once(package: ModuleType, export: str, contract: type[Any]) -> PluginIndex[Any]:
    """Return the same, looked up once, as it is asked for thousands of times."""
    return PluginIndex(package, export, contract)


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
