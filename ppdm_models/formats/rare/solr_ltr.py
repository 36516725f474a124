"""Solr's learning-to-rank trees: scores without any count, numbers written as text."""

from __future__ import annotations

import math

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    compared,
    grown,
    simplest,
    unique,
)
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, Model
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Quality,
    Task,
    Tree,
)

CLASS = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
SLACK = np.float32(1e-6)
"""What Solr adds to every threshold, in 32 bits."""

SIDES = ("left", "right")


class SolrLtr(Format):
    """A MultipleAdditiveTreesModel: the weighted sum of its trees."""

    def sniff(self, data: bytes) -> bool:
        return opens_json(data) == b"{" and CLASS.encode() in data

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Model:
    document = read_part(data, source)
    names = unique(
        (item["name"].text() for item in document["features"]),
        "features",
        source,
        limits.FEATURES,
    )
    features = tuple(Feature(name, numeric=True, single=True) for name in names)
    parts = document["params"]["trees"]
    if not 0 < len(parts) <= limits.TREES:
        raise parts.refused(
            f"contains {len(parts):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    return simplest(
        Ensemble(
            members=tuple(
                Member(_tree(part["root"], features), _single(part["weight"]), name=str(index))
                for index, part in enumerate(parts)
            ),
            combination=Combination.WEIGHTED_SUM,
            features=features,
            target="",
            task=Task.REGRESSION,
            source=source,
            format="solr_ltr",
        )
    )


def _tree(root: JsonPart, features: tuple[Feature, ...]) -> Tree:
    names = {feature.name for feature in features}

    def draft_of(node: JsonPart) -> Draft:
        json_part = node.get("feature")
        if json_part is None:
            return Draft(name=node.pointer, score=_single(node["value"]))
        if json_part.text() not in names:
            raise json_part.refused("this is not one of the features")
        missing = node.get("missing")
        if missing is not None and missing.value not in SIDES:
            raise missing.refused(f"neither {' nor '.join(SIDES)}")
        low, high = compared(json_part.text(), "<=", _threshold(node["threshold"]))
        side = None if missing is None else missing.text()
        return Draft(
            name=node.pointer,
            branches=(
                Branch(node["left"], low, side == "left"),
                Branch(node["right"], high, side == "right"),
            ),
        )

    return Tree(
        nodes=grown(root, draft_of, root.where),
        features=features,
        target="",
        task=Task.REGRESSION,
        quality=Quality.ABSENT,
        missing=Missing.DEFAULT_CHILD,
        source=root.source,
        format="solr_ltr",
    )


def _threshold(part: JsonPart) -> float:
    return float(np.float32(_single(part)) + SLACK)


def _single(part: JsonPart) -> float:
    """Return a 32-bit number, also where it is written as text, as Java does: ``"0.5f"``.

    Raises:
        TreeFormatError: it is no number that 32 bits can hold.
    """
    if not isinstance(part.value, str):
        return part.single()
    try:
        with np.errstate(over="ignore"):
            number = float(np.float32(float(part.text().strip().rstrip("fF"))))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise part.refused("this number does not fit in 32 bits")
    return number


FORMAT = SolrLtr()
