"""Makes pmml_treatments.json: small PMML models, and what JPMML-Evaluator predicts with them (needs Java).

python tests/data/make_pmml_treatments.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import jpmml_evaluator

HEAD = '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>'
RANGE = '<Interval closure="closedClosed" leftMargin="0" rightMargin="10"/>'
C_FIELD = """<DataField name="c" optype="categorical" dataType="string"><Value value="a"/><Value value="b"/>
<Value value="N/A" property="missing"/><Value value="bad" property="invalid"/></DataField>"""
Y_NUMBER = '<DataField name="y" optype="continuous" dataType="double"/>'
Y_CLASS = """<DataField name="y" optype="categorical" dataType="string"><Value value="a"/><Value value="b"/>
</DataField>"""
RECORDS = [
    {"x": 1, "c": "a"},
    {"x": 1, "c": "b"},
    {"x": 7, "c": "zz"},
    {"x": 1, "c": "zz"},
    {"x": -3, "c": "a"},
    {"x": 12, "c": "a"},
    {"x": 1},
    {"c": "a"},
    {"x": 1, "c": "N/A"},
    {"x": 1, "c": "bad"},
    {"x": 12, "c": "b"},
]


def one_tree(
    x: str = "", c: str = "", strategy: str = "none", domain: str = RANGE, inner: str | None = None
) -> str:
    """Return a tree on a number and a category, ``inner`` with the MiningField of a tree inside a MiningModel."""
    schema = '<MiningField name="c" {}/><MiningField name="y" usageType="target"/></MiningSchema>'
    tree = f"""<TreeModel functionName="regression" missingValueStrategy="{strategy}">
<MiningSchema><MiningField name="x" {x if inner is None else inner}/>{schema.format(c if inner is None else "")}
<Node id="r" score="0" defaultChild="n2"><True/>
<Node id="n1" score="1" defaultChild="n4"><SimplePredicate field="x" operator="lessThan" value="5"/>
<Node id="n3" score="3"><SimplePredicate field="c" operator="equal" value="a"/></Node>
<Node id="n4" score="4"><SimplePredicate field="c" operator="notEqual" value="a"/></Node></Node>
<Node id="n2" score="2"><SimplePredicate field="x" operator="greaterOrEqual" value="5"/></Node></Node></TreeModel>"""
    if inner is not None:
        tree = f"""<MiningModel functionName="regression"><MiningSchema><MiningField name="x" {x}/>{schema.format(c)}
<Segmentation multipleModelMethod="sum"><Segment><True/>{tree}</Segment></Segmentation></MiningModel>"""
    number = f'<DataField name="x" optype="continuous" dataType="double">{domain}</DataField>'
    return f"{HEAD}<DataDictionary>{number}{C_FIELD}{Y_NUMBER}</DataDictionary>{tree}</PMML>"


def stump(function: str, end: int, low: str, high: str | None) -> str:
    """Return a tree of one split on x; without ``high`` it predicts nothing above."""
    above = f"""<Node score="{high}"><SimplePredicate field="x" operator="greaterOrEqual" value="{end}"/></Node>"""
    return f"""<TreeModel functionName="{function}"><MiningSchema><MiningField name="x"/>
<MiningField name="y" usageType="target"/></MiningSchema><Node><True/>
<Node score="{low}"><SimplePredicate field="x" operator="lessThan" value="{end}"/></Node>{above if high else ""}
</Node></TreeModel>"""


def ensemble(function: str, method: str, treatment: str, threshold: float | None) -> str:
    """Return three trees of which one falls silent from x = 1 on, another from x = 2 on."""
    a, b = ("1", "5") if function == "regression" else ("a", "a")
    last = ("9", "11") if function == "regression" else ("b", "b")
    trees = (
        stump(function, 1, a, None),
        stump(function, 2, b, None),
        stump(function, 3, *last),
    )
    weights = (1, 2, 4) if function == "regression" else (1, 2, 2.5)
    segments = "".join(
        f'<Segment weight="{weight}"><True/>{tree}</Segment>'
        for weight, tree in zip(weights, trees, strict=True)
    )
    share = "" if threshold is None else f'missingThreshold="{threshold}"'
    target = Y_NUMBER if function == "regression" else Y_CLASS
    number = '<DataField name="x" optype="continuous" dataType="double"/>'
    return f"""{HEAD}<DataDictionary>{number}{target}</DataDictionary><MiningModel functionName="{function}">
<MiningSchema><MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>
<Segmentation multipleModelMethod="{method}" missingPredictionTreatment="{treatment}" {share}>{segments}</Segmentation>
</MiningModel></PMML>"""


def segmented(method: str) -> str:
    """Return three segments: one where c is a asks about x, one where c is b says 10, the last says 20 of everybody."""
    schema = """<MiningSchema><MiningField name="x"/><MiningField name="c"/>
<MiningField name="y" usageType="target"/></MiningSchema>"""
    asks = """<Node score="0"><True/><Node score="1"><SimplePredicate field="x" operator="lessThan" value="5"/></Node>
<Node score="2"><SimplePredicate field="x" operator="greaterOrEqual" value="5"/></Node></Node>"""
    segments = "".join(
        f"""<Segment>{predicate}<TreeModel functionName="regression">{schema}{root}</TreeModel></Segment>"""
        for predicate, root in (
            ('<SimplePredicate field="c" operator="equal" value="a"/>', asks),
            (
                '<SimplePredicate field="c" operator="equal" value="b"/>',
                '<Node score="10"><True/></Node>',
            ),
            ("<True/>", '<Node score="20"><True/></Node>'),
        )
    )
    number = f'<DataField name="x" optype="continuous" dataType="double">{RANGE}</DataField>'
    return f"""{HEAD}<DataDictionary>{number}{C_FIELD}{Y_NUMBER}</DataDictionary>
