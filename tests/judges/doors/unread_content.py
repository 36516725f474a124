"""Foreign content in a harmless PMML tree: planted at a random place, it is told or refused, and redaction leaves none.

A tree is grown here, on a table drawn here, and written in PMML as producers write it, with counts or labels alone.
The file as it is must agree with itself and the table and hold nothing beside the tree. Then one thing is planted that
no reader evaluates (a model inside a node, an element, attribute or text anywhere, a sentence in a field of origin, a
field that nothing asks for), or that contradicts the rest (a probability, a label). What was planted is the answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from tests.judges.doors import Judge, Trial
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.run import run
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import Pack, read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.load import OpenedFile, open_model
from treewarden.ppdm_models.formats import Strippable
from treewarden.ppdm_models.tables.read_table import read_table_bytes
from treewarden.ppdm_models.tree.side_channels import LeakGroup, LeakKind

SENTENCE = "Zyxa Quentin, 44, has it"
WORDS = "zyxa_quentin_of_44_has_it"
TRACE = re.compile(rb"zyxa", re.IGNORECASE)
SETTINGS = Knowledge(split="none")
OPTIONS = AuditOptions(worlds=False, jobs=1)
AGREEMENT = ("file-agrees", "table-agrees")
TAG = re.compile(r"<(/?)([A-Z]\w*)[^<>]*?(/?)>")


@dataclass(frozen=True)
class Part:
    """A node of the drawn tree: its test in PMML, the rows in it, and the parts below."""

    test: str
    rows: tuple[tuple[int, int, str], ...]
    below: tuple[Part, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each class there are."""
        labels = [label for *_, label in self.rows]
        return {label: labels.count(label) for label in ("no", "yes")}

    @property
    def label(self) -> str:
        """The class of most rows."""
        return "yes" if self.counts["yes"] > self.counts["no"] else "no"


@dataclass(frozen=True)
class Case:
    """A file that holds nothing but its tree, and the table that it was grown on.

    ``leads`` says of each node, in the order of the file, by how many rows one class leads.
    """

    text: str
    table: bytes
    with_counts: bool
    leads: tuple[int, ...]


class UnreadContent(Judge):
    """What is planted is told, or the file is refused; what is not planted raises no alarm."""

    def __init__(self) -> None:
        self.pack: Pack | None = None

    def judge(self, seed: int) -> Trial:
        draw = random.Random(seed)
        case, found = _case(draw), Trial()
        plain = open_model(case.text.encode(), "tree.pmml")
        decision = self._decision(case, plain)
        people = [leak.what for leak in plain.leaks if leak.kind.group is LeakGroup.PEOPLE]
        doubts = [each.clause for each in decision.findings if each.clause in AGREEMENT]
        found.claim(not people and not doubts, f"false alarm: {people} {doubts}")
        kinds = [name for name in PLANTS if case.with_counts or name != "probability"]
        kind = draw.choice([*kinds, "label"])
        planted = _label(draw, case) if kind == "label" else PLANTS[kind](draw, case.text)
        if planted is None:
            found.counts["nothing to plant in"] += 1
            return found
        found.counts[kind] += 1
        try:
            opened = open_model(planted.encode(), "tree.pmml")
        except TreeFormatError:
            found.counts["refused"] += 1
            return found
        decision = self._decision(case, opened)
        if kind in ("probability", "label"):
            doubts = [each.clause for each in decision.findings if each.clause in AGREEMENT]
            found.claim(bool(doubts), f"{kind}: no contradiction told")
            found.claim(decision.verdict is not PolicyVerdict.PASS, f"{kind}: passes")
            return found
        told = any(leak.kind.group is LeakGroup.PEOPLE for leak in opened.leaks)
        found.claim(told, f"{kind}: not told in {_excerpt(planted)}")
        found.claim(decision.verdict is not PolicyVerdict.PASS, f"{kind}: passes")
        if told:
            _redacted(found, kind, opened, plain)
        return found

    def _decision(self, case: Case, opened: OpenedFile) -> Decision:
        if self.pack is None:
            self.pack = read_pack(shipped_packs()["baseline"].read_bytes(), "baseline")
        table = read_table_bytes(case.table, "table.csv")
        people = build_population(opened.model, table, sensitive="y", qi=("a", "b"))
        audit = run(opened.model, people, SETTINGS, (), OPTIONS, opened.leaks)
        return judge(audit, self.pack)


