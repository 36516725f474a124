"""Facts of a case are worked out once, and go with it."""

import gc
import weakref

from tests.audit.partial.test_splits import by_age
from treewarden.audit.facts.rows import Case, once
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.target import members
from treewarden.ppdm_models import gc_control


def case():
    tree, population = by_age()
    return Case(tree, population, members(tree, population.leaf), Knowledge())


def test_facts_are_worked_out_once_for_each_case_and_go_with_it():
    asked = []

    @once
    def facts(of):
        asked.append(None)
        yield len(of.tree.nodes)

    with gc_control.spared():  # what is there already need not be looked through
        first, second = case(), case()
        assert facts(first) == facts(first) == facts(second)
        assert len(asked) == 2
        is_there = weakref.ref(first)
        del first
        gc.collect()
        assert is_there() is None
