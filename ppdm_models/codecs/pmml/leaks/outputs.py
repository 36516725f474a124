"""Names of results that a PMML file gives its predictions: made of its fields, its values and a few words."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from ppdm_models.codecs.common.origin import is_name

WORDS = frozenset(
    (
        *("probability", "prob", "p", "predicted", "prediction", "predict", "predictedvalue"),
        *("confidence", "conf", "score", "final", "raw", "value", "class", "label", "category"),
        *("entity", "id", "entityid", "node", "nodeid", "leaf", "rank", "affinity", "residual"),
        *("result", "output", "outcome", "response", "target", "decision", "function", "rc"),
        *("decisionfunction", "transformed", "transformedvalue", "of", "internal", "pmml", "y"),
        *("x", "r", "n", "s", "nc", "ncc", "cc", "nd", "log", "odds", "logit", "link", "margin"),
        *("xgbvalue", "lgbmvalue", "catvalue", "gbmvalue", "iforest", "sum", "mean", "average"),
        *("winner", "warning", "into", "from", "unnormalized", "e", "the", "report", "anomaly"),
        *("outlier", "normalized", "normalizedanomalyscore", "rawanomalyscore", "rawpathlength"),
        *("depth", "path", "length", "sample", "term", "model", "segment", "tree", "forest"),
    )
)
SEPARATORS = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
LONGEST = 200


def is_result_name(name: str, known: AbstractSet[str]) -> bool:
    """Return whether a result is called by fields and values of the model (``known``) and by words that are usual."""
    if name in known or is_name(name.strip()):
        return True
    if len(name) > LONGEST:
        return False
    rest = name
    for text in sorted((text for text in known if text and text in name), key=len, reverse=True):
        rest = rest.replace(text, " ") if len(text) > 1 else rest
    if re.search(r"\d{5,}", rest):
        return False
    return all(word.lower() in WORDS or len(word) == 1 for word in SEPARATORS.split(rest) if word)
