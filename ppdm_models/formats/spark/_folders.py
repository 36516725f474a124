"""The folders of a saved Spark model: its trees, settings, names, how its leaves were made, and its side channels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import JsonPart, read_part
from treewarden.ppdm_models.formats.common.node_order import unique
from treewarden.ppdm_models.formats.common.origin import stray_files
from treewarden.ppdm_models.formats.spark._nodes import are_weighed
from treewarden.ppdm_models.limits import entries
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, GrownTree, stated_fact
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Tree

ROWS = 1_000_000
"""The most rows of one table."""

VALUES = 10_000_000
"""The most values of one table: a few bytes can stand for many equal ones."""

KINDS = (
    "DecisionTreeClassificationModel",
    "DecisionTreeRegressionModel",
    "RandomForestClassificationModel",
    "RandomForestRegressionModel",
    "GBTClassificationModel",
    "GBTRegressionModel",
)


@dataclass(frozen=True, slots=True)
class PipelineStage:
    """One saved part of a pipeline: its kind, its metadata, and the folder it stands in (``""`` or ending in ``/``)."""

    kind: str
    metadata: JsonPart
    folder: str

    def setting(self, name: str) -> JsonPart | None:
        """Return a parameter, the default where it was not set."""
        for key in ("paramMap", "defaultParamMap"):
            group = self.metadata.get(key)
            json_part = None if group is None else group.get(name)
            if json_part is not None:
                return json_part
        return None

    def text(self, name: str) -> str:
        """Return a parameter that is text; empty where it is not there."""
        json_part = self.setting(name)
        return "" if json_part is None else json_part.text()


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A saved model: its stages in name order, and its files."""

    stages: tuple[PipelineStage, ...]
    files: dict[str, bytes]
    source: str

    def trees(self) -> PipelineStage:
        """Return the stage that holds the trees.

        Raises:
            TreeFormatError: there is none, or there are several.
        """
        pipeline_stages = [stage for stage in self.stages if stage.kind in KINDS]
        if len(pipeline_stages) != 1:
            raise TreeFormatError(
                self.source,
                f"the pipeline has {len(pipeline_stages)} tree models; give a pipeline with one",
            )
        return pipeline_stages[0]

    def rows(self, stage: PipelineStage, table: str) -> list[JsonPart]:
        """Return the rows of a table (``data``, ``treesMetadata``) of a stage, all parts together.

        Raises:
            TreeFormatError: there is no such table, it cannot be read, or it is too large.
        """
        start = f"{stage.folder}{table}/"
        names = sorted(
            name
            for name in self.files
            if name.startswith(start)
            and name.endswith(".parquet")
            and not name[len(start) :].startswith((".", "_"))
        )
        if not names:
            raise TreeFormatError(
                f"{self.source}: {start}", "it contains no Parquet file; give the whole folder"
            )
        json_parts: list[JsonPart] = []
        for name in names:
            rows = _rows(self.files[name], f"{self.source}: {name}")
            json_parts.extend(
                JsonPart(row, self.source, (name, index)) for index, row in enumerate(rows)
            )
            if len(json_parts) > ROWS:
                raise TreeFormatError(
                    f"{self.source}: {start}",
                    f"more than {ROWS:,} rows, which is the limit; train a smaller model",
                )
        return json_parts


def read_saved(data: bytes, source: str) -> SavedModel:
    """Return the saved model in a zip archive.

    Raises:
        TreeFormatError: the archive or the metadata of a stage cannot be read.
    """
    files = entries(data, source)
    stages = []
    for name in sorted(files):
        folder, found, part = name.rpartition("metadata/")
        if found and part.startswith("part-") and (not folder or folder.endswith("/")):
            lines = files[name].strip().split(b"\n")
            metadata = read_part(lines[0], f"{source}: {name}")
            kind = metadata["class"].text()
            stages.append(PipelineStage(kind.rpartition(".")[2], metadata, folder))
    if not stages:
        raise TreeFormatError(
            source, "it contains no metadata of a Spark model; give the whole folder"
        )
    return SavedModel(tuple(stages), files, source)


