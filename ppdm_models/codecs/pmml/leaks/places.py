"""Where elements of PMML are evaluated: what each may hold, and of what it may hold one at most.

An element that stands elsewhere is read by nothing, whatever it is called: a whole tree inside a node, for instance,
predicts nothing and was audited by nobody.
"""

from __future__ import annotations

from treewarden.ppdm_models.codecs.common.xml import is_model

EXPRESSIONS = frozenset(
    (
        *("FieldRef", "Constant", "NormContinuous", "NormDiscrete", "Discretize", "MapValues"),
        *("Apply", "TextIndex"),
    )
)
PREDICATES = frozenset(
    (
        *("SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "CompositePredicate"),
        *("True", "False"),
    )
)
TREES = frozenset(("TreeModel", "DecisionTree"))
REGRESSIONS = frozenset(("RegressionModel", "Regression"))
MEMBERS = TREES | REGRESSIONS | {"MiningModel"}
HOLDERS = frozenset(("", "PMML", "Segment", "MiningModel", "Segmentation"))
"""What holds models: an element of an unknown kind in there may be a part of the model."""
_MODEL = frozenset(
    (
        *("MiningSchema", "Output", "ModelStats", "Targets", "LocalTransformations"),
        *("ModelVerification", "ResultField"),
    )
)
_LEAVES = (
    *("FieldRef", "Constant", "NormDiscrete", "LinearNorm", "FieldColumnPair", "ParameterField"),
    *("Value", "Interval", "MiningField", "ResultField", "TargetValue", "Decision", "Array"),
    *("ScoreDistribution", "SimplePredicate", "True", "False", "Predicate", "Extension"),
    *("NumericPredictor", "CategoricalPredictor", "Application", "Timestamp", "Annotation"),
    *("Counts", "Quantile", "AnovaRow"),
)
CHILDREN: dict[str, frozenset[str]] = {
    "": MEMBERS | {"PMML", "Segment", "Segmentation"},
    "PMML": MEMBERS | {"Header", "DataDictionary", "TransformationDictionary"},
    "Header": frozenset(("Application", "Timestamp", "Annotation")),
    "DataDictionary": frozenset(("DataField",)),
    "DataField": frozenset(("Value", "Interval")),
    "TransformationDictionary": frozenset(("DefineFunction", "DerivedField")),
    "LocalTransformations": frozenset(("DerivedField",)),
    "DerivedField": EXPRESSIONS | {"Value"},
    "DefineFunction": EXPRESSIONS | {"ParameterField"},
    "Apply": EXPRESSIONS,
    "NormContinuous": frozenset(("LinearNorm",)),
    "Discretize": frozenset(("DiscretizeBin",)),
    "DiscretizeBin": frozenset(("Interval",)),
    "MapValues": frozenset(("FieldColumnPair", "InlineTable")),
    "TextIndex": EXPRESSIONS | {"TextIndexNormalization"},
    "TextIndexNormalization": frozenset(("InlineTable",)),
    **dict.fromkeys(TREES, _MODEL | {"Node"}),
    **dict.fromkeys(REGRESSIONS, _MODEL | {"RegressionTable"}),
    "MiningModel": _MODEL | MEMBERS | {"Segmentation"},
    "Segmentation": frozenset(("Segment",)),
    "Segment": MEMBERS | PREDICATES,
    "RegressionTable": frozenset(("NumericPredictor", "CategoricalPredictor", "PredictorTerm")),
    "PredictorTerm": frozenset(("FieldRef",)),
    "MiningSchema": frozenset(("MiningField",)),
    "Output": frozenset(("OutputField",)),
    "OutputField": EXPRESSIONS | {"Decisions", "Value"},
    "Decisions": frozenset(("Decision",)),
    "Targets": frozenset(("Target",)),
    "Target": frozenset(("TargetValue",)),
    "Node": PREDICATES | {"Node", "ScoreDistribution"},
    **dict.fromkeys(("CompoundPredicate", "CompositePredicate"), PREDICATES),
    "SimpleSetPredicate": frozenset(("Array",)),
    "ModelStats": frozenset(("UnivariateStats",)),
    "UnivariateStats": frozenset(("Counts", "NumericInfo", "DiscrStats", "ContStats", "Anova")),
    "Anova": frozenset(("AnovaRow",)),
    "NumericInfo": frozenset(("Quantile",)),
    "DiscrStats": frozenset(("Array",)),
    "ContStats": frozenset(("Array", "Interval")),
    **dict.fromkeys(_LEAVES, frozenset[str]()),
}
"""By element, the elements that are evaluated, or named as leaks of their own, inside it; "" is around the root."""
_ONE_EXPRESSION = dict.fromkeys(EXPRESSIONS, "an expression")
_ONE_OF_MODEL = {
    name: name for name in ("MiningSchema", "Output", "Targets", "LocalTransformations")
}
ONCE: dict[str, dict[str, str]] = {
    "PMML": {name: name for name in ("DataDictionary", "TransformationDictionary")},
    "DerivedField": _ONE_EXPRESSION,
    "DefineFunction": _ONE_EXPRESSION,
    "OutputField": _ONE_EXPRESSION,
    "TextIndex": _ONE_EXPRESSION,
    "MapValues": {"InlineTable": "InlineTable"},
    "DiscretizeBin": {"Interval": "Interval"},
    "SimpleSetPredicate": {"Array": "Array"},
    "Targets": {"Target": "Target"},
    **dict.fromkeys(TREES, {**_ONE_OF_MODEL, "Node": "Node"}),
    **dict.fromkeys(REGRESSIONS, _ONE_OF_MODEL),
    "MiningModel": {**_ONE_OF_MODEL, "Segmentation": "Segmentation"},
}
"""By element, the elements of which only the first is read, and what they are counted as."""


def stands_here(parent: str, name: str) -> bool:
    """Return whether an element is evaluated, or named as a leak of its own, where it stands."""
    return name in CHILDREN.get(parent, ())


def may_be_model(parent: str, name: str) -> bool:
    """Return whether an element of an unknown kind may be a part of the model, so that it cannot just go."""
    return parent in EXPRESSIONS | {"DerivedField", "DefineFunction", "OutputField"} or (
        parent in HOLDERS and is_model(name)
    )
