"""What a saved Spark model tells beside its trees: when it was trained, from which seed, and single targets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.stray_files import stray_files
from treewarden.ppdm_models.codecs.spark.files import KINDS, Saved, Stage
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

FEW = 2
"""Up to so many records, their number, sum and sum of squares give each target."""

PART = re.compile(
    r"(.*?)(?:metadata|data|treesMetadata)/(?:\.?part-[^/]+|\.?_SUCCESS(?:\.crc)?|[^/]+\.parquet)"
)
OF_STAGES = {
    "StringIndexerModel": (
        LeakKind.CATEGORIES,
        "all values of a column, the most frequent first",
    ),
    "VectorIndexerModel": (LeakKind.CATEGORIES, "all values of columns, those of one record too"),
    "StandardScalerModel": (
        LeakKind.AVERAGES,
        "the mean and the spread of each feature over all training records",
    ),
    "MinMaxScalerModel": (
        LeakKind.EXTREMES,
        "the least and the largest training value of each feature",
    ),
    "MaxAbsScalerModel": (
        LeakKind.EXTREMES,
        "the training value of each feature that is farthest from 0",
    ),
    "RobustScalerModel": (LeakKind.MEDIANS, "the median and the quartiles of each feature"),
    "ImputerModel": (LeakKind.MEDIANS, "the median, mean or commonest value of columns"),
}
"""What fitted stages hold of the training records."""


def leaks_of(saved: Saved) -> tuple[Leak, ...]:
    """Return what the files give away, in name order.

    Raises:
        TreeFormatError: a stage is malformed.
    """
    found = [leak for stage in saved.stages for leak in _of_stage(saved, stage)]
    folders = {stage.folder for stage in saved.stages}

    def is_part(name: str) -> bool:
        part = PART.fullmatch(name)
        return part is not None and part[1] in folders

    return (*found, *_targets(saved, saved.trees()), *stray_files(saved.files, is_part))


def _of_stage(saved: Saved, stage: Stage) -> Iterator[Leak]:
    where = f"{stage.folder}metadata"
    if stage.metadata.get("timestamp") is not None:
        yield Leak(LeakKind.TIMESTAMP, where, f"when the {stage.kind} was saved")
    if stage.metadata.get("uid") is not None:
        yield Leak(LeakKind.IDENTIFIER, where, f"the name of the {stage.kind} among all others")
    if stage.setting("seed") is not None:
        yield Leak(LeakKind.REPLAY, where, "the random seed, beside all parameters")
    if stage.kind in OF_STAGES:
        kind, what = OF_STAGES[stage.kind]
        yield Leak(kind, f"{stage.folder}data", what)
    elif stage.kind not in KINDS and any(
        name.startswith(f"{stage.folder}data/") for name in saved.files
    ):
        what = f"a fitted {stage.kind}: nobody looked at what it keeps of the training records"
        yield Leak(LeakKind.UNKNOWN, f"{stage.folder}data", what)


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
