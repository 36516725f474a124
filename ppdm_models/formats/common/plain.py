"""Files that are held against the one that would be written from their model alone: a difference is something else.

Where a format is small, this accounts for all of a file with no list of what may be hidden where: bytes that equal
those of the model alone hold the model alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from treewarden.ppdm_models.formats import Strippable
from treewarden.ppdm_models.tree.ensemble import Model, Other
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind, unread_rest
from treewarden.ppdm_models.tree.tree import Tree

EVERYWHERE = "anywhere in it"


class UnwritableError(Exception):
    """A file cannot be written from its model alone, as it has a part that no model holds; the text names it.

    Never a user's error: the file is read, and the rest of it is said to be unknown.
    """


class PlainFile(Strippable):
    """A file of which everything is in the model, or goes when the file is written from its model alone."""

    def __init__(
        self, data: bytes, plain: bytes, model: Model, leaks: Iterable[Leak], difference: str
    ) -> None:
        """Name what is known to be beside the model (``leaks``), and in words the ``difference`` of both files."""
        found: tuple[Leak, ...] = ()
        if data != plain:
            named = (replace(leak, removable=True) for leak in leaks)
            found = (*named, Leak(LeakKind.UNKNOWN, EVERYWHERE, difference, removable=True))
        super().__init__(model, found)
        self._data, self._plain = data, plain

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        """Return the plain file if any of its leaks is to go: it has none, and they cannot be told apart in bytes."""
        return self._plain if kinds & {leak.kind for leak in self.leaks} else self._data


def unplain_rest(problem: UnwritableError, form: str) -> Leak:
    """Return that a file may hold more than its reader looks at, and what in it is the reason."""
    rest = unread_rest(form)
    what = f"{problem}: treewarden cannot tell what a file with it holds beside its trees, and "
    return replace(rest, what=what + rest.what)


def plain_json(document: object) -> bytes:
    """Return a document in the one way in which plain files are written."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def same_predictions(first: Model, second: Model) -> bool:
    """Return whether two models send all records to the same leaves, with the same values and counts there."""
    return _bare(first) == _bare(second)


def _bare(model: Model | Other) -> object:
    """Return what a model says of records, without names of nodes, unused columns, and notes about its file."""
    if isinstance(model, Tree):
        nodes = tuple(replace(node, name="") for node in model.nodes)
        return (nodes, model.classes, model.task, model.missing, model.no_true_child)
    if isinstance(model, Other):
        return model
    members = tuple((_bare(member.model), member.weight, member.output) for member in model.members)
    above = (model.combination, model.base, model.link, model.classes, model.task)
    return (members, above)
