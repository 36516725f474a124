"""Fitted estimators in memory to models: scikit-learn by what it holds, the boosting tools by what they save."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import OpenedFile, open_model
from treewarden.ppdm_models.formats import ESTIMATOR, Rewritable
from treewarden.ppdm_models.formats.sklearn._arrays import class_label, other_columns
from treewarden.ppdm_models.formats.skops._estimator import (
    PRIVATE,
    behind_pipelines,
    fitted_of,
    matrix_before,
)
from treewarden.ppdm_models.formats.skops._models import model_of
from treewarden.ppdm_models.formats.skops._parts import LivePart
from treewarden.ppdm_models.formats.skops._side_channels import leaks_of, of_steps
from treewarden.ppdm_models.formats.skops._table_tests import tree_of_table
from treewarden.ppdm_models.tree.ensemble import (
    Ensemble,
    EnsembleGrowth,
    Model,
    claim_of,
    stated_fact,
    with_claim,
    with_trees,
)
from treewarden.ppdm_models.tree.side_channels import people_named

NOTE = (
    "the audit covers the estimator's trees and its known attributes. A pickle or another "
    "file of it contains more: audit the file that you publish. PMML contains only the "
    "trees"
)
TOOL_NOTE = (
    "the audit covers the file that the library saves. A pickle of the estimator contains "
    "more: audit the file that you publish"
)
IMPORTANCES = "\nfeature_importances:\n"
"""Where LightGBM's text lists how often each feature is used, by name."""
ACCEPTED = (
    "a fitted scikit-learn tree, forest or boosting, alone or at the end of a Pipeline, or a fitted model of XGBoost, "
    "LightGBM or CatBoost"
)
SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
SEARCHED = (
    "the {kind} chose the settings by how well they fit the table, outside the mechanism, and every fit of it spent "
    "epsilon; choose the settings without the table, and fit the estimator once"
)

STEPS_IN_MEMORY = (
    "the steps before the private tree are not inspected in memory for other contents; save the pipeline with skops, "
    "and audit the file that you publish"
)


def open_fitted(estimator: object, *, target: str = "", names: Sequence[str] = ()) -> OpenedFile:
    """Return the model that a fitted estimator is, as if it had been read from a file.

    ``target`` names what it predicts, and ``names`` the columns of the table for an estimator that was fitted on a
    plain array. A scikit-learn estimator is looked at and none of its code runs; a pipeline becomes a model of the
    columns that go into it. The boosting tools save their model in memory, CatBoost in a private folder that is gone
    afterwards: none of it holds the training table. What is rewritten is of the tool's own format, of scikit-learn
    PMML.

    Raises:
        TreeFormatError: it is none of those that are read, not fitted, or has a step that cannot be followed.
    """
    tool = type(estimator).__module__.partition(".")[0]
    if tool in ("sklearn", "treewarden", PRIVATE):
        return _of_sklearn(estimator, target, tuple(names))
    if tool not in TOOLS:
        kind = type(estimator).__name__
        raise TreeFormatError(kind, f"not a supported model; give {ACCEPTED}")
    return _of_tool(estimator, TOOLS[tool], target, tuple(names))


class _InMemory(Rewritable):
    """A scikit-learn estimator; its changed trees are written as PMML, as nothing of it is changed in place."""

    def rewrite(self, changed: Model) -> bytes:
        try:
            return converted(changed, "pmml")
        except OutputError as error:
            advice = "audit can judge it; to change it, fit it with a larger min_samples_leaf or fewer leaves"
            problem = error.problem.partition("; ")[0]
            raise OutputError(error.where, f"{problem}; {advice}") from error


