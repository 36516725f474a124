"""Where more places fail than a report lists, all of them are counted: a group for each leaf, with the worst of it."""

from dataclasses import replace

import numpy as np

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, pack_of
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.measures import measured
from treewarden.audit.population.population import Population
from treewarden.audit.reading import MOST_SPOTS
from treewarden.policies.judging.clause_evaluation import evaluate_clause
from treewarden.policies.judging.decision import LeafNames
from treewarden.policies.judging.finding import finding_of
from treewarden.policies.judging.place_groups import (
    PEOPLE,
    BrokenPlaces,
    _groups,
    groups_of_reading,
    groups_of_scope,
)
from treewarden.policies.pack import read_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.fingerprint import fingerprints

PASS, UNDETERMINED, FAIL = PolicyVerdict
TREE = flat_tree([[14, 6], [4, 0], [2, 1], [9, 9]])
LEAVES = fingerprints(TREE, TREE.target)[0]
SURE = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7]]
"""What is believed of four groups of people: two of them in the first leaf, one each in the next two."""


def evidence_of_people(leaf=(1, 1, 2, 3)):
    truth = np.array([[10, 2], [4, 4], [4, 0], [2, 1]], dtype=float)
    people = Population((), {}, truth.sum(axis=1), np.array(leaf), truth)
    flat = certain(np.full((4, 2), 0.5))
    return evidence_of(TREE, people, posterior=certain(np.array(SURE)), prior=flat)


def scoped(text):
    head = 'name = "p"\nversion = "1"\ntitle = "P"\n[[clause]]\nid = "it"\nscope = "profile"\n'
    return read_pack(f"{head}{text}\n".encode(), "p.toml").clauses[0]


SURE_ALONE = scoped('measure = "confidence"\nrule = "at_most"\nlimit = 0.65')
COMBINED = scoped(
    'all = [ { measure = "confidence", rule = "at_most", limit = 0.65 }, '
    '{ measure = "k_anonymity", rule = "at_least", limit = 2 } ]'
)


def found_by_scope(clause, evidence, note=str):
    evaluation = evaluate_clause(clause, evidence, lambda call: measured(call, evidence))
    return groups_of_scope(clause, evaluation, evidence, LeafNames(evidence), note)


def told(groups):
    return {g.leaf: (g.places, g.verdict, g.low, g.high) for g in groups}


def test_each_leaf_that_fails_is_a_group():
    (clause,) = pack_of(("k_anonymity", "at_least", 5)).clauses
    evidence = evidence_of(TREE)
    groups = groups_of_reading(clause, evidence, LeafNames(evidence))
    assert told(groups) == {LEAVES[2]: (1, FAIL, 4, 4), LEAVES[3]: (1, FAIL, 3, 3)}
    assert not any(group.notes for group in groups)


def test_people_of_one_leaf_are_a_group_with_the_worst_of_them():
    (clause,) = pack_of(("confidence", "at_most", 0.5)).clauses
    evidence = evidence_of_people()
    wanted = {
        LEAVES[1]: (2, FAIL, 0.9, 0.9),
        LEAVES[2]: (1, FAIL, 0.8, 0.8),
        LEAVES[3]: (1, FAIL, 0.7, 0.7),
    }
    assert told(groups_of_reading(clause, evidence, LeafNames(evidence))) == wanted


def test_a_clause_with_a_scope_has_what_was_read_at_its_places():
    groups = found_by_scope(SURE_ALONE, evidence_of_people())
    assert told(groups) == {
        LEAVES[1]: (1, FAIL, 0.9, 0.9),
        LEAVES[2]: (1, FAIL, 0.8, 0.8),
        LEAVES[3]: (1, FAIL, 0.7, 0.7),
    }
    assert not any(group.notes for group in groups)


def test_a_combination_has_its_verdicts_and_a_digest_of_its_notes():
    evidence = evidence_of_people()
    groups = found_by_scope(COMBINED, evidence)
    assert told(groups) == dict.fromkeys(LEAVES[1:4], (1, FAIL, 1.0, 1.0))
    other = found_by_scope(COMBINED, evidence, lambda at: f"other {at}")
    assert all(a.notes and a.notes != b.notes for a, b in zip(groups, other, strict=True))


def test_people_in_no_leaf_are_one_group_that_names_all_that_is_read_of_them():
    evidence = evidence_of_people(leaf=(-1, 1, 2, -1))
    (people,) = [g for g in found_by_scope(SURE_ALONE, evidence) if g.leaf.startswith(PEOPLE)]
    assert (people.places, people.verdict, people.low, people.high) == (2, FAIL, 0.9, 0.9)
    surer = replace(evidence, posterior=certain(np.array([*SURE[:3], [0.2, 0.8]])))
    (others,) = [g for g in found_by_scope(SURE_ALONE, surer) if g.leaf.startswith(PEOPLE)]
    assert people.leaf != others.leaf


def broken(low, high, verdicts=(FAIL, FAIL)):
    """Return two places in the first leaf, where so much was read."""
    return BrokenPlaces(
        kind="profile",
        indices=np.arange(2),
        trees=np.zeros(2, dtype=np.intp),
        verdicts=np.array(verdicts),
        low=np.array(low),
        high=np.array(high),
        note=lambda at: "",
    )


def grouped(places, *, is_low):
    evidence = evidence_of_people()
    return told(_groups(places, evidence, LeafNames(evidence), is_low=is_low))


def test_the_worst_end_is_the_lower_one_where_small_readings_are_dangerous():
    places = broken([2, 4], [5, 9], (FAIL, UNDETERMINED))
    assert grouped(places, is_low=True) == {LEAVES[1]: (2, FAIL, 2, 5)}
    assert grouped(places, is_low=False) == {LEAVES[1]: (2, FAIL, 4, 9)}


def test_where_an_end_is_no_number_there_are_no_groups_to_accept():
    assert grouped(broken([0.5, np.nan], [1, 1]), is_low=False) == {}
    assert grouped(broken([0.5, 0.5], [1, np.nan]), is_low=False) == {}


def test_only_where_places_were_cut_and_are_named_a_finding_has_groups():
    pack = pack_of(("confidence", "at_most", 0.5))
    for number, groups in ((MOST_SPOTS - 1, 0), (MOST_SPOTS + 1, 1)):
        truth = np.ones((number, 2))
        people = Population((), {}, truth.sum(axis=1), np.ones(number, dtype=np.intp), truth)
        sure = certain(np.tile([0.9, 0.1], (number, 1)))
        audit = audit_of(evidence_of(TREE, people, posterior=sure), pack)
        exposure, clause = audit.full, pack.clauses[0]
        finding = finding_of(exposure, clause, exposure, LeafNames(exposure.evidence))
        assert len(finding.places) == min(number, MOST_SPOTS)
        assert [group.places for group in finding.groups] == [number] * groups
        assert finding_of(exposure, clause, exposure, None).groups == ()
