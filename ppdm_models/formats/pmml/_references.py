"""Which fields, functions and values a PMML file defines, and which of them some model asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from treewarden.ppdm_models.formats.common.origin import (
    MOST_SIGNS,
    is_class_name,
    is_marker,
    is_name,
)
from treewarden.ppdm_models.formats.common.xml_elements import is_model

# Names of results that a PMML file gives its predictions: made of its fields, its values and a few words.

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


def is_result_name(name: str, model_names: AbstractSet[str]) -> bool:
    """Return whether a result is called by fields and values of the model (``model_names``) and by usual words."""
    if name in model_names or is_name(name.strip()):
        return True
    if len(name) > LONGEST:
        return False
    rest = name
    for text in sorted(
        (text for text in model_names if text and text in name), key=len, reverse=True
    ):
        rest = rest.replace(text, " ") if len(text) > 1 else rest
    if re.search(r"\d{5,}", rest):
        return False
    return all(word.lower() in WORDS or len(word) == 1 for word in SEPARATORS.split(rest) if word)


def is_computed_name(name: str, model_names: AbstractSet[str]) -> bool:
    """Return whether a derived field is called by one word, or by functions of fields and values of the model."""
    if is_result_name(name, model_names):
        return True
    rest = name if len(name) <= LONGEST_COMPUTED else "?"
    for text in sorted(
        (text for text in model_names if text and text in name), key=len, reverse=True
    ):
        rest = rest.replace(text, " ") if len(text) > 1 else rest
    words = [word for word in SEPARATORS.split(rest) if word]
    return rest != "?" and all(
        word.lower() in WORDS | FUNCTIONS or len(word) == 1 for word in words
    )


Scope = tuple[int, ...]
"""The open elements around a place that fields can be defined in, by when they began; the file itself is 0."""


@dataclass(slots=True)
class ElementSite:
    """Where an element stands: its first byte, its line, and the byte behind its end, once it is known."""

    start: int
    line: int
    end: int = 0


FIELD_NAMES = ("field", "textField", "targetField", "targetFieldName")
"""Attributes that name the field which an element is about."""

VALUE, FIELD, FUNCTION, RESULT = "value", "field", "function", "result"
COMPUTED, CLASS = "computed field", "class"
"""What a statement names."""


@dataclass(slots=True)
class Definition:
    """A field or a function that a file defines: what its definition asks for itself, and where it stands.

    ``is_raw`` says that it is a column of the table, ``has_words`` that values stand with it that are no numbers,
    ``values`` how many do.
    """

    what: str
    site: ElementSite
    is_raw: bool
    asks: set[tuple[Scope, str]] = field(default_factory=set)
    is_known_otherwise: bool = False
    has_words: bool = False
    values: int = 0


@dataclass(slots=True)
class NamedReference:
    """A text that has to be a value, a class, a field, a function or the name of a result, and where it stands.

    ``attribute`` is the one that holds it; "" where all that stands there has to go with it.
    """

    kind: str
    what: str
    text: str
    site: ElementSite
    attribute: str = ""


class References:
    """Gathers what a file defines and asks for; names are looked up from the innermost model outwards."""

    def __init__(self) -> None:
        self.defined: dict[tuple[int, str], Definition] = {}
        self.asked: set[tuple[Scope, str]] = set()
        self.labels: set[str] = set()
        self.predicted: set[str] = set()
        """The classes that some node predicts, or counts records of."""
        self.statements: list[NamedReference] = []

    def define(self, scope: int, name: str, made: Definition) -> Definition:
        """Note the definition of a name; of two in one scope the first is read, or the file is refused."""
        self.defined.setdefault((scope, name), made)
        return made

    def unused_definitions(self) -> Iterator[Definition]:
        """Yield the definitions that no model uses, directly or through others.

        The name of a column of the table is none of them, where it is one word and no words or list of numbers stand
        with it: programs list the columns that they left out.
        """
        used = self._used()
        for (_, name), definition in self.defined.items():
            is_left_out = (
                is_name(name) and not definition.has_words and definition.values <= MOST_SIGNS
            )
            if id(definition) not in used and not (definition.is_raw and is_left_out):
                yield definition

    def _used(self) -> set[int]:
        """Return the definitions that some model asks for, by their identity."""
        pending, used = list(self.asked), set[int]()
        for definition in self.defined.values():
            if definition.is_known_otherwise:
                used.add(id(definition))
                pending += definition.asks
        while pending:
            scope, name = pending.pop()
            made_of = next(
                (found for at in (*reversed(scope), 0) if (found := self.defined.get((at, name)))),
                None,
            )
            if made_of is not None and id(made_of) not in used:
                used.add(id(made_of))
                pending += made_of.asks
        return used

    def names(self) -> set[str]:
        """Return the names of all fields, defined or asked for."""
        return {name for _, name in self.defined} | {name for _, name in self.asked}

    def unknown_statements(self) -> Iterator[NamedReference]:
        """Yield the statements that name what the model does not have."""
        names, reached = self.names(), self._used()
        known = names | self.labels
        defined = {name for _, name in self.defined}
        raw = {name for (_, name), definition in self.defined.items() if definition.is_raw}
        used = {name for (_, name), definition in self.defined.items() if id(definition) in reached}
        told = {statement.text for statement in self.statements if statement.kind == RESULT}
        results = {text for text in told if is_result_name(text, known)}
        for named_reference in self.statements:
            text = named_reference.text
            if named_reference.kind == RESULT:
                is_known = text in results
            elif named_reference.kind == FIELD:
                is_known = text in used or is_name(text) or text in results
            elif named_reference.kind == COMPUTED:
                is_known = is_computed_name(text, raw | self.labels)
            elif named_reference.kind == CLASS:
                is_known = text in self.predicted or is_class_name(text)
            elif named_reference.kind == FUNCTION:
                is_known = f"\0{text}" in defined
            else:
                is_known = text in known or text in results or is_marker(text)
            if not is_known:
                yield named_reference


# Where elements of PMML are evaluated: what each may hold, and of what it may hold one at most.
#
# An element that stands elsewhere is read by nothing, whatever it is called: a whole tree inside a node, for instance,
# predicts nothing and was audited by nobody.

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
