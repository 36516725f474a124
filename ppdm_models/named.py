"""People whom a model itself names: a mail address among its features, their values or its classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ppdm_models.ensemble import Model, trees_of
from ppdm_models.leaks import Leak, LeakKind

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