def _of_sklearn(estimator: object, target: str, names: tuple[str, ...]) -> OpenedFile:
    kind = type(estimator).__name__
    if kind in SEARCHES:
        best = getattr(estimator, "best_estimator_", None)
        if best is None:
            raise TreeFormatError(kind, "has no best estimator; call fit first, with refit=True")
        return _of_search(kind, open_fitted(best, target=target, names=names))
    root = LivePart(kind, estimator)
    last = behind_pipelines(root)[0] if kind == "Pipeline" else root
    if last.module.partition(".")[0] in TOOLS and isinstance(last, LivePart):
        return _of_pipeline(root, last, target, names)
    fitted = fitted_of(root, names, strict=True)
    model = _aimed(model_of(fitted), target)
    if fitted.columns is not None:
        model = _doubted(model, STEPS_IN_MEMORY)
    model = replace(model, format=ESTIMATOR, notes=(*model.notes, f"{root.name}: {NOTE}"))
    leaks = (*leaks_of(root, fitted), *people_named(model))
    return OpenedFile(model, leaks, _InMemory(model, leaks))


def _of_search(kind: str, file: OpenedFile) -> OpenedFile:
    """Return the best model of a search, whose claim is no promise: choosing it read the table without noise."""
    model = file.model
    claim = claim_of(model)
    if claim is None:
        return file
    producer = claim.producer
    reasons = (*producer.unprotected, SEARCHED.format(kind=kind))
    claim = replace(claim, producer=replace(producer, unprotected=reasons))
    return replace(file, model=with_claim(model, claim))


def _doubted(model: Model, reason: str) -> Model:
    """Return a model with its claim, where it has one, left open for a reason."""
    claim = claim_of(model)
    if claim is None:
        return model
    reasons = (*claim.producer.unevaluated, reason)
    producer = replace(claim.producer, unevaluated=reasons)
    return with_claim(model, replace(claim, producer=producer))


def _aimed(model: Model, target: str) -> Model:
    """Return a model that names what it predicts."""
    if isinstance(model, Ensemble):
        named = with_trees(model, (replace(tree, target=target) for tree in model.trees))
        return replace(named, target=target, growth=model.growth, sampling=model.sampling)
    return replace(model, target=target)


def _of_pipeline(root: LivePart, last: LivePart, target: str, names: tuple[str, ...]) -> OpenedFile:
    """Return the model of a pipeline that ends in a boosting tool, with its tests on the columns of the table.

    Raises:
        TreeFormatError: a step cannot be followed, or the tool was given categories of its own.
    """
    save = TOOLS[last.module.partition(".")[0]]
    table = matrix_before(root, names)
    if table is None:
        return _of_tool(last.value, save, target, names)
    places = tuple(map(str, range(len(table.columns))))
    file = _of_tool(last.value, save, target, places, is_renamed=True)
    model = file.model
    if not isinstance(model, Ensemble) or not all(feature.numeric for feature in model.features):
        raise last.refused("splits categories of its own behind other steps; encode them in a step")
    table = replace(table, single=any(feature.single for feature in model.features))
    moved = with_trees(model, (tree_of_table(tree, table) for tree in model.trees))
    note = f"{root.name}: thresholds are given on the values before its first step. {NOTE}"
    model = replace(
        moved,
        features=table.features(),
        growth=_without_categories(model.growth),  # the same records stop in the same leaves
        sampling=model.sampling,
        format=ESTIMATOR,
        source=root.name,
        notes=(*model.notes, note),
    )
    leaks = (*of_steps(root, last), *file.leaks)
    return OpenedFile(model, leaks, _InMemory(model, leaks))


def _without_categories(growth: EnsembleGrowth | None) -> EnsembleGrowth | None:
    """Return how trees grew that split numbers only: what steps encode names categories, but LightGBM saw none."""
    if growth is None or growth.library != "lightgbm":
        return growth
    return replace(growth, facts={**growth.facts, "cat_l2": stated_fact(0.0)})


Saved = tuple[bytes, tuple[str, ...]]
"""A model as its tool saves it, and the labels of its classes where it does not save them."""


