"""Facts of a knowledge file joined with the leaves of several trees, and of several releases."""

import itertools

import numpy as np
import pytest

from tests.kit.forests import FEATURES, forest, stump
from tests.kit.releases import a_table, a_tree
from tests.kit.small_audits import audit_model
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import KnownRecord, Statement
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.releases import ReleaseCase, run_releases
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table_bytes, table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Node, Quality, Tree

AGES, SEX, FLU = [20, 20, 60, 60], list("FMFM"), ["yes", "no", "no", "yes"]
OPTIONS = AuditOptions(worlds_budget=5.0)


def split_by(name, counts):
    """Return a tree on one feature whose two leaves hold one person with the flu, and one without, or ``counts``."""
    if name == "age":
        tree = stump(40.0, "no", "no", counts=(2.0, 2.0))
        tests = [node.test for node in tree.nodes[1:]]
    else:
        tests = [CategoryTest("sex", (sex,)) for sex in "FM"]
    leaves = [
        Node(i, str(i), 0, (), test, "no", float(sum(each)), each)
        for i, (test, each) in enumerate(zip(tests, counts, strict=True), 1)
    ]
    root = Node(0, "0", None, (1, 2), records=4.0, class_counts=(2.0, 2.0))
    return Tree((root, *leaves), FEATURES, "flu", ("no", "yes"), quality=Quality.EXACT)


def audited(*facts, flu=FLU, sensitive="flu", marginal=False):
    """Return what is known after two trees that by themselves leave everybody's flu open."""
    table = table_of({"age": AGES, "sex": SEX, "flu": flu})
    model = forest(split_by("age", [(1, 1), (1, 1)]), split_by("sex", [(1, 1), (1, 1)]))
    knowledge = Knowledge(facts=facts, marginal=marginal)
    return audit_model(model, table, sensitive, knowledge=knowledge, options=OPTIONS)


def known(klass="yes", **record):
    return KnownRecord.model_validate({"record": record, "class": klass})


def by_person(evidence, values):
    columns = evidence.population.columns
    return {
        (columns["age"].text(row), columns["sex"].text(row)): values[row]
        for row in range(len(evidence.population.counts))
    }


def test_one_known_person_settles_everybody_whom_the_trees_left_open():
    evidence = audited(known(age=20, sex="F")).full.evidence
    assert not isinstance(evidence.together, Undetermined)
    assert evidence.worlds.certain.all()
    classes = by_person(evidence, evidence.worlds.certain_class)
    assert classes == {("20", "F"): 1, ("20", "M"): 0, ("60", "F"): 0, ("60", "M"): 1}
    assert not by_person(evidence, evidence.together.by_leaf)["20", "F"]


def test_a_reason_names_the_fact_that_proves_it():
    evidence = audited(known(age=20, sex="F")).full.evidence
    reasons = " | ".join(evidence.worlds.reasons.values())
    assert "known from elsewhere (the record with age = 20, sex = F has class yes)" in reasons


def test_the_estimate_before_the_model_has_the_facts_in_it():
    evidence = audited(
        Statement(says="P(yes | sex = F) = 0.5"), known(age=20, sex="F")
    ).full.evidence
    prior = by_person(evidence, evidence.prior.values[:, 1])
    expected = {("20", "F"): 1.0, ("60", "F"): 0.0, ("20", "M"): 0.5, ("60", "M"): 0.5}
    assert prior == pytest.approx(expected, abs=1e-6)


def test_a_fact_that_the_table_contradicts_is_dropped_and_named():
    audit = audited(known("no", age=20, sex="F"))
    assert not audit.full.evidence.worlds.certain.any()
    (dropped,) = audit.full.dropped
    assert "age = 20" in dropped.where


def test_a_share_of_no_whole_number_of_people_is_refused_where_nothing_is_known():
    table = table_of({"age": AGES, "sex": SEX})
    model = forest(split_by("age", [(1, 1), (1, 1)]), split_by("sex", [(1, 1), (1, 1)]))
    knowledge = Knowledge(facts=(Statement(says="P(yes | sex = F) = 0.3"),))
    with pytest.raises(KnowledgeError, match="no whole number of people"):
        audit_model(model, table, None, knowledge=knowledge, options=OPTIONS)


def release_audit(facts, tables):
    """Return the audit of two releases of trees that count by place."""
    read = [read_table_bytes(data.encode(), f"t{n}.csv") for n, data in enumerate(tables)]
    models = [
        open_model(a_tree(data, leaf_of=lambda place: place[0]), f"m{n}.pmml").model
        for n, data in enumerate(tables)
    ]
    people = [
        build_population(m, t, sensitive="illness") for m, t in zip(models, read, strict=True)
    ]
    shared = shared_people(models, read, people, "id")
    cases = [ReleaseCase(m, p, ()) for m, p in zip(models, people, strict=True)]
    return run_releases(cases, shared, Knowledge(facts=facts), options=OPTIONS)


def test_a_known_person_is_joined_with_several_releases():
    first = a_table("1 ax yes", "2 ay no", "3 bz no", "4 bw yes")
    second = a_table("1 ax yes", "2 ay no", "3 bz no", "4 bw yes", "5 av no")
    without = release_audit((), [first, second]).full.evidence
    assert int(without.worlds.certain.sum()) == 1  # whoever joined
    evidence = release_audit((known(place="ax"),), [first, second]).full.evidence
    column = evidence.population.columns["place"]
    certain = {column.text(n) for n in np.flatnonzero(evidence.worlds.certain).tolist()}
    assert certain == {"ax", "ay", "av"}


def test_a_person_whom_one_release_alone_has_may_be_known():
    first = a_table("1 ax yes", "2 ay no", "3 bz no", "4 bw yes")
    second = a_table("1 ax yes", "2 ay no", "3 bz no", "4 bw yes", "5 bv no", "6 bu yes")
    evidence = release_audit((known(place="bu"),), [first, second]).full.evidence
    column = evidence.population.columns["place"]
    certain = {column.text(n) for n in np.flatnonzero(evidence.worlds.certain).tolist()}
    assert certain == {"bu", "bv"}


def test_what_is_proved_and_shown_is_what_every_table_says():
    """Two trees, every set of labels that they may have been grown on, and every known person: all by brute force."""
    tables = np.array(list(itertools.product((0, 1), repeat=4)))
    fits = tables[(tables[:, :2].sum(axis=1) == 1) & (tables[:, 2:].sum(axis=1) == 1)]
    fits = fits[fits[:, [0, 2]].sum(axis=1) == 1]
    for truth in fits:
        flu = ["yes" if one else "no" for one in truth]
        for person in range(4):
            fact = known(flu[person], age=AGES[person], sex=SEX[person])
            evidence = audited(fact, flu=flu).full.evidence
            left = fits[fits[:, person] == truth[person]]
            expected = {
                (str(AGES[p]), SEX[p]): len(set(left[:, p].tolist())) == 1 for p in range(4)
            }
            assert by_person(evidence, evidence.worlds.certain) == expected
