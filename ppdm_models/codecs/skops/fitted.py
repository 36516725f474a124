"""The estimator of a skops file: behind the pipelines around it, with its names, classes and scalers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ppdm_models import limits
from ppdm_models.codecs.sklearn.arrays import class_label
from ppdm_models.codecs.skops.scalers import Scaler, chained, scaler_of
from ppdm_models.codecs.skops.schema import Part

TREES = ("DecisionTree", "ExtraTree")
FORESTS = ("RandomForest", "ExtraTrees")
BOOSTED = ("GradientBoosting",)
KINDS = tuple(
    f"{name}{task}" for name in (*TREES, *FORESTS, *BOOSTED) for task in ("Classifier", "Regressor")
)
READ = "DecisionTree, ExtraTree, RandomForest, ExtraTrees and GradientBoosting estimators are read"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted estimator, with what the pipeline before it does."""

    part: Part
    known: Mapping[str, Part]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    scaler: Scaler | None = None
    notes: tuple[str, ...] = field(default=())

    def plain(self, name: str, default: object = None) -> object:
        """Return one of its settings."""
        return self.known[name].plain() if name in self.known else default


def fitted_of(root: Part) -> Fitted:
    """Return the estimator at the end of the pipelines around it, if any."""
    part, steps = root, list[tuple[str, Part]]()
    while part.kind == "Pipeline":
        named = _steps(part)
        steps.extend(named[:-1])
        part = named[-1][1]
    if part.kind not in KINDS:
        raise part.refused(f"a {part.kind[:60]}; {READ}")
    known = part.attributes()
    features = _feature_count(part, known)
    names = _names(part, known, [step for _, step in steps], features)
    scaler, notes = _prepared(steps, features)
    is_classifier = part.kind.endswith("Classifier")
    classes, said = _classes(part, known) if is_classifier else ((), ())
    return Fitted(part, known, names, classes, scaler, (*notes, *said))


def _steps(pipeline: Part) -> list[tuple[str, Part]]:
    known = pipeline.attributes()
    if "steps" not in known:
        raise pipeline.refused("a pipeline without steps")
    named = []
    for step in known["steps"].items():
        pair = step.items()
        if len(pair) != 2:
            raise step.refused("a step is a name and an estimator")
        named.append((str(pair[0].plain())[:60], pair[1]))
    if not named:
        raise pipeline.refused("a pipeline without steps")
    return named


def _feature_count(part: Part, known: Mapping[str, Part]) -> int:
    count = next(
        (known[name].plain() for name in ("n_features_in_", "n_features_") if name in known), None
    )
    if not isinstance(count, int) or isinstance(count, bool):
        raise part.refused(f"this {part.kind} is not fitted")
    if not 0 < count <= limits.FEATURES:
        raise part.refused(f"{count} features; 1 to {limits.FEATURES:,} are read")
    return count


def _names(
    part: Part, known: Mapping[str, Part], steps: list[Part], features: int
) -> tuple[str, ...]:
    """Return the names of the features: the tree's, or those of the first scaler before it."""
    places = [known]
    if steps and all(step.kind in ("StandardScaler", "MinMaxScaler") for step in steps):
        places.append(steps[0].attributes())
    for place in places:
        if "feature_names_in_" in place:
            found = tuple(str(name) for name in place["feature_names_in_"].array().reshape(-1))
            if len(found) != features or len(set(found)) < features:
                raise part.refused(
                    f"{len(found)} feature names for {features} features, or one twice"
                )
            return found
    return tuple(f"x{place}" for place in range(features))


def _prepared(
    steps: list[tuple[str, Part]], features: int
) -> tuple[Scaler | None, tuple[str, ...]]:
    """Return what the steps before the tree do where that can be undone, and what to say about them."""
    source = steps[0][1].archive.source if steps else ""
    working = [(name, step) for name, step in steps if step.loader == "ObjectNode"]
    if not working:
        return None, ()
    scalers = [scaler_of(step, features) for _, step in working]
    said = ", ".join(f"{name!r} ({step.kind[:60]})" for name, step in working)
    combined: Scaler | None = None
    for scaler in scalers:
        if scaler is None:
            return None, (
                f"{source}: {said} comes before the tree, so its features and thresholds are not the raw ones",
            )
        combined = scaler if combined is None else chained(combined, scaler)
    return combined, (
        f"{source}: {said} comes before the tree; thresholds are given on raw values",
    )


def _classes(part: Part, known: Mapping[str, Part]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels, and a note where the file does not have them."""
    if "classes_" in known:
        found = known["classes_"].array()
        labels = tuple(class_label(label) for label in found.tolist()) if found.ndim == 1 else ()
        if not 0 < len(labels) <= limits.CLASSES or len(set(labels)) < len(labels):
            raise known["classes_"].refused("no list of different classes")
        return labels, ()
    count = known["n_classes_"].plain() if "n_classes_" in known else None
    if not isinstance(count, int) or not 0 < count <= limits.CLASSES:
        raise part.refused("says neither its classes nor how many there are")
    note = (
        f"{part.archive.source}: the labels of the classes are not in the file; they are numbered"
    )
    return tuple(map(str, range(count))), (note,)
