"""An XGBoost model file without its trees' arrays: features, objective, how the trees belong to outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.boosted import (
    differing_roots,
    gathered_notes,
    numbers,
    wholes,
)
from treewarden.ppdm_models.formats.common.json import Steps, as_list, as_object, as_text, refused
from treewarden.ppdm_models.formats.xgboost._arrays import (
    JoinedColumns,
    XgboostNodes,
    arrays_of,
    forest_of,
    joined,
)
from treewarden.ppdm_models.formats.xgboost._growth import (
    SQUARED,
    Objective,
    growth_of,
    shrinkage_in,
)
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.nodes import Numbers
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Quality,
    Task,
    Tree,
)

# The names of categories that an XGBoost model trained on data frames carries (``cats``, version 3).


def category_names(container: object, source: str, steps: Steps) -> dict[int, tuple[str, ...]]:
    """Return the names of each categorical feature's categories, in the order of their codes.

    XGBoost 3.2 cuts names that are not ASCII (it counts characters and stores bytes); where that leaves no text, or
    the same name twice, the feature is left out and its codes serve as names.

    Raises:
        TreeFormatError: the container contradicts itself.
    """
    if container is None:
        return {}
    encoded = as_object(container, source, steps).get("enc", [])
    found = {}
    for index, raw in enumerate(as_list(encoded, source, [*steps, "enc"])):
        at = [*steps, "enc", index]
        entry = as_object(raw, source, at)
        if "offsets" in entry:
            names = _texts(entry, source, at)
        else:
            values = numbers(entry.get("values", []), source, [*at, "values"])
            names = tuple(map(number_text, values.tolist()))
        if names and len(set(names)) == len(names):
            found[index] = names
    return found


def _texts(entry: dict[str, object], source: str, steps: Steps) -> tuple[str, ...]:
    """Cut the bytes of all names, end to end, at their offsets."""
    ends = wholes(entry["offsets"], source, [*steps, "offsets"])
    raw = wholes(entry.get("values", []), source, [*steps, "values"])
    if (np.abs(raw) > 255).any() or (np.diff(ends) < 0).any():
        raise refused(source, steps, "is not a list of names")
    if len(ends) and (ends[0] != 0 or ends[-1] > len(raw)):
        raise refused(source, [*steps, "offsets"], "point outside the bytes of the names")
    data = (raw & 255).astype(np.uint8).tobytes()
    try:
        return tuple(
            data[start:end].decode() for start, end in zip(ends[:-1], ends[1:], strict=True)
        )
    except UnicodeDecodeError:
        return ()


NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Booster:
    """Where the trees stand: the object that holds them, its place, and the weights of a dart booster."""

    model: dict[str, object]
    steps: Steps
    weights: tuple[float, ...] | None


def learner_of(document: object, source: str) -> tuple[dict[str, object], Steps]:
    """Return the learner and its place; a snapshot holds it beside the configuration, under ``Model``."""
    top = as_object(document, source, [])
    if "Model" in top and "learner" not in top:
        inner = as_object(top["Model"], source, ["Model"])
        return as_object(inner.get("learner"), source, ["Model", "learner"]), ["Model", "learner"]
    return as_object(top.get("learner"), source, ["learner"]), ["learner"]


def booster_of(learner: dict[str, object], source: str, steps: Steps) -> Booster:
    """Return the booster.

    Raises:
        TreeFormatError: it holds no trees: a linear booster, or a configuration alone.
    """
    steps = [*steps, "gradient_booster"]
    booster = as_object(learner.get("gradient_booster"), source, steps)
    kind = booster.get("name")
    if kind == "gblinear":
        raise refused(
            source, steps, "a linear model, which contains no trees; give a model of trees"
        )
    weights = None
    if kind == "dart":
        weights = tuple(
            numbers(booster.get("weight_drop"), source, [*steps, "weight_drop"]).tolist()
        )
        steps = [*steps, "gbtree"]
        booster = as_object(booster.get("gbtree"), source, steps)
    if "model" not in booster:
        raise refused(
            source,
            steps,
            "the file contains only a configuration, without trees; save the model itself",
        )
    steps = [*steps, "model"]
    return Booster(as_object(booster["model"], source, steps), steps, weights)


def ensemble_of(document: object, source: str) -> Ensemble:
    """Return the ensemble of a model file.

    Raises:
        TreeFormatError: something is missing or contradicts itself.
    """
    learner, steps = learner_of(document, source)
    booster = booster_of(learner, source, steps)
    objective = _objective(document, learner, source, steps)
    at = [*booster.steps, "trees"]
    raw = as_list(booster.model.get("trees"), source, at)
    info = wholes(booster.model.get("tree_info"), source, [*booster.steps, "tree_info"]).tolist()
    if not 0 < len(raw) <= limits.TREES:
        raise refused(
            source, at, f"contains {len(raw):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    if len(info) != len(raw) or not all(0 <= output < objective.outputs for output in info):
        raise refused(
            source, [*booster.steps, "tree_info"], "does not state the output of each tree"
        )
    if booster.weights is not None and len(booster.weights) != len(raw):
        raise refused(
            source, [*booster.steps[:-2], "weight_drop"], "does not have a weight for each tree"
        )
    joined_columns = joined(
        [arrays_of(tree, source, [*at, index]) for index, tree in enumerate(raw)], source, at
    )
    features = _features(learner, booster, joined_columns, source, steps)
    first = _first_round(booster, objective, source)
    people = [
        _people(xgboost_nodes, objective, info[index], index < first)
        for index, xgboost_nodes in enumerate(joined_columns.each)
    ]
    forest = forest_of(joined_columns, features, [counts for counts, _ in people], source, at)
    trees = forest.trees(
        features, [quality for _, quality in people], source, lambda tree: f"{source}: tree {tree}"
    )
    ensemble = _ensemble(
        trees,
        joined_columns.each,
        info,
        booster=booster,
        objective=objective,
        features=features,
        source=source,
    )
    ensemble = replace(
        ensemble,
        notes=(
            *ensemble.notes,
            *_of_outputs(objective, source),
            *_stopped(learner, _rounds(booster, first), source),
        ),
        growth=growth_of(
            joined_columns,
            objective,
            info,
            first,
            document,
            learner,
            is_dart=booster.weights is not None,
        ),
    )
    is_plain = booster.weights is None and first == 1 and objective.name in SQUARED
    return replace(ensemble, shrinkage=shrinkage_in(document, learner)) if is_plain else ensemble


def _ensemble(
    trees: list[Tree],
    tree_nodes: Sequence[XgboostNodes],
    info: list[int],
    booster: Booster,
    objective: Objective,
    features: tuple[Feature, ...],
    source: str,
) -> Ensemble:
    weights = booster.weights or (1.0,) * len(trees)
    members = tuple(
        Member(
            tree,
            weight=weight,
            output=None if arrays.vectors is not None else output,
            name=str(index),
        )
        for index, (tree, arrays, weight, output) in enumerate(
            zip(trees, tree_nodes, weights, info, strict=True)
        )
    )
    return Ensemble(
        members=members,
        combination=Combination.SUM if booster.weights is None else Combination.WEIGHTED_SUM,
        features=features,
        target="",
        classes=objective.classes,
        task=objective.task,
        base=objective.base,
        link=objective.link,
        sampling=TreeSampling(True if differing_roots(trees) else None),
        source=source,
        format="xgboost_model",
        notes=_notes(trees, objective, source),
    )


def _people(
    arrays: XgboostNodes, objective: Objective, output: int, is_first: bool
) -> tuple[Numbers | None, Quality]:
    """Return how many records reached each node of a tree, as far as that is told, and what the numbers are."""
    if arrays.hessians is None or not arrays.hessians.any():
        return None, Quality.ABSENT
    width = 1 if arrays.vectors is None else arrays.vectors.shape[1]
    return objective.people(arrays.hessians, objective.per_record(output, width, is_first))


def _objective(
    document: object, learner: dict[str, object], source: str, steps: Steps
) -> Objective:
    at = [*steps, "objective"]
    said = as_object(learner.get("objective"), source, at)
    name = as_text(said.get("name"), source, [*at, "name"])
    at = [*steps, "learner_model_param"]
    parameters = as_object(learner.get("learner_model_param"), source, at)
    classes = _whole(parameters.get("num_class", "0"), source, [*at, "num_class"])
    targets = max(1, _whole(parameters.get("num_target", "1"), source, [*at, "num_target"]))
    if classes > 1 and targets > 1:
        problem = (
            f"the model has {targets} targets and {classes} classes; give a model with one target"
        )
        raise refused(source, [*at, "num_target"], problem)
    outputs = max(classes, targets, 1)
    text = as_text(parameters.get("base_score"), source, [*at, "base_score"])
    scores = _scores(text)
    if scores is None or len(scores) not in (1, outputs):
        raise refused(source, [*at, "base_score"], f"{text[:40]!r} is not one number per output")
    version = document.get("version") if isinstance(document, dict) else None
    major = version[0] if isinstance(version, list) and version else 0
    objective = Objective(name, outputs, scores, major if isinstance(major, int) else 0, targets)
    try:
        objective.base  # noqa: B018  # computed here once to see that it can be
    except (ValueError, OverflowError) as error:
        raise refused(
            source, [*at, "base_score"], f"{text[:40]!r} is not valid for {name}"
        ) from error
    return objective


def _scores(text: str) -> tuple[float, ...] | None:
    """Return the numbers of ``5E-1`` (versions 1 and 2) or ``[3.8E-1,2E0]`` (version 3)."""
    parts = text.strip().removeprefix("[").removesuffix("]").split(",")
    if not all(NUMBER.fullmatch(part.strip()) for part in parts):
        return None
    found = tuple(map(float, parts))
    return found if all(abs(score) < 1e38 for score in found) else None


def _whole(value: object, source: str, steps: Steps) -> int:
    """Return a number that the file writes as text."""
    text = str(value) if isinstance(value, int) else as_text(value, source, steps)
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) <= limits.CLASSES):
        raise refused(source, steps, f"{text[:40]!r}, but 0 to {limits.CLASSES} is expected")
    return int(text)


def _first_round(booster: Booster, objective: Objective, source: str) -> int:
    """Return how many trees saw no score but the base: those of the first iteration."""
    if "iteration_indptr" in booster.model:
        at = [*booster.steps, "iteration_indptr"]
        ends = wholes(booster.model["iteration_indptr"], source, at).tolist()
        return ends[1] if len(ends) > 1 else 0
    at = [*booster.steps, "gbtree_model_param"]
    parameters = as_object(booster.model.get("gbtree_model_param", {}), source, at)
    parallel = parameters.get("num_parallel_tree", "1")
    return objective.outputs * max(1, _whole(parallel, source, [*at, "num_parallel_tree"]))


def _features(
    learner: dict[str, object], booster: Booster, columns: JoinedColumns, source: str, steps: Steps
) -> tuple[Feature, ...]:
    at = [*steps, "feature_names"]
    names = as_list(learner.get("feature_names", []), source, at)
    kinds = as_list(learner.get("feature_types", []), source, [*steps, "feature_types"])
    asked, inner = columns.features[columns.shape.rows], columns.shape.inner
    sets = set(np.unique(asked[inner & columns.listed]).tolist())
    compared = set(np.unique(asked[inner & ~columns.listed]).tolist())
    if sets & compared:
        mixed = min(sets & compared)
        raise refused(
            source, steps, f"feature {mixed} is both compared with thresholds and looked up in sets"
        )
    size = max([len(names), *(index + 1 for index in sets | compared)])
    if size > limits.FEATURES or (names and len(names) < size):
        raise refused(
            source, at, f"there are {len(names):,} names, but a node tests feature {size - 1:,}"
        )
    texts = [as_text(name, source, at) for name in names] or [f"f{index}" for index in range(size)]
    if len(set(texts)) < len(texts):
        raise refused(source, at, "a name occurs twice")
    known = category_names(booster.model.get("cats"), source, [*booster.steps, "cats"])
    return tuple(
        _feature(name, index in sets or kinds[index : index + 1] == ["c"], known.get(index))
        for index, name in enumerate(texts)
    )


def _feature(name: str, is_set: bool, values: tuple[str, ...] | None) -> Feature:
    if is_set:
        return Feature(name, numeric=False, values=values or ())
    return Feature(name, numeric=True, single=True)


def _of_outputs(objective: Objective, source: str) -> Iterator[str]:
    if objective.targets > 1:
        yield (
            f"{source}: the model predicts {objective.targets} targets (num_target); "
            "treewarden audits models with one"
        )


def _stopped(learner: Mapping[str, object], rounds: int, source: str) -> Iterator[str]:
    """Yield with how many rounds the library's wrapper predicts, where training stopped early and kept the rest."""
    said = learner.get("attributes")
    best = said.get("best_iteration") if isinstance(said, dict) else None
    if best is None:
        return
    text = str(best)
    if not (text.isascii() and text.isdecimal() and len(text) < 8 and int(text) < rounds):
        yield (
            f"{source}: best_iteration is {text[:40]!r}, which is not one of its "
            f"{rounds:,} rounds, so all rounds are judged"
        )
    elif int(text) + 1 < rounds:
        yield (
            f"{source}: the library's scikit-learn wrapper predicts with the first {int(text) + 1:,} of its {rounds:,} "
            f"rounds (best_iteration {int(text)}); all {rounds:,} are published, and all are judged"
        )


