"""What a saved Spark model tells beside its trees: when it was trained, from which seed, and single targets."""

from __future__ import annotations

from collections.abc import Iterator

from ppdm_models.formats._spark_files import Saved, Stage
from ppdm_models.leaks import Leak, LeakKind

FEW = 2
"""Up to so many records, their number, sum and sum of squares give each target."""


def leaks_of(saved: Saved) -> tuple[Leak, ...]:
    """Return what the files give away, in name order.

    Raises:
        TreeFormatError: a stage is malformed.
    """
    found = [leak for stage in saved.stages for leak in _of_stage(saved, stage)]
    return (*found, *_targets(saved, saved.trees()))


def _of_stage(saved: Saved, stage: Stage) -> Iterator[Leak]:
    where = f"{stage.folder}metadata"
    if stage.metadata.get("timestamp") is not None:
        yield Leak(LeakKind.TIMESTAMP, where, f"when the {stage.kind} was saved")
    if stage.metadata.get("uid") is not None:
        yield Leak(LeakKind.IDENTIFIER, where, f"the name of the {stage.kind} among all others")
    if stage.setting("seed") is not None:
        yield Leak(LeakKind.REPLAY, where, "the random seed, beside all parameters")
    if stage.kind == "StringIndexerModel":
        what = "all values of a column, the most frequent first"
        yield Leak(LeakKind.CATEGORIES, f"{stage.folder}data", what)


def _targets(saved: Saved, stage: Stage) -> Iterator[Leak]:
    """Yield one leak where the sums of a decision tree for numbers are of one or two records."""
    if stage.kind != "DecisionTreeRegressionModel":
        return
    sizes = [row["impurityStats"].at(0).number() for row in saved.rows(stage, "data")]
    few = [size for size in sizes if 0 < size <= FEW]
    if few:
        what = f"the exact targets of the records of {len(few)} nodes, from their sum and sum of squares"
        yield Leak(
            LeakKind.EXACT_TARGETS, f"{stage.folder}data", what, records=int(min(few)) or None
        )
