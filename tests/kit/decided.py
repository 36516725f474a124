"""The table of what is decided of which kind of model, for whom: from audits of small models, written into the docs.

    python -m tests.kit.decided

writes ``docs/engineering/decided.md``; a test holds the page against what the code decides now.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.kit import places
from treewarden.audit.adversaries import with_adversaries
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.knowledge.statement import KnownRecord
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.secret_values import AdversaryRequest, Secret
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.releases import LinkedReleases, ReleaseCase, run_releases
from treewarden.audit.result import Audit, Exposure
from treewarden.audit.run import run
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, Model, TreeSampling
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Task, Tree

PAGE = places.ROOT / "docs" / "engineering" / "decided.md"
COLUMNS = {
    "sex": list("FFFFMMMMFM"),
    "town": list("ababababcc"),
    "class": ["yes", "no", "no", "yes", "no", "no", "yes", "yes", "no", "yes"],
    "number": [10, 30, 20, 50, 40, 20, 10, 30, 0, 100],
    "weight": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
}
FEATURES = (Feature("sex", numeric=False), Feature("town", numeric=False))
OPTIONS = AuditOptions(worlds_budget=5.0)
VALUES_OF_C = {"class": "no", "number": "0"}
"""What one of the two people of town c has."""
KINDS = {
    "tree": ("class", 1, False),
    "tree, supposed criterion": ("class", 1, False),
    "forest": ("class", 2, False),
    "forest of samples": ("class", 2, False),
    "several releases": ("class", 2, True),
    "tree of numbers": ("number", 1, False),
    "forest of numbers": ("number", 2, False),
    "several releases of numbers": ("number", 2, True),
}
"""What is predicted, by how many trees, and whether each is a release of its own."""
KNOWLEDGE = {
    "all columns": "every quasi-identifier of everybody",
    "and a fact": "besides, the value of one person",
    "and class totals": "besides, how common each class is",
    "some columns": "one of two columns of everybody (`--knows`)",
    "a secret column": "all columns but a secret one (`--secret`)",
    "and the target": "besides, what the model predicts of everybody (`--target-known`)",
    "some columns, a fact": "one of two columns, and the value of one person whom it names",
    "a secret column, a fact": "all columns but a secret one, and the value of such a person",
    "sampling weights": "all columns, of a model that counts survey weights (`--sampling-weights`)",
    "some columns, weights": "one of two columns and everybody's weight, of such a model",
}


def _leaf(index: int, column: str, value: str, rows: list[int], target: str, weight: str) -> Node:
    test, name = CategoryTest(column, (value,)), str(index)
    values = [COLUMNS[target][row] for row in rows]
    weights = _weights(rows, weight)
    if target == "number":
        return Node(index, name, 0, (), test, float(np.average(values, weights=weights)))
    counts = tuple(
        float(sum(w for w, each in zip(weights, values, strict=True) if each == klass))
        for klass in ("no", "yes")
    )
    score = ("no", "yes")[int(counts[1] > counts[0])]
    return Node(index, name, 0, (), test, score, sum(counts), counts)


def _weights(rows: list[int], weight: str) -> list[float]:
    return [float(COLUMNS[weight][row]) if weight else 1.0 for row in rows]


def _tree(column: str, target: str, rows: list[int], weight: str = "") -> Tree:
    """Return a tree that splits on one column, over some rows of the table."""
    leaves = [
        _leaf(
            n, column, value, [row for row in rows if COLUMNS[column][row] == value], target, weight
        )
        for n, value in enumerate(sorted({COLUMNS[column][row] for row in rows}), 1)
    ]
    children = tuple(leaf.index for leaf in leaves)
    quality = Quality.WEIGHTED if weight else Quality.EXACT
    if target == "number":
        values, weights = [COLUMNS[target][row] for row in rows], _weights(rows, weight)
        root = Node(0, "0", None, children, score=float(np.average(values, weights=weights)))
        how = {"task": Task.REGRESSION, "quality": quality, "source": "model"}
        return Tree((root, *leaves), FEATURES, target, (), **how)
    counts = tuple(float(sum(leaf.class_counts[k] for leaf in leaves)) for k in range(2))
    root = Node(0, "0", None, children, score="no", records=sum(counts), class_counts=counts)
    return Tree((root, *leaves), FEATURES, target, ("no", "yes"), quality=quality, source="model")


def _model(kind: str, rows: list[int], weight: str = "") -> Model:
    target, count, is_released = KINDS[kind]
    trees = [_tree(column, target, rows, weight) for column in ("town", "sex")]
    if count == 1 or is_released:
        return trees[0]
    how = Combination.AVERAGE if target == "number" else Combination.MAJORITY_VOTE
    return Ensemble(
        members=tuple(Member(tree) for tree in trees),
        combination=how,
        features=FEATURES,
        target=target,
        classes=trees[0].classes,
        task=trees[0].task,
        sampling=TreeSampling("samples" in kind),
        source="model",
    )


def _exposure(kind: str, what: str) -> Exposure:
    """Return what somebody who knows so much can infer of a model of a kind."""
    target, _, is_released = KINDS[kind]
    weight = "weight" if "weights" in what else ""
    known = {"sex": "F", "town": "c"} if what == "and a fact" else {"town": "c"}
    fact = KnownRecord.model_validate({"record": known, "class": VALUES_OF_C[target]})
    knowledge = Knowledge(
        split=SplitLevel.AS_PUBLISHED if "supposed" in kind else SplitLevel.NONE,
        facts=(fact,) if "a fact" in what else (),
        marginal=what == "and class totals",
    )
    everybody, first = list(range(10)), list(range(9))
    cases, tables = [], []
    for rows in (first, everybody) if is_released else (everybody,):
        model = _model(kind, rows, weight)
        names = ("sex", "town", target, *([weight] if weight else []))
        own = {name: [COLUMNS[name][row] for row in rows] for name in names}
        table = table_of({"id": [str(row) for row in rows], **own})
        people = build_population(
            model, table, sensitive=target, qi=("sex", "town"), sampling_weights=weight or None
        )
        cases.append(ReleaseCase(model, people, ()))
        tables.append(table)
    linked = _linked(cases, tables) if is_released else None
    last, audit = cases[-1], _audit(cases, linked, knowledge)
    adversaries = _request(what, last)
    if adversaries is None:
        return audit.full
    return with_adversaries(
        audit,
        last.model,
        last.population,
        audit.full.evidence.knowledge,
        adversaries,
        (),
        OPTIONS,
        releases=linked,
    ).exposures[-1]


def _linked(cases: list[ReleaseCase], tables: list) -> LinkedReleases:
    models, people = [case.model for case in cases], [case.population for case in cases]
    return LinkedReleases(cases, shared_people(models, tables, people, "id"))


def _audit(cases: list[ReleaseCase], linked: LinkedReleases | None, knowledge: Knowledge) -> Audit:
    if linked is None:
        return run(cases[0].model, cases[0].population, knowledge, options=OPTIONS)
    return run_releases(cases, linked.shared, knowledge, options=OPTIONS)


def _request(what: str, case: ReleaseCase) -> AdversaryRequest | None:
    column = case.population.columns["sex"]
    codes = np.asarray(column.codes, dtype=np.intp)
    nothing = np.zeros(0)
    secret = Secret("sex", tuple(column.categories), codes, nothing, nothing)
    if "some columns" in what:
        return AdversaryRequest((Adversary("some", ("town",)),))
    if "a secret column" in what:
        return AdversaryRequest((Adversary("all but one", None),), secret)
    if what == "and the target":
        return AdversaryRequest((Adversary("all but one", None, target=True),), secret)
    return None


def decided(kind: str, what: str) -> str:
    """Return in a word what is decided of a kind of model for an adversary who knows so much."""
    try:
        exposure = _exposure(kind, what)
    except TreewardenError:
        return "refused"
    evidence = exposure.evidence
    is_number = KINDS[kind][0] == "number" and what != "and the target" and "a secret" not in what
    return _of_numbers(evidence) if is_number else _of_classes(evidence)


def _of_numbers(evidence: Evidence) -> str:
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined) or evidence.secret is not None:
        return "undetermined"
    is_reached = np.allclose(numbers.reached, numbers.width)
    return "exact" if is_reached and not numbers.left else "bounds"


def _of_classes(evidence: Evidence) -> str:
    worlds = evidence.worlds
    is_estimated = not isinstance(evidence.posterior, Undetermined)
    if isinstance(worlds, Undetermined):
        return "estimate" if is_estimated else "undetermined"
    if not is_estimated or worlds.open_profiles.any() or worlds.left:
        return "bounds"
    return "exact"


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# What is decided"
    yield ""
    yield (
        "Each kind of model was audited for each kind of adversary, on a model of ten people in which nothing runs out "
        "of time. *Exact*: who is certain is decided, and there is an estimate. *Bounds*: what is proved holds, but a "
        "stronger proof or an estimate may be missing. *Estimate*: there is one, and nothing is proved. "
        "*Undetermined*: nothing is told, and no check that needs it passes. *Refused*: an "
        "error says so. Boosted trees are decided as a forest is "
        "where their leaf values can be inverted into sums, see [ensembles](ensembles.md). None of the files names its "
        "split criterion, and only of the second tree an adversary "
        "[supposes each usual one](candidates.md#criteria-that-a-file-does-not-name)."
    )
    yield ""
    yield f"| | {' | '.join(KNOWLEDGE)} |"
    yield "|---|" + "---|" * len(KNOWLEDGE)
    for kind in KINDS:
        yield f"| {kind} | {' | '.join(cell(kind, what) for what in KNOWLEDGE)} |"
    yield ""
    yield "What an adversary knows:"
    yield ""
    for name, said in KNOWLEDGE.items():
        yield f"- **{name}**: {said}"
    yield ""
    yield "`python -m tests.kit.decided` writes this page, and a test compares it with the code."


def cell(kind: str, what: str) -> str:
    """Return one cell of the table; class totals are of classes alone."""
    if what == "and class totals" and KINDS[kind][0] == "number":
        return "-"
    return decided(kind, what)


def page() -> str:
    """Return the page."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
