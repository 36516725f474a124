"""The programs that grow trees, as far as it matters which one did."""

from __future__ import annotations

from enum import StrEnum


class Tool(StrEnum):
    """The program that grew a tree, as far as it decides which splits were candidates."""

    UNKNOWN = "unknown"
    POLICY_TREE = "policy-tree"
    RPART = "rpart"
    SCIKIT_LEARN = "scikit-learn"
    SPARK = "spark"
    TREEWARDEN = "treewarden"
    WEKA = "weka"