def _redacted(found: Trial, kind: str, opened: OpenedFile, plain: OpenedFile) -> None:
    """Note whether redaction leaves nothing of what was planted, and the tree as it was."""
    assert isinstance(opened.opened, Strippable)
    try:
        clean = opened.opened.without(frozenset(LeakKind))
    except OutputError as error:
        found.claim(False, f"{kind}: cannot be redacted: {error}")
        return
    bare = open_model(clean, "tree.pmml")
    left = [leak.what for leak in bare.leaks if leak.kind.group is LeakGroup.PEOPLE]
    found.claim(not left, f"{kind}: left after redaction: {left}")
    found.claim(not TRACE.search(clean), f"{kind}: still in the file after redaction")
    found.claim(bare.model == plain.model, f"{kind}: redaction changed the tree")


def _case(draw: random.Random) -> Case:
    rows = []
    steep = draw.choice((0.2, 0.6, 1.0))
    for _ in range(draw.randint(60, 150)):
        a, b = draw.randint(0, 6), draw.randint(0, 4)
        chance = 0.5 + steep * (a / 6 - 0.5) * 0.8
        rows.append((a, b, "yes" if draw.random() < chance else "no"))
    root = _grown(draw, tuple(rows), "<True/>", draw.randint(1, 3))
    with_counts = draw.random() < 0.6
    with_shares = with_counts and draw.random() < 0.4
    table = "a,b,y\n" + "".join(f"{a},{b},{label}\n" for a, b, label in rows)
    text = _written(draw, root, with_counts, with_shares)
    leads = tuple(abs(part.counts["yes"] - part.counts["no"]) for part in _parts(root))
    return Case(text, table.encode(), with_counts, leads)


def _parts(root: Part) -> Iterator[Part]:
    yield root
    for part in root.below:
        yield from _parts(part)


def _grown(
    draw: random.Random, rows: tuple[tuple[int, int, str], ...], test: str, depth: int
) -> Part:
    cuts = [
        (place, cut)
        for place, cut in product((0, 1), range(6))
        if min(_sides(rows, place, cut)) >= 8
    ]
    if not depth or not cuts:
        return Part(test, rows)
    place, cut = draw.choice(cuts)
    name = "ab"[place]
    sides = [
        ("lessOrEqual", tuple(row for row in rows if row[place] <= cut)),
        ("greaterThan", tuple(row for row in rows if row[place] > cut)),
    ]
    below = tuple(
        _grown(
            draw,
            inside,
            f'<SimplePredicate field="{name}" operator="{operator}" value="{cut}.5"/>',
            depth - 1,
        )
        for operator, inside in sides
    )
    return Part(test, rows, below)


def _sides(rows: tuple[tuple[int, int, str], ...], place: int, cut: int) -> tuple[int, int]:
    low = sum(row[place] <= cut for row in rows)
    return low, len(rows) - low


def _written(draw: random.Random, root: Part, with_counts: bool, with_shares: bool) -> str:
    names = iter(range(1, 1000))
    attribute = draw.choice(("probability", "confidence"))

    def node(part: Part) -> str:
        name = next(names)
        size = f' recordCount="{len(part.rows)}"' if with_counts else ""
        items = ""
        for label, count in part.counts.items() if with_counts else ():
            share = f' {attribute}="{count / len(part.rows):.6f}"' if with_shares else ""
            items += f'<ScoreDistribution value="{label}" recordCount="{count}"{share}/>\n'
        inner = "".join(map(node, part.below))
        return (
            f'<Node id="{name}" score="{part.label}"{size}>\n{part.test}\n{items}{inner}</Node>\n'
        )

    header = draw.choice(
        (
            "<Header/>",
            '<Header><Application name="SkLearn2PMML package" version="0.127.1"/>'
            "<Timestamp>2026-02-04T09:27:18Z</Timestamp></Header>",
            '<Header copyright="Copyright (c) 2026 root"><Application name="KNIME" version="3.5.1"/></Header>',
        )
    )
    output = draw.choice(
        (
            "",
            '<Output><OutputField name="Predicted_y" feature="predictedValue"/><OutputField name="probability(yes)" '
            'feature="probability" value="yes"/></Output>',
        )
    )
    fields = "".join(
        f'<DataField name="{name}" optype="continuous" dataType="double"/>\n' for name in "ab"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n'
        f"{header}\n<DataDictionary>\n{fields}"
        '<DataField name="y" optype="categorical" dataType="string">\n<Value value="no"/>\n<Value value="yes"/>\n'
        '</DataField>\n</DataDictionary>\n<TreeModel functionName="classification" splitCharacteristic="binarySplit">\n'
        '<MiningSchema>\n<MiningField name="a"/>\n<MiningField name="b"/>\n<MiningField name="y" usageType="target"/>\n'
        f"</MiningSchema>\n{output}\n{node(root)}</TreeModel>\n</PMML>\n"
    )


Plant = Callable[[random.Random, str], str | None]


