"""Removes what a model file gives away beside its trees, and checks that the trees are still the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ppdm_models.errors import OutputError
from ppdm_models.files.load import formats, leaks_of, load_model, read_bytes
from ppdm_models.tree.ensemble import Model, trees_of
from ppdm_models.tree.leaks import Leak, LeakKind
from ppdm_models.tree.tree import Node


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was removed, what is left, and the file (None: there was nothing to remove)."""

    data: bytes | None
    removed: tuple[Leak, ...]
    left: tuple[Leak, ...]


def redact_file(path: Path, kinds: frozenset[LeakKind]) -> Redacted:
    """Return the file without its removable leaks of some kinds.

    Raises:
        TreeFormatError: the file cannot be read.
        OutputError: its format is only read here, or removing would change its trees.
    """
    data = read_bytes(path)
    model = load_model(data, path.name)
    leaks = leaks_of(data, model)
    if not _can_go(leaks, kinds):
        return Redacted(None, (), leaks)
    bare = _without(data, model, kinds)
    left = leaks_of(bare, load_model(bare, path.name))
    return Redacted(bare, _gone(leaks, left), left)


def without_leaks(data: bytes, source: str) -> bytes:
    """Return a file without its removable leaks of all kinds, itself where there are none.

    Raises:
        OutputError: its format is only read here, or removing would change its trees.
    """
    model, kinds = load_model(data, source), frozenset(LeakKind)
    return _without(data, model, kinds) if _can_go(leaks_of(data, model), kinds) else data


def _can_go(leaks: tuple[Leak, ...], kinds: frozenset[LeakKind]) -> bool:
    return any(leak.kind in kinds and leak.removable for leak in leaks)


def _without(data: bytes, model: Model, kinds: frozenset[LeakKind]) -> bytes:
    bare = formats()[model.format].without(data, model.source, kinds)
    if bare is None:
        problem = f"the format {model.format} is only read here, so nothing can be removed from it"
        raise OutputError(model.source, f"{problem}; 'treewarden convert' writes the trees alone")
    if _trees(load_model(bare, model.source)) != _trees(model):
        raise OutputError(model.source, "removing that would change its trees; nothing was removed")
    return bare


def _trees(model: Model) -> list[Sequence[Node]]:
    return [tree.nodes for tree in trees_of(model)]


def _gone(before: tuple[Leak, ...], after: tuple[Leak, ...]) -> tuple[Leak, ...]:
    """Return the leaks that are in the file no more; their places may have moved, so what they are decides."""
    still = Counter((leak.kind, leak.what) for leak in after)
    gone = []
    for leak in before:
        key = (leak.kind, leak.what)
        if still[key]:
            still[key] -= 1
        else:
            gone.append(leak)
    return tuple(gone)
