"""Hides something in every place of a JSON file, and asks where nobody would notice it."""

from __future__ import annotations

import copy
import json

from tests.kit.tiers import few
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.side_channels import LeakKind

ALL = frozenset(LeakKind)
QUICK = 60
"""How many things the quick tier tries to hide in one file."""
SECRETS = ("ann 44 hiv", 440.0712345678901, 12345678901, True, ["ann"], {"ann": 44})


def leaks(data, source="m.json"):
    return [(leak.kind, leak.where, leak.what) for leak in open_model(data, source).leaks]


def cleaned(data, source="m.json"):
    """Return a file without all that can be removed, itself where there is nothing."""
    file = open_model(data, source)
    return file.opened.without(ALL) if file.leaks else data


def content(model):
    """Return all of a model that an audit looks at."""
    trees = [(tree.nodes, tree.features, tree.classes, tree.quality) for tree in trees_of(model)]
    above = [getattr(model, name, None) for name in ("base", "link", "combination", "sampling")]
    weights = [(member.weight, member.output) for member in getattr(model, "members", ())]
    facts = getattr(getattr(model, "growth", None), "facts", None)
    refused = getattr(getattr(model, "growth", None), "refused", None)
    named = (model.classes, model.features, model.target)
    return repr((trees, above, weights, named, facts, refused))


def places(value, steps=()):
    """Yield one place for each name that occurs in a document: items of lists have none."""
    seen = set()
    pending = [(value, steps)]
    while pending:
        value, steps = pending.pop(0)
        name = tuple(step if isinstance(step, str) else 0 for step in steps)
        if name not in seen:
            seen.add(name)
            yield steps, value
        if isinstance(value, dict):
            pending += [(inner, (*steps, key)) for key, inner in value.items()]
        elif isinstance(value, list):
            pending += [(inner, (*steps, at)) for at, inner in enumerate(value)]


def put(document, steps, secret):
    """Return a document with another value in a place."""
    document = copy.deepcopy(document)
    if not steps:
        return secret
    holder = document
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = secret
    return document


def hidings(document):
    """Yield what can be hidden in a document: what it is, in which place, and what is put there."""
    for steps, value in list(places(document)):
        if isinstance(value, dict):
            yield f"a key in {steps}", (*steps, "ann 44 hiv"), 1
            continue
        if isinstance(value, list):
            for secret in SECRETS[:2]:
                yield f"{secret} at the end of {steps}", steps, [*value, secret]
            if value:
                yield f"a shorter {steps}", steps, value[:-1]
        for secret in SECRETS:
            if secret != value and not (secret is True and value is False):
                yield f"{secret} instead of {steps}", steps, secret


def unnoticed(data, write=lambda document: json.dumps(document).encode(), source="m.json"):
    """Return what could be hidden in a clean file so that it is still read as the same model, without a leak.

    The quick tier tries a part of it: tests that ask are ``in_both``.
    """
    model = content(open_model(data, source).model)
    assert leaks(data, source) == []
    passed, document = [], json.loads(data)
    for what, steps, secret in few(hidings(document), QUICK):
        try:
            file = open_model(write(put(document, steps, secret)), source)
        except TreewardenError:
            continue
        if not file.leaks and content(file.model) == model:
            passed.append(what)
    return passed


def unremoved(data, write=lambda document: json.dumps(document).encode(), source="m.json"):
    """Return which unknown keys of a clean file are not told, or cannot be removed."""
    model, kept, document = content(open_model(data, source).model), [], json.loads(data)
    for what, steps, secret in hidings(document):
        if what.startswith("a key in"):
            try:
                file = open_model(write(put(document, steps, secret)), source)
            except TreewardenError:
                continue
            if content(file.model) != model:
                continue
            bare = open_model(file.opened.without(ALL), source)
            if not file.leaks or bare.leaks or content(bare.model) != model:
                kept.append(what)
    return kept