def _within(
    draw: random.Random, text: str, what: str, *, only: str = "", never: tuple[str, ...] = ()
) -> str | None:
    """Return a text with something at a random place between tags, inside ``only`` one element, or ``never`` some."""
    places = []
    stack: list[str] = []
    for found in TAG.finditer(text):
        closes, name, is_empty = found.groups()
        if closes:
            stack.pop()
        elif not is_empty:
            stack.append(name)
        if stack and (not only or stack[-1] == only) and stack[-1] not in never:
            places.append(found.end())
    if not places:
        return None
    at = draw.choice(places)
    return text[:at] + what + text[at:]


def _on_tag(draw: random.Random, text: str, attribute: str) -> str:
    """Return a text with an attribute on a random element."""
    tags = [found for found in TAG.finditer(text) if not found[1]]
    found = draw.choice(tags)
    at = found.start() + 1 + len(found[2])
    return f"{text[:at]} {attribute}{text[at:]}"


def _model(draw: random.Random, _text: str) -> str:
    inner = (
        '<Node id="zyxa0" score="no" recordCount="40"><True/><Node id="zyxa1" score="yes" recordCount="1">'
        '<SimplePredicate field="a" operator="equal" value="0"/></Node></Node>'
    )
    return draw.choice(
        (
            f'<DecisionTree functionName="classification">{inner}</DecisionTree>',
            f'<TreeModel functionName="classification">{inner}</TreeModel>',
            f'<MiningModel functionName="classification"><DecisionTree functionName="classification">{inner}'
            "</DecisionTree></MiningModel>",
            '<Regression functionName="regression" modelName="zyxa"><RegressionTable intercept="44"/></Regression>',
            f'<Scorecard functionName="regression" modelName="zyxa">{SENTENCE}</Scorecard>',
            '<Partition name="zyxa"><PartitionFieldStats field="a"><Counts totalFreq="1"/></PartitionFieldStats>'
            "</Partition>",
            f'<Extension name="zyxa"><TreeModel functionName="classification">{inner}</TreeModel></Extension>',
        )
    )


def _known(draw: random.Random) -> str:
    """Return an element that PMML has, with a sentence in it."""
    return draw.choice(
        (
            f"<Timestamp>{SENTENCE}</Timestamp>",
            f"<Annotation>{SENTENCE}</Annotation>",
            f'<Value value="{SENTENCE}"/>',
            f'<Array n="1" type="string">{SENTENCE}</Array>',
            f'<MiningField name="{SENTENCE}" usageType="supplementary"/>',
            f'<DataField name="{SENTENCE}" optype="categorical"/>',
            f'<ParameterField name="{SENTENCE}"/>',
            f"<Constant>{SENTENCE}</Constant>",
            f'<Decision value="{SENTENCE}"/>',
            f'<LocalTransformations><DerivedField name="{SENTENCE}"><Constant>1</Constant></DerivedField>'
            "</LocalTransformations>",
            f"<InlineTable><row><zyxa>{SENTENCE}</zyxa></row></InlineTable>",
            f"<ModelVerification><InlineTable><row><zyxa>{SENTENCE}</zyxa></row></InlineTable></ModelVerification>",
            f'<MapValues outputColumn="zyxa"><InlineTable><row><x>{SENTENCE}</x></row></InlineTable></MapValues>',
        )
    )


def _sentence(draw: random.Random, text: str) -> str | None:
    text = re.sub(
        r"<Header.*?(?:/>|</Header>)(?=\n<DataD)", "<Header></Header>", text, flags=re.DOTALL
    )
    said = draw.choice((SENTENCE, f"{SENTENCE} 2026-01-01", f"2026-01-01 {SENTENCE}", WORDS))
    return draw.choice(
        (
            text.replace("<Header>", f"<Header><Timestamp>{said}</Timestamp>"),
            text.replace("<Header>", f'<Header copyright="Copyright (c) 2026 {SENTENCE}">'),
            text.replace("<Header>", f'<Header description="{said}">'),
            text.replace("<Header>", f'<Header modelVersion="{said}">'),
            text.replace("<Header>", f'<Header><Application name="{said}"/>'),
            text.replace("<Header>", f'<Header><Application name="KNIME" version="{said}"/>'),
            text.replace("<TreeModel ", f'<TreeModel modelName="{said}" '),
            text.replace("<TreeModel ", f'<TreeModel algorithmName="{said}" '),
            text.replace('<MiningField name="a"', f'<MiningField importance="{said}" name="a"'),
            text.replace('<DataField name="a"', f'<DataField displayName="{said}" name="a"'),
        )
    )


