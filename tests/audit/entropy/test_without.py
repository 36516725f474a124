"""The estimate without one person, held against audits of tables that really lack the record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.cases import NAMES, case_of, multiway_tree
from tests.kit.small_audits import evidence_of, flat_tree, people_of, read
from tests.kit.tiers import seeds
from treewarden.audit.entropy import estimate as leave_one_out
from treewarden.audit.entropy.estimate import Without, estimate, without_one
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import call, measures
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Criterion, Quality

OPTIONS = AuditOptions(jobs=1, worlds=True)
KNOWS = Knowledge(leaf="counts", split="gini")
TABLE = call("own_contribution", {"without": "table"})


def rows(seed, size=16):
    """Return records of two attributes and a class, many alike."""
    draw = np.random.default_rng(seed)
    first, second = draw.integers(3, size=size), draw.integers(2, size=size)
    noise = draw.random(size) < 0.4
    label = np.where(noise, draw.integers(2, size=size), (first + second) % 2)
    label[:2] = [0, 1]
    return [(NAMES[a], NAMES[b], f"c{k}") for a, b, k in zip(first, second, label, strict=True)]


def audited(records, tree=None):
    columns = dict(zip(("x0", "x1", "class"), map(list, zip(*records, strict=True)), strict=True))
    table = table_of(columns)
    tree = multiway_tree(table, Criterion.GINI, 4) if tree is None else recounted(tree, records)
    people = build_population(tree, table, sensitive="class")
    return case_of(tree, people, KNOWS)


def recounted(tree, records):
    """Return a tree with the class counts of some records, each node's counted anew."""
    nodes = []
    for node in tree.nodes:
        counts = np.zeros(len(tree.classes))
        for first, second, label in records:
            values = {"x0": first, "x1": second}
            tests = [each.test for each in tree.path(node.index)[1:]]
            if all(values[test.feature] in test.values for test in tests):
                counts[tree.classes.index(label)] += 1
        said = tuple(counts.tolist())
        nodes.append(replace(node, class_counts=said, records=float(counts.sum())))
    return replace(tree, nodes=tuple(nodes))


@pytest.mark.parametrize("seed", seeds(5, quick=4))
def test_it_is_the_estimate_of_the_table_that_lacks_the_record(seed):
    records = rows(seed)
    case = audited(records)
    system = build_system(case)
    found, _ = estimate(system, OPTIONS)
    told = without_one(system, found, OPTIONS)
    truth = case.population.truth
    for profile, klass in np.argwhere((truth > 0) & (case.population.counts > 1)[:, None]):
        said = case.population.describe(int(profile))
        alike = f"c{klass}"
        gone = next(
            place
            for place, (a, b, label) in enumerate(records)
            if said == f"x0 = {a}, x1 = {b}" and label == alike
        )
        less = audited([*records[:gone], *records[gone + 1 :]], case.tree)
        again, _ = estimate(build_system(less), OPTIONS)
        there = next(p for p in range(len(again.values)) if less.population.describe(p) == said)
        assert told.low[profile, klass] == pytest.approx(again.low[there, klass], abs=1e-6)
        assert told.high[profile, klass] == pytest.approx(again.high[there, klass], abs=1e-6)


def test_an_audit_asks_again_only_where_a_clause_wants_it():
    case = audited(rows(1))
    plain = run(case.tree, case.population, case.knowledge, [call("own_contribution")], OPTIONS)
    asked = run(case.tree, case.population, case.knowledge, [TABLE], OPTIONS)
    assert isinstance(plain.full.evidence.without, Undetermined)
    assert isinstance(asked.full.evidence.without, Without)
    assert isinstance(asked.full.readings[TABLE].reading, Interval)


def test_who_was_not_asked_about_may_owe_everything_to_the_record():
    tree = flat_tree([[4, 4], [9, 1]])
    evidence = evidence_of(tree, people_of(tree))
    worlds = run(tree, people_of(tree), Knowledge(split="none")).full.evidence.worlds
    none = Without(np.zeros((2, 2)), np.ones((2, 2)))
    open_ = replace(evidence, worlds=worlds, without=none)
    reading = read("own_contribution", open_, without="table").reading
    assert reading.high == pytest.approx(0.9)
    assert reading.low == pytest.approx(1 / 10)


def test_no_more_are_asked_about_than_the_limit():
    records = [(NAMES[a], NAMES[b], f"c{k}") for a in range(4) for b in range(4) for k in (0, 0, 1)]
    case = audited(records)
    system = build_system(case)
    found, _ = estimate(system, OPTIONS)
    told = without_one(system, found, OPTIONS)
    answered = int(((told.low > 0) | (told.high < 1)).sum())
    assert 0 < answered <= leave_one_out.MOST_ASKED


def test_where_numbers_without_a_person_are_not_known_it_says_so():
    case = audited(rows(2))
    odd = replace(case, tree=replace(case.tree, quality=Quality.WEIGHTED))
    system = build_system(case)
    found, _ = estimate(system, OPTIONS)
    told = without_one(replace(system, case=odd), found, OPTIONS)
    assert isinstance(told, Undetermined)
    assert "only if the file counts people" in told.reason


def test_of_two_who_are_alike_the_other_is_asked_about_and_of_one_alone_the_leaf():
    tree = flat_tree([[5, 4]])
    place = CategoricalColumn(codes=np.zeros(3, dtype=int), categories=("p0",))
    study = CategoricalColumn(codes=np.arange(3), categories=("s0", "s1", "s2"))
    truth = np.array([[1.0, 1.0], [1.0, 0.0], [3.0, 3.0]])
    columns = {"place": place, "study": study}
    people = Population(tuple(columns), columns, truth.sum(axis=1), np.array([1, 1, 1]), truth)
    worlds = run(tree, people, Knowledge(split="none")).full.evidence.worlds
    ends = np.array([[0.1, 0.9]] * 3)
    asked = replace(evidence_of(tree, people), worlds=worlds, without=Without(ends, ends))
    told, by_leaf = (
        measures()["own_contribution"].per_place(asked, {"without": who}).high
        for who in ("table", "leaf")
    )
    assert told[0] == told[2] == pytest.approx(5 / 9 - 0.1)
    assert told[1] == by_leaf[1] == pytest.approx(5 / 9 - 4 / 8)