def _of_tool(
    estimator: Any,  # noqa: ANN401  # of a library that is no dependency
    save: Callable[[Any, tuple[str, ...], bool], Saved],
    target: str,
    names: tuple[str, ...],
    *,
    is_renamed: bool = False,
) -> OpenedFile:
    """Return the model that a boosting tool saves; where it ``is_renamed``, its features have these names."""
    kind = type(estimator).__name__
    try:
        data, classes = save(estimator, names, is_renamed)
    except TreeFormatError:
        raise
    except Exception as error:  # each tool has errors of its own, which are no part of ours
        said = " ".join(str(error).split())[:120]
        raise TreeFormatError(
            kind, f"is not fitted, or cannot be saved ({said}); call fit first"
        ) from error
    file = open_model(data, kind)
    model = replace(file.model, target=target)
    if classes and len(classes) == len(model.classes):
        model = replace(model, classes=classes, notes=tuple(_without_labels(model.notes)))
    return replace(file, model=replace(model, notes=(*model.notes, f"{kind}: {TOOL_NOTE}")))


def _without_labels(notes: Sequence[str]) -> list[str]:
    """Return the notes but the one that the class labels are not published: they are known here."""
    return [note for note in notes if "classes are their numbers" not in note]


def _xgboost(model: Any, names: tuple[str, ...], is_renamed: bool) -> Saved:  # noqa: ANN401  # see _of_tool
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    data = bytes(booster.save_raw("json"))
    if names and (is_renamed or not booster.feature_names):
        document = json.loads(data)
        _check_count(names, booster.num_features())
        document["learner"]["feature_names"] = list(names)
        data = json.dumps(document, ensure_ascii=False).encode()
    return data, _labels(model)


def _lightgbm(model: Any, names: tuple[str, ...], is_renamed: bool) -> Saved:  # noqa: ANN401  # see _of_tool
    booster = model.booster_ if hasattr(model, "booster_") else model
    text = str(booster.model_to_string())
    known = booster.feature_name()
    if names and (is_renamed or known == [f"Column_{place}" for place in range(len(known))]):
        _check_count(names, len(known))
        new = ["_".join(name.split()) for name in names]  # it takes no blanks in a name
        text = text.replace(
            f"\nfeature_names={' '.join(known)}\n", f"\nfeature_names={' '.join(new)}\n", 1
        )
        text = _renamed_importances(text, dict(zip(known, new, strict=True)))
    return text.encode(), _labels(model)


def _renamed_importances(text: str, names: Mapping[str, str]) -> str:
    """Return a model of LightGBM whose list of importances names the features as its trees do."""
    trees, importances, rest = text.partition(IMPORTANCES)
    listed, end, settings = rest.partition("\n\n")
    pairs = [line.partition("=") for line in listed.split("\n")]
    lines = [f"{names.get(name, name)}{sign}{number}" for name, sign, number in pairs]
    return f"{trees}{importances}{chr(10).join(lines)}{end}{settings}"


def _catboost(model: Any, names: tuple[str, ...], is_renamed: bool) -> Saved:  # noqa: ANN401  # see _of_tool
    if not model.is_fitted():
        raise ValueError("no trees")
    with tempfile.TemporaryDirectory(
        prefix="treewarden-"
    ) as folder:  # mode 700; JSON has no other way out
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        data = path.read_bytes()
    known = list(model.feature_names_)
    if names and (is_renamed or known == list(map(str, range(len(known))))):
        _check_count(names, len(known))
        document = json.loads(data)
        for kind in ("float_features", "categorical_features"):
            for feature in document["features_info"].get(kind, ()):
                name = names[feature["flat_feature_index"]]
                held = sorted({**feature, "feature_name": name}.items())  # as the tool orders them
                feature.clear()
                feature.update(held)
        data = json.dumps(document, ensure_ascii=False).encode()
    return data, ()


def _check_count(names: tuple[str, ...], features: int) -> None:
    if len(names) != features:
        raise TreeFormatError("names", other_columns(len(names), features))
    if len(set(names)) < features:
        raise TreeFormatError("names", "two columns have the same name; rename one of them")


def _labels(model: Any) -> tuple[str, ...]:  # noqa: ANN401  # see _of_tool
    found = getattr(model, "classes_", None)
    return () if found is None else tuple(class_label(value) for value in found)


TOOLS: Mapping[str, Callable[[Any, tuple[str, ...], bool], Saved]] = {
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
}