def _loose(draw: random.Random, text: str) -> str | None:
    """Plant something between elements that is none."""
    what = draw.choice(
        (SENTENCE, f"<![CDATA[{SENTENCE}]]>", f"<!-- {SENTENCE} -->", f"<?zyxa {SENTENCE}?>")
    )
    if draw.random() < 0.1:
        return text.replace("<PMML", f'<!DOCTYPE PMML [<!ENTITY zyxa "{SENTENCE}">]>\n<PMML', 1)
    return _within(draw, text, what)


def _attribute(draw: random.Random, text: str) -> str:
    kind = draw.choice(("zyxa", "xml:lang", "note", "xmlns:zyxa"))
    value = "http://zyxa.example" if kind == "xmlns:zyxa" else SENTENCE
    return _on_tag(
        draw,
        text,
        f'{kind}="{draw.choice((value, value, ""))}"' if kind == "zyxa" else f'{kind}="{value}"',
    )


def _element(draw: random.Random, text: str) -> str | None:
    what = draw.choice(
        (
            f'<Extension name="zyxa" value="{SENTENCE}"/>',
            f"<Extension>{SENTENCE}</Extension>",
            f'<Extension name="treewarden:unmodelled" value="{WORDS.replace("_", " ")}"/>',
            f'<Zyxa note="{SENTENCE}"/>',
            f'<z:Node xmlns:z="http://zyxa.example" id="1">{SENTENCE}</z:Node>',
        )
    )
    return _within(draw, text, what)


def _idle(draw: random.Random, text: str) -> str:
    """Plant a part of the model that nothing asks for."""
    return draw.choice(
        (
            text.replace(
                "</DataDictionary>",
                f'<DataField name="{SENTENCE}" optype="continuous"/></DataDictionary>',
            ),
            text.replace(
                "</DataDictionary>",
                f'<DataField name="c" optype="categorical"><Value value="{SENTENCE}"/></DataField></DataDictionary>',
            ),
            text.replace(
                "</MiningSchema>",
                '</MiningSchema><LocalTransformations><DerivedField name="zyxa" optype="continuous" dataType="double">'
                '<FieldRef field="a"/></DerivedField></LocalTransformations>',
            ),
            text.replace(
                "</TreeModel>",
                '<Output><OutputField name="score" feature="transformedValue"><Apply function="concat"><Constant>'
                f"{SENTENCE}</Constant></Apply></OutputField></Output></TreeModel>",
            ),
            text.replace(
                "</TreeModel>",
                '<Node id="zyxa" score="yes" recordCount="1"><True/></Node></TreeModel>',
            ),
        )
    )


def _probability(draw: random.Random, text: str) -> str | None:
    """Plant a probability that is far from the share of its count, at one node."""
    bare = re.sub(r' (?:probability|confidence)="[^"]*"', "", text) if draw.random() < 0.5 else text
    nodes = [
        found
        for found in re.finditer(
            r'(<ScoreDistribution value="no" recordCount="(\d+)")[^>]*(/>\n<ScoreDistribution value="yes" '
            r'recordCount="(\d+)")[^>]*/>',
            bare,
        )
        if int(found[2]) + int(found[4])
    ]
    if not nodes:
        return None
    found = draw.choice(nodes)
    share = int(found[2]) / (int(found[2]) + int(found[4]))
    said = share - 0.3 if share > 0.5 else share + 0.3
    name = draw.choice(("probability", "confidence"))
    new = f'{found[1]} {name}="{said:.4f}"{found[3]} {name}="{1 - said:.4f}"/>'
    return bare[: found.start()] + new + bare[found.end() :]


def _label(draw: random.Random, case: Case) -> str | None:
    """Plant the other label at one node where one class leads."""
    led = [place for place, lead in enumerate(case.leads, start=1) if lead]
    if not led:
        return None
    found = re.search(rf'<Node id="{draw.choice(led)}" score="(no|yes)"', case.text)
    assert found is not None
    other = {"no": "yes", "yes": "no"}[found[1]]
    return case.text[: found.start(1)] + other + case.text[found.end(1) :]


PLANTS: dict[str, Plant] = {
    # A file may hold several models, each for itself: one beside the tree is audited with it.
    "model": lambda draw, text: _within(draw, text, _model(draw, text), never=("PMML",)),
    "model in a node": lambda draw, text: _within(draw, text, _model(draw, text), only="Node"),
    # A value of a field is a part of the model, whatever it says.
    "known element": lambda draw, text: _within(draw, text, _known(draw), never=("DataField",)),
    "element": _element,
    "attribute": _attribute,
    "loose text": _loose,
    "sentence of origin": _sentence,
    "idle part": _idle,
    "probability": _probability,
}


def _excerpt(text: str) -> str:
    found = re.search("zyxa", text, re.IGNORECASE)
    at = 0 if found is None else found.start()
    return repr(text[max(0, at - 120) : at + 80])


JUDGE = UnreadContent()
