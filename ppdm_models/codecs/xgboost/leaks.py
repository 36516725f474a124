"""What an XGBoost model file gives away beside its trees: attributes, names, categories, a configuration."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.json import Steps, as_list, as_object, pointer
from treewarden.ppdm_models.codecs.common.origin import is_origin
from treewarden.ppdm_models.codecs.common.telling_text import telling
from treewarden.ppdm_models.codecs.xgboost.categories import category_names
from treewarden.ppdm_models.codecs.xgboost.learner import booster_of, learner_of
from treewarden.ppdm_models.tree.leaks import Leak, LeakGroup, LeakKind

SEEDS = ("seed", "random_state")


def leaks_of(document: object, source: str) -> tuple[Leak, ...]:
    """Return the leaks, attributes first."""
    learner, steps = learner_of(document, source)
    return (
        *(leak for _, leak in _attributes(learner, source, steps)),
        *_names(learner, source, steps),
        *_categories(learner, source, steps),
        *_configuration(document),
    )


def without_leaks(document: object, source: str, kinds: frozenset[LeakKind]) -> object:
    """Return the document without the attributes of these kinds; the document is used up."""
    learner, steps = learner_of(document, source)
    attributes = learner.get("attributes")
    telling_names = dict(_attributes(learner, source, steps))
    if not isinstance(attributes, dict):
        return document
    for name in list(attributes):
        leak = telling_names.get(name)
        if leak is not None and leak.kind in kinds or leak is None and LeakKind.UNKNOWN in kinds:
            del attributes[name]
    return document


def _attributes(learner: dict[str, object], source: str, steps: Steps) -> list[tuple[str, Leak]]:
    at = [*steps, "attributes"]
    found = []
    for name, value in as_object(learner.get("attributes", {}), source, at).items():
        kind = telling(str(value), name)
        if kind is not None and kind.group is LeakGroup.ORIGIN and not is_origin(str(value)):
            kind = None  # more than that: a text of its own
        if kind is not None:
            what = f"the attribute {name!r} holds what looks like a {kind}"
            found.append((name, Leak(kind, pointer([*at, name]), what, removable=True)))
    return found


def _names(learner: dict[str, object], source: str, steps: Steps) -> Iterator[Leak]:
    at = [*steps, "feature_names"]
    for index, name in enumerate(as_list(learner.get("feature_names", []), source, at)):
        kind = telling(str(name))
        if kind is not None:
            yield Leak(kind, pointer([*at, index]), f"a feature's name looks like a {kind}")


def _categories(learner: dict[str, object], source: str, steps: Steps) -> Iterator[Leak]:
    booster = booster_of(learner, source, steps)
    at = [*booster.steps, "cats"]
    for index, names in category_names(booster.model.get("cats"), source, at).items():
        yield Leak(
            LeakKind.CATEGORIES,
            pointer([*at, "enc", index]),
            f"lists the {len(names)} categories of a feature that the training data had, even those of one record",
        )


def _configuration(document: object) -> Iterator[Leak]:
    """A snapshot holds the training configuration beside the model."""
    if not isinstance(document, dict) or not isinstance(document.get("Config"), dict):
        return
    stack: list[tuple[list[str | int], object]] = [(["Config"], document["Config"])]
    while stack:
        steps, part = stack.pop()
        for name, value in reversed(part.items()) if isinstance(part, dict) else ():
            if name in SEEDS:
                yield Leak(
                    LeakKind.REPLAY,
                    pointer([*steps, name]),
                    "the seed: with a part of the training data, training can be replayed",
                )
            stack.append(([*steps, name], value))
