"""Spark ML."""

from __future__ import annotations

PRINTED = (
    b"ClassificationModel",
    b"RegressionModel",
    b"DecisionTreeModel",
    b"TreeEnsembleModel",
)
"""How the first line of a printed model names it."""
ROWS = (b'"impurityStats"', b"org.apache.spark.ml.")


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    is_printed = any(name in data[:700] for name in PRINTED)
    return (
        is_printed
        or (data[:2] == b"PK" and b"metadata/part-" in data)
        or any(word in data[:4096] for word in ROWS)
    )
