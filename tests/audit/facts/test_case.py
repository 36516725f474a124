"""Facts of a case are worked out once, and go with it."""

import gc
import weakref

from audit.adversary.knowledge import Knowledge
from audit.facts.case import Case, once
from audit.people.members import members
from tests.audit.partial.test_splits import by_age


def case():
    tree, population = by_age()
    return Case(tree, population, members(tree, population.leaf), Knowledge())


def test_facts_are_worked_out_once_for_each_case_and_go_with_it():
    asked = []

    @once
    def facts(of):
        asked.append(None)
        yield len(of.tree.nodes)

    first, second = case(), case()
    assert facts(first) == facts(first) == facts(second)
    assert len(asked) == 2
    is_there = weakref.ref(first)
    del first
    gc.collect()
    assert is_there() is None
