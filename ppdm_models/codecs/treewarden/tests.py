"""Between the tests of a tree and their entries in our own JSON. Tests nest at most ``limits.TEST_DEPTH`` deep."""

from __future__ import annotations

import math
from typing import assert_never

from treewarden.ppdm_models.codecs.treewarden import document
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


def test_of(entry: document.Test) -> Predicate:
    """Return the test that an entry says.

    Raises:
        ValueError: an interval is empty.
    """
    if isinstance(entry, document.AlwaysTest):
        return Always()
    if isinstance(entry, document.NeverTest):
        return Never()
    if isinstance(entry, document.IntervalTest):
        low = -math.inf if entry.low is None else entry.low
        high = math.inf if entry.high is None else entry.high
        return NumericTest(entry.feature, low, high, entry.low_closed, entry.high_closed)
    if isinstance(entry, document.CategoryTest):
        return CategoryTest(entry.feature, entry.values, entry.negated)
    if isinstance(entry, document.MissingTest):
        return MissingTest(entry.feature, entry.negated)
    if isinstance(entry, document.AllTest):
        return AllOf(tuple(test_of(part) for part in entry.parts))
    if isinstance(entry, document.AnyTest):
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
        raise ValueError(f"no test of JSON says {text(test)[:200]!r}")
    kind = "all" if isinstance(test, AllOf) else "any"
    return {"kind": kind, "parts": tuple(test_entry(part) for part in test.parts)}