def _rows(data: bytes, where: str) -> list[object]:
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        metadata = file.metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        values = sum(
            group.column(index).num_values for group in groups for index in range(group.num_columns)
        )
        if metadata.num_rows > ROWS or size > limits.BYTES or values > VALUES:
            raise TreeFormatError(
                where,
                f"more than {ROWS:,} rows or {VALUES:,} values, which is the "
                "limit; train a smaller model",
            )
        return list(file.read().to_pylist())
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        raise TreeFormatError(where, f"the Parquet file is damaged ({str(error)[:200]})") from error


# What the stages around Spark's trees tell of them: the names of features and classes.


@dataclass(frozen=True, slots=True)
class SparkNames:
    """The names of the features and classes, the target's, and what is to say about them."""

    features: tuple[str, ...]
    classes: tuple[str, ...]
    target: str
    notes: tuple[str, ...]


def read_names(saved: SavedModel, stage: PipelineStage, size: int) -> SparkNames:
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
    return SparkNames(features, classes, target, tuple(notes))


def _features(
    saved: SavedModel, stage: PipelineStage, size: int, notes: list[str]
) -> tuple[str, ...]:
    """Follow the vector of features back to the columns it was made of."""
    json_part = stage.metadata.get("numFeatures")
    size = max(size, 0 if json_part is None else json_part.whole(high=limits.FEATURES))
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
            f"{saved.source}: a stage changed the features ({maker.kind}), so thresholds "
            "refer to the changed values"
        )
    notes.append(
        f"{saved.source}: the file does not name its features, so they are named f0, f1, ..."
    )
    return tuple(f"f{index}" for index in range(size))


def _classes(
    saved: SavedModel, target: str, number: int, notes: list[str]
) -> tuple[str, tuple[str, ...]]:
    maker = _maker(saved, target)
    if maker is not None and maker.kind == "StringIndexerModel":
        labels = _labels(saved, maker, target)
        if labels is not None and len(labels) == number:
            named = unique(
                (label.text() for label in labels), "classes", saved.source, limits.CLASSES
            )
            return _input(maker, target) or target, named
    notes.append(f"{saved.source}: the file does not name its classes, so class numbers are used")
    return target, tuple(str(index) for index in range(number))


def _maker(saved: SavedModel, column: str) -> PipelineStage | None:
    """Return the stage that makes a column."""
    for stage in saved.stages:
        several = stage.setting("outputCols")
        made = [] if several is None else [item.text() for item in several]
        if column and column in (stage.text("outputCol"), *made):
            return stage
    return None


def _place(maker: PipelineStage, column: str) -> int:
    several = maker.setting("outputCols")
    made = [] if several is None else [item.text() for item in several]
    return made.index(column) if column in made else 0


def _input(maker: PipelineStage, column: str) -> str:
    several = maker.setting("inputCols")
    if several is None:
        return maker.text("inputCol")
    return several.at(_place(maker, column)).text()


def _labels(saved: SavedModel, maker: PipelineStage, column: str) -> JsonPart | None:
    """Return the labels of an indexer, the most frequent first."""
    for row in saved.rows(maker, "data"):
        several = row.get("labelsArray")
        return row.get("labels") if several is None else several.at(_place(maker, column))
    return None


# What a saved Spark model of boosted trees tells of how its leaves were made: sums at each node, and the settings.

SAMPLED = "each round used a sample of the records (subsamplingRate)"
STOPPED = "some of the records were held out for early stopping (validationIndicatorCol)"
WEIGHED = "its records were given weights (weightCol)"


