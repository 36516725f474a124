"""A saved Spark model written from its trees alone: settings that decide them, names, and node tables.

Nodes are numbered anew in preorder, impurities and gains are computed from the statistics, and stages, columns and
files get names of their own. What is accounted for in full has nothing else: no seed, no time, no further stage.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.json_layout import UnwritableError
from treewarden.ppdm_models.formats.common.origin import VERSION
from treewarden.ppdm_models.formats.common.shapes import is_flag, is_setting
from treewarden.ppdm_models.formats.spark._folders import PipelineStage, SavedModel
from treewarden.ppdm_models.formats.spark._nodes import are_weighed
from treewarden.ppdm_models.limits import archive_of
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model

ML = "org.apache.spark.ml."
PIPELINE, INDEXER, ASSEMBLER = "PipelineModel", "StringIndexerModel", "VectorAssembler"
NUMBERS = (
    *("maxBins", "maxDepth", "minInfoGain", "minInstancesPerNode", "minWeightFractionPerNode"),
    *("maxIter", "numTrees", "stepSize", "subsamplingRate", "bootstrap"),
)
WORDS = {
    "impurity": ("gini", "entropy", "variance"),
    "lossType": ("logistic", "squared", "absolute"),
}
KEPT = (*NUMBERS, *WORDS)
"""Settings that decide trees, and what they may be: numbers of few digits, flags, and words."""
CHANGING = ("thresholds", "weightCol", "validationIndicatorCol")
"""Settings that change what is predicted or which records trees saw."""
COLUMNS = {
    "featuresCol": "features",
    "predictionCol": "prediction",
    "probabilityCol": "probability",
    "rawPredictionCol": "rawPrediction",
}
MEMBERS = (
    "classification.DecisionTreeClassificationModel",
    "regression.DecisionTreeRegressionModel",
)
NO_CHILD = -1
SPLIT = pa.struct(
    [
        pa.field("featureIndex", pa.int32(), nullable=False),
        pa.field("leftCategoriesOrThreshold", pa.list_(pa.field("element", pa.float64(), False))),
        pa.field("numCategories", pa.int32(), nullable=False),
    ]
)
STATISTICS = pa.list_(pa.field("element", pa.float64(), nullable=False))


def plain_archive(saved: SavedModel, model: Model) -> bytes:
    """Return the archive of a saved model with its trees, names and settings, and nothing else.

    Raises:
        UnwritableError: it has stages, weights or settings that the trees do not hold.
    """
    stage = saved.trees()
    others = [each for each in saved.stages if each is not stage]
    kinds = sorted(each.kind for each in others)
    has_indexer, has_assembler = INDEXER in kinds, ASSEMBLER in kinds
    expected = sorted(
        [PIPELINE] * bool(kinds) + [INDEXER] * has_indexer + [ASSEMBLER] * has_assembler
    )
    if kinds != expected:
        odd = next((kind for kind in kinds if kind not in expected), kinds[0])
        raise UnwritableError(
            f"more stages than one that names classes and one that names features ({odd})"
        )
    notes = " ".join(model.notes)
    if (
        has_assembler
        and "does not name its features" in notes
        or "thresholds are in its terms" in notes
    ):
        raise UnwritableError("pipeline stages before the tree that change its features")
    if has_indexer and (not model.classes or "does not name its classes" in notes):
        raise UnwritableError("names of classes that are not those of its target")
    writer = _SparkWriter(saved, stage, model)
    return archive_of(writer.files(has_indexer=has_indexer, has_assembler=has_assembler))


@dataclass(frozen=True, slots=True)
class _SparkWriter:
    """Writes the files of one model."""

    saved: SavedModel
    stage: PipelineStage
    model: Model

    def files(self, *, has_indexer: bool, has_assembler: bool) -> dict[str, bytes]:
        if not has_indexer and not has_assembler:
            return dict(self._trees("", self.model.target or "label"))
        found: dict[str, bytes] = {}
        names = ["indexer"] * has_indexer + ["assembler"] * has_assembler + ["trees"]
        whole = self._metadata("PipelineModel", "pipeline", {"stageUids": names}, {})
        found |= {"metadata/part-00000": whole}
        for place, name in enumerate(names):
            folder = f"stages/{place}_{name}/"
            if name == "indexer":
                found |= self._indexer(folder)
            elif name == "assembler":
                found[f"{folder}metadata/part-00000"] = self._assembler()
            else:
                label = "label" if has_indexer else self.model.target or "label"
                found |= dict(self._trees(folder, label))
        return found

    def _metadata(
        self,
        kind: str,
        uid: str,
        params: Mapping[str, object],
        defaults: Mapping[str, object],
        **more: object,
    ) -> bytes:
        version = self.stage.metadata["sparkVersion"].text()
        if VERSION.fullmatch(version) is None:
            raise UnwritableError("its version of Spark")
        document = {
            "class": f"{ML}{kind}",
            "timestamp": 0,
            "sparkVersion": version,
            "uid": uid,
            "paramMap": params,
            "defaultParamMap": defaults,
            **more,
        }
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass") + b"\n"

    def _indexer(self, folder: str) -> dict[str, bytes]:
        params = {"inputCol": self.model.target, "outputCol": "label"}
        defaults = {"handleInvalid": "error", "stringOrderType": "frequencyDesc"}
        labels = pa.list_(pa.list_(pa.string()))
        rows = pa.table(
            {"labelsArray": pa.array([[list(self.model.classes)]], labels)},
        )
        return {
            f"{folder}metadata/part-00000": self._metadata(
                f"feature.{INDEXER}", "indexer", params, defaults
            ),
            f"{folder}data/part-00000.parquet": _parquet(rows),
        }

    def _assembler(self) -> bytes:
        params = {
            "inputCols": [feature.name for feature in self.model.features],
            "outputCol": "features",
        }
        return self._metadata(
            f"feature.{ASSEMBLER}", "assembler", params, {"handleInvalid": "error"}
        )

    def _trees(self, folder: str, label: str) -> Iterator[tuple[str, bytes]]:
        stage, kind = self.stage, self.stage.kind
        is_class = kind.endswith("ClassificationModel")
        room = "classification" if is_class else "regression"
        if stage.metadata["class"].text() != f"{ML}{room}.{kind}":
            raise UnwritableError("the name of its class")
        defaults = _columns(label, are_classes=is_class)
        sizes = {
            name: part.whole()
            for name in ("numFeatures", "numClasses", "numTrees")
            if (part := stage.metadata.get(name)) is not None
        }
        settings = _settings(stage)
        whole = self._metadata(f"{room}.{kind}", "trees", settings, defaults, **sizes)
        yield f"{folder}metadata/part-00000", whole
        is_single = kind.startswith("DecisionTree")
        rows = self.saved.rows(stage, "data")
        yield f"{folder}data/part-00000.parquet", _parquet(_node_table(rows, self.model, is_single))
        if not is_single:
            of_classes = is_class and not kind.startswith("GBT")
            inner = MEMBERS[0 if of_classes else 1]
            one = {
                name: held
                for name, held in settings.items()
                if name in ("impurity", "maxBins", "maxDepth", "minInfoGain", "minInstancesPerNode")
            }
            rows = self.saved.rows(stage, "treesMetadata")
            yield (
                f"{folder}treesMetadata/part-00000.parquet",
                _parquet(
                    self._tree_metadata(rows, inner, one, _columns(label, are_classes=of_classes))
                ),
            )

    def _tree_metadata(
        self,
        rows: Sequence[JsonPart],
        kind: str,
        settings: Mapping[str, object],
        defaults: Mapping[str, object],
    ) -> pa.Table:
        numbered = rows[0].get("treeID") is None
        names = ("_1", "_2", "_3") if numbered else ("treeID", "metadata", "weights")
        weights = {row[names[0]].whole(): row[names[2]].number() for row in rows}
        numbers = sorted(weights)
        told = [
            self._metadata(kind, f"tree{number}", settings, defaults).decode().rstrip("\n")
            for number in numbers
        ]
        return pa.table(
            [
                pa.array(numbers, pa.int32()),
                pa.array(told, pa.string()),
                pa.array([weights[number] for number in numbers], pa.float64()),
            ],
            names=names,
        )


def _columns(label: str, *, are_classes: bool) -> dict[str, object]:
    """Return the names of the columns that a model reads and makes."""
    names = COLUMNS if are_classes else ("featuresCol", "predictionCol")
    return {**{name: COLUMNS[name] for name in names}, "labelCol": label}


def _settings(stage: PipelineStage) -> dict[str, object]:
    """Return the settings that decide trees.

    Raises:
        UnwritableError: one of them is none that Spark has, or another changes what is predicted.
    """
    for name in CHANGING:
        part = stage.setting(name)
        if part is not None and part.value not in ("", None):
            raise UnwritableError(f"the setting {name}")
    found: dict[str, object] = {}
    for name in KEPT:
        part = stage.setting(name)
        if part is None:
            continue
        value = part.value
        is_known = value in WORDS[name] if name in WORDS else is_setting(value) or is_flag(value)
        if not is_known:
            raise UnwritableError(f"the setting {name}")
        found[name] = value
    return dict(sorted(found.items()))


def _parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(
        table,
        out,
        compression="NONE",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )
    return out.getvalue()


def _node_table(rows: Sequence[JsonPart], model: Model, is_single: bool) -> pa.Table:
    """Return the nodes of all trees, those of one tree numbered in preorder."""
    groups: dict[int, list[JsonPart]] = {}
    for row in rows:
        number, part = (0, row) if is_single else (row["treeID"].whole(), row["nodeData"])
        groups.setdefault(number, []).append(part)
    boosted = isinstance(model, Ensemble) and model.growth is not None
    classes = () if boosted else model.classes
    if any(are_weighed(group, classes) for group in groups.values()):
        raise UnwritableError("weights of records")
    criterion = "variance" if not classes else _criterion(model)
    numbers: list[int] = []
    nodes: list[dict[str, object]] = []
    for number, group in sorted(groups.items()):
        for node in _preorder(group, criterion):
            numbers.append(number)
            nodes.append(node)
    has_counts = all("rawCount" in node for node in nodes)
    fields = [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("prediction", pa.float64(), nullable=False),
        pa.field("impurity", pa.float64(), nullable=False),
        pa.field("impurityStats", STATISTICS),
        *([pa.field("rawCount", pa.int64(), nullable=False)] if has_counts else []),
        pa.field("gain", pa.float64(), nullable=False),
        pa.field("leftChild", pa.int32(), nullable=False),
        pa.field("rightChild", pa.int32(), nullable=False),
        pa.field("split", SPLIT),
    ]
    if is_single:
        return pa.Table.from_pylist(nodes, pa.schema(fields))
    whole = pa.struct(fields)
    return pa.table(
        [pa.array(numbers, pa.int32()), pa.array(nodes, whole)],
        schema=pa.schema([pa.field("treeID", pa.int32(), nullable=False), ("nodeData", whole)]),
    )


def _criterion(model: Model) -> str:
    learner = model.members[0].model.learner if isinstance(model, Ensemble) else model.learner  # type: ignore[union-attr]  # trees alone
    if learner.criterion is None:
        raise UnwritableError("no criterion of its splits")
    return str(learner.criterion)


def _preorder(rows: Sequence[JsonPart], criterion: str) -> Iterator[dict[str, object]]:
    """Yield the nodes of one tree, parents first and left before right."""
    by_id = {row["id"].whole(): row for row in rows}
    order, pending = [], [0]
    while pending:
        number = pending.pop()
        order.append(number)
        row = by_id[number]
        if row["leftChild"].whole(low=NO_CHILD) != NO_CHILD:
            pending += [row["rightChild"].whole(), row["leftChild"].whole()]
    place = {number: at for at, number in enumerate(order)}
    for number in order:
        row = by_id[number]
        left, right = row["leftChild"].whole(low=NO_CHILD), row["rightChild"].whole(low=NO_CHILD)
        stats = list(row["impurityStats"].numbers())
        impurity, gain = _impurity(stats, criterion), -1.0
        split: dict[str, object] = {
            "featureIndex": -1,
            "leftCategoriesOrThreshold": [],
            "numCategories": -1,
        }
        if left != NO_CHILD:
            gain = impurity - sum(
                _size(own, criterion) / _size(stats, criterion) * _impurity(own, criterion)
                for own in (
                    list(by_id[child]["impurityStats"].numbers()) for child in (left, right)
                )
            )
            asked = row["split"]
            split = {
                "featureIndex": asked["featureIndex"].whole(),
                "leftCategoriesOrThreshold": sorted(
                    part.number() + 0.0 for part in asked["leftCategoriesOrThreshold"]
                ),
                "numCategories": asked["numCategories"].whole(low=-1),
            }
        node: dict[str, object] = {
            "id": place[number],
            "prediction": row["prediction"].number() + 0.0,
            "impurity": impurity,
            "impurityStats": stats,
            "gain": gain,
            "leftChild": place.get(left, NO_CHILD),
            "rightChild": place.get(right, NO_CHILD),
            "split": split,
        }
        counted = row.get("rawCount")
        if counted is not None and counted.value != NO_CHILD:
            node["rawCount"] = counted.whole()
        yield node


def _size(stats: Sequence[float], criterion: str) -> float:
    return stats[0] if criterion == "variance" else math.fsum(stats)


def _impurity(stats: Sequence[float], criterion: str) -> float:
    """Return how mixed the records of a node are, by their statistics."""
    total = _size(stats, criterion)
    if not total > 0:
        return 0.0
    if criterion == "variance":
        return (stats[2] - stats[1] * stats[1] / total) / total
    shares = [part / total for part in stats if part > 0]
    if criterion == "gini":
        return 1.0 - math.fsum(share * share for share in shares)
    return -math.fsum(share * math.log2(share) for share in shares)
