"""The node tables of Spark's trees as JSON lines, one row per node: counts, but no settings, names or weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_json
from treewarden.ppdm_models.formats.common.node_order import bounded, features_named
from treewarden.ppdm_models.formats.spark._nodes import groups_of, nodes_of, tree_of, used_features
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Learner, Task, Tree

ROWS = 300_000
"""The most rows of one file."""

ROUNDED = 1e-6
"""How far an impurity or a mean may be from the one that the statistics give, relative to it."""

MOST = 1e100
"""The largest sum that is believed."""

FEW = 2
"""Up to so many records, their number, sum and sum of squares give each target."""


class SparkRows(Format):
    """Reads what ``spark.read.parquet(".../data").toJSON()`` gives of a saved model."""

    publish_instead = "publish the folder that model.save writes"
    how_to_export = "save it again with model.save, and give the whole folder"

    def sniff(self, data: bytes) -> bool:
        if opens_json(data) != b"{":
            return False
        head = data[:4096]
        return b'"impurityStats"' in head or b"org.apache.spark.ml." in head

    def open(self, data: bytes, source: str) -> Opened:
        rows = _rows(data, source)
        return Opened(_read(rows, source), _leaks(rows))


def _read(rows: list[JsonPart], source: str) -> Model:
    is_single = rows[0].get("nodeData") is None
    groups = groups_of(rows, is_single, rows[0])
    criterion = _criterion(groups)
    size = len(groups[0][0]["impurityStats"])
    classes = tuple(map(str, range(size))) if criterion is not None else ()
    names = tuple(f"f{index}" for index in range(used_features(groups)))
    forest = bounded((nodes_of(group, names, classes, source) for group in groups), source)
    features = features_named(names, (node for nodes in forest for node in nodes), source)
    learner = Learner(criterion=criterion, all_features=is_single, multiway=False, tool=Tool.SPARK)
    trees = [
        tree_of(nodes, group, features, ("", classes), learner, source)
        for nodes, group in zip(forest, groups, strict=True)
    ]
    if not is_single:
        return _ensemble(trees, source)
    return replace(trees[0], notes=(*_notes(source, bool(classes)), *trees[0].notes))


def _leaks(rows: Sequence[JsonPart]) -> Iterator[Leak]:
    nodes = [row.get("nodeData") or row for row in rows]
    if _criterion([nodes]) is not None:
        return
    sizes = [node["impurityStats"].at(0).number() for node in nodes]
    few = [size for size in sizes if 0 < size <= FEW]
    if few:
        what = f"the exact targets of the records of {len(few)} nodes, from their sum and sum of squares"
        yield Leak(LeakKind.EXACT_TARGETS, "", what, records=int(min(few)) or None)


def _rows(data: bytes, source: str) -> list[JsonPart]:
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    if not 0 < len(lines) <= ROWS:
        raise TreeFormatError(
            source, f"contains {len(lines):,} rows; give a model with 1 to {ROWS:,}"
        )
    rows = [
        JsonPart(read_json(line, f"{source}:{number}"), f"{source}:{number}")
        for number, line in enumerate(lines, 1)
    ]
    node = rows[0].get("nodeData") or rows[0]
    if node.get("impurityStats") is None:
        raise TreeFormatError(
            source,
            "it contains no tree, only the metadata of a Spark model; give the folder that "
            "the model was saved to",
        )
    return rows


def _criterion(groups: Sequence[Sequence[JsonPart]]) -> Criterion | None:
    """Return what the impurities are; None where they are variances, so that numbers are predicted.

    Raises:
        TreeFormatError: they are neither.
    """
    rows = [(row, row["impurityStats"].numbers()) for group in groups for row in group]
    size = len(rows[0][1])
    if size < 2 or any(len(stats) != size for _, stats in rows):
        raise rows[0][0].refused(
            "its rows have statistics of different lengths, or of only one number"
        )
    if any(abs(number) > MOST for _, stats in rows for number in stats):
        raise rows[0][0].refused("some statistics are out of range")
    kinds: dict[Criterion, Callable[[Sequence[float]], float]] = {
        Criterion.GINI: _gini,
        Criterion.ENTROPY: _entropy,
    }
    for criterion, impurity in kinds.items():
        if all(_fits(row, stats, impurity(stats)) for row, stats in rows):
            return criterion
    if size == 3 and all(_fits(row, stats, _variance(stats)) for row, stats in rows):
        return None
    raise rows[0][0].refused("the impurities do not agree with the statistics (impurityStats)")


def _fits(row: JsonPart, stats: Sequence[float], expected: float) -> bool:
    said = row["impurity"].number()
    scale = abs(stats[2] / stats[0]) if len(stats) == 3 and stats[0] else 1.0
    return math.isfinite(expected) and abs(said - expected) <= ROUNDED * max(1.0, scale)


def _gini(counts: Sequence[float]) -> float:
    return 1.0 - math.fsum(share**2 for share in _shares(counts)) if _shares(counts) else 0.0


def _entropy(counts: Sequence[float]) -> float:
    return -math.fsum(share * math.log2(share) for share in _shares(counts) if share)


def _shares(counts: Sequence[float]) -> list[float]:
    """Return the shares of classes; none of an empty node, and NaN where a count is negative."""
    total = math.fsum(counts)
    if min(counts) < 0:
        return [math.nan]
    return [count / total for count in counts] if total else []


def _variance(stats: Sequence[float]) -> float:
    number, total, squares = stats
    return (squares - total * total / number) / number if number > 0 else math.nan


def _notes(source: str, classifies: bool) -> tuple[str, ...]:
    what = "its features and classes" if classifies else "its features"
    return (f"{source}: the file does not name {what}, so numbers are used",)


def _ensemble(trees: list[Tree], source: str) -> Ensemble:
    """Return the trees of a forest, or of boosting: of trees for numbers the rows do not tell which."""
    classifies = bool(trees[0].classes)
    unknown = f"{source}: the weights of the trees are in treesMetadata, so their sum is unknown"
    return Ensemble(
        members=tuple(Member(tree, name=str(index)) for index, tree in enumerate(trees)),
        combination=Combination.AVERAGE if classifies else Combination.SUM,
        features=trees[0].features,
        target="",
        classes=trees[0].classes,
        task=Task.CLASSIFICATION if classifies else Task.REGRESSION,
        link=Link.IDENTITY if classifies else Link.UNKNOWN,
        source=source,
        notes=_notes(source, classifies) + (() if classifies else (unknown,)),
    )


FORMAT = SparkRows()
