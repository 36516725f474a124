"""Draws PMML trees over derived fields, with records for them, to hold what is read of them against JPMML-Evaluator.

Each node's score is its own name, so that a prediction says where a record ends. A long run, in an environment with
JPMML-Evaluator and Java:

    python -m tests.judges.pmml_derived --cases 2000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tables.routing import NOWHERE, SEVERAL, routed
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.tree import Tree

RECORDS = 60
NUMBERS = ("x", "k", "s")
CATEGORIES = {
    "c": ("a", " b", "v w", "1", "2.5"),
    "u": ("a", " b", "v w", "1", "2.5", "other", "A"),
    "b": ("false", "true"),
    "g": ("1", "2", "3"),
}
DECLARED = {"c": CATEGORIES["c"], "g": CATEGORIES["g"]}
FIELDS = """<DataField name="t" optype="categorical" dataType="string"/>
<DataField name="x" optype="continuous" dataType="double"/>
<DataField name="k" optype="continuous" dataType="integer"/>
<DataField name="s" optype="continuous" dataType="float"/>
<DataField name="c" optype="categorical" dataType="string">{c}</DataField>
<DataField name="u" optype="categorical" dataType="string"/>
<DataField name="b" optype="categorical" dataType="boolean"/>
<DataField name="g" optype="categorical" dataType="integer">{g}</DataField>"""
FUNCTIONS = """<DefineFunction name="shift" optype="continuous" dataType="double">
<ParameterField name="p" optype="continuous" dataType="double"/><ParameterField name="q"/>
<Apply function="+"><FieldRef field="p"/><FieldRef field="q"/></Apply></DefineFunction>
<DefineFunction name="guard" optype="continuous" dataType="double">
<ParameterField name="p" optype="continuous" dataType="float"/>
<Apply function="if"><Apply function="greaterThan" mapMissingTo="false"><FieldRef field="p"/><Constant>0</Constant>
</Apply><Apply function="ln"><FieldRef field="p" mapMissingTo="2"/></Apply></Apply></DefineFunction>"""
STRATEGIES = ("none", "lastPrediction", "nullPrediction", "defaultChild")
ENDS = ("-2", "-1", "-0.5", "0", "0.3", "0.5", "1", "1.5", "2", "3", "4", "100")
CURVES = (
    "ln",
    "log10",
    "ln1p",
    "exp",
    "expm1",
    "sqrt",
    "abs",
    "floor",
    "ceil",
    "round",
    "rint",
)
ORDERED = ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual")
EQUALITY = ("equal", "notEqual")


@dataclass
class Case:
    """A drawn model and its records: by field the values, None where one is missing."""

    pmml: str
    table: dict[str, list[float | str | None]]


@dataclass
class Drawing:
    """Draws one model from a seed."""

    random: Random
    own: list[tuple[str, str, str]] = field(default_factory=list)
    """The derived fields so far: name, type and the raw field of each."""
    whole: set[str] = field(default_factory=lambda: {"k"})
    """The fields of whole numbers; JPMML-Evaluator knows no equality of these with others."""
    nodes: int = 0

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def optional(self, name: str, *values: str, share: float = 0.25) -> str:
        return f" {name}={quoteattr(self.one(*values))}" if self.chance(share) else ""

    def constant(self, kind: str | None = None) -> str:
        if self.chance(0.04):
            return '<Constant missing="true"/>'
        number = self.one(*ENDS)
        if kind is None:
            kind = self.one("", "double", "integer", "float", "")
        if kind == "integer" and "." in number:
            number = "2"
        said = f' dataType="{kind}"' if kind else ""
        return f"<Constant{said}>{number}</Constant>"

    def settings(self) -> str:
        return (
            self.optional("defaultValue", "0", "-1", "7", share=0.2)
            + self.optional("mapMissingTo", "0", "0.5", "9", share=0.15)
            + self.optional("invalidValueTreatment", "asMissing", "returnInvalid", share=0.35)
        )

    def reference(self, raw: str, kind: str) -> str:
        """Return a reference to a raw field, or to a derived one of it."""
        near = [name for name, of, source in self.own if source == raw and of == kind]
        name = self.one(*near) if near and self.chance(0.5) else raw
        return f"<FieldRef field={quoteattr(name)}{self.optional('mapMissingTo', '1', '0.5', share=0.08)}/>"

    def number(self, raw: str, depth: int) -> str:
        """Return an expression that comes to a number."""
        if depth <= 0:
            return self.reference(raw, "number") if raw in NUMBERS else self.indicator(raw)
        pick = self.random.random()
        inner = self.number(raw, depth - 1)
        if pick < 0.3:
            parts = [inner, self.constant()]
            self.random.shuffle(parts)
            return self.apply(self.one("+", "-", "*", "/"), *parts)
        if pick < 0.45:
            return self.apply(self.one(*CURVES), inner)
        if pick < 0.52:
            parts = [inner, self.constant()]
            self.random.shuffle(parts)
            return self.apply(self.one("min", "max", "sum", "product"), *parts)
        if pick < 0.58:
            power = self.one("2", "3", "0.5", "-1", "0", "-2", "1")
            if self.chance(0.3):
                return self.apply("pow", f"<Constant>{self.one('2', '0.5', '1')}</Constant>", inner)
            return self.apply("pow", inner, f"<Constant>{power}</Constant>")
        if pick < 0.62:
            return self.apply("threshold", inner, self.constant())
        if pick < 0.8:
            parts = [self.truth(raw, depth - 1), self.branch(raw, depth - 1)]
            if self.chance(0.7):
                parts.append(self.branch(raw, depth - 1))
            return self.apply("if", *parts)
        if pick < 0.9 and raw in NUMBERS:
            return self.table(raw) if self.chance(0.3) else self.lines(raw)
        if pick < 0.95:
            if self.chance(0.5):
                return self.apply("guard", inner)
            return self.apply("shift", inner, self.constant("double"))
        if pick < 0.97:
            return self.apply("modulo", inner, self.constant())
        return inner

    def branch(self, raw: str, depth: int) -> str:
        return self.constant() if self.chance(0.5) else self.number(raw, depth)

    def indicator(self, raw: str) -> str:
        if self.chance(0.4):
            return self.table(raw)
        value = self.one(*CATEGORIES[raw])
        missing = self.optional("mapMissingTo", "1", "0.5")
        return f'<NormDiscrete field="{raw}" value={quoteattr(value)}{missing}/>'

    def truth(self, raw: str, depth: int) -> str:
        """Return an expression that comes to true or false."""
        pick = self.random.random()
        if pick < 0.15:
            return self.apply(self.one("isMissing", "isNotMissing"), self.reference(raw, "number"))
        if pick < 0.3 and depth > 0:
            parts = [self.truth(raw, depth - 1) for _ in range(2)]
            return self.apply(self.one("and", "or"), *parts)
        if pick < 0.37 and depth > 0:
            return self.apply("not", self.truth(raw, depth - 1))
        if raw not in NUMBERS:
            text = f'<Constant dataType="string">{escape(self.one(*CATEGORIES[raw]))}</Constant>'
            if raw == "g":
                text = f"<Constant>{self.one('1', '2', '4')}</Constant>"
            if raw == "b":
                text = f'<Constant dataType="boolean">{self.one("true", "false")}</Constant>'
            if self.chance(0.25):
                return self.apply(
                    self.one("isIn", "isNotIn"), f'<FieldRef field="{raw}"/>', text, text
                )
            return self.apply(self.one(*EQUALITY), f'<FieldRef field="{raw}"/>', text)
        if pick < 0.5:
            kind = {"k": "integer", "s": "float"}.get(raw, "double")
            values = [self.constant(kind) for _ in range(2)]
            return self.apply(self.one("isIn", "isNotIn"), f'<FieldRef field="{raw}"/>', *values)
        operator = self.one(*ORDERED, *ORDERED, *EQUALITY)
        parts = [self.number(raw, depth - 1), self.constant("double")]
        if self.chance(0.1):
            parts.reverse()
        return self.apply(operator, *parts)

    def apply(self, function: str, *parts: str) -> str:
        return f'<Apply function="{escape(function)}"{self.settings()}>{"".join(parts)}</Apply>'

    def lines(self, raw: str) -> str:
        points = sorted(
            self.random.sample([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0], self.random.randint(2, 4))
        )
        inner = "".join(
            f'<LinearNorm orig="{point}" norm="{self.one("0", "1", "-1", "2", "0.5")}"/>'
            for point in points
        )
        outliers = self.optional("outliers", "asMissingValues", "asExtremeValues", share=0.5)
        missing = self.optional("mapMissingTo", "0.3", "2")
        return f'<NormContinuous field="{raw}"{missing}{outliers}>{inner}</NormContinuous>'

    def bins(self, raw: str, values: tuple[str, ...], kind: str) -> str:
        ends = sorted(self.random.sample([-2, -1, 0, 1, 2, 3], self.random.randint(2, 5)))
        inner = ""
        for low, high in zip(ends, ends[1:], strict=False):
            if self.chance(0.25):
                continue
            closure = self.one("closedOpen", "closedOpen", "openOpen")
            left = "" if low == ends[0] and self.chance(0.4) else f' leftMargin="{low}"'
            right = (
                "" if high == ends[-1] and self.chance(0.4) and left else f' rightMargin="{high}"'
            )
            inner += (
                f'<DiscretizeBin binValue={quoteattr(self.one(*values))}><Interval closure="{closure}"{left}{right}/>'
                "</DiscretizeBin>"
            )
        said = f' dataType="{kind}"' if kind else ""
        default = self.optional("defaultValue", *values, share=0.4)
        missing = self.optional("mapMissingTo", *values, share=0.3)
        return f'<Discretize field="{raw}"{said}{default}{missing}>{inner}</Discretize>'

    def table(self, raw: str, values: tuple[str, ...] = ("0", "1", "2.5")) -> str:
        keys = ("-1", "0", "1", "2", "0.5") if raw in NUMBERS else CATEGORIES[raw]
        if raw == "k":
            keys = keys[:-1]
        chosen = self.random.sample(keys, self.random.randint(1, len(keys)))
        rows = "".join(
            f"<row><in>{escape(key)}</in><out>{escape(self.one(*values))}</out></row>"
            for key in chosen
        )
        default = self.optional("defaultValue", *values, share=0.4)
        missing = self.optional("mapMissingTo", *values, share=0.3)
        return (
            f'<MapValues outputColumn="out"{default}{missing}><FieldColumnPair field="{raw}" column="in"/>'
            f"<InlineTable>{rows}</InlineTable></MapValues>"
        )

    def text(self, raw: str) -> str:
        values = ("a", " b", "low", "v w")
        if raw in NUMBERS and self.chance(0.6):
            return self.bins(raw, values, "")
        if self.chance(0.6):
            return self.table(raw, values)
        parts = [
            f'<Constant dataType="string">{escape(self.one(*values))}</Constant>' for _ in range(2)
        ]
        whole = self.apply("if", self.truth(raw, 1), *parts[: self.random.randint(1, 2)])
        pick = self.random.random()
        if pick < 0.15:
            return self.apply(self.one("uppercase", "lowercase", "trimBlanks"), whole)
        if pick < 0.3:
            return self.apply("concat", whole, parts[0])
        return whole

    def derived(self, raw: str) -> str:
        """Return one more derived field of a raw one."""
        name = f"d{len(self.own)}"
        pick = self.random.random()
        if pick < 0.6 or (pick < 0.68 and raw in NUMBERS):
            depth = self.random.randint(0, 3)
            kind = self.one("double", "double", "double", "float", "integer")
            expression = self.number(raw, depth)
            if raw in NUMBERS and self.chance(0.1):
                expression = self.bins(raw, ("0", "1", "2"), self.one("", "integer", "double"))
            optype, of = "continuous", "number"
        elif pick < 0.8:
            kind, optype, of = "boolean", "categorical", "truth"
            expression = self.truth(raw, 2)
        else:
            kind, optype, of = "string", "categorical", "text"
            expression = self.text(raw)
        self.whole |= {name} if kind == "integer" else set()
        self.own.append((name, of, raw))
        return f'<DerivedField name="{name}" optype="{optype}" dataType="{kind}">{expression}</DerivedField>'

    def predicate(self, names: list[tuple[str, str, str]]) -> str:
        if self.chance(0.12):
            operator = self.one("and", "or", "xor", "surrogate")
            parts = [self.predicate(names) for _ in range(2)]
            return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'
        name, of, raw = self.random.choice(names)
        if self.chance(0.1):
            return f'<SimplePredicate field="{name}" operator="{self.one("isMissing", "isNotMissing")}"/>'
        if of == "number":
            operator, value = self.one(*ORDERED, *ORDERED, *EQUALITY), self.one(*ENDS)
            if operator in EQUALITY and name in self.whole:
                value = self.one("-1", "0", "2")
            return f'<SimplePredicate field="{name}" operator="{operator}" value="{value}"/>'
        values = ("true", "false") if of == "truth" else ("a", " b", "low", "v w", "LOW", "aa")
        if of == "raw":
            values = CATEGORIES[raw]
        if self.chance(0.3):
            inner = " ".join(f'"{value}"' for value in self.random.sample(values, 2))
            return (
                f'<SimpleSetPredicate field="{name}" booleanOperator="{self.one("isIn", "isNotIn")}">'
                f'<Array type="string" n="2">{escape(inner)}</Array></SimpleSetPredicate>'
            )
        value = quoteattr(self.one(*values))
        return f'<SimplePredicate field="{name}" operator="{self.one(*EQUALITY)}" value={value}/>'

    def node(self, names: list[tuple[str, str, str]], depth: int, test: str) -> str:
        self.nodes += 1
        name = f"n{self.nodes}"
        children = []
        if depth > 0:
            for place in range(self.random.randint(2, 3)):
                last = "<True/>" if place and self.chance(0.5) else self.predicate(names)
                children.append(self.node(names, depth - 1, last))
        default = ""
        if children:
            first = children[self.random.randrange(len(children))].partition('id="')[2]
            default = f' defaultChild="{first.partition(chr(34))[0]}"'
        return f'<Node id="{name}" score="{name}"{default}>{test}{"".join(children)}</Node>'

    def model(self) -> Case:
        raws = self.random.sample([*NUMBERS, *CATEGORIES], self.random.randint(1, 2))
        scopes: dict[str, list[str]] = {"TransformationDictionary": [], "LocalTransformations": []}
        for raw in raws:
            for _ in range(self.random.randint(1, 2)):
                scopes["TransformationDictionary"].append(self.derived(raw))
        scopes["TransformationDictionary"].insert(0, FUNCTIONS)
        held = {key: f"<{key}>{''.join(inner)}</{key}>" for key, inner in scopes.items() if inner}
        names = list(self.own)
        if self.chance(0.2):
            raw = self.one(*raws)
            names.append((raw, "number" if raw in NUMBERS else "raw", raw))
        tree = self.node(names, self.random.randint(1, 2), "<True/>")
        settings = (
            f'missingValueStrategy="{self.one(*STRATEGIES)}" '
            f'noTrueChildStrategy="{self.one("returnNullPrediction", "returnLastPrediction")}"'
        )
        values = {
            name: "".join(f"<Value value={quoteattr(value)}/>" for value in known)
            for name, known in DECLARED.items()
        }
        schema = "".join(
            f'<MiningField name="{raw}"{self.replacement(raw)}/>' for raw in (*NUMBERS, *CATEGORIES)
        )
        pmml = (
            f'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>'
            f"<DataDictionary>{FIELDS.format(**values)}</DataDictionary>{held.get('TransformationDictionary', '')}"
            f'<TreeModel functionName="classification" {settings}>'
            f'<MiningSchema><MiningField name="t" usageType="target"/>{schema}</MiningSchema>'
            f"{tree}</TreeModel></PMML>"
        )
        return Case(pmml, self.records())

    def replacement(self, raw: str) -> str:
        values = ("0", "2") if raw in NUMBERS else CATEGORIES[raw][:2]
        return self.optional("missingValueReplacement", *values, share=0.08)

    def records(self) -> dict[str, list[float | str | None]]:
        steps = [step / 4 for step in range(-14, 19)] + [0.3, 99.0, 100.0, 1e4, -1e4, 2147483000.0]
        table: dict[str, list[float | str | None]] = {}
        for name in NUMBERS:
            numbers = [self.random.choice(steps) for _ in range(RECORDS)]
            if name == "k":
                numbers = [float(round(number)) for number in numbers]
            if name == "s":
                numbers = [float(np.float32(number)) for number in numbers]
            table[name] = list(numbers)
        for name, values in CATEGORIES.items():
            table[name] = [self.one(*values) for _ in range(RECORDS)]
        for column in table.values():
            for row in range(RECORDS):
                if self.chance(0.12):
                    column[row] = None
        return table


def draw(seed: int) -> Case:
    """Return the case of a seed."""
    return Drawing(Random(seed)).model()


def ends_as_read(case: Case) -> list[str | None] | str:
    """Return where the product sends each record: a node, None for no prediction, "refused"; or why it does not say."""
    try:
        tree = load_tree(case.pmml.encode(), "drawn.pmml")
    except TreeFormatError as error:
        return f"error: {error}"
    if any("cannot compute the field" in note for note in tree.notes):
        return next(note for note in tree.notes if "cannot compute the field" in note)
    stops, refused = routed(tree, columns_of(tree, case))
    found: list[str | None] = []
    for stop, is_refused in zip(stops.tolist(), refused.tolist(), strict=True):
        if is_refused:
            found.append("refused")
        elif stop == SEVERAL:
            found.append("several")
        else:
            found.append(None if stop == NOWHERE else str(tree.nodes[stop].score))
    return found


def columns_of(tree: Tree, case: Case) -> dict[str, Column]:
    """Return the records of a case as columns."""
    columns: dict[str, Column] = {}
    for feature in tree.features:
        cells = case.table[feature.name]
        if feature.numeric:
            columns[feature.name] = NumericColumn(
                np.array([np.nan if cell is None else float(cell) for cell in cells])
            )
        else:
            names = tuple(dict.fromkeys(str(cell) for cell in cells if cell is not None))
            codes = [-1 if cell is None else names.index(str(cell)) for cell in cells]
            columns[feature.name] = CategoricalColumn(np.array(codes), names)
    return columns


def ends_in_jpmml(case: Case) -> list[str | None] | str:
    """Return where JPMML-Evaluator sends each record, in the same words; or why it does not load the model."""
    import jpmml_evaluator
    import pandas as pd

    try:
        evaluator = jpmml_evaluator.make_evaluator(case.pmml, backend="jpype")
    except jpmml_evaluator.JavaError as error:
        return f"JPMML: {error}"
    kinds = {one.getName(): one.getDataType() for one in evaluator.getInputFields()}
    table = {}
    for name, kind in kinds.items():
        cells = case.table[name]
        if kind in ("integer", "boolean") and name in CATEGORIES:
            cells = [None if cell is None else str(cell) for cell in cells]
        table[name] = cells
    frame = pd.DataFrame(table, dtype=object, index=range(RECORDS))
    try:
        results = evaluator.evaluateAll(frame, error_col="wrong", parallelism=1)
    except jpmml_evaluator.JavaError as error:
        return f"JPMML: {error}"
    errors = results["wrong"].tolist() if "wrong" in results else [None] * RECORDS
    scores = results["t"].tolist() if "t" in results else [None] * RECORDS
    found: list[str | None] = []
    for score, error in zip(scores, errors, strict=True):
        is_wrong = error is not None and str(error) not in ("None", "nan")
        is_silent = score is None or score != score
        found.append("refused" if is_wrong else None if is_silent else str(score))
    return found


def compare(seed: int) -> tuple[Counter[str], list[str]]:
    """Return what was counted of a seed's case, and the records that end elsewhere."""
    case = draw(seed)
    counts: Counter[str] = Counter(models=1)
    ours = ends_as_read(case)
    if isinstance(ours, str):
        counts["own field" if not ours.startswith("error") else "error"] += 1
        if ours.startswith("error"):
            counts[ours.partition(": ")[2][:90]] += 1
        return counts, []
    theirs = ends_in_jpmml(case)
    if isinstance(theirs, str):
        counts["not loaded"] += 1
        return counts, []
    fields = case.pmml.count("<DerivedField")
    misses = []
    for row, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        counts["records"] += 1
        counts["records x fields"] += fields
        counts["refused"] += other == "refused"
        counts["no prediction"] += other is None
        if one != other:
            record = {name: cells[row] for name, cells in case.table.items()}
            misses.append(f"seed {seed}: {record}: read {one}, JPMML {other}")
    return counts, misses


def main() -> int:
    """Compare as many models as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    began = time.perf_counter()
    total: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.seed, options.seed + options.cases):
        counts, misses = compare(seed)
        total += counts
        wrong += bool(misses)
        if misses and wrong <= options.show:
            print(f"{misses[0]} (and {len(misses) - 1} more)", flush=True)
    print(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
    print(f"{wrong} models differ; {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
