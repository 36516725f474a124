"""Finds the plug-ins of a folder: one file each, named by its file name, listed nowhere."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import TypeVar

Contract = TypeVar("Contract")


def discover(package: ModuleType, export: str, contract: type[Contract]) -> dict[str, Contract]:
    """Return the plug-ins of a package by file name, in name order.

    Raises:
        TypeError: a module of the folder does not export an object of the contract under that name.
    """
    found = {}
    for name in _names(package):
        plugin = getattr(importlib.import_module(f"{package.__name__}.{name}"), export, None)
        if not isinstance(plugin, contract):
            raise TypeError(f"{package.__name__}.{name}: {export} is not a {contract.__name__}")
        found[name] = plugin
    return found


@cache
def _names(package: ModuleType) -> tuple[str, ...]:
    """Return the modules of a folder in name order; read once, as it is asked for hundreds of times."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(name for name in names if not name.startswith("_"))


def summary(plugin: object) -> str:
    """Return the first line of the docstring of a plug-in's module: what ``treewarden list`` prints."""
    module = importlib.import_module(type(plugin).__module__)
    return (module.__doc__ or "").strip().splitlines()[0]
