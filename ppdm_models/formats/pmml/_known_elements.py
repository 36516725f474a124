"""The elements and attributes of PMML that a model of trees is made of: whatever else a file holds, nobody judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treewarden.ppdm_models.formats.common.origin import (
    DOUBLE_DIGITS,
    IDENTIFIER,
    NUMBER,
    VERSION,
    has_digits_of_double,
    is_algorithm,
    is_number,
    is_program,
)
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._tree import SAMPLED, SETTINGS
from treewarden.ppdm_models.tree.side_channels import NUMBER as NODE_NUMBER

_FIELD = "name optype opType dataType displayName isCyclic"
_MODEL = "modelName functionName algorithmName isScorable x-mathContext"
_TABLES = {
    "PMML": "version",
    "Header": "copyright description modelVersion",
    "Application": "name version",
    "Timestamp": "",
    "Annotation": "",
    "ModelVerification": "recordCount fieldCount",
    "Anova": "target",
    "AnovaRow": "type sumOfSquares degreesOfFreedom meanOfSquares fValue pValue",
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
    "ModelStats": "",
    "UnivariateStats": "field weighted",
    "Counts": "totalFreq missingFreq invalidFreq cardinality",
    "NumericInfo": "minimum maximum mean standardDeviation median interQuartileRange",
    "Quantile": "quantileLimit quantileValue",
    "DiscrStats": "modalValue",
    "ContStats": "totalValuesSum totalSquaresSum",
    "Node": "id score recordCount defaultChild",
    "ScoreDistribution": "value recordCount confidence probability",
    "SimplePredicate": "field operator value",
    "SimpleSetPredicate": "field booleanOperator",
    "CompoundPredicate": "booleanOperator",
    "CompositePredicate": "booleanOperator",
    "True": "",
    "False": "",
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
NEEDED = {
    "Node": frozenset(("id", "score", "recordCount")),
    "ScoreDistribution": frozenset(("value", "recordCount", "probability", "confidence")),
    "SimplePredicate": frozenset(("field", "operator", "value")),
    "SimpleSetPredicate": frozenset(("field", "booleanOperator")),
    "Segment": frozenset(("id", "weight")),
    "Interval": frozenset(("closure", "leftMargin", "rightMargin")),
    "LinearNorm": frozenset(("orig", "norm")),
    "RegressionTable": frozenset(("intercept", "targetCategory")),
    "NumericPredictor": frozenset(("exponent", "coefficient")),
    "CategoricalPredictor": frozenset(("value", "coefficient")),
    "PredictorTerm": frozenset(("coefficient",)),
    "Target": frozenset(("min", "max", "rescaleConstant", "rescaleFactor")),
}
"""Attributes without which a model is another, whatever they say: they cannot be taken off."""
COUNTS = {
    "DataDictionary": ("numberOfFields", "DataField"),
    "TransformationDictionary": ("numberOfFunctions", "DefineFunction"),
}
"""The attribute that says how many of its children are of a kind, and of which, by element."""
NAMED_WHOLE = frozenset(("ModelVerification", "InlineTable", "Annotation"))
"""What is named as a leak of its own with all that it holds, where it stands where PMML has it."""
WITH_TEXT = frozenset(("Array", "Constant", "Timestamp"))
"""What holds text that belongs to the model, or that is judged as a moment."""
SENTENCES = frozenset(
    ("description", "displayName", "displayValue", "businessProblem", "modelVersion")
)
"""Attributes that a person fills with words."""
WRITTEN = frozenset(
    (
        *("name", "field", "textField", "inField", "outField", "regexField", "column"),
        *("outputColumn", "targetField", "targetFieldName", "targetCategory", "value", "score"),
        *(
            "target",
            "function",
            "binValue",
            "rawDataValue",
            "mapMissingTo",
            "defaultValue",
            "wordRE",
        ),
        *("missingValueReplacement", "invalidValueReplacement", "x-wordRE", "segmentId"),
        *("wordSeparatorCharacterRE", "copyright", "modalValue"),
    )
)
"""Attributes that name fields, values and functions of the model, in whatever words, or that are looked at elsewhere
(``copyright``, ``modalValue``); the others take a setting."""

_NUMBERS = (
    *("importance", "recordCount", "confidence", "probability", "weight", "missingThreshold"),
    *("x-missingThreshold", "missingValuePenalty", "lowValue", "highValue", "leftMargin", "n"),
    *("rightMargin", "orig", "norm", "intercept", "exponent", "coefficient", "min", "max", "rank"),
    *("rescaleConstant", "rescaleFactor", "priorProbability", "numberOfFields", "totalFreq"),
    *("numberOfFunctions", "maxLevenshteinDistance", "missingFreq", "invalidFreq", "cardinality"),
    *("minimum", "maximum", "mean", "standardDeviation", "median", "interQuartileRange"),
    *("quantileLimit", "quantileValue", "totalValuesSum", "totalSquaresSum", "fieldCount"),
    *("sumOfSquares", "degreesOfFreedom", "meanOfSquares", "fValue", "pValue"),
)
_BOOLEAN = "true|false|0|1"
_WORDS = {
    "optype": "continuous|categorical|ordinal",
    "opType": "continuous|categorical|ordinal",
    "dataType": r"string|integer|float|double|boolean|date|time|dateTime|(?:date|dateTime)DaysSince\[?\w{1,4}\]?"
    r"|timeSeconds|dateTimeSecondsSince\[?\w{1,4}\]?|real|int",
    "usageType": "active|predicted|target|supplementary|group|order|frequencyWeight|analysisWeight",
    "outliers": "asIs|asMissingValues|asExtremeValues",
    "missingValueTreatment": "asIs|asMean|asMode|asMedian|asValue|(?:x-)?returnInvalid",
    "invalidValueTreatment": "asIs|asMissing|asValue|(?:x-)?returnInvalid",
    "closure": "(?:open|closed)(?:Open|Closed)",
    "property": "valid|invalid|missing",
    "method": "indicator|thermometer",
    "localTermWeights": "termFrequency|binary|logarithmic|augmentedNormalizedTermFrequency",
    "countHits": "allHits|bestHits",
    "functionName": "classification|regression|mixed|general|clustering|anomalyDetection",
    "splitCharacteristic": "binarySplit|multiSplit",
    "missingValueStrategy": "none|lastPrediction|nullPrediction|defaultChild|weightedConfidence|aggregateNodes",
    "noTrueChildStrategy": "returnNullPrediction|returnLastPrediction",
    "multipleModelMethod": r"[A-Za-z]{3,24}|x-[A-Za-z]{3,24}",
    "segmentationMethod": "[A-Za-z]{3,24}",
    "missingPredictionTreatment": "continue|skipSegment|returnMissing",
    "x-missingPredictionTreatment": "continue|skipSegment|returnMissing",
    "feature": r"(?:predicted|predictedDisplay|transformed|ruleValue|reportText|x-)?[A-Za-z]{3,24}",
    "rankBasis": "confidence|support|lift|leverage|affinity",
    "ruleFeature": "antecedent|consequent|rule|ruleId|confidence|support|lift|leverage|affinity",
    "castInteger": "round|ceiling|floor",
    "modelType": "linearRegression|stepwisePolynomialRegression|logisticRegression",
    "normalizationMethod": "none|simplemax|softmax|logit|probit|cloglog|exp|loglog|cauchit",
    "x-mathContext": "float|double",
    "type": "int|real|string|integer|double|Model|Error|Total",
    "booleanOperator": "and|or|xor|surrogate|isIn|isNotIn",
    "operator": "equal|notEqual|lessThan|lessOrEqual|greaterThan|greaterOrEqual|isMissing|isNotMissing|isIn|isNotIn",
    "extender": r"spss(?:\.com)?",
    **dict.fromkeys(
        (
            *("isCyclic", "isScorable", "isFinalResult", "isCaseSensitive", "tokenize"),
            *("recursive", "missing", "weighted"),
        ),
        _BOOLEAN,
    ),
}
VALUES = {
    **dict.fromkeys(_NUMBERS, NUMBER),
    **{name: re.compile(words) for name, words in _WORDS.items()},
}
"""What a setting may say, by its attribute."""
SEGMENT = re.compile(rf"{NODE_NUMBER.pattern}|{IDENTIFIER.pattern}")
NAMESPACE = re.compile(r"https?://www\.dmg\.org/PMML-\d_\d(?:_\d)?")
TABLE_NAMESPACE = "http://jpmml.org/jpmml-model/InlineTable"
NAMESPACES = re.compile(
    rf"{NAMESPACE.pattern}|{re.escape(TABLE_NAMESPACE)}|http://www\.w3\.org/2001/XMLSchema-instance|"
)
PREFIX = re.compile(r"(?:ns|pmml|p|data|xsi|xs|dmg)?\d{0,2}")
SCHEMA = re.compile(
    r"(?:\s*(?:https?://(?:www\.)?dmg\.org/(?:(?:pmml|v)[\d/v-]{0,12})?)?"
    r"(?:PMML-\d_\d(?:_\d)?|(?:pmml|PMML)[-_\d]{0,8}\.xsd)\s*)*"
)
LOCATION = "http://www.w3.org/2001/XMLSchema-instance schemaLocation"
_MODELS = ("TreeModel", "DecisionTree")
OWN = {
    **{f"treewarden:{name}": (_MODELS, said) for name, said in SETTINGS.items()},
    f"treewarden:{SAMPLED}": (("MiningModel",), re.compile("true|false")),
    "treewarden:band": (("Node",), re.compile(r"\S{1,30} \S{1,30} .*", re.DOTALL)),
    "treewarden:impurity": (("Node",), re.compile(r"(?:gini|entropy) \S{1,30} \S{1,30}")),
}
"""Our own extensions: where they are read, and what they say. A band names a class, which its reader holds it to."""
READ = {
    "BigML-Field_ID": (("DataField",), re.compile(r"[0-9a-f]{4,24}(?:-\w{1,8})?")),
    "cellRef": (
        ("InlineTable",),
        re.compile(r"\$?[A-Z]{1,3}\$?\d{1,7}(?::\$?[A-Z]{1,3}\$?\d{1,7})?"),
    ),
    "defaultChild": (("Node",), re.compile(r"\w{1,12}")),
    "storageType": (
        ("DataField", "MiningField", "DerivedField"),
        re.compile("numeric|string|integer|real|date|time|timestamp|logical|symbolic"),
    ),
}
"""Extensions of other programs that say what the model needs, where, and what they say there."""
BUILT_IN = frozenset(
    (
        *("+", "-", "*", "/", "min", "max", "sum", "avg", "median", "product", "log10", "ln"),
        *("sqrt", "abs", "exp", "pow", "threshold", "floor", "ceil", "round", "modulo", "rint"),
        *("isMissing", "isNotMissing", "isValid", "isNotValid", "equal", "notEqual", "lessThan"),
        *("lessOrEqual", "greaterThan", "greaterOrEqual", "and", "or", "not", "isIn", "isNotIn"),
        *("if", "uppercase", "lowercase", "substring", "trimBlanks", "concat", "replace"),
        *("matches", "formatNumber", "formatDatetime", "dateDaysSinceYear", "expm1", "ln1p"),
        *("dateSecondsSinceYear", "dateSecondsSinceMidnight", "stringLength", "hypot", "sin"),
        *(
            "asin",
            "sinh",
            "cos",
            "acos",
            "cosh",
            "tan",
            "atan",
            "tanh",
            "normalCDF",
            "stdNormalCDF",
        ),
        *("normalPDF", "stdNormalPDF", "normalIDF", "stdNormalIDF", "erf", "atan2", "log1p"),
    )
)
"""The functions of PMML 4.4, and those of programs that start with ``x-``."""


def is_extension_read(name: str, value: str, parent: str) -> bool:
    """Return whether an extension says something of the model: our own, or what readers of others' need."""
    known = OWN.get(name) or READ.get(name)
    if known is None:
        return False
    parents, said = known
    return parent in parents and said.fullmatch(value) is not None


