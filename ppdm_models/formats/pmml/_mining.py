"""Turns a PMML MiningModel into an ensemble of the models inside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._chain import joined_chain
from treewarden.ppdm_models.formats.pmml._declared import (
    Dictionary,
    PmmlTarget,
    read_target,
    rescaled,
)
from treewarden.ppdm_models.formats.pmml._fields import Fields, read_tests
from treewarden.ppdm_models.formats.pmml._predicates import PREDICATES, read_predicate
from treewarden.ppdm_models.formats.pmml._tree import said_sampled, task_of
from treewarden.ppdm_models.formats.pmml._values import Failure, number
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    Model,
    NonTreeModel,
    Silence,
    SilentMembers,
    TreeSampling,
)
from treewarden.ppdm_models.tree.predicate import Always, Predicate
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Task,
    Tree,
)

# Makes the members of an ensemble agree: on the type of each feature, and on the order of the classes.


def merged_features(
    own_features: Iterable[Feature], members: Sequence[Member]
) -> tuple[Feature, ...]:
    """Return the features of a model and its members, each once; a number, and 32-bit, where one says so."""
    features: dict[str, Feature] = {}
    for group in (own_features, *(_features(member) for member in members)):
        for feature in group:
            known = features.get(feature.name)
            if known is None or known == feature:
                features[feature.name] = feature
            elif feature.numeric or known.numeric:
                single = feature.single or known.single
                features[feature.name] = Feature(feature.name, numeric=True, single=single)
            else:
                values = tuple(dict.fromkeys((*known.values, *feature.values)))
                features[feature.name] = replace(known, values=values)
    return tuple(features.values())


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
    return () if isinstance(member.model, NonTreeModel) else member.model.features


def _with_classes(model: Model | NonTreeModel, classes: tuple[str, ...]) -> Model | NonTreeModel:
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


COMBINATIONS = {
    "sum": Combination.SUM,
    "average": Combination.AVERAGE,
    "weightedAverage": Combination.WEIGHTED_AVERAGE,
    "weightedSum": Combination.WEIGHTED_SUM,
    "x-weightedSum": Combination.WEIGHTED_SUM,
    "median": Combination.MEDIAN,
    "weightedMedian": Combination.WEIGHTED_MEDIAN,
    "x-weightedMedian": Combination.WEIGHTED_MEDIAN,
    "majorityVote": Combination.MAJORITY_VOTE,
    "weightedMajorityVote": Combination.WEIGHTED_MAJORITY_VOTE,
    "max": Combination.MAX,
    "selectFirst": Combination.SELECT_FIRST,
    "selectAll": Combination.SELECT_ALL,
    "modelChain": Combination.MODEL_CHAIN,
    "x-multiModelChain": Combination.MODEL_CHAIN,
}
SILENCES = {
    "continue": Silence.CONTINUE,
    "skipSegment": Silence.SKIP_SEGMENT,
    "returnMissing": Silence.RETURN_MISSING,
}
ADDITIVE = (
    Combination.SUM,
    Combination.AVERAGE,
    Combination.WEIGHTED_SUM,
    Combination.WEIGHTED_AVERAGE,
)
BOOTSTRAP = re.compile(r"\b(RandomForest|ExtraTrees|Bagging)\w*\(([^()]|\([^()]*\)){0,4000}")
Parts = Mapping[Element, Model | NonTreeModel]


def read_mining_model(
    model: Element,
    around: Sequence[Element],
    parts: Parts,
    dictionary: Dictionary,
    source: str,
) -> Model | NonTreeModel:
    """Return the ensemble; the one tree where there is no more; what it is called where it holds no tree.

    ``parts`` are the models inside it, by their elements.

    Raises:
        TreeFormatError: a segment cannot be understood.
    """
    fail = Failure(source)
    segmentation = model.first("Segmentation")
    holders = [model] if segmentation is None else list(segmentation.all("Segment"))
    found = [(holder, part) for holder in holders for part in holder.children if part in parts]
    if not any(isinstance(parts[part], Tree | Ensemble) for _, part in found):
        return NonTreeModel(model.name, model.get("modelName") or "", model.line)
    method = (
        ("modelChain" if len(found) > 1 else "selectFirst")
        if segmentation is None
        else segmentation.get("multipleModelMethod")
    )

    def read(fields: Fields) -> tuple[Member, ...]:
        return tuple(
            Member(
                parts[part],
                weight=_weight(holder, fail),
                test=_test(holder, fields, fail) if segmentation is not None else Always(),
                name=holder.get("id") or part.get("modelName") or "",
            )
            for holder, part in found
        )

    fields, members = read_tests(dictionary, [*around, model], model, fail, read)
    ensemble = Ensemble(
        members=members,
        combination=_combination(method or "", segmentation or model, fields, fail),
        features=merged_features(fields.features.values(), members),
        target=fields.target,
        classes=fields.classes,
        task=_task([*around, model], members, fail),
        sampling=TreeSampling(_resampled(model, around[0] if around else model, fail)),
        silence=SilentMembers(
            _silence(segmentation or model, fail), _most_silent(segmentation or model, fail)
        ),
        source=source,
        format="pmml",
        notes=tuple(fields.notes),
    )
    whole = _settled(ensemble, found, model, fail)
    return _unwrapped(whole)


def _settled(
    ensemble: Ensemble, parts: Sequence[tuple[Element, Element]], model: Element, fail: Failure
) -> Ensemble:
    """Return the ensemble with its targets applied, a chain of sums joined, and one order of classes for all."""
    if ensemble.task is Task.REGRESSION:
        ensemble = replace(ensemble, classes=())
    if ensemble.combination is Combination.MODEL_CHAIN:
        ensemble = joined_chain(ensemble, [part for _, part in parts], fail) or ensemble
    target = read_target(model, fail)
    if target is not None and ensemble.task is Task.REGRESSION:
        ensemble = _targeted(ensemble, target)
    if model.name == "AnomalyDetectionModel":
        note = (
            f"{fail.source}:{model.line}: the combined score is converted to an "
            "anomaly score, which is not evaluated"
        )
        ensemble = replace(ensemble, link=Link.UNKNOWN, notes=(*ensemble.notes, note))
    return aligned(ensemble)


def several(root: Element, parts: Parts, source: str) -> Ensemble:
    """Return the models of a file that holds more than one, each for itself."""
    members = tuple(
        Member(parts[part], name=part.get("modelName") or "")
        for part in root.children
        if part in parts
    )
    first = next(part.model for part in members if isinstance(part.model, Tree | Ensemble))
    note = (
        f"{source}: the file contains {len(members)} models that are not combined; "
        "give one model per file"
    )
    return Ensemble(
        members,
        Combination.SELECT_ALL,
        merged_features((), members),
        first.target,
        first.classes,
        first.task,
        source=source,
        format="pmml",
        notes=(note,),
    )


def _unwrapped(ensemble: Ensemble) -> Model:
    """Return the one tree of an ensemble that does nothing more."""
    only = ensemble.members[0]
    is_plain = (
        len(ensemble.members) == 1
        and isinstance(only.model, Tree)
        and isinstance(only.test, Always)
        and only.weight == 1.0
        and ensemble.link is Link.IDENTITY
        and only.output is None
    )
    if not is_plain or not isinstance(only.model, Tree):
        return ensemble
    tree = only.model
    if ensemble.base:
        nodes = tuple(
            replace(node, score=node.score + ensemble.base[0])
            if isinstance(node.score, float)
            else node
            for node in tree.nodes
        )
        tree = replace(tree, nodes=nodes)
    return replace(tree, notes=(*tree.notes, *ensemble.notes))


def _targeted(ensemble: Ensemble, target: PmmlTarget) -> Ensemble:
    """Apply a model's Targets: to the weights and the base where that says the same, else as a note."""
    notes = (*ensemble.notes, *target.notes)
    sums = ensemble.combination in ADDITIVE and ensemble.link is Link.IDENTITY
    if sums and target.is_linear and not any(member.output for member in ensemble.members):
        base = ensemble.base[0] if ensemble.base else 0.0
        members = ensemble.members
        combination = ensemble.combination
        if target.factor != 1.0 and combination in (Combination.SUM, Combination.WEIGHTED_SUM):
            weighted = combination is Combination.WEIGHTED_SUM
            members = tuple(
                replace(member, weight=(member.weight if weighted else 1.0) * target.factor)
                for member in members
            )
            combination = Combination.WEIGHTED_SUM
        elif target.factor != 1.0:
            members = tuple(
                replace(member, model=_multiplied(member.model, target)) for member in members
            )
            if any(not isinstance(member.model, Tree) for member in members):
                return replace(ensemble, link=Link.UNKNOWN, notes=notes)
        total = base * target.factor + target.constant
        base_of = (total,) if total else ()
        return replace(
            ensemble, members=members, combination=combination, base=base_of, notes=notes
        )
    return replace(ensemble, link=Link.UNKNOWN, notes=notes)


