"""What trees of gradient boosting hold of residuals that no prediction needs: variances, means of inner nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from treewarden.ppdm_models.formats.skops._parts import FilePart, SkopsPart
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

LEAF = -1
AVERAGES = "the variances of the residuals in each node and their means in inner nodes, which no prediction needs"


@dataclass(frozen=True, slots=True)
class ResidualArrays:
    """The arrays of a boosted tree, and the descriptions that name their files."""

    nodes: SkopsPart
    values: SkopsPart

    def are_told(self) -> bool:
        """Return whether a node says the variance of its residuals, or an inner one their mean."""
        nodes: Any = self.nodes.array()
        inner = nodes["left_child"] != LEAF
        return bool(nodes["impurity"].any() or self.values.array()[inner].any())


def residual_arrays(trees: Sequence[SkopsPart]) -> Iterator[ResidualArrays]:
    """Yield the arrays of checked trees."""
    for tree in trees:
        state = tree.attributes()["tree_"].attributes()
        yield ResidualArrays(state["nodes"], state["values"])


def residuals_left(estimator: SkopsPart, trees: Sequence[SkopsPart]) -> Iterator[Leak]:
    """Yield that the trees tell of residuals beside the values of their leaves."""
    if any(arrays.are_told() for arrays in residual_arrays(trees)):
        yield Leak(LeakKind.AVERAGES, estimator.place_of("estimators_"), AVERAGES)


def without_residuals(trees: Sequence[FilePart]) -> dict[str, Any]:
    """Return arrays by the name of their file, with 0 for what no prediction needs."""
    cleared: dict[str, Any] = {}
    for arrays in residual_arrays(trees):
        nodes: Any = arrays.nodes.array().copy()
        values: Any = arrays.values.array().copy()
        values[nodes["left_child"] != LEAF] = 0
        nodes["impurity"] = 0
        for part, array in ((arrays.nodes, nodes), (arrays.values, values)):
            assert isinstance(part, FilePart)
            cleared[str(part.raw.get("file"))] = array
    return cleared
