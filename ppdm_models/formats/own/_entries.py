"""Trees as entries of our own JSON, and back: the same tree gives the same bytes.

Tests nest at most ``limits.TEST_DEPTH`` deep.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import assert_never

from pydantic import ValidationError

from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats.common.origin import is_marker
from treewarden.ppdm_models.formats.own import _document
from treewarden.ppdm_models.formats.own._document import FeatureEntry, TreatmentEntry, TreeDocument
from treewarden.ppdm_models.tree.column import Treatment
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
    text,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Node, Tree


def test_of(entry: _document.Test) -> Predicate:
    """Return the test that an entry says.

    Raises:
        ValueError: an interval is empty.
    """
    if isinstance(entry, _document.AlwaysTestEntry):
        return Always()
    if isinstance(entry, _document.NeverTestEntry):
        return Never()
    if isinstance(entry, _document.IntervalTestEntry):
        low = -math.inf if entry.low is None else entry.low
        high = math.inf if entry.high is None else entry.high
        return NumericTest(entry.feature, low, high, entry.low_closed, entry.high_closed)
    if isinstance(entry, _document.CategoryTestEntry):
        return CategoryTest(entry.feature, entry.values, entry.negated)
    if isinstance(entry, _document.MissingTestEntry):
        return MissingTest(entry.feature, entry.negated)
    if isinstance(entry, _document.AllTestEntry):
        return AllOf(tuple(test_of(part) for part in entry.parts))
    if isinstance(entry, _document.AnyTestEntry):
        return AnyOf(tuple(test_of(part) for part in entry.parts))
    assert_never(entry)


def test_entry(test: Predicate) -> dict[str, object]:
    """Return the entry of a test."""
    if isinstance(test, Always | Never):
        return {"kind": "always" if isinstance(test, Always) else "never"}
    if isinstance(test, NumericTest):
        return {
            "kind": "interval",
            "feature": test.feature,
            "low": None if test.low == -math.inf else test.low,
            "high": None if test.high == math.inf else test.high,
            "low_closed": test.low_closed,
            "high_closed": test.high_closed,
        }
    if isinstance(test, CategoryTest):
        return {
            "kind": "category",
            "feature": test.feature,
            "values": test.values,
            "negated": test.negated,
        }
    if isinstance(test, MissingTest):
        return {"kind": "missing", "feature": test.feature, "negated": test.negated}
    if not isinstance(test, AllOf | AnyOf):
        raise ValueError(
            f"treewarden's JSON format cannot store this condition: {text(test)[:200]}; use PMML"
        )
    kind = "all" if isinstance(test, AllOf) else "any"
    return {"kind": kind, "parts": tuple(test_entry(part) for part in test.parts)}


# What becomes of a feature's values before the tests see them, in our own JSON.


def treatment_of(entry: TreatmentEntry, feature: FeatureEntry, source: str) -> Treatment:
    """Return a treatment.

    Raises:
        TreeFormatError: a number is treated as a category, or the other way round.
    """
    kind = float if feature.type == "numeric" else str
    replaced = () if entry.replacement is None else (entry.replacement,)
    known = (*entry.values, *entry.invalid, *entry.missing, *replaced)
    if not all(isinstance(value, kind) for value in known):
        raise TreeFormatError(
            source,
            f"the entry for invalid or missing values of {feature.name!r} contains values that are not "
            f"{feature.type}",
        )
    intervals = tuple(
        (_or(item.low, -math.inf), item.low_closed, _or(item.high, math.inf), item.high_closed)
        for item in entry.intervals
    )
    return Treatment(
        intervals=intervals,
        values=entry.values,
        invalid=entry.invalid,
        missing=entry.missing,
        when_invalid=entry.when_invalid,
        replacement=entry.replacement,
        outliers=entry.outliers,
        low=_or(entry.low, -math.inf),
        high=_or(entry.high, math.inf),
        needs_value=entry.needs_value,
    )


def odd_treatments(tree: Tree) -> tuple[Leak, ...]:
    """Return that treatments name values which no feature declares and that are no sign for no value."""
    odd = [
        feature.name
        for feature in tree.features
        for treatment in feature.treatments
        for value in (
            *(*treatment.values, *treatment.invalid, *treatment.missing),
            *([] if treatment.replacement is None else [treatment.replacement]),
        )
        if isinstance(value, str) and value not in feature.values and not is_marker(value)
    ]
    if not odd:
        return ()
    what = f"{len(odd)} values in treatments that no feature declares: check them"
    return (Leak(LeakKind.UNKNOWN, "/features", what),)


def treatment_entry(treatment: Treatment) -> dict[str, object]:
    """Return a treatment as it stands in the document: infinite ends are left out."""
    intervals = tuple(
        {
            "low": _finite(low),
            "low_closed": low_closed,
            "high": _finite(high),
            "high_closed": high_closed,
        }
        for low, low_closed, high, high_closed in treatment.intervals
    )
    ends = {"low": _finite(treatment.low), "high": _finite(treatment.high)}
    return {**asdict(treatment), "intervals": intervals, **ends}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _or(value: float | None, infinite: float) -> float:
    return infinite if value is None else value


def written(tree: Tree) -> bytes:
    """Return the tree as JSON.

    Raises:
        OutputError: two nodes have the same name, or the tree holds what JSON cannot.
    """
    names = [node.name for node in tree.nodes]
    if len(set(names)) < len(names):
        raise OutputError(tree.source, "two nodes have the same name; rename one")
    try:
        return _laid_out(_entry(tree).model_dump(mode="json")).encode()
    except (ValidationError, ValueError) as error:
        raise OutputError(tree.source, f"the tree cannot be written as JSON ({error})") from error


def _entry(tree: Tree) -> TreeDocument:
    return TreeDocument.model_validate(
        {
            "format": "treewarden-tree",
            "version": 1,
            "target": tree.target,
            "task": tree.task,
            "classes": tree.classes,
            "features": tuple(
                {
                    "name": feature.name,
                    "type": "numeric" if feature.numeric else "categorical",
                    "values": feature.values,
                    "single": feature.single,
                    "treatments": tuple(map(treatment_entry, feature.treatments)) or None,
                }
                for feature in tree.features
            ),
            "learner": {
                "criterion": tree.learner.criterion,
                "min_leaf_records": tree.learner.min_leaf_records,
                "all_features": tree.learner.all_features,
                "multiway": tree.learner.multiway,
                "tool": tree.learner.tool,
                "max_bins": tree.learner.max_bins,
                "sets": tree.learner.sets,
                "unmodelled": tree.learner.unmodelled,
                "claim": None if tree.learner.claim is None else tree.learner.claim.words,
                "draws_cuts": tree.learner.draws_cuts or None,
                "lists_columns": None
                if tree.learner.lists_columns is tree.learner.usually_lists_columns
                else tree.learner.lists_columns,
            },
            "quality": tree.quality,
            "missing": tree.missing,
            "no_true_child": tree.no_true_child,
            "nodes": tuple(_node_entry(tree, node) for node in tree.nodes),
        }
    )


def _node_entry(tree: Tree, node: Node) -> dict[str, object]:
    counts = node.class_counts
    shares = node.class_shares if counts is None else None
    return {
        "id": node.name,
        "parent": None if node.parent is None else tree.nodes[node.parent].name,
        "test": test_entry(node.test),
        "score": node.score,
        "records": node.records,
        "class_counts": None if counts is None else dict(zip(tree.classes, counts, strict=True)),
        "class_shares": None if shares is None else dict(zip(tree.classes, shares, strict=True)),
        "bands": None if node.bands is None else dict(zip(tree.classes, node.bands, strict=True)),
        "impurity": None if node.impurity is None else asdict(node.impurity),
        "default_child": None
        if node.default_child is None
        else tree.nodes[node.default_child].name,
    }


def _laid_out(document: dict[str, object]) -> str:
    """Lay the document out for people and for diffs: one line per key, and per node and feature; nulls left out."""
    lines = []
    for key, value in document.items():
        if key in ("nodes", "features") and isinstance(value, list):
            entries = ",\n    ".join(_compact(entry) for entry in value)
            lines.append(f'  "{key}": [\n    {entries}\n  ]' if value else f'  "{key}": []')
        else:
            lines.append(f'  "{key}": {_compact(value, keep_null=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: object, keep_null: bool = False) -> str:
    if isinstance(value, dict) and not keep_null:
        value = {key: inner for key, inner in value.items() if inner is not None}
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