def _multiplied(model: Model | NonTreeModel, target: PmmlTarget) -> Model | NonTreeModel:
    if not isinstance(model, Tree):
        return model
    only_factor = replace(target, constant=0.0)
    return replace(model, nodes=tuple(rescaled(node, only_factor) for node in model.nodes))


def _combination(method: str, element: Element, fields: Fields, fail: Failure) -> Combination:
    where = f"{fail.source}:{element.line}"
    if method.startswith("x-"):
        fields.notes.append(
            f"{where}: the models are combined by {method!r}, which is not part of PMML"
        )
        return COMBINATIONS.get(method) or COMBINATIONS.get(
            method.removeprefix("x-"), Combination.SELECT_ALL
        )
    if method not in COMBINATIONS:
        known = ", ".join(name for name in COMBINATIONS if not name.startswith("x-"))
        raise fail(element, f"unknown multipleModelMethod {method!r}; known values: {known}")
    return COMBINATIONS[method]


def _silence(element: Element, fail: Failure) -> Silence:
    said = element.get("missingPredictionTreatment") or "continue"
    if said not in SILENCES:
        raise fail(
            element,
            f"unknown missingPredictionTreatment {said!r}; known values: {', '.join(SILENCES)}",
        )
    return SILENCES[said]


def _most_silent(element: Element, fail: Failure) -> float:
    text = element.get("missingThreshold")
    share = 1.0 if text is None else number(text)
    if share is None or not 0 <= share <= 1:
        raise fail(element, f"missingThreshold is {(text or '')[:80]!r}; it must be from 0 to 1")
    return share


