"""Known numbers of people joined with the leaves of models of numbers, and of several releases."""

import numpy as np
import pytest

from tests.kit.small_audits import audit_model
from treewarden.audit.facts.kinds import check_facts
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import KnownRecord, Statement
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.totals import NOT_SURE_WHO
from treewarden.audit.releases import ReleaseCase, run_releases
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Task, Tree

AGES, SEX = list("yyoozz"), list("FMFMQQ")
PAY = [10, 30, 20, 50, 0, 100]
"""The range is that of two people of whom no tree says anything else."""
FEATURES = (Feature("age", numeric=False), Feature("sex", numeric=False))
OPTIONS = AuditOptions(worlds_budget=5.0)


def mean_tree(table, name):
    """Return a tree that splits on a column of the table, and says the mean pay of each leaf."""
    pay, values = np.array(table["pay"], dtype=float), np.array(table[name])
    leaves = [
        Node(i, str(i), 0, (), CategoryTest(name, (value,)), float(pay[values == value].mean()))
        for i, value in enumerate(sorted(set(table[name])), 1)
    ]
    root = Node(0, "0", None, tuple(leaf.index for leaf in leaves), score=float(pay.mean()))
    return Tree((root, *leaves), FEATURES, "pay", (), task=Task.REGRESSION)


def forest_of_means(table):
    trees = (mean_tree(table, "age"), mean_tree(table, "sex"))
    members = tuple(Member(tree) for tree in trees)
    return Ensemble(members, Combination.AVERAGE, FEATURES, "pay", (), task=Task.REGRESSION)


def a_table(pay, ages=AGES, sex=SEX):
    return {"id": [str(n) for n in range(len(pay))], "age": ages, "sex": sex, "pay": pay}


def known(value, **record):
    return KnownRecord.model_validate({"record": record, "class": value})


def audited(pay, *facts):
    table = a_table(pay)
    columns = {name: values for name, values in table.items() if name != "id"}
    knowledge = Knowledge(facts=facts)
    return audit_model(
        forest_of_means(table), table_of(columns), "pay", knowledge=knowledge, options=OPTIONS
    )


def ends(evidence):
    columns, numbers = evidence.population.columns, evidence.numbers
    return {
        columns["age"].text(n) + columns["sex"].text(n): (numbers.low[n], numbers.high[n])
        for n in range(len(numbers.low))
    }


def test_one_known_number_settles_everybody_of_two_trees():
    assert not audited(PAY).full.evidence.numbers.is_exact.any()
    evidence = audited(PAY, known("30", age="y", sex="M")).full.evidence
    settled = {name: low for name, (low, high) in ends(evidence).items() if low == high}
    assert settled == {"yF": 10, "yM": 30, "oF": 20, "oM": 50}


def test_a_known_number_is_of_no_leaf():
    without, with_it = (
        audited(PAY, *facts).full.evidence.numbers.by_leaf
        for facts in ((), (known("30", age="y", sex="M"),))
    )
    assert without.tolist() == with_it.tolist()


def test_a_number_that_nobody_has_is_dropped_and_named():
    audit = audited(PAY, known("40", age="y", sex="M"))
    assert not audit.full.evidence.numbers.is_exact.any()
    (dropped,) = audit.full.dropped
    assert "age = y" in dropped.where


def test_the_number_of_one_of_several_proves_nothing_and_leaves_open_what_it_may():
    audit = audited(PAY, known("30", age="y"))
    numbers = audit.full.evidence.numbers
    assert NOT_SURE_WHO in numbers.left
    assert (numbers.low <= numbers.reached_low).all()
    assert (numbers.reached_high <= numbers.high).all()


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        (Statement(says="P(rich | sex = F) = 0.5"), "has no class shares"),
        (known("much", age="y", sex="F"), "'much' is not a number"),
        (known("nan", age="y", sex="F"), "'nan' is not a number"),
        (known("3", age="x"), "'age' is never 'x'"),
    ],
)
def test_a_fact_that_is_of_no_number_is_refused(fact, says):
    table = a_table(PAY)
    people = build_population(forest_of_means(table), table_of(table), sensitive="pay")
    with pytest.raises(KnowledgeError, match=says):
        check_facts(Knowledge(facts=(fact,)), (), people, "known.toml")


def test_a_number_known_of_one_release_is_joined_with_all():
    first = a_table(PAY)
    second = a_table([*PAY, 35], [*AGES, "o"], [*SEX, "F"])
    tables = [table_of(first), table_of(second)]
    models = [mean_tree(first, "age"), mean_tree(second, "sex")]
    people = [build_population(m, t, sensitive="pay") for m, t in zip(models, tables, strict=True)]
    shared = shared_people(models, tables, people, "id")
    cases = [ReleaseCase(m, p, ()) for m, p in zip(models, people, strict=True)]

    def exact(*facts):
        audit = run_releases(cases, shared, Knowledge(facts=facts), options=OPTIONS)
        numbers = audit.full.evidence.numbers
        assert not isinstance(numbers, Undetermined), numbers
        return float(numbers.counts[numbers.is_exact].sum())

    assert exact() == 1  # whoever joined
    assert exact(known("50", sex="M", age="o")) == 5


def test_only_the_facts_of_its_own_table_are_taken_from_a_release():
    first = a_table(PAY)
    second = a_table([*PAY, 35], [*AGES, "new"], [*SEX, "F"])
    tables = [table_of(first), table_of(second)]
    models = [mean_tree(first, "age"), mean_tree(second, "age")]
    people = [build_population(m, t, sensitive="pay") for m, t in zip(models, tables, strict=True)]
    shared = shared_people(models, tables, people, "id")
    cases = [ReleaseCase(m, p, ()) for m, p in zip(models, people, strict=True)]
    audit = run_releases(cases, shared, Knowledge(facts=(known("35", age="new"),)), options=OPTIONS)
    assert not isinstance(audit.full.evidence.numbers, Undetermined)
    assert audit.full.dropped == ()
