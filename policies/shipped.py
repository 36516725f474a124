"""The packs that ship: TOML files by name, those of models in ``packs/``, those of tables in ``packs_of_tables/``."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable


def shipped_packs() -> dict[str, Traversable]:
    """Return the files of the packs about models that ship, by name, in name order."""
    return _files("packs")


def packs_of_tables() -> dict[str, Traversable]:
    """Return the same of the packs about tables of noisy records."""
    return _files("packs_of_tables")


def shipped_titles() -> dict[str, str]:
    """Return what each pack that ships is called, by name; nothing else of it is read."""
    packs = (shipped_packs() | packs_of_tables()).items()
    return {name: str(tomllib.loads(file.read_text("utf-8"))["title"]) for name, file in packs}


def _files(name: str) -> dict[str, Traversable]:
    folder = resources.files("treewarden.policies") / name
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name[:-5]: file for file in files if file.name.endswith(".toml")}
