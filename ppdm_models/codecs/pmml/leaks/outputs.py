"""Names of results that a PMML file gives its predictions: made of its fields, its values and a few words."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from treewarden.ppdm_models.codecs.common.origin import is_name

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
FUNCTIONS = frozenset(
    (
        *("double", "float", "integer", "int", "string", "boolean", "str", "bool", "missing"),
        *("standard", "scaler", "min", "max", "abs", "robust", "normalizer", "binarizer", "bins"),
        *("power", "quantile", "transformer", "discretizer", "encoder", "ordinal", "target"),
        *("hot", "one", "imputer", "indicator", "eval", "if", "else", "not", "and", "or", "in"),
        *("lookup", "mapping", "alias", "continuous", "categorical", "derived", "field", "log"),
        *("sqrt", "exp", "interaction", "polynomial", "vectorizer", "count", "tf", "idf", "pca"),
        *("lowercase", "uppercase", "numeric", "numpy", "np", "add", "eps", "to", "as", "is", "na"),
        *("k", "bin", "discretize", "cut", "scale", "norm", "normalized", "std"),
    )
)
"""What converters call the functions of the fields that they compute, beside the words of results."""
LONGEST_COMPUTED = 1_000
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


def is_computed_name(name: str, known: AbstractSet[str]) -> bool:
    """Return whether a derived field is called by one word, or by functions of fields and values of the model."""
    if is_result_name(name, known):
        return True
    rest = name if len(name) <= LONGEST_COMPUTED else "?"
    for text in sorted((text for text in known if text and text in name), key=len, reverse=True):
        rest = rest.replace(text, " ") if len(text) > 1 else rest
    words = [word for word in SEPARATORS.split(rest) if word]
    return rest != "?" and all(
        word.lower() in WORDS | FUNCTIONS or len(word) == 1 for word in words
    )
