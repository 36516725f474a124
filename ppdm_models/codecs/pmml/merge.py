"""Makes the members of an ensemble agree: on the type of each feature, and on the order of the classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, Model, Other
from treewarden.ppdm_models.tree.tree import Feature, Node, Task, Tree


def merged_features(own: Iterable[Feature], members: Sequence[Member]) -> tuple[Feature, ...]:
    """Return the features of a model and its members, each once; a number, and 32-bit, where one says so."""
    found: dict[str, Feature] = {}
    for group in (own, *(_features(member) for member in members)):
        for feature in group:
            known = found.get(feature.name)
            if known is None or known == feature:
                found[feature.name] = feature
            elif feature.numeric or known.numeric:
                single = feature.single or known.single
                found[feature.name] = Feature(feature.name, numeric=True, single=single)
            else:
                values = tuple(dict.fromkeys((*known.values, *feature.values)))
                found[feature.name] = replace(known, values=values)
    return tuple(found.values())


def aligned(ensemble: Ensemble) -> Ensemble:
    """Return an ensemble whose trees list their classes in one order, where they vote or are averaged."""
    if ensemble.task is not Task.CLASSIFICATION or ensemble.combination is Combination.MODEL_CHAIN:
        return ensemble
    inner = [
        member.model.classes
        for member in ensemble.members
        if isinstance(member.model, Tree | Ensemble) and member.model.task is Task.CLASSIFICATION
    ]
    if not inner or all(classes == ensemble.classes for classes in inner):
        return ensemble
    classes = tuple(
        dict.fromkeys((*ensemble.classes, *(label for group in inner for label in group)))
    )
    members = tuple(
        replace(member, model=_with_classes(member.model, classes)) for member in ensemble.members
    )
    return replace(ensemble, members=members, classes=classes)


def _features(member: Member) -> tuple[Feature, ...]:
    return () if isinstance(member.model, Other) else member.model.features


def _with_classes(model: Model | Other, classes: tuple[str, ...]) -> Model | Other:
    if not isinstance(model, Tree) or model.classes == classes or model.task is Task.REGRESSION:
        return model
    position = {label: place for place, label in enumerate(model.classes)}
    order = [position.get(label) for label in classes]
    return replace(
        model, classes=classes, nodes=tuple(_reordered(node, order) for node in model.nodes)
    )


def _reordered(node: Node, order: Sequence[int | None]) -> Node:
    counts, shares = node.class_counts, node.class_shares
    if counts is None and shares is None:
        return node
    absent = 0.0 if counts is not None and None not in counts else None
    return replace(
        node,
        class_counts=None
        if counts is None
        else tuple(absent if place is None else counts[place] for place in order),
        class_shares=None
        if shares is None
        else tuple(0.0 if place is None else shares[place] for place in order),
    )
