"""People whom a model itself names: a mail address among its features, their values or its classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

NUMBER = re.compile(r"[A-Za-z]{0,12}[ _#:-]{0,2}[\d_.:/+-]{0,60}[A-Za-z]?")
"""What the number of a node looks like."""
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")


def people_named(model: Model) -> tuple[Leak, ...]:
    """Return one leak per place that names somebody: the trees cannot be written without it, in no format."""
    found = dict.fromkeys(where for where, text in _texts(model) if MAIL.search(text))
    return tuple(Leak(LeakKind.PERSON, "", f"{where} holds a mail address") for where in found)


def _texts(model: Model) -> Iterator[tuple[str, str]]:
    """Yield what a text is, and the text."""
    yield from (("the name of a class", name) for name in model.classes)
    seen: set[int] = set()
    for part in (model, *trees_of(model)):
        if id(part.features) not in seen:  # the trees of an ensemble mostly share them
            seen.add(id(part.features))
            for feature in part.features:
                yield "the name of a feature", feature.name
                yield from ((f"a value of {feature.name!r}", value) for value in feature.values)


def odd_names(model: Model) -> tuple[Leak, ...]:
    """Return that nodes are called by more than numbers: what a name says, nobody could judge."""
    odd = sum(
        NUMBER.fullmatch(node.name) is None for tree in trees_of(model) for node in tree.nodes
    )
    if not odd:
        return ()
    return (
        Leak(LeakKind.UNKNOWN, "/nodes", f"the names of {odd} nodes, which are more than numbers"),
    )