def growth_of(
    stage: PipelineStage,
    trees: Sequence[Tree],
    rows: Sequence[Sequence[JsonPart]],
    weights: Sequence[float],
    factor: float,
) -> EnsembleGrowth:
    """Return what tells how the leaves were made; ``rows`` are those of each tree's nodes, in any order.

    What a tree says counts ``factor`` times its weight.
    """
    refused = ""
    rate = stage.setting("subsamplingRate")
    if rate is not None and rate.number() != 1:
        refused = SAMPLED
    elif stage.text("validationIndicatorCol"):
        refused = STOPPED
    elif stage.text("weightCol") or any(are_weighed(row, ()) for row in rows):
        refused = WEIGHED
    step = stage.setting("stepSize")
    facts: dict[str, Fact] = {} if step is None else {"stepSize": stated_fact(step.number())}
    return EnsembleGrowth(
        "spark",
        stage.text("lossType")[:60],
        1,
        tuple((index,) for index in range(len(trees))),
        tuple(
            _tree(tree, json_parts, factor * weight)
            for tree, json_parts, weight in zip(trees, rows, weights, strict=True)
        ),
        (0.0,),
        facts=facts,
        refused=refused,
    )


def _tree(tree: Tree, rows: Sequence[JsonPart], rate: float) -> GrownTree:
    stats = {str(row["id"].whole()): row["impurityStats"].numbers() for row in rows}
    said = {str(row["id"].whole()): row["prediction"].number() for row in rows}
    names = [node.name for node in tree.nodes]
    values = np.array([said[node.name] if node.is_leaf else np.nan for node in tree.nodes])
    counts, sums, squares = (
        np.array([stats[name][place] for name in names], dtype=np.float64) for place in range(3)
    )
    return GrownTree(values * rate, counts=counts, weights=sums, second=squares, rate=rate)


# Side channels of a saved Spark model: when it was trained, from which seed, and single targets.

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
    "VectorIndexerModel": (
        LeakKind.CATEGORIES,
        "all values of columns, including values of a single record",
    ),
    "StandardScalerModel": (
        LeakKind.AVERAGES,
        "the mean and the spread of each feature over all training records",
    ),
    "MinMaxScalerModel": (
        LeakKind.EXTREMES,
        "the smallest and the largest training value of each feature",
    ),
    "MaxAbsScalerModel": (
        LeakKind.EXTREMES,
        "the training value of each feature that is farthest from 0",
    ),
    "RobustScalerModel": (LeakKind.MEDIANS, "the median and the quartiles of each feature"),
    "ImputerModel": (LeakKind.MEDIANS, "the median, mean or most common value of columns"),
}
"""What fitted stages hold of the training records."""


def leaks_of(saved: SavedModel) -> tuple[Leak, ...]:
    """Return what the files give away, in name order.

    Raises:
        TreeFormatError: a stage is malformed.
    """
    leaks = [leak for stage in saved.stages for leak in _of_stage(saved, stage)]
    folders = {stage.folder for stage in saved.stages}

    def is_part(name: str) -> bool:
        part = PART.fullmatch(name)
        return part is not None and part[1] in folders

    return (*leaks, *_targets(saved, saved.trees()), *stray_files(saved.files, is_part))


def _of_stage(saved: SavedModel, stage: PipelineStage) -> Iterator[Leak]:
    where = f"{stage.folder}metadata"
    if stage.metadata.get("timestamp") is not None:
        yield Leak(LeakKind.TIMESTAMP, where, f"when the {stage.kind} was saved")
    if stage.metadata.get("uid") is not None:
        yield Leak(LeakKind.IDENTIFIER, where, f"the name of the {stage.kind} among all others")
    if stage.setting("seed") is not None:
        yield Leak(LeakKind.REPLAY, where, "the random seed and all parameters")
    if stage.kind in OF_STAGES:
        kind, what = OF_STAGES[stage.kind]
        yield Leak(kind, f"{stage.folder}data", what)
    elif stage.kind not in KINDS and any(
        name.startswith(f"{stage.folder}data/") for name in saved.files
    ):
        what = f"a fitted {stage.kind}: treewarden does not inspect what it stores of the training records"
        yield Leak(LeakKind.UNKNOWN, f"{stage.folder}data", what)


def _targets(saved: SavedModel, stage: PipelineStage) -> Iterator[Leak]:
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
