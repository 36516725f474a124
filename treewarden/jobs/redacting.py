"""Removes what a model file gives away beside its trees, and checks that the trees are still the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.convert import first_writable
from treewarden.ppdm_models.files.load import OpenedFile, formats, open_model, read_bytes
from treewarden.ppdm_models.formats import Strippable
from treewarden.ppdm_models.formats.common.json_layout import PlainFile
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Missing, Node


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was removed, what is left, and the file with its format: as it came where there was nothing to remove."""

    data: bytes
    removed: tuple[Leak, ...]
    left: tuple[Leak, ...]
    format: str
    instead: str = ""


def redact_file(path: Path, kinds: frozenset[LeakKind]) -> Redacted:
    """Return the file without its removable leaks of some kinds.

    Raises:
        TreeFormatError: the file cannot be read.
        OutputError: its format is only read here, or removing would change its trees.
    """
    came = read_bytes(path)
    file = open_model(came, path.name)
    if not _can_go(file.leaks, kinds):
        instead = _file_instead(file, file.leaks)
        return Redacted(came, (), file.leaks, file.model.format, instead)
    data, bare = _without(file, kinds)
    left = bare.leaks
    return Redacted(
        data, _gone(file.leaks, left), left, file.model.format, _file_instead(file, left)
    )


def _file_instead(file: OpenedFile, left: tuple[Leak, ...]) -> str:
    """Return which other file of a model can pass, where content that nobody can judge stays in this one."""
    if not any(leak.kind is LeakKind.UNKNOWN and leak.is_possible for leak in left):
        return ""
    if first_writable(file.model) is not None:
        return "write only the trees: treewarden convert MODEL NEW.pmml"
    format_ = formats().get(file.model.format)
    return "" if format_ is None else format_.publish_instead


def without_leaks(data: bytes, source: str) -> bytes:
    """Return a file without its removable leaks of all kinds, itself where there are none.

    Raises:
        OutputError: its format is only read here, or removing would change its trees.
    """
    file, kinds = open_model(data, source), frozenset(LeakKind)
    return _without(file, kinds)[0] if _can_go(file.leaks, kinds) else data


def _can_go(leaks: tuple[Leak, ...], kinds: frozenset[LeakKind]) -> bool:
    return any(leak.kind in kinds and leak.removable for leak in leaks)


def _without(file: OpenedFile, kinds: frozenset[LeakKind]) -> tuple[bytes, OpenedFile]:
    """Return a file without its leaks of some kinds, as bytes and as whoever gets them reads them."""
    model = file.model
    if not isinstance(file.opened, Strippable):
        problem = f"treewarden cannot write {model.format} files, so nothing can be removed"
        instead = "write only the trees: treewarden convert MODEL NEW.pmml"
        raise OutputError(model.source, f"{problem}; {instead}")
    data = file.opened.without(kinds)
    bare = open_model(data, model.source)
    is_compared = isinstance(
        file.opened, PlainFile
    )  # with what it is written as, when it was opened
    is_same = is_compared or _trees(bare.model) == _trees(model)
    if not is_same and _unnamed(bare.model) != _unnamed(model):
        raise OutputError(
            model.source,
            "nothing was removed, because without these parts of the file the trees would change; export the model "
            "again without them",
        )
    return data, bare


def _trees(model: Model) -> list[Sequence[Node]]:
    """Return the nodes of a model; those of boosted trees without the values of inner nodes, which predict nothing."""
    is_boosted = isinstance(model, Ensemble) and model.growth is not None
    return [
        [replace(node, score=None) if node.children else node for node in tree.nodes]
        if is_boosted and tree.missing is not Missing.LAST_PREDICTION
        else tree.nodes
        for tree in trees_of(model)
    ]


def _unnamed(model: Model) -> list[list[Node]]:
    """Return the nodes of a model without what they are called: names that say more than a number are replaced."""
    return [[replace(node, name="") for node in tree.nodes] for tree in trees_of(model)]


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
