"""The elements and attributes of PMML that a model of trees is made of: whatever else a file holds, nobody judged."""

from __future__ import annotations

import re

_FIELD = "name optype opType dataType displayName isCyclic taxonomy"
_MODEL = "modelName functionName algorithmName isScorable x-mathContext"
_TABLES = {
    "PMML": "version",
    "Header": "copyright description modelVersion",
    "Application": "name version",
    "Timestamp": "",
    "Annotation": "",
    "DataDictionary": "numberOfFields",
    "DataField": _FIELD,
    "Value": "value property displayValue",
    "Interval": "closure leftMargin rightMargin",
    "TransformationDictionary": "numberOfFunctions",
    "LocalTransformations": "",
    "DerivedField": _FIELD,
    "DefineFunction": _FIELD,
    "ParameterField": _FIELD,
    "Apply": "function mapMissingTo defaultValue invalidValueTreatment",
    "FieldRef": "field mapMissingTo",
    "Constant": "dataType missing",
    "NormContinuous": "field mapMissingTo outliers",
    "LinearNorm": "orig norm",
    "NormDiscrete": "field value mapMissingTo method",
    "Discretize": "field mapMissingTo defaultValue dataType",
    "DiscretizeBin": "binValue",
    "MapValues": "outputColumn dataType mapMissingTo defaultValue",
    "FieldColumnPair": "field column",
    "TextIndex": "textField localTermWeights isCaseSensitive maxLevenshteinDistance countHits wordRE x-wordRE "
    "wordSeparatorCharacterRE tokenize",
    "TextIndexNormalization": "inField outField regexField recursive isCaseSensitive maxLevenshteinDistance wordRE "
    "wordSeparatorCharacterRE tokenize",
    "InlineTable": "",
    "row": "",
    "MiningModel": f"{_MODEL} segmentationMethod",
    "TreeModel": f"{_MODEL} splitCharacteristic missingValueStrategy missingValuePenalty noTrueChildStrategy",
    "DecisionTree": f"{_MODEL} splitCharacteristic missingValueStrategy missingValuePenalty noTrueChildStrategy",
    "Segmentation": "multipleModelMethod x-missingPredictionTreatment x-missingThreshold "
    "missingPredictionTreatment missingThreshold",
    "Segment": "id weight",
    "MiningSchema": "",
    "MiningField": "name usageType optype importance outliers lowValue highValue missingValueReplacement "
    "missingValueTreatment invalidValueTreatment invalidValueReplacement",
    "Output": "",
    "OutputField": f"{_FIELD} feature value targetField segmentId isFinalResult rank rankBasis ruleFeature",
    "ResultField": f"{_FIELD} feature value",
    "Decisions": "businessProblem description",
    "Decision": "value displayValue description",
    "Targets": "",
    "Target": "field optype castInteger min max rescaleConstant rescaleFactor",
    "TargetValue": "value displayValue priorProbability defaultValue rawDataValue",
    "Node": "id score recordCount defaultChild",
    "ScoreDistribution": "value recordCount confidence probability",
    "SimplePredicate": "field operator value",
    "SimpleSetPredicate": "field booleanOperator",
    "CompoundPredicate": "booleanOperator",
    "CompositePredicate": "booleanOperator",
    "True": "",
    "False": "",
    "Predicate": "field operator value",
    "Array": "n type",
    "Extension": "name value extender",
    "RegressionModel": f"{_MODEL} modelType targetFieldName normalizationMethod x-mathContext",
    "Regression": _MODEL,
    "RegressionTable": "intercept targetCategory",
    "NumericPredictor": "name exponent coefficient",
    "CategoricalPredictor": "name value coefficient",
    "PredictorTerm": "coefficient name",
}
KNOWN = {name: frozenset(attributes.split()) for name, attributes in _TABLES.items()}
"""By element, the attributes that it may have."""
FOUND_ELSEWHERE = frozenset(
    (
        *("ModelStats", "ModelVerification", "PredictiveModelQuality", "InlineTable", "Annotation"),
        *(
            "Timestamp",
            "Partition",
            "MultivariateStats",
            "Correlations",
            "UnivariateStats",
            "Anova",
        ),
    )
)
"""What is named whole, wherever it stands: nothing inside is named again."""
WITH_TEXT = frozenset(("Array", "Constant", "Timestamp", "Annotation"))
"""What holds text that belongs to the model, or is named whole."""
SENTENCES = frozenset(
    ("description", "displayName", "displayValue", "businessProblem", "modelVersion")
)
"""Attributes that a person fills with words."""
WRITTEN = frozenset(
    (
        *(
            "name",
            "field",
            "textField",
            "inField",
            "outField",
            "regexField",
            "column",
            "outputColumn",
        ),
        *("targetField", "targetFieldName", "targetCategory", "value", "score", "id", "function"),
        *("binValue", "rawDataValue", "mapMissingTo", "defaultValue", "missingValueReplacement"),
        *("invalidValueReplacement", "wordRE", "x-wordRE", "wordSeparatorCharacterRE", "copyright"),
    )
)
"""Attributes that name fields, values, nodes and functions of the model, in whatever words, or that are looked
at elsewhere (``copyright``); the others take a setting."""
PLAIN = re.compile(
    r"[A-Za-z][A-Za-z_-]{0,29}(?:\d{1,3}|\[\d{1,4}\])?|[-+\d.eE]{0,40}|[-+]?(?:INF|NaN)"
)
"""What a setting looks like: one word, or a number."""
NAMES = frozenset(("modelName", "algorithmName"))
NAME = re.compile(r"[A-Za-z][\w./() -]{0,59}")
"""What a program's or a model's name looks like."""
IDS = frozenset(("Node", "Segment"))
ID = re.compile(r"[A-Za-z]{0,12}[ _#:-]{0,2}[\d_.:/+-]{0,60}[A-Za-z]?")
"""What a number of a node looks like."""
OUTPUT = re.compile(r"[\w.$()\[\]: -]{0,80}")
VERSION = re.compile(r"[\w.+-]{0,30}")
NAMESPACE = re.compile(r"https?://www\.dmg\.org/PMML-[\w.]+")
SCHEMA = re.compile(r"(?:https?://(?:www\.)?dmg\.org/\S*\s*)*")
LOCATION = "http://www.w3.org/2001/XMLSchema-instance schemaLocation"
_MODELS = ("TreeModel", "DecisionTree")
_SETTINGS = (
    *("quality", "criterion", "min-leaf-records", "all-features", "multiway", "tool", "max-bins"),
    *("sets", "unmodelled", "lists-columns"),
)
OWN = {
    **{
        f"treewarden:{name}": (_MODELS, re.compile(r"\d{1,12}|[a-z_ -]{0,60}"))
        for name in _SETTINGS
    },
    "treewarden:band": (("Node",), re.compile(r"\S{1,30} \S{1,30} .*", re.DOTALL)),
    "treewarden:impurity": (("Node",), re.compile(r"[a-z_-]{1,30} \S{1,30} \S{1,30}")),
}
"""Our own extensions: where they are read, and what they say. A band names a class, which its reader holds it to."""
READ = frozenset(("BigML-Field_ID", "cellRef", "defaultChild", "storageType"))
"""Extensions of other programs that say what the model needs."""
WORD = re.compile(r"[\w$:.-]{0,40}")
ASIDE = frozenset(("Extension", "MiningBuildTask", "ModelExplanation"))
"""Known elements that no model is made of; any other unknown element may be a part of a model that is no tree."""