def _rounds(booster: Booster, first: int) -> int:
    """Return how many rounds the trees were grown in, the first of which has so many."""
    ends = booster.model.get("iteration_indptr")
    if isinstance(ends, list) and ends:
        return len(ends) - 1
    trees = booster.model.get("trees")
    return -(-len(trees) // max(first, 1)) if isinstance(trees, list) else 0


def _notes(trees: list[Tree], objective: Objective, source: str) -> tuple[str, ...]:
    notes = list(gathered_notes(trees))
    if objective.task is Task.CLASSIFICATION:
        notes.append(f"{source}: XGBoost files contain no class labels, so class numbers are used")
    if objective.link is Link.UNKNOWN:
        notes.append(
            f"{source}: how the objective {objective.name!r} turns scores into predictions is unknown"
        )
    derived = sum(tree.quality is Quality.DERIVED for tree in trees)
    hessian = sum(tree.quality is Quality.HESSIAN for tree in trees)
    if derived:
        notes.append(
            f"{source}: in {derived} of {len(trees)} trees the file probably shows how many people reached each "
            "node (it does if each record had weight 1)"
        )
    if hessian:
        notes.append(
            f"{source}: in {hessian} of {len(trees)} trees the file gives only a range for the number of people "
            "in a node"
        )
    return tuple(notes)
