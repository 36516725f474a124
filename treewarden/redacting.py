"""Removes what a model file gives away beside its trees, and checks that the trees are still the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ppdm_models.ensemble import Model, trees_of
from ppdm_models.errors import OutputError
from ppdm_models.leaks import Leak, LeakKind
from ppdm_models.load import formats, leaks_of, load_model, read_bytes
from ppdm_models.tree import Node


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
    if not any(leak.kind in kinds and leak.removable for leak in leaks):
        return Redacted(None, (), leaks)
    bare = formats()[model.format].without(data, model.source, kinds)
    if bare is None:
        problem = f"the format {model.format} is only read here, so nothing can be removed from it"
        raise OutputError(path.name, f"{problem}; 'treewarden convert' writes the trees alone")
    after = load_model(bare, path.name)
    if _trees(after) != _trees(model):
        raise OutputError(path.name, "removing that would change its trees; nothing was removed")
    left = leaks_of(bare, after)
    return Redacted(bare, _gone(leaks, left), left)


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
