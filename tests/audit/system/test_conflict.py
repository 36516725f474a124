"""Facts that cannot hold together are named, and nothing else is."""

import pytest

from tests.kit.cases import case_of, multiway_case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import Statement
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.conflict import conflict
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.errors import KnowledgeError


def without_truth(*says: str, leaf: str = "labels") -> System:
    case = multiway_case(5, Knowledge(leaf="rates", split="none"))
    people = case.population
    blind = Population(
        people.qi, people.columns, people.counts, people.leaf, Undetermined("no column")
    )
    facts = tuple(Statement(says=one) for one in says)
    known = Knowledge(leaf=leaf, split="none", facts=facts)
    return build_system(case_of(case.tree, blind, known))


def test_facts_that_agree_conflict_with_nothing():
    assert conflict(without_truth("P(c1 | x2 = north) <= 0.9")) == ()


def test_two_facts_that_contradict_each_other_are_the_conflict():
    system = without_truth(
        "P(c1 | x2 = north) >= 0.6", "P(c2 | x2 = north) >= 0.6", "P(c0 | x2 = south) <= 0.9"
    )
    assert [origin.where for origin in conflict(system)] == [
        "P(c1 | x2 = north) >= 0.6",
        "P(c2 | x2 = north) >= 0.6",
    ]


def test_a_fact_that_contradicts_the_leaves_names_them():
    system = without_truth("P(c0) = 1", leaf="as-published")
    found = conflict(system)
    assert {origin.constraint for origin in found} == {"background", "leaf_distribution"}
    assert len(found) == 2


def test_contradictory_knowledge_ends_the_audit_and_names_the_facts():
    system = without_truth("P(c1 | x2 = north) >= 0.6", "P(c2 | x2 = north) >= 0.6")
    case = system.case
    with pytest.raises(KnowledgeError, match="contradict each other") as caught:
        run(case.tree, case.population, case.knowledge, ())
    assert "P(c1 | x2 = north) >= 0.6" in str(caught.value)
    assert "P(c2 | x2 = north) >= 0.6" in str(caught.value)