def _weight(holder: Element, fail: Failure) -> float:
    text = holder.get("weight") if holder.name == "Segment" else None
    weight = 1.0 if text is None else number(text)
    if weight is None:
        raise fail(holder, f"the weight {(text or '')[:80]!r} is not a finite number")
    return weight


def _test(holder: Element, fields: Fields, fail: Failure) -> Predicate:
    elements = [child for child in holder.children if child.name in PREDICATES]
    if len(elements) != 1:
        raise fail(
            holder,
            f"the Segment has {len(elements) or 'no'} "
            f"predicate{'s' * (len(elements) > 1)}, but one is expected",
        )
    return read_predicate(elements[0], fields, fail)


def _task(models: Sequence[Element], members: Sequence[Member], fail: Failure) -> Task:
    try:
        return task_of(models, fail)
    except TreeFormatError:  # "mixed", and what producers make up: what the members say
        tasks = [part.model.task for part in members if isinstance(part.model, Tree | Ensemble)]
        return tasks[0] if tasks else Task.REGRESSION


def _resampled(model: Element, root: Element, fail: Failure) -> bool | None:
    """Return whether each tree has a sample, as our own extension or the settings of scikit-learn's exporter say."""
    try:
        own = said_sampled(model)
    except ValueError as error:
        raise fail(model, f"an extension of the MiningModel is wrong: {error}") from error
    if own is not None:
        return own
    task = root.first("MiningBuildTask")
    for item in () if task is None else task.all("Extension"):
        found = BOOTSTRAP.search((item.get("value") or item.text)[:100_000])
        if found is not None:
            said = re.search(r"\bbootstrap\s*=\s*(True|False)", found[0])
            return found[1] != "ExtraTrees" if said is None else said[1] == "True"
    return None