<MiningModel functionName="regression">{schema}
<Segmentation multipleModelMethod="{method}">{segments}</Segmentation></MiningModel></PMML>"""


def cases() -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return models by name, each with its records."""
    missing, value = 'invalidValueTreatment="asMissing"', 'invalidValueTreatment="asValue"'
    extreme = 'outliers="asExtremeValues" lowValue="0" highValue="4"'
    beyond = 'outliers="asMissingValues" lowValue="0" highValue="10"'
    found: dict[str, str] = {}
    for strategy in ("none", "lastPrediction", "nullPrediction", "defaultChild"):
        found[f"{strategy}: invalid"] = one_tree(strategy=strategy)
        found[f"{strategy}: invalid as missing"] = one_tree(missing, missing, strategy)
        found[f"{strategy}: invalid as missing, replaced"] = one_tree(
            f'{missing} missingValueReplacement="6"',
            f'{missing} missingValueReplacement="a"',
            strategy,
        )
        found[f"{strategy}: extreme"] = one_tree(extreme, "", strategy, "")
        found[f"{strategy}: beyond"] = one_tree(beyond, "", strategy, "")
        replaced = f'{beyond} missingValueReplacement="6"'
        found[f"{strategy}: beyond, replaced"] = one_tree(replaced, "", strategy, "")
    as_is = 'invalidValueTreatment="asIs"'
    found["as is"] = one_tree(as_is, as_is)
    found["as value"] = one_tree(
        f'{value} invalidValueReplacement="6"', f'{value} invalidValueReplacement="a"'
    )
    found["as value without one"] = one_tree(value, value)
    found["extreme, missing replaced"] = one_tree(
        f'{extreme} missingValueReplacement="6"', domain=""
    )
    for treatment in (missing, as_is, f'{value} invalidValueReplacement="8"'):
        found[f"extreme with {treatment}"] = one_tree(
            f"{extreme} {treatment}", "", "lastPrediction"
        )
    needed = 'missingValueTreatment="returnInvalid"'
    found["a value is needed"] = one_tree(needed, needed)
    found["only the inner model as missing"] = one_tree(inner=missing)
    found["only the outer model as missing"] = one_tree(missing, inner="")
    found["outer as is, inner as missing"] = one_tree(as_is, inner=missing)
    found["outer as is"] = one_tree(as_is, inner="")
    found["inner extreme"] = one_tree(
        inner='outliers="asExtremeValues" lowValue="6" highValue="9"', domain=""
    )
    found["outer and inner replaced"] = one_tree(
        'missingValueReplacement="6"', inner='missingValueReplacement="1"', domain=""
    )
    open_range = '<Interval closure="openOpen" leftMargin="1" rightMargin="10"/>'
    found["open interval"] = one_tree(domain=open_range)
    found["two intervals"] = one_tree(
        domain='<Interval closure="closedOpen" leftMargin="0" rightMargin="1"/>'
        '<Interval closure="closedClosed" leftMargin="7" rightMargin="20"/>'
    )
    found["numbers listed"] = one_tree(domain='<Value value="1"/><Value value="7"/>')
    found["numbers that are none"] = one_tree(
        domain='<Value value="-3" property="missing"/><Value value="12" property="invalid"/>'
    )
    found["segments, summed"] = segmented("sum")
    found["segments, the first"] = segmented("selectFirst")
    with_records = {name: (text, RECORDS) for name, text in found.items()}
    numbers: list[dict[str, Any]] = [{"x": 0.5}, {"x": 1.5}, {"x": 2.5}, {"x": 3.5}]
    silences = (
        ("continue", None),
        ("skipSegment", None),
        ("skipSegment", 3 / 7),
        ("skipSegment", 0.3),
        ("returnMissing", None),
    )
    sums = ("sum", "average", "weightedAverage", "weightedSum", "median", "weightedMedian")
    votes = ("majorityVote", "weightedMajorityVote", "selectFirst")
    for function, methods in (("regression", sums), ("classification", votes)):
        for method in methods:
            for treatment, share in silences:
                name = f"{function}, {method}, {treatment}, {share}"
                with_records[name] = (ensemble(function, method, treatment, share), numbers)
    return with_records


def predicted(text: str, records: list[dict[str, Any]]) -> list[Any]:
    """Return what JPMML predicts of each record; "refused" where it takes a value for invalid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pmml"
        path.write_text(text, encoding="utf-8")
        evaluator = jpmml_evaluator.make_evaluator(path, backend="jpype")
        said: list[Any] = []
        for record in records:
            try:
                said.append(evaluator.evaluate(record)["y"])
            except jpmml_evaluator.JavaError as error:
                if "ValueCheckException" not in str(error):
                    raise
                said.append("refused")
    return said


if __name__ == "__main__":
    made = [
        {"name": name, "pmml": text, "records": records, "predicted": predicted(text, records)}
        for name, (text, records) in cases().items()
    ]
    out = Path(__file__).with_name("pmml_treatments.json")
    lines = ",\n".join(json.dumps(case) for case in made)
    out.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
