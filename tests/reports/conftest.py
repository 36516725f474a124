"""Documents for the tests: a tree that fails, one nothing is known of, a regression tree, a repair, hostile names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import forest, stump
from tests.kit.small_audits import (
    audit_of,
    auditor,
    deep_tree,
    evidence_of,
    exposed,
    flat_tree,
    only_world,
    pack_of,
    people_of,
)
from tests.reports.gates import several
from treewarden.audit.consistent_tables.result import Witness
from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.result import KnowledgeLevel
from treewarden.audit.run import run
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls
from treewarden.policies.repair.repair import repair
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Task,
    Tree,
)
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.entry import gate_of
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.document.gate import Gate
from treewarden.reports.document.inferred_parts import Adversary, Lack
from treewarden.reports.document.parts import File, Row, Value

NASTY = "<script>alert(1)</script> \"'&, \n\x1b[31m \u202e \x00 {{ 7*7 }} 中文 \ud800"
FIXED = {"schema", "kind", "verdict", "severity", "risk", "danger", "low", "high", "limit"}
FIXED |= {"consistency", "posterior", "grade", "fail_on", "by", "outcome", "basis"}
THREE = ("confidence", "disclosure", "guess_accuracy")
REASON = "the table has no column 'illness'"

TREE = flat_tree([[14, 6], [4, 0], [2, 1], [9, 9]])
DEMANDS = (
    ("k_anonymity", "at_least", 5),
    ("label_disclosure", "at_most", 0.9),
    ("disclosure", "at_most", 0.9),
    ("kl_individual", "at_least", 0.05),
)
PROVENANCE = Provenance(
    version="0.1.0",
    model=File(name="tree.pmml", sha256="a" * 64),
    table=File(name="table.csv", sha256="b" * 64),
    pack=File(name="pack", sha256="c" * 64),
    created="2024-01-01T00:00:00Z",
    seconds=1.5,
)


def made(evidence, pack, levels=(), dropped=()):
    audit = audit_of(evidence, pack, dropped, levels)
    return audit_document(audit, judge(audit, pack), PROVENANCE)


@pytest.fixture(scope="session")
def document():
    read = exactly(0.6), exactly(1.0), exactly(0.3)
    levels = (
        KnowledgeLevel("labels only", *read),
        KnowledgeLevel("+ class counts", Undetermined("it stalled"), exactly(1.0), exactly(0.2)),
    )
    dropped = (DroppedRow("split_choice", "node 'root'", "a tie broken at random", False),)
    return made(evidence_of(TREE), pack_of(*DEMANDS), levels, dropped)


@pytest.fixture(scope="session")
def proved():
    """A document in which one profile is certain, one could say something else, and one is not decided."""
    only = only_world(people_of(TREE))
    low, high, size = np.zeros_like(only.low), only.high * 0 + only.counts[:, None], only.counts
    low[1], high[1] = only.low[1], only.high[1]
    stuck = np.where(only.counts[:, None] == 3, size[:, None], 0)
    worlds = replace(
        only,
        low=low,
        high=high,
        reached_low=stuck,
        reached_high=np.where(stuck > 0, 0, size[:, None]),
        reasons={1: "node 7 would have split on chol <= 245"},
        witnesses=(
            Witness(0, "one record of (place = p0) trades c0 for c1", only.low, "same tree"),
        ),
        not_decided=("the time was used up",),
        left=("the time was used up",),
    )
    pack = pack_of(("certain_disclosure", "at_most", 0))
    return made(evidence_of(TREE, worlds=worlds), pack)


@pytest.fixture(scope="session")
def passing():
    return made(evidence_of(TREE), pack_of(("k_anonymity", "at_least", 2)))


@pytest.fixture(scope="session")
def undetermined():
    people = people_of(TREE)
    unknown = type(people)(
        people.qi, people.columns, people.counts, people.leaf, Undetermined(REASON)
    )
    stalled = Undetermined("it stalled")
    evidence = Evidence(forest_of(TREE, unknown), unknown, Knowledge(), stalled, stalled)
    return made(evidence, pack_of(*DEMANDS[1:]))


@pytest.fixture(scope="session")
def regression():
    nodes = (
        Node(0, "1", None, (1, 2), score=1.5),
        Node(1, "2", 0, (), NumericTest("age", high=30.0, high_closed=True), 1.0),
        Node(2, "3", 0, (), NumericTest("age", low=30.0), 2.25),
    )
    tree = Tree(nodes, (Feature("age", True),), "cost", task=Task.REGRESSION)
    reason = Undetermined("the tree predicts a number, not a class")
    people = people_of(TREE)
    people = type(people)(
        ("age",),
        {"age": NumericColumn(np.array([20.0, 40.0]))},
        np.array([7.0, 3.0]),
        np.array([1, 2]),
        reason,
    )
    evidence = Evidence(
        forest_of(tree, people), people, Knowledge(), reason, reason, numbers=reason
    )
    pack = pack_of(("k_anonymity", "at_least", 5), ("disclosure", "at_most", 0.9))
    audit = exposed(evidence, pack, SolverReport("not run", reason=reason.reason))
    return audit_document(audit, judge(audit, pack), PROVENANCE)


@pytest.fixture(scope="session")
def several_trees():
    """An ensemble that fails in its second tree, from a file that gives away a name."""
    ensemble = forest(stump(40.0, "no", "yes"), stump(70.0, "no", "yes"))
    columns = {
        "age": [20, 30, 50, 60, 80],
        "sex": list("FMFMF"),
        "flu": ["no", "yes", "no", "yes", "no"],
    }
    people = build_population(ensemble, table_of(columns), sensitive="flu")
    pack = pack_of(
        ("k_anonymity", "at_least", 5), ("side_leaks", "at_most", 0), ("disclosure", "at_most", 0.9)
    )
    leaks = (Leak(LeakKind.PERSON, "line 2", "the login name of its author"),)
    audit = run(ensemble, people, Knowledge(), calls(pack), leaks=leaks)
    return audit_document(audit, judge(audit, pack), PROVENANCE)


WHY = (
    "no inference: 1 of 252 other splits on known columns would be better than the chosen ones at the estimate "
    "without them, which is not solved again"
)


@pytest.fixture(scope="session")
def several_adversaries(document):
    """A document of who knows all and of two who know less, of one of whom not all was told."""
    told, untold = document.readings["k_anonymity"], {"low": None, "high": None, "reason": WHY}
    share = told.model_copy(update={"low": 0.957, "high": 0.957, "text": "95.7 %"})
    readings = dict.fromkeys(("certain_disclosure", *THREE), share)
    no_value = Value(text="not decided", **untold)
    value = Value(low=0.957, high=0.957, text="95.7 %")
    known = ("age", "years_married", "children", "religious", "education", "occupation")
    everyone = [
        Adversary(
            name=name,
            knows=columns,
            target_known=False,
            secret="flu",
            verdict=verdict,
            readings=readings,
            worst=(Row(name="age = 37, children = 0", text="95.7 %, 1 record truly no"),),
            shown=(Row(name="age = 37", text="in a table that fits, no more than 3 of 9 have no"),),
            lacking=tuple(
                Lack(
                    column=column,
                    certain=value,
                    confidence=no_value if column == "age" else value,
                    guess_accuracy=no_value if column == "age" else value,
                )
                for column in columns
            ),
        )
        for name, columns, verdict in (
            ("knows all", known, "FAIL"),
            ("neighbour", known[:3], "PASS"),
            ("old friend of the family from the congregation", known[:5], "UNDETERMINED"),
        )
    ]
    return document.model_copy(update={"adversaries": tuple(everyone)})


@pytest.fixture(scope="session")
def repaired():
    tree = deep_tree([[[14, 6], [2, 3]], [[9, 9], [4, 1]]], ("c0", "c1"))
    people, pack = people_of(tree), pack_of(("k_anonymity", "at_least", 6))
    return repair_document(repair(tree, people, auditor(people, pack), pack), PROVENANCE)


@pytest.fixture(scope="session")
def unrepaired():
    people, pack = people_of(TREE), pack_of(("k_anonymity", "at_least", 5))
    return repair_document(repair(TREE, people, auditor(people, pack), pack), PROVENANCE)


@pytest.fixture(scope="session")
def nasty(document, repaired, several_adversaries):
    """A document with every free text hostile."""
    more = {"repair": repaired.repair, "adversaries": several_adversaries.adversaries}
    both = document.model_copy(update=more)
    said = poisoned(both.model_dump(mode="json", by_alias=True))
    said["provenance"]["model"]["name"] = NASTY.replace("/", "")
    for name in ("table", "pack"):
        said["provenance"][name]["name"] = name
    return Document.model_validate(said)


def poisoned(part, key=""):
    if isinstance(part, dict):
        if key in ("parameters",):
            return part
        return {
            name if key != "readings" else f"{number} {NASTY}": poisoned(inner, name)
            for number, (name, inner) in enumerate(part.items())
        }
    if isinstance(part, list):
        return [poisoned(inner, key) for inner in part]
    return NASTY if part and isinstance(part, str) and key not in FIXED else part


ALL = (
    "document",
    "proved",
    "passing",
    "undetermined",
    "regression",
    "several_trees",
    "several_adversaries",
    "repaired",
    "unrepaired",
    "nasty",
)


@pytest.fixture(params=ALL)
def any_document(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def gate(document, passing, undetermined):
    return several(document, passing, undetermined)


@pytest.fixture(scope="session")
def hostile_gate(gate):
    """A gate with every free text hostile."""
    return Gate.model_validate(poisoned(gate.model_dump(mode="json", by_alias=True)))


@pytest.fixture(params=("gate", "hostile_gate", "no_models"))
def any_gate(request):
    return (
        gate_of([], "error")
        if request.param == "no_models"
        else request.getfixturevalue(request.param)
    )
