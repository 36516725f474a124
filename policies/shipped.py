"""The packs that ship: TOML files in ``packs/``, by name."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable

import policies


def shipped_packs() -> dict[str, Traversable]:
    """Return the files of the packs that ship, by name, in name order."""
    folder = resources.files(policies) / "packs"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name[:-5]: file for file in files if file.name.endswith(".toml")}


def shipped_titles() -> dict[str, str]:
    """Return what each pack that ships is called, by name; nothing else of it is read."""
    packs = shipped_packs().items()
    return {name: str(tomllib.loads(file.read_text("utf-8"))["title"]) for name, file in packs}