def is_setting(element: str, name: str, value: str) -> bool:
    """Return whether an attribute says what it may say, whatever the rest of the file says."""
    if name == LOCATION:
        return len(value) < 1000 and SCHEMA.fullmatch(value) is not None
    if name not in KNOWN[element]:
        return False
    if not value:
        return True
    if name in SENTENCES:
        return False
    if element == "Application":
        return is_program(value) if name == "name" else VERSION.fullmatch(value) is not None
    if element == "PMML":
        return VERSION.fullmatch(value) is not None
    if name == "modelName":
        return IDENTIFIER.fullmatch(value) is not None
    if name == "algorithmName":
        return is_algorithm(value)
    if name == "id":
        return (SEGMENT if element == "Segment" else NODE_NUMBER).fullmatch(value) is not None
    if name == "defaultChild":  # one of the node's own children, or the file is refused
        return NODE_NUMBER.fullmatch(value) is not None
    if name not in WRITTEN and VALUES[name].fullmatch(value.strip()) is None:
        return False
    return len(value) <= DOUBLE_DIGITS or not is_number(value) or has_digits_of_double(value)


_TREES_ALONE = {
    **{
        name: _TABLES[name] for name in ("PMML", "Header", "Application", "Timestamp", "Annotation")
    },
    "DataDictionary": "numberOfFields",
    "DataField": _FIELD,
    "Value": "value property displayValue",
    "Interval": _TABLES["Interval"],  # judged where fields are read
    "MiningModel": _MODEL,
    "TreeModel": f"{_MODEL} splitCharacteristic missingValueStrategy noTrueChildStrategy",
    "DecisionTree": f"{_MODEL} splitCharacteristic missingValueStrategy noTrueChildStrategy",
    "Segmentation": "multipleModelMethod",
    "Segment": "id weight",
    "MiningSchema": "",
    "MiningField": "name usageType optype opType missingValueTreatment invalidValueTreatment",
    "Output": "",
    "OutputField": "name displayName optype opType dataType targetField feature value rank",
    "Targets": "",
    "Target": "field optype opType",
    "TargetValue": "value displayValue",
    "Node": "id score recordCount defaultChild",
    "ScoreDistribution": "value recordCount confidence probability",
    "True": "",
    "False": "",
    "SimplePredicate": "field operator value",
    "SimpleSetPredicate": "field booleanOperator",
    "CompoundPredicate": "booleanOperator",
    "Array": "n type",
    "Extension": "name value extender",
    "LocalTransformations": "",
    "TransformationDictionary": "numberOfFunctions",
}
TREES_ALONE = {name: frozenset(attributes.split()) for name, attributes in _TREES_ALONE.items()}
"""All that a file needs for trees that predict classes; what its leaves count is judged wherever they are read."""


def beyond_trees(root: Element) -> Iterator[str]:
    """Yield what a file holds beside trees and what these need, in words, each once.

    A mechanism that draws trees promises nothing of it: a mean as a constant, a share as a penalty, another model.
    """
    told = set[str]()
    elements = list(root.within())
    values = {
        element.get("value") for element in elements if element.name in ("Value", "TargetValue")
    }
    values |= {element.get("score") for element in elements if element.name == "Node"} | {None}
    for element in elements:
        name = element.name
        if name not in TREES_ALONE:
            found = [f"the element {name}"]
        elif name == "Extension" and not (element.get("name") or "").startswith("treewarden:"):
            found = ["an Extension of another program"]
        elif name == "Value" and element.get("property") not in (None, "valid"):
            found = ["a Value that stands for missing or invalid ones"]
        elif name == "OutputField" and element.get("value") not in values:
            found = ["a value of OutputField that is no class"]
        else:
            names = (each for each in element.attributes if ":" not in each)
            extra = (each for each in names if each not in TREES_ALONE[name])
            found = [f"the attribute '{each}' of {name}" for each in extra]
        for words in found:
            if words not in told:
                told.add(words)
                yield words
