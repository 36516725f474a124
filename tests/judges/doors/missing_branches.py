"""Trees over derived fields of PMML that lack a value: if without else, bins with gaps, tables without default.

The independent answer is an evaluator of its own: each field is drawn as a small expression, worked out record by
record with "missing" as a value of its own, and the tree is walked with three truth values, as PMML 4.4 says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from tests.judges.doors import Judge, Trial
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tables.routing import NOWHERE, routed
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn

RECORDS = 40
MISSING = None
Value = float | str | None
Truth = bool | None
WORDS = ("a", " b", "c d")
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "lessThan": lambda one, two: one < two,
    "lessOrEqual": lambda one, two: one <= two,
    "greaterThan": lambda one, two: one > two,
    "greaterOrEqual": lambda one, two: one >= two,
}
CURVES: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "floor": lambda value: float(np.floor(value)),
    "sqrt": lambda value: float(np.sqrt(value)),
}


@dataclass(frozen=True)
class Computed:
    """A drawn expression: how PMML writes it, and what it comes to for a value of its raw field."""

    xml: str
    of: Callable[[Value], Value]
    is_text: bool = False


@dataclass(frozen=True)
class Asked:
    """A drawn test: how PMML writes it, and its truth for the values of the derived fields."""

    xml: str
    of: Callable[[dict[str, Value]], Truth]


@dataclass(frozen=True)
class Branch:
    """A drawn node."""

    name: str
    test: Asked | None
    children: tuple[Branch, ...]
    default: str

    def xml(self) -> str:
        test = "<True/>" if self.test is None else self.test.xml
        default = f' defaultChild="{self.default}"' if self.default else ""
        inner = "".join(child.xml() for child in self.children)
        return f'<Node id="{self.name}" score="{self.name}"{default}>{test}{inner}</Node>'


def constant(random: Random) -> Computed:
    number = random.choice((-1.0, 0.0, 1.0, 2.5, 4.0))
    return Computed(f'<Constant dataType="double">{number}</Constant>', lambda _: number)


def number(random: Random, depth: int, outer: bool = True) -> Computed:
    """Draw an expression over the raw number x.

    Only where nothing computes on with it (``outer``) it may have a value for missing ones: to JPMML that is a text.
    """
    if depth == 0:
        missing = random.choice((None, None, 2.0)) if outer else None
        said = "" if missing is None else f' mapMissingTo="{missing}"'
        return Computed(f'<FieldRef field="x"{said}/>', lambda x: missing if x is MISSING else x)
    draw = random.choice((arithmetic, chosen, chosen, curve, bins, lines))
    return draw(random, depth, outer)


def default_of(random: Random, outer: bool) -> tuple[float | None, str]:
    """Draw what a function gives in place of no result, and how PMML says so."""
    default = random.choice((None, None, -1.0, 2.0)) if outer else None
    return default, "" if default is None else f' defaultValue="{default}"'


def arithmetic(random: Random, depth: int, outer: bool) -> Computed:
    """Draw a sum or product with a constant."""
    inner, factor = number(random, depth - 1, outer=False), random.choice((-2.0, 0.5, 3.0))
    name = random.choice(("+", "*"))
    default, said = default_of(random, outer)

    def of(x: Value) -> Value:
        value = inner.of(x)
        if value is MISSING:
            return default
        return value + factor if name == "+" else value * factor

    xml = f'<Apply function="{name}"{said}>{inner.xml}<Constant dataType="double">{factor}</Constant></Apply>'
    return Computed(xml, of)


def curve(random: Random, depth: int, outer: bool) -> Computed:
    """Draw a function that must have its argument, so that a missing one is caught first."""
    inner, name = number(random, depth - 1, outer=False), random.choice(tuple(CURVES))
    default, said = default_of(random, outer)
    xml = (
        f'<Apply function="if"{said}><Apply function="isNotMissing">{inner.xml}</Apply>'
        f'<Apply function="{name}" invalidValueTreatment="asMissing">{inner.xml}</Apply></Apply>'
    )

    def of(x: Value) -> Value:
        value = inner.of(x)
        if value is MISSING or (name == "sqrt" and value < 0):
            return default
        return CURVES[name](value)

    return Computed(xml, of)


def chosen(random: Random, depth: int, outer: bool) -> Computed:
    """Draw an if, often without an else, whose condition a missing value does not end."""
    operator, end = random.choice(tuple(OPERATORS)), random.choice((-1.0, 0.0, 1.0, 2.0))
    fill = random.choice((-5.0, 5.0))
    parts = [
        constant(random) if random.random() < 0.4 else number(random, depth - 1, outer)
        for _ in range(random.choice((1, 1, 2)))
    ]
    default, said = default_of(random, outer)
    xml = (
        f'<Apply function="if"{said}><Apply function="{operator}"><Apply function="max"><FieldRef field="x"/>'
        f'<Constant dataType="double">{fill}</Constant></Apply><Constant dataType="double">{end}</Constant></Apply>'
        f"{''.join(part.xml for part in parts)}</Apply>"
    )

    def of(x: Value) -> Value:
        compared = fill if x is MISSING else max(x, fill)
        taken = parts[:1] if OPERATORS[operator](compared, end) else parts[1:]
        value = taken[0].of(x) if taken else MISSING
        return default if value is MISSING else value

    return Computed(xml, of)


def bins(random: Random, depth: int, outer: bool) -> Computed:
    return discretized(random, ("0", "1", "2"), is_text=False)


def discretized(random: Random, values: tuple[str, ...], is_text: bool) -> Computed:
    """Draw bins with gaps, closed on the left, with or without a default value and one for missing values."""
    ends = sorted(random.sample((-2, -1, 0, 1, 2, 3), random.randint(2, 5)))
    kept = [
        (low, high, random.choice(values))
        for low, high in zip(ends, ends[1:], strict=False)
        if random.random() < 0.7
    ]
    default = random.choice((None, None, random.choice(values)))
    missing = random.choice((None, None, random.choice(values)))
    said = "" if default is None else f" defaultValue={quoteattr(default)}"
    said += "" if missing is None else f" mapMissingTo={quoteattr(missing)}"
    said += "" if is_text else ' dataType="double"'
    inner = "".join(
        f"<DiscretizeBin binValue={quoteattr(value)}>"
        f'<Interval closure="closedOpen" leftMargin="{low}" rightMargin="{high}"/></DiscretizeBin>'
        for low, high, value in kept
    )

    def of(x: Value) -> Value:
        values = (value for low, high, value in kept if x is not MISSING and low <= x < high)
        found = missing if x is MISSING else next(values, default)
        return found if found is None or is_text else float(found)

    return Computed(f'<Discretize field="x"{said}>{inner}</Discretize>', of, is_text)


def lines(random: Random, depth: int, outer: bool) -> Computed:
    """Draw one straight line whose outliers are missing, or the ends, or on the line."""
    treatment = random.choice(("asMissingValues", "asMissingValues", "asExtremeValues", "asIs"))

    def of(x: Value) -> Value:
        if x is MISSING or (treatment == "asMissingValues" and not -1 <= x <= 3):
            return MISSING
        return (min(max(x, -1), 3) if treatment == "asExtremeValues" else x) / 2 - 1.5 + 2

    xml = (
        f'<NormContinuous field="x" outliers="{treatment}"><LinearNorm orig="-1" norm="0"/>'
        '<LinearNorm orig="3" norm="2"/></NormContinuous>'
    )
    return Computed(xml, of)


def table(random: Random) -> Computed:
    """Draw a table of words, as they are written, often without a default value."""
    keys = random.sample(WORDS, random.randint(1, 3))
    rows = {key: random.choice(("u", " v", "w")) for key in keys}
    default = random.choice((None, None, "w"))
    missing = random.choice((None, None, "u"))
    said = "" if default is None else f" defaultValue={quoteattr(default)}"
    said += "" if missing is None else f" mapMissingTo={quoteattr(missing)}"
    inner = "".join(
        f"<row><in>{escape(key)}</in><out>{escape(value)}</out></row>"
        for key, value in rows.items()
    )
    xml = (
        f'<MapValues outputColumn="out"{said}><FieldColumnPair field="c" column="in"/>'
        f"<InlineTable>{inner}</InlineTable></MapValues>"
    )
    return Computed(xml, lambda c: missing if c is MISSING else rows.get(str(c), default), True)


def test_of(random: Random, fields: dict[str, Computed]) -> Asked:
    name = random.choice(tuple(fields))
    if random.random() < 0.15:
        is_wanted = random.random() < 0.5
        operator = "isMissing" if is_wanted else "isNotMissing"
        return Asked(
            f'<SimplePredicate field="{name}" operator="{operator}"/>',
            lambda values: (values[name] is MISSING) == is_wanted,
        )
    if fields[name].is_text:
        word, is_equal = random.choice(("u", " v", "w", "v")), random.random() < 0.6
        operator = "equal" if is_equal else "notEqual"
        return Asked(
            f'<SimplePredicate field="{name}" operator="{operator}" value={quoteattr(word)}/>',
            lambda values: None if values[name] is MISSING else (values[name] == word) == is_equal,
        )
    operator, end = random.choice(tuple(OPERATORS)), random.choice((-1.0, 0.0, 0.5, 1.0, 2.0))
    return Asked(
        f'<SimplePredicate field="{name}" operator="{operator}" value="{end}"/>',
        lambda values: None if values[name] is MISSING else OPERATORS[operator](values[name], end),
    )


def grow(
    random: Random, fields: dict[str, Computed], depth: int, test: Asked | None, names: list[str]
) -> Branch:
    name = f"n{len(names)}"
    names.append(name)
    children = []
    for place in range(random.randint(2, 3) if depth else 0):
        asked = None if place and random.random() < 0.4 else test_of(random, fields)
        children.append(grow(random, fields, depth - 1, asked, names))
    default = random.choice(children).name if children else ""
    return Branch(name, test, tuple(children), default)


def end_of(root: Branch, values: dict[str, Value], strategy: str, silence: str) -> str | None:
    """Return the node where a record ends; None where the tree predicts nothing."""
    node, last = root, root.name
    while node.children:
        last = node.name
        for child in node.children:
            truth = True if child.test is None else child.test.of(values)
            if truth is None and strategy != "none":
                if strategy == "nullPrediction":
                    return None
                if strategy == "lastPrediction":
                    return last
                node = next(one for one in node.children if one.name == node.default)
                break
            if truth:
                node = child
                break
        else:
            return last if silence == "returnLastPrediction" else None
    return node.name


class MissingBranches(Judge):
    """Where each record ends, and how few end together, by an evaluator of its own."""

    def judge(self, seed: int) -> Trial:
        random, trial = Random(seed), Trial()
        fields = {
            "d0": number(random, random.randint(0, 3)),
            "d1": discretized(random, ("u", " v", "w"), is_text=True),
            "d2": table(random),
        }
        raws = {"d0": "x", "d1": "x", "d2": "c"}
        root = grow(random, fields, random.randint(1, 2), None, [])
        strategy = random.choice(("none", "lastPrediction", "nullPrediction", "defaultChild"))
        silence = random.choice(("returnLastPrediction", "returnNullPrediction"))
        steps = [step / 4 for step in range(-12, 17)]
        records: list[dict[str, Value]] = [
            {
                "x": MISSING if random.random() < 0.15 else random.choice(steps),
                "c": MISSING if random.random() < 0.15 else random.choice((*WORDS, "b", "a ")),
            }
            for _ in range(RECORDS)
        ]
        expected = [
            end_of(
                root,
                {name: one.of(record[raws[name]]) for name, one in fields.items()},
                strategy,
                silence,
            )
            for record in records
        ]
        pmml = written(root, fields, strategy, silence)
        tree = load_tree(pmml.encode(), f"seed{seed}.pmml")
        own = [note for note in tree.notes if "stays a field of its own" in note]
        trial.counts.update(records=RECORDS, own=bool(own))
        if own:
            has_column = {feature.name for feature in tree.features} & fields.keys()
            trial.claim(bool(has_column), "a field is said to stay one, and is none")
            return trial
        stops, refused = routed(tree, columns_of(records))
        trial.claim(not refused.any(), f"refuses {int(refused.sum())} records")
        read = [None if stop == NOWHERE else tree.nodes[stop].name for stop in stops.tolist()]
        wrong = [place for place in range(RECORDS) if read[place] != expected[place]]
        if wrong:
            place = wrong[0]
            trial.claim(
                False,
                f"{len(wrong)} records end elsewhere: {records[place]} in {read[place]}, not {expected[place]}",
            )
        trial.claim(fewest(read) == fewest(expected), "the smallest leaf is another")
        return trial


def fewest(ends: list[str | None]) -> int:
    """Return how many records the smallest group that ends together has."""
    return min(Counter(ends).values())


def written(root: Branch, fields: dict[str, Computed], strategy: str, silence: str) -> str:
    derived = "".join(
        f'<DerivedField name="{name}" optype="{"categorical" if one.is_text else "continuous"}" '
        f'dataType="{"string" if one.is_text else "double"}">{one.xml}</DerivedField>'
        for name, one in fields.items()
    )
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        '<DataField name="t" optype="categorical" dataType="string"/>'
        '<DataField name="x" optype="continuous" dataType="double"/>'
        '<DataField name="c" optype="categorical" dataType="string"/></DataDictionary>'
        f'<TreeModel functionName="classification" missingValueStrategy="{strategy}" noTrueChildStrategy="{silence}">'
        '<MiningSchema><MiningField name="t" usageType="target"/><MiningField name="x"/><MiningField name="c"/>'
        f"</MiningSchema><LocalTransformations>{derived}</LocalTransformations>{root.xml()}</TreeModel></PMML>"
    )


def columns_of(records: list[dict[str, Value]]) -> dict[str, Column]:
    numbers = [np.nan if record["x"] is MISSING else float(record["x"]) for record in records]
    names = tuple(dict.fromkeys(str(one["c"]) for one in records if one["c"] is not MISSING))
    codes = [-1 if one["c"] is MISSING else names.index(str(one["c"])) for one in records]
    return {
        "x": NumericColumn(np.array(numbers)),
        "c": CategoricalColumn(np.array(codes), names),
    }


JUDGE = MissingBranches()
