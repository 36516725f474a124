"""What the stages around Spark's trees tell of them: the names of features and classes."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import unique
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.codecs.spark.files import Saved, Stage


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the features and classes, the target's, and what is to say about them."""

    features: tuple[str, ...]
    classes: tuple[str, ...]
    target: str
    notes: tuple[str, ...]


def read_names(saved: Saved, stage: Stage, size: int) -> Names:
    """Return the names for a model that uses ``size`` features at least.

    Raises:
        TreeFormatError: a stage is malformed, or two features or classes have one name.
    """
    notes: list[str] = []
    target = stage.text("labelCol") or "label"
    features = _features(saved, stage, size, notes)
    classes: tuple[str, ...] = ()
    if stage.kind.endswith("ClassificationModel"):
        count = stage.metadata.get("numClasses")
        number = 2 if count is None else count.whole(low=2, high=limits.CLASSES)
        target, classes = _classes(saved, target, number, notes)
    return Names(features, classes, target, tuple(notes))


def _features(saved: Saved, stage: Stage, size: int, notes: list[str]) -> tuple[str, ...]:
    """Follow the vector of features back to the columns it was made of."""
    said = stage.metadata.get("numFeatures")
    size = max(size, 0 if said is None else said.whole(high=limits.FEATURES))
    column, changed = stage.text("featuresCol") or "features", ""
    for _ in saved.stages:
        maker = _maker(saved, column)
        if maker is None:
            break
        listed = maker.setting("inputCols")
        if maker.kind == "VectorAssembler" and listed is not None:
            names = [f"{changed}{item.text()}" for item in listed]
            if len(names) == size:
                return unique(names, "features", saved.source, limits.FEATURES)
            break
        column, changed = maker.text("inputCol"), f"{maker.kind} of {changed}"
        notes.append(
            f"{saved.source}: features went through {maker.kind}; thresholds are in its terms"
        )
    notes.append(f"{saved.source}: does not name its features; they are called f0, f1, ...")
    return tuple(f"f{index}" for index in range(size))


def _classes(
    saved: Saved, target: str, number: int, notes: list[str]
) -> tuple[str, tuple[str, ...]]:
    maker = _maker(saved, target)
    if maker is not None and maker.kind == "StringIndexerModel":
        labels = _labels(saved, maker, target)
        if labels is not None and len(labels) == number:
            named = unique(
                (label.text() for label in labels), "classes", saved.source, limits.CLASSES
            )
            return _input(maker, target) or target, named
    notes.append(f"{saved.source}: does not name its classes; they are called by their numbers")
    return target, tuple(str(index) for index in range(number))


def _maker(saved: Saved, column: str) -> Stage | None:
    """Return the stage that makes a column."""
    for stage in saved.stages:
        several = stage.setting("outputCols")
        made = [] if several is None else [item.text() for item in several]
        if column and column in (stage.text("outputCol"), *made):
            return stage
    return None


def _place(maker: Stage, column: str) -> int:
    several = maker.setting("outputCols")
    made = [] if several is None else [item.text() for item in several]
    return made.index(column) if column in made else 0


def _input(maker: Stage, column: str) -> str:
    several = maker.setting("inputCols")
    if several is None:
        return maker.text("inputCol")
    return several.at(_place(maker, column)).text()


def _labels(saved: Saved, maker: Stage, column: str) -> Part | None:
    """Return the labels of an indexer, the most frequent first."""
    for row in saved.rows(maker, "data"):
        several = row.get("labelsArray")
        return row.get("labels") if several is None else several.at(_place(maker, column))
    return None
